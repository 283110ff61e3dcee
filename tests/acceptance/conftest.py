"""Every query that an acceptance test asks is also run on the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from continua.answers import Query
from continua.reference.elements import Row
from continua.reference.semantics import Reference
from continua.session import Session
from tests.acceptance.on_engine import Beside

BESIDE = Beside()


@pytest.fixture(scope="session")
def beside() -> Beside:
    """What all tests so far have compared."""
    return BESIDE


@pytest.fixture(autouse=True)
def on_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wraps what answers queries: the engine's answers must be the same."""
    BESIDE.begin()
    reference, snapshot = Session.reference, Session.snapshot

    def reference_beside(session: Session, queries: Iterable[Query]) -> Mapping[str, Reference]:
        chosen = list(queries)
        BESIDE.compare(session, chosen, reference(session, chosen))
        return reference(session, chosen)

    def snapshot_beside(session: Session, query: Query, instant: int) -> list[Row]:
        content = snapshot(session, query, instant)
        BESIDE.compare_content(session, query, instant, list(content))
        return content

    monkeypatch.setattr(Session, "reference", reference_beside)
    monkeypatch.setattr(Session, "snapshot", snapshot_beside)


def pytest_terminal_summary(terminalreporter):
    for plan, reason in BESIDE.refused.items():
        terminalreporter.write_line(reason + " :: " + plan.replace("\n", " | ")[:300])
    terminalreporter.write_line(str(BESIDE.checked))

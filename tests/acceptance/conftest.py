"""Every query that an acceptance test asks is also run on the engine."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from continua.answers.query import Query
from continua.reference.semantics import Reference
from continua.session import Session
from continua.windows.occurrences import Row
from tests.acceptance.on_engine import Beside

BESIDE = Beside()
_LAST = "test_the_engine_runs_every_example"
_IN_MEMORY = Path("/dev/shm")


@pytest.fixture(scope="session")
def beside() -> Beside:
    """What all tests so far have compared."""
    return BESIDE


@pytest.fixture(scope="session", autouse=True)
def _small_files_in_memory() -> Iterator[None]:
    """The engine's folders, thousands of them, are kept in memory where there is a place for it."""
    before = tempfile.tempdir
    if _IN_MEMORY.is_dir():
        tempfile.tempdir = str(_IN_MEMORY)
    yield
    tempfile.tempdir = before


@pytest.fixture(autouse=True)
def _on_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wraps what answers queries: the engine's answers must be the same."""
    BESIDE.begin()
    reference, snapshot = Session.reference, Session.snapshot

    def reference_beside(session: Session, queries: Iterable[Query]) -> Mapping[str, Reference]:
        chosen = list(queries)
        BESIDE.compare(session, chosen, reference(session, chosen))
        return reference(session, chosen)

    def snapshot_beside(session: Session, query: Query, instant: int) -> list[Row]:
        content = snapshot(session, query, instant)
        BESIDE.compare_content(session, query, instant, content)
        return content

    monkeypatch.setattr(Session, "reference", reference_beside)
    monkeypatch.setattr(Session, "snapshot", snapshot_beside)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The test that looks at what all others have found comes last."""
    items.sort(key=lambda item: item.name == _LAST)

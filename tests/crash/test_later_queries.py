"""Crashes while queries join a run, go on with the operators of others and give up their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from continua.runs.live_options import LiveOptions
from continua.session import Session
from tests.crash.faults import Fault, Stopped, hooked
from tests.crash.world import forget_memory

COUNTS = "SELECT k, COUNT(*) AS n FROM S [RANGE 8] GROUP BY k"
TEXTS = {"first": f"AS {COUNTS}", "later": f"AS {COUNTS}", "early": f"STARTING AT EARLIEST AS {COUNTS}"}
ROWS = [(i * i % 3, i // 2) for i in range(100)]
STORY: tuple[str | tuple[int, int], ...] = (
    *("first", (0, 20), (20, 30), "later", (30, 34)),
    *("early", (34, 40), (40, 60), (60, 80), (80, 100)),
)
"""Queries that join, and rows that come."""
Told = list[tuple[int, str | None, tuple[object, ...]]]


def session_at(folder: Path, joined: list[str]) -> Session:
    """A process with all queries, of which some have joined; those of the checkpoint go on in any case."""
    forget_memory()
    session = Session(master="none")
    session.execute("CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts;")
    for name, text in TEXTS.items():
        session.execute(f"REGISTER QUERY {name} {text};")
    session.start([session.queries[name] for name in joined], LiveOptions(checkpoint=folder, durable=False))
    return session


def done(session: Session, part: str | tuple[int, int]) -> None:
    assert session.live is not None
    if isinstance(part, str):
        session.start([session.queries[part]])
    else:
        session.insert("S", ROWS[slice(*part)])
        session.live.process()


def had_done(session: Session, part: str | tuple[int, int]) -> bool:
    """Whether a process that has ended had done a part of the story, as far as the checkpoint knows."""
    live = session.live
    assert live is not None
    if isinstance(part, str):
        return part in live.queries
    if live.recovered:
        live.process()  # the checkpoint has the rows
        return True
    offsets = live.engine.offsets.live
    return offsets is not None and offsets.sources["s"].latest >= ROWS[part[1] - 1][1]


def told(folder: Path, fault: Fault) -> dict[str, tuple[int, Told]]:
    """The starts and answers of all queries, in a run that ends at a step and is started again."""
    session, joined = session_at(folder, ["first"]), ["first"]
    for part in STORY[1:]:
        while True:
            try:
                with hooked(fault):
                    done(session, part)
                break
            except Stopped:
                session = session_at(folder, joined)
                if had_done(session, part):
                    break
        joined += [part] if isinstance(part, str) else []
    live = session.live
    assert live is not None
    live.finish()
    answers = {n: [(a.instant, a.op, a.row) for a in live.answers(n)] for n in TEXTS}
    known = live.main._members.registered
    assert {n: q.goes_on is not None and q.goes_on.alone for n, q in known.items()} == {
        "first": False,
        "later": True,
        "early": True,
    }
    found = {name: (live.queries[name].start, answers[name]) for name in TEXTS}
    session.stop()
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict[str, tuple[int, Told]]]:
    """How many steps the story has, and what a run tells that nothing disturbs."""
    fault = Fault()
    found = told(tmp_path_factory.mktemp("undisturbed"), fault)
    assert found["early"] == found["first"]
    return len(fault.steps), found


@pytest.mark.parametrize("part", range(1, 11))
def test_a_crash_while_queries_go_on_with_others_changes_nothing(
    part: int, undisturbed: tuple[int, dict[str, tuple[int, Told]]], tmp_path: Path
) -> None:
    steps, wanted = undisturbed
    fault = Fault(steps * part // 11)
    assert told(tmp_path, fault) == wanted
    assert len(fault.steps) >= steps * part // 11

"""Live queries move when rates change, and go on amid a move after a restart (PIPES 6.4.3)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from continua.runs import plan_watch
from continua.runs.live_options import LiveOptions
from continua.runs.live_run import LiveRun
from continua.session import Session
from tests.crash.world import forget_memory

STREAMS = """
CREATE STREAM A (k INT, x INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM B (k INT, x INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM C (k INT, x INT, ts BIGINT) ORDERED BY ts SLACK 2;
"""
WHERE = "FROM A [RANGE 9] a, B [RANGE 9] b, C {window} c WHERE a.k = b.k AND b.k = c.k"
PAIRS = f"REGISTER QUERY pairs AS SELECT a.x, c.x AS y {WHERE.format(window='[RANGE 9]')};"
COUNTS = f"REGISTER QUERY counts AS SELECT ISTREAM a.k, COUNT(*) AS n {WHERE.format(window='[RANGE 14]')} GROUP BY a.k;"
LAST = f"REGISTER QUERY last AS SELECT a.x, c.x AS y {WHERE.format(window='[ROWS 3]')};"
Rows = dict[str, list[tuple[int, int, int]]]
Answers = dict[str, list[tuple[int, str, tuple[object, ...]]]]
FAST, SLOW = 6, 0
EPOCH = 5


def rows(epochs: int = 28) -> list[Rows]:
    """At first A is fast and C slow; then it is the other way round."""
    chance = random.Random(7)

    def some(number: int, most: int) -> list[tuple[int, int, int]]:
        begin = number * EPOCH
        count = [chance.randint(most // 2, most) for _ in range(EPOCH - 1)]
        times = [begin + place for place, n in enumerate(count) for _ in range(n)]
        return [(chance.randrange(5), chance.randrange(3), ts) for ts in [*times, begin + EPOCH - 1]]

    rates = ((FAST, SLOW) if number < epochs // 2 else (SLOW, FAST) for number in range(epochs))
    return [{"A": some(n, a), "B": some(n, 1), "C": some(n, c)} for n, (a, c) in enumerate(rates)]


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans are compared whatever that takes, and what they save counts whatever epochs take."""
    for name in ("LEAST", "LEAST_PART", "FIXED"):
        monkeypatch.setattr(plan_watch, name, 0.0)
    monkeypatch.setattr(plan_watch, "TOUCH", 1.0)
    monkeypatch.setattr(plan_watch, "AT_FIRST", 1e9)


def session_with(*texts: str) -> Session:
    forget_memory()
    session = Session(master="none")
    session.execute(STREAMS + "".join(texts))
    return session


def run_of(session: Session, name: str) -> LiveRun:
    assert session.live is not None
    return session.live.run_of(name)


def push(session: Session, batch: Rows) -> None:
    assert session.live is not None
    for name, some in batch.items():
        session.insert(name, some)
    session.live.process()


def answers(session: Session) -> Answers:
    """All answers of live queries at the end of their sources."""
    live = session.live
    assert live is not None
    live.finish()
    found = {name: sorted((a.instant, str(a.op), a.row) for a in live.answers(name)) for name in live.queries}
    session.stop()
    return found


def expected(*texts: str) -> Answers:
    """By the reference."""
    session = session_with(*texts)
    for batch in rows():
        for name, some in batch.items():
            session.insert(name, some)
    found: Answers = {name: [] for name in session.queries}
    for a in session.answers():
        found[a.query].append((a.instant, str(a.op), a.row))
    return {name: sorted(some) for name, some in found.items()}


def shown(session: Session, name: str) -> str:
    (outcome,) = session.execute("SHOW QUERIES")
    assert outcome.header is not None
    place = outcome.header.index("plan")
    (text,) = (str(row[place]) for row in outcome.rows if row[0] == name)
    return text


def test_rates_that_flip_move_queries_and_change_no_answer() -> None:
    session = session_with(PAIRS, COUNTS)
    session.start(options=LiveOptions())
    told: set[str] = set()
    for batch in rows():
        push(session, batch)
        told.add(shown(session, "pairs").partition(" at ")[0])
    assert {"", "moves", "moved"} <= told
    how = run_of(session, "pairs").move_of("pairs")
    assert how is not None
    assert run_of(session, "pairs").recent[-1]["movedPlans"]["pairs"] == how.told()  # type: ignore[index]
    assert answers(session) == expected(PAIRS, COUNTS)


def test_a_restart_goes_on_amid_a_move(tmp_path: Path) -> None:
    """Another process begins after every epoch: it comes to the same plans, and to the same answers."""
    options = LiveOptions(checkpoint=tmp_path, durable=False)
    session = session_with(PAIRS, COUNTS)
    session.start(options=options)
    seen: set[bool] = set()
    moves = iter(((3, ("join_reordering",)), (9, ()), (18, ("projection_pruning",))))
    at, without = next(moves)
    for number, batch in enumerate(rows()):
        push(session, batch)
        if number == at:
            for name in ("pairs", "counts"):
                run_of(session, name).move(name, without=without)
            at, without = next(moves, (-1, ()))
        before = {name: run_of(session, name).move_of(name) for name in ("pairs", "counts")}
        seen |= {how.leaving for how in before.values() if how is not None}
        if number % 3 == 2:
            session.stop()
            session = session_with(PAIRS, COUNTS)
            session.start(options=options)
            assert {name: run_of(session, name).move_of(name) for name in before} == before
    assert seen == {True, False}
    assert answers(session) == expected(PAIRS, COUNTS)


@pytest.mark.parametrize("at", [4, 7])
def test_queries_that_join_around_a_move_answer_as_without_it(at: int) -> None:
    """They may go on with operators of a query that moves, which has them for as long as it takes."""

    def found(moves: bool) -> Answers:
        session = session_with("SET disabled_rules = 'plan_migration';", PAIRS)
        session.start(options=LiveOptions())
        later = (PAIRS.replace("QUERY pairs", "QUERY again"), COUNTS, COUNTS.replace("QUERY counts", "QUERY recount"))
        for number, batch in enumerate(rows(18)):
            push(session, batch)
            if number == 5 and moves:
                assert run_of(session, "pairs").move("pairs", without=("projection_pruning",)) is None
            if number in (at, at + 2):
                for text in later[:2] if number == at else later[2:]:
                    query = session.sql(text)
                    assert query is not None
                    session.start([query])
        return answers(session)

    assert found(moves=True) == found(moves=False)


def test_a_query_that_cannot_move_says_why() -> None:
    session = session_with(LAST)
    session.start(options=LiveOptions())
    for batch in rows():
        push(session, batch)
    why = run_of(session, "last").move("last", without=("projection_pruning",))
    assert why == "Window [ROWS 3] would have to begin anew"
    (outcome,) = session.execute(f"EXPLAIN PHYSICAL SELECT a.x, c.x AS y {WHERE.format(window='[ROWS 3]')}")
    assert "its plan stays while it runs: Window [ROWS 3] has rows of which nothing tells" in str(outcome.text)
    (outcome,) = session.execute(f"EXPLAIN PHYSICAL SELECT a.x, c.x AS y {WHERE.format(window='[RANGE 3]')}")
    assert "its plan may move while it runs" in str(outcome.text)
    session.stop()


def test_moves_can_be_forbidden() -> None:
    off = "SET disabled_rules = 'plan_migration';"
    session = session_with(off, PAIRS)
    session.start(options=LiveOptions())
    for batch in rows():
        push(session, batch)
    assert run_of(session, "pairs").move_of("pairs") is None
    (outcome,) = session.execute(f"EXPLAIN PHYSICAL SELECT a.x, c.x AS y {WHERE.format(window='[RANGE 3]')}")
    assert "plan_migration is switched off" in str(outcome.text)
    session.stop()

"""What live queries share that start together, and that it stays so when others join, leave, or all start again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from continua.physical import nodes
from continua.physical.placement import in_order
from continua.runs import sampling
from continua.runs.live_options import LiveOptions
from continua.runtime.checkpoint.opening import reader_store
from continua.runtime.checkpoint.registrations import registrations_of
from continua.session import Session
from tests.crash.world import forget_memory
from tests.runtime.living import Answers, answers

STREAM = "CREATE STREAM S (k INT, x INT, ts BIGINT) ORDERED BY ts;"
MANY = [
    f"REGISTER QUERY key{i} AS SELECT k, n FROM (SELECT k, COUNT(*) AS n FROM S [RANGE 5] GROUP BY k) v WHERE k = {i};"
    for i in range(10)
]
OFF = ("filter_below_aggregation", "projection_pruning")
ROWS = [(i % 10, i, i // 3) for i in range(120)]


@pytest.fixture(autouse=True)
def _no_memory() -> Iterator[None]:
    yield
    forget_memory()


def session_with(*texts: str) -> Session:
    """A session in a process of its own, as it were."""
    forget_memory()
    session = Session()
    session.execute(STREAM + "".join(texts))
    return session


def started(folder: Path, *texts: str) -> Session:
    session = session_with(*texts)
    session.start(options=LiveOptions(checkpoint=folder))
    return session


def push(session: Session, first: int, last: int) -> None:
    assert session.live is not None
    session.insert("S", ROWS[first:last])
    session.live.process()


def aggregations(session: Session) -> int:
    assert session.live is not None
    return sum(isinstance(n, nodes.Aggregate) for n in in_order(session.live.engine.graphs))


def without(folder: Path) -> list[tuple[str, ...]]:
    found = registrations_of(reader_store(folder))
    assert found is not None
    return [q.without for q in found.queries if not q.dropped]


def expected(*texts: str, start: int = 0, first: int = 0) -> Answers:
    """By the reference."""
    session = session_with(f"SET start_time = {start};", *texts)
    session.insert("S", ROWS[first:])
    found = session.answers()
    return {n: [(a.instant, a.op, a.row) for a in found if a.query == n] for n in session.queries}


def test_many_filters_share_an_aggregation_and_go_on_so(tmp_path: Path) -> None:
    session = started(tmp_path, *MANY)
    assert aggregations(session) == 1
    assert without(tmp_path) == [OFF] * 10
    push(session, 0, 40)
    assert session.live is not None
    ids = [s.id for s in session.live.engine.graphs]
    session.stop()
    session = started(tmp_path, *MANY)
    assert session.live is not None
    assert [s.id for s in session.live.engine.graphs] == ids
    push(session, 40, 60)
    session.execute("DROP QUERY key3; DROP QUERY key4; DROP QUERY key5;")
    assert aggregations(session) == 1, "so few would not have been enough"
    push(session, 60, 80)
    session.stop()
    left = MANY[:3] + MANY[6:]
    session = started(tmp_path, *left)
    assert aggregations(session) == 1
    assert without(tmp_path) == [OFF] * 7
    push(session, 80, 120)
    assert answers(session) == expected(*left)


def test_few_filters_do_not(tmp_path: Path) -> None:
    session = started(tmp_path, *MANY[:3])
    assert aggregations(session) == 3
    assert without(tmp_path) == [()] * 3
    session.stop()


def test_queries_that_join_together_share_what_is_theirs(tmp_path: Path) -> None:
    plain = "REGISTER QUERY plain AS SELECT k, COUNT(*) AS n FROM S [RANGE 7] GROUP BY k;"
    session = started(tmp_path, plain)
    push(session, 0, 60)
    joined = [q for text in MANY if (q := session.sql(text)) is not None]
    (start,) = {h.query.start for h in session.start(joined)}
    assert aggregations(session) == 2
    assert without(tmp_path) == [(), *[OFF] * 10]
    session.stop()
    session = started(tmp_path, plain, *MANY)
    assert aggregations(session) == 2
    push(session, 60, 120)
    found = answers(session)
    assert found == {**expected(*MANY, start=start, first=60), **expected(plain)}


def test_the_plans_of_queries_that_run_are_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = started(tmp_path, *MANY)
    push(session, 0, 40)
    assert session.live is not None
    before = {s.query: s for s in session.live.engine.graphs}

    def never(*_: object) -> None:
        raise AssertionError("a plan is made")

    monkeypatch.setattr(sampling, "optimize", never)
    query = session.sql("REGISTER QUERY more AS SELECT k, COUNT(*) AS n FROM S [RANGE 8] GROUP BY k;")
    assert query is not None
    session.start([query])
    session.live.drop("key0")
    after = {s.query: s for s in session.live.engine.graphs}
    assert after.keys() == before.keys() - {"key0"} | {"more"}
    assert all(after[name] is before[name] for name in after.keys() & before.keys())
    session.stop()

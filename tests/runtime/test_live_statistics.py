"""Plans of live queries by what the run has shown of the streams, and that a restart makes them again."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from continua.algebra.base import Plan
from continua.algebra.leaves import Source
from continua.algebra.relational import Join
from continua.algebra.traverse import nodes_of
from continua.answers.query import Answer, Query
from continua.physical import nodes
from continua.physical.placement import in_order
from continua.rules.statistics import Statistics
from continua.runs.live_options import LiveOptions
from continua.runs.sampling import ROWS, Recent
from continua.runtime.checkpoint.opening import driver_store, mark, reader_store
from continua.runtime.checkpoint.registrations import Registered, Registrations, registrations_of
from continua.session import Session
from tests.crash.world import forget_memory

STREAMS = """
CREATE STREAM Fast (k INT, x INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM Even (k INT, x INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM Slow (k INT, x INT, ts BIGINT) ORDERED BY ts;
"""
DECLARED = STREAMS.replace("BY ts;", "BY ts STATISTICS (rate = 0.01);", 1)
FIRST = """
REGISTER QUERY first AS
SELECT k FROM Fast [NOW] UNION ALL SELECT k FROM Even [NOW] UNION ALL SELECT k FROM Slow [NOW];
"""
JOINED = "FROM Fast [RANGE 9], Even [RANGE 9], Slow [RANGE 60] WHERE Fast.k = Even.k AND Even.k = Slow.k"
THREE = f"REGISTER QUERY three AS SELECT Fast.x AS f, Even.x AS e, Slow.x AS s {JOINED};"
FOUR = f"REGISTER QUERY four AS SELECT Slow.k, Fast.x AS f {JOINED};"
Rows = dict[str, list[tuple[int, int, int]]]


@pytest.fixture(autouse=True)
def _no_memory() -> Iterator[None]:
    yield
    forget_memory()


def batches(first: int, last: int) -> list[Rows]:
    """Ten rows of Fast, one of Even in an instant; one of Slow in fifty. Each batch ends with a row of all."""
    chance = random.Random(first)

    def row(ts: int) -> tuple[int, int, int]:
        return chance.randrange(6), chance.randrange(100), ts

    return [
        {
            "Fast": [row(ts) for ts in range(begin, begin + 50) for _ in range(10)],
            "Even": [row(ts) for ts in range(begin, begin + 50)],
            "Slow": [row(begin + 49)],
        }
        for begin in range(first, last, 50)
    ]


BEFORE, MIDDLE, AFTER = batches(0, 200), batches(200, 300), batches(300, 400)


def session_with(*texts: str) -> Session:
    """A session in a process of its own, as it were."""
    forget_memory()
    session = Session()
    session.execute("\n".join(texts))
    return session


def push(session: Session, some: list[Rows]) -> None:
    assert session.live is not None
    for batch in some:
        for name, rows in batch.items():
            session.insert(name, rows)
        session.live.process()


def join(session: Session, *texts: str) -> list[Query]:
    """Queries join; those that run."""
    found = [o.query for text in texts for o in session.execute(text) if o.query is not None]
    session.start(found)
    assert session.live is not None
    return [session.live.queries[q.name] for q in found]


def observed_run(folder: Path | None, streams: str = STREAMS) -> Session:
    session = session_with(streams, FIRST)
    session.start(options=LiveOptions(checkpoint=folder))
    push(session, BEFORE)
    return session


def order(plan: Plan) -> list[set[str]]:
    """The streams under each join, the largest join first."""
    joins = [n for n in nodes_of(plan) if isinstance(n, Join)]
    return sorted(({s.name for s in nodes_of(j) if isinstance(s, Source)} for j in joins), key=len, reverse=True)


ALL = {"Fast", "Even", "Slow"}
AS_WRITTEN = [ALL, {"Fast", "Even"}]
SLOW_FIRST = [ALL, {"Even", "Slow"}]


def lines(answers: list[Answer]) -> list[tuple[int, str, str]]:
    return sorted((a.instant, str(a.op), repr(a.row)) for a in answers)


def expected(text: str, start: int) -> list[tuple[int, str, str]]:
    """By the reference: a query that starts with an instant, and has the rows from there on."""
    session = session_with(STREAMS, f"SET start_time = {start};", text)
    for batch in MIDDLE + AFTER:
        for name, rows in batch.items():
            session.insert(name, rows)
    return lines(session.answers())


def statistics(folder: Path, name: str = "three") -> Statistics:
    found = registrations_of(reader_store(folder))
    assert found is not None
    (known,) = [q.statistics for q in found.queries if q.name == name]
    assert known is not None
    return known


# Joins.


def test_a_query_that_joins_is_planned_by_what_came(tmp_path: Path) -> None:
    session = observed_run(tmp_path)
    assert session.live is not None
    (query,) = join(session, THREE)
    assert order(session.queries["three"].optimized) == AS_WRITTEN, "by what is known without the run"
    assert order(query.optimized) == SLOW_FIRST
    known = statistics(tmp_path)
    assert known.rates == {"fast": 10.0, "even": 1.0, "slow": pytest.approx(0.02)}
    assert known.values("Fast", "k") == 6
    push(session, MIDDLE + AFTER)
    session.live.finish()
    assert lines(session.live.answers("three")) == expected(THREE, query.start)
    session.stop()


def test_a_restart_makes_the_same_plan_before_anything_was_observed(tmp_path: Path) -> None:
    session = observed_run(tmp_path)
    (query,) = join(session, THREE)
    push(session, MIDDLE)
    assert session.live is not None
    ids = [s.id for s in session.live.engine.graphs]
    session.stop()
    again = session_with(STREAMS, FIRST, THREE)
    again.start(options=LiveOptions(checkpoint=tmp_path))
    assert again.live is not None
    assert not again.live.engine.progress
    assert [s.id for s in again.live.engine.graphs] == ids
    assert order(again.live.queries["three"].optimized) == SLOW_FIRST
    push(again, AFTER)
    again.live.finish()
    assert lines(again.live.answers("three")) == expected(THREE, query.start)
    again.stop()


def test_what_comes_later_changes_no_plan_that_must_not_move(tmp_path: Path) -> None:
    session = observed_run(tmp_path)
    join(session, f"SET disabled_rules = 'plan_migration';{THREE}")
    assert session.live is not None
    before = {s.query: s for s in session.live.engine.graphs}
    turned: list[Rows] = [{"Fast": b["Slow"], "Even": b["Even"], "Slow": b["Fast"]} for b in batches(200, 2000)]
    push(session, turned)
    (query,) = join(session, THREE.replace("three", "other"))
    assert order(query.optimized) == AS_WRITTEN, "now Slow is fast"
    assert all(s is before[s.query] for s in session.live.engine.graphs if s.query != "other")
    assert order(session.live.queries["three"].optimized) == SLOW_FIRST
    session.stop()


def test_what_is_declared_is_believed_first(tmp_path: Path) -> None:
    session = observed_run(tmp_path, DECLARED)
    (query,) = join(session, THREE)
    assert statistics(tmp_path).rates == {"fast": 0.01, "even": 1.0, "slow": pytest.approx(0.02)}
    assert order(query.optimized) == AS_WRITTEN
    session.stop()


def test_queries_that_join_together_are_planned_by_what_came_and_share(tmp_path: Path) -> None:
    session = observed_run(tmp_path)
    queries = join(session, THREE + FOUR)
    assert [order(q.optimized) for q in queries] == [SLOW_FIRST, SLOW_FIRST]
    assert session.live is not None
    ids = [s.id for s in session.live.engine.graphs]
    assert sum(isinstance(n, nodes.Join) for n in in_order(session.live.engine.graphs)) == 2
    found = registrations_of(reader_store(tmp_path))
    assert found is not None
    assert {q.name: q.without for q in found.queries}["four"] == ("projection_pruning",)
    push(session, MIDDLE)
    session.stop()
    again = session_with(STREAMS, FIRST, THREE, FOUR)
    again.start(options=LiveOptions(checkpoint=tmp_path))
    assert again.live is not None
    assert [s.id for s in again.live.engine.graphs] == ids
    push(again, AFTER)
    again.live.finish()
    for name, text in (("three", THREE), ("four", FOUR)):
        assert lines(again.live.answers(name)) == expected(text, queries[0].start)
    again.stop()


def test_stored_relations_are_as_large_as_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "label.csv").write_text("k,name\n" + "".join(f"{i % 6},{i}\n" for i in range(50)))
    session = Session(data=tmp_path)
    session.execute(STREAMS + "CREATE TABLE Label (k INT, name STRING) SOURCE csv('label.csv');" + FIRST)
    session.start(options=LiveOptions(checkpoint=tmp_path / "checkpoint"))
    push(session, BEFORE[:2])
    text = "REGISTER QUERY three AS SELECT name FROM Slow [RANGE 9], Label WHERE Slow.k = Label.k"
    join(session, text)
    known = statistics(tmp_path / "checkpoint")
    assert (known.rows, known.values("Label", "k"), known.values("Label", "name")) == ({"label": 50.0}, 6, 50)
    session.stop()


# What is written down.


def test_of_queries_without_joins_nothing_is_known_and_of_first_ones_what_is_declared(tmp_path: Path) -> None:
    session = session_with(STREAMS, FIRST, THREE)
    session.start(options=LiveOptions(checkpoint=tmp_path))
    push(session, BEFORE[:2])
    join(session, "REGISTER QUERY plain AS SELECT k, COUNT(*) AS n FROM Fast [RANGE 9] GROUP BY k;")
    found = registrations_of(reader_store(tmp_path))
    assert found is not None
    known = {"first": None, "three": Statistics(), "plain": None}
    assert {q.name: q.statistics for q in found.queries} == known
    assert not any(q.without for q in found.queries)
    session.stop()


def test_choices_are_read_as_they_were_written(tmp_path: Path) -> None:
    known = Statistics({"fast": 1 / 3, "slow": 1e-17}, {"label": 7.0}, {("fast", "k"): 10 / 7})
    chosen = Registered("q", "m", 0, 7, "@3", without=("a", "b"), statistics=known)
    whole = Registrations(3, "p", (chosen, Registered("r", "n", 0, 0, dropped=True)))
    store = driver_store(tmp_path)
    mark(store)
    whole.write(store)
    assert registrations_of(reader_store(tmp_path)) == whole


def test_few_rows_are_kept() -> None:
    recent = Recent()
    table = pa.table({"c0": range(4000)})
    for _ in range(9):
        recent.add({"s": table})
    kept = recent.rows("s")
    assert kept is not None and ROWS <= kept.num_rows < ROWS + 4000
    recent.add({"s": pa.table({"c0": range(5 * ROWS)})})
    kept = recent.rows("s")
    assert kept is not None and kept.num_rows == ROWS
    assert kept["c0"][0].as_py() == 4 * ROWS


THETA = """
CREATE STREAM S (a INT, ts BIGINT) ORDERED BY ts STATISTICS (rate = {rate});
CREATE STREAM U (a INT, ts BIGINT) ORDERED BY ts STATISTICS (rate = 10);
REGISTER QUERY q AS SELECT S.a, U.a AS b FROM S [RANGE 5], U [RANGE 5] WHERE S.a < U.a;
"""


def test_a_restart_with_other_declared_statistics_goes_on_by_the_old_plan(tmp_path: Path) -> None:
    found = []
    for rate, rows in ((100, [(1, 1)]), (0.5, [(1, 3)])):
        session = Session()
        session.execute(THETA.format(rate=rate))
        session.start(options=LiveOptions(checkpoint=tmp_path))
        assert session.live is not None
        session.insert("S", rows)
        session.insert("U", [(a + 1, ts) for a, ts in rows])
        session.live.process()
        found.append([sink.id for sink in session.live.engine.graphs])
        session.stop()
        forget_memory()
    assert found[0] == found[1]

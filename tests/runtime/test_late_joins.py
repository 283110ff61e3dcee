"""Queries that join later: they see the rows that are still in force, and relations as they are then."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from continua.runs.live_options import LiveOptions
from continua.session import Session
from tests.crash.world import forget_memory

DEFINITIONS = """
CREATE STREAM V (a INT, vf BIGINT, vt BIGINT) VALID FROM vf TO vt SLACK 3;
CREATE RELATION R (k INT, v INT, op STRING, ts BIGINT) ORDERED BY ts SLACK 2 TAGGED BY op KEY k;
CREATE RELATION B (k INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op;
"""
QUERIES = {
    "valid": "SELECT a FROM V [NOW]",
    "counted": "SELECT a, COUNT(*) AS n FROM V [NOW] GROUP BY a",
    "keyed": "SELECT k, v FROM R",
    "bag": "SELECT k FROM B WHERE k > 0",
    "summed": "SELECT SUM(v) AS s, COUNT(*) AS n FROM R",
    "joined": "SELECT V.a, R.v FROM V [NOW], R WHERE V.a = R.k",
    "outer": "SELECT R.k, B.k AS b FROM R LEFT JOIN B ON R.k = B.k",
    "entering": "SELECT ISTREAM k, v FROM R",
}
"""What each of them holds follows from what its sources hold at the instant: it is the same whenever it joined."""


def _session(definitions: str = DEFINITIONS) -> Session:
    forget_memory()
    session = Session(master="none")
    session.execute(definitions)
    for name, text in QUERIES.items():
        session.execute(f"REGISTER QUERY {name} AS {text}")
    return session


def _rows(rng: random.Random) -> dict[str, list[tuple[object, ...]]]:
    """The rows of all sources, each in an order that the slack allows; modifications are such that make sense."""
    found: dict[str, list[tuple[object, ...]]] = {"V": [], "R": [], "B": []}
    keys: set[int] = set()
    bag: list[int] = []
    for t in range(1, 40):
        for _ in range(rng.randint(0, 2)):
            start = t
            end = None if rng.random() < 0.1 else start + rng.randint(1, 25)
            found["V"].append((rng.randint(0, 3), start, end))
        if rng.random() < 0.7:
            key = rng.randint(0, 3)
            op = "+" if key not in keys else rng.choice(["u", "-"])
            (keys.discard if op == "-" else keys.add)(key)
            found["R"].append((key, rng.randint(0, 9), op, t))
        if rng.random() < 0.7:
            if bag and rng.random() < 0.5:
                found["B"].append((bag.pop(rng.randrange(len(bag))), "-", t))
            else:
                bag.append(rng.randint(0, 2))
                found["B"].append((bag[-1], "+", t))
    found["V"].sort(key=lambda row: int(str(row[1])) + rng.randint(0, 3))
    return found


def _contents(session: Session, name: str, first: int) -> dict[int, list[tuple[object, ...]]]:
    live = session.live
    assert live is not None
    return {t: live.content(name, t) for t in range(max(first, 0), 64, 3)}


@pytest.mark.parametrize("seed", range(3))
def test_a_query_that_joins_later_holds_what_it_would_have_held_anyway(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    rows = _rows(rng)
    judge = _session()
    judge.start()
    for name, some in rows.items():
        judge.insert(name, some)
    judge.live.finish()  # type: ignore[union-attr]

    options = LiveOptions(checkpoint=tmp_path, partitions=rng.choice([1, 2]), durable=False)
    first = [rng.choice(["valid", "counted"]), rng.choice(["keyed", "summed", "entering"]), "bag"]
    later = [name for name in QUERIES if name not in first]
    session = _session()
    session.start([session.queries[name] for name in first], options)
    while any(rows.values()) or later:
        for name, some in rows.items():
            taken = rng.randint(0, 8)
            session.insert(name, some[:taken])
            rows[name] = some[taken:]
        session.live.process()  # type: ignore[union-attr]
        if later and rng.random() < 0.5:
            session.start([session.queries[later.pop()]])
        if rng.random() < 0.3:
            names = [n for n in session.live.queries if n in QUERIES]  # type: ignore[union-attr]
            session.stop()
            session = _session()
            session.start([session.queries[n] for n in names], options)
    live = session.live
    assert live is not None
    live.finish()
    assert any(live.queries[name].start > 0 for name in QUERIES)
    for name in QUERIES:
        start = live.queries[name].start
        assert _contents(session, name, start) == _contents(judge, name, start), (name, start)
    session.stop()
    judge.stop()


def test_what_a_query_joins_with_goes_with_the_last_reader() -> None:
    session = _session()
    (one,) = session.start([session.queries["keyed"]])
    (two,) = session.start([session.queries["summed"]])
    live = session.live
    assert live is not None
    assert len(live.engine.graphs) == 3, "both share one query that keeps the relation"
    one.stop()
    assert len(live.engine.graphs) == 2
    two.stop()
    assert not live.engine.graphs
    session.execute("DROP QUERY keyed; DROP QUERY summed; DROP QUERY joined; DROP QUERY outer; DROP QUERY entering")
    session.execute("DROP RELATION R")
    session.stop()


def test_rows_that_were_read_and_wait_are_seen_too() -> None:
    session = _session()
    session.execute("REGISTER QUERY again AS SELECT a FROM V [NOW]")
    session.start([session.queries["valid"]])
    session.insert("V", [(1, 2, 20), (2, 4, 9)])
    session.live.process()  # type: ignore[union-attr]
    (again,) = session.start([session.queries["again"]])
    session.insert("V", [(4, 3, 30), (3, 6, 8)])
    session.live.finish()  # type: ignore[union-attr]
    assert again.query.start == 5
    assert [(a.instant, a.op, a.row[0]) for a in again.answers()] == [
        (5, "+", 1), (5, "+", 2), (5, "+", 4), (6, "+", 3), (8, "-", 3), (9, "-", 2), (20, "-", 1), (30, "-", 4),
    ]  # fmt: skip
    session.stop()


def test_a_coarser_chronon_for_queries_that_join() -> None:
    definitions = """
    CREATE STREAM V (a INT, vf TIMESTAMP, vt TIMESTAMP) VALID FROM vf TO vt;
    SET chronon = '1 second';
    """
    session = Session(master="none")
    session.execute(definitions)
    session.execute("REGISTER QUERY one AS SELECT a FROM V [NOW]; REGISTER QUERY two AS SELECT a FROM V [NOW];")
    (one,) = session.start([session.queries["one"]])
    session.insert("V", [(1, "1970-01-01T00:00:01.2", "1970-01-01T00:00:09"), (2, "1970-01-01T00:00:02.7", None)])
    session.live.process()  # type: ignore[union-attr]
    (two,) = session.start([session.queries["two"]])
    session.insert("V", [(3, "1970-01-01T00:00:05", "1970-01-01T00:00:05.5")])
    session.live.finish()  # type: ignore[union-attr]
    start = two.query.start
    assert start % 1_000_000 == 0
    seconds = range(start, 12_000_000, 1_000_000)
    assert [two.snapshot(t) for t in seconds] == [one.snapshot(t) for t in seconds]
    assert two.snapshot(start).num_rows == 2
    session.stop()


def test_a_query_may_join_where_nothing_is_in_force_and_time_begins_before_0(tmp_path: Path) -> None:
    options = LiveOptions(checkpoint=tmp_path, durable=False)
    script = """
    CREATE STREAM V (a INT, vf BIGINT, vt BIGINT) VALID FROM vf TO vt;
    SET start_time = -10;
    REGISTER QUERY one AS SELECT a FROM V [NOW]; REGISTER QUERY two AS SELECT a FROM V [NOW];
    REGISTER QUERY three AS SELECT a FROM V [NOW];
    """
    for joins in ("two", "three"):
        forget_memory()
        session = Session(master="none")
        session.execute(script)
        session.start([session.queries["one"]], options)
        if joins == "two":
            session.insert("V", [(1, -5, -3), (2, -2, -1)])
            session.live.process()  # type: ignore[union-attr]
        (handle,) = session.start([session.queries[joins]])
        session.insert("V", [(3, 2, 9)] if joins == "two" else [(4, 5, 7)])
        session.live.process()  # type: ignore[union-attr]
        if joins == "two":
            session.stop()
    session.live.finish()  # type: ignore[union-attr]
    wanted = [(3, 3), (5, 4)]
    assert [(a.instant, a.row[0]) for a in handle.answers() if a.op == "+"] == wanted
    session.stop()


def test_a_query_may_join_that_starts_later_still() -> None:
    """What its leaves hold where it starts is what they were given before it joined and since."""
    forget_memory()
    session = Session(master="none")
    session.execute(DEFINITIONS)
    texts = {"keyed": "SELECT k, v FROM R", "valid": "SELECT a FROM V [NOW]", "bag": "SELECT k FROM B"}
    for name, text in texts.items():
        session.execute(f"REGISTER QUERY {name} AS {text}; SET start_time = 20;")
        session.execute(f"REGISTER QUERY {name}_later AS {text}; SET start_time = 0;")
    first = session.start([session.queries[name] for name in texts])
    session.insert("R", [(1, 1, "+", 1), (2, 2, "+", 2)])
    session.insert("V", [(1, 2, 30), (2, 3, 18), (4, 5, None)])
    session.insert("B", [(1, "+", 1), (2, "+", 4)])
    session.live.process()  # type: ignore[union-attr]
    later = session.start([session.queries[f"{name}_later"] for name in texts])
    assert [handle.query.start for handle in later] == [20, 20, 20]
    session.insert("R", [(1, 5, "u", 15), (3, 3, "+", 25), (2, 0, "-", 26)])
    session.insert("V", [(5, 16, 22), (6, 27, 40)])
    session.insert("B", [(1, "-", 10), (7, "+", 21)])
    session.live.finish()  # type: ignore[union-attr]
    for one, other in zip(first, later, strict=True):
        assert [other.snapshot(t) for t in range(20, 45)] == [one.snapshot(t) for t in range(20, 45)]
        assert other.snapshot(20).num_rows == {"keyed": 2, "valid": 3, "bag": 1}[one.query.name]
    session.stop()

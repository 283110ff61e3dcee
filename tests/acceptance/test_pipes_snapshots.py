"""PIPES 2009, definition 6.2 and lemma 6.3 for SQL: at every instant the answer is plain SQL over the snapshots.

Each query is written twice: for Continua, over windows of two streams, and for DuckDB, over two tables that hold what
the windows hold at an instant. The contents of the tables are computed here.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.algebra.base import Plan
from continua.algebra.reducibility import is_snapshot_reducible
from continua.algebra.relational import Window
from continua.algebra.streaming import ToStream
from continua.algebra.traverse import nodes_of
from continua.session import Session
from continua.types import Value
from continua.windows.occurrences import Row
from tests.acceptance.sync_helpers import ask

LEFT = "S1 WINDOW(RANGE 3)"
RIGHT = "S2 [RANGE 1]"


class Pair(NamedTuple):
    """A query for Continua and the same for DuckDB."""

    continua: str
    duckdb: str


QUERIES = {
    "filter": Pair(
        f"SELECT a, b FROM {LEFT} WHERE b > 1 OR a IS NULL",
        "SELECT a, b FROM s1 WHERE b > 1 OR a IS NULL",
    ),
    "map": Pair(f"SELECT a + b AS s, -b AS n FROM {LEFT}", "SELECT a + b, -b FROM s1"),
    "product": Pair(f"SELECT x.a, b, y.a, c FROM {LEFT} x, {RIGHT} y", "SELECT s1.a, b, s2.a, c FROM s1, s2"),
    "theta join": Pair(
        f"SELECT b, c FROM {LEFT} x JOIN {RIGHT} y ON x.a < y.a OR b = c",
        "SELECT b, c FROM s1 JOIN s2 ON s1.a < s2.a OR b = c",
    ),
    "equijoin": Pair(
        f"SELECT x.a, b, c FROM {LEFT} x, {RIGHT} y WHERE x.a = y.a",
        "SELECT s1.a, b, c FROM s1, s2 WHERE s1.a = s2.a",
    ),
    "left outer join": Pair(
        f"SELECT x.a, b, c FROM {LEFT} x LEFT JOIN {RIGHT} y ON x.a = y.a AND b <= c",
        "SELECT s1.a, b, c FROM s1 LEFT JOIN s2 ON s1.a = s2.a AND b <= c",
    ),
    "right outer join": Pair(
        f"SELECT b, y.a, c FROM {LEFT} x RIGHT JOIN {RIGHT} y ON x.a = y.a",
        "SELECT b, s2.a, c FROM s1 RIGHT JOIN s2 ON s1.a = s2.a",
    ),
    "full outer join": Pair(
        f"SELECT x.a, b, y.a, c FROM {LEFT} x FULL OUTER JOIN {RIGHT} y ON x.a = y.a",
        "SELECT s1.a, b, s2.a, c FROM s1 FULL OUTER JOIN s2 ON s1.a = s2.a",
    ),
    "semijoin": Pair(
        f"SELECT * FROM {LEFT} x LEFT SEMI JOIN {RIGHT} y ON x.a = y.a",
        "SELECT * FROM s1 WHERE EXISTS (SELECT 1 FROM s2 WHERE s1.a = s2.a)",
    ),
    "antijoin": Pair(
        f"SELECT * FROM {LEFT} x LEFT ANTI JOIN {RIGHT} y ON x.a < y.a",
        "SELECT * FROM s1 WHERE NOT EXISTS (SELECT 1 FROM s2 WHERE s1.a < s2.a)",
    ),
    "IN": Pair(
        f"SELECT a, b FROM {LEFT} WHERE a IN (SELECT a FROM {RIGHT})",
        "SELECT a, b FROM s1 WHERE a IN (SELECT a FROM s2)",
    ),
    "NOT IN": Pair(
        f"SELECT a, b FROM {LEFT} WHERE a NOT IN (SELECT a FROM {RIGHT})",
        "SELECT a, b FROM s1 WHERE a NOT IN (SELECT a FROM s2)",
    ),
    "NOT IN of pairs, correlated": Pair(
        f"SELECT a, b FROM {LEFT} x WHERE b NOT IN (SELECT c FROM {RIGHT} y WHERE y.a = x.a)",
        "SELECT a, b FROM s1 WHERE b NOT IN (SELECT c FROM s2 WHERE s2.a = s1.a)",
    ),
    "IN under OR": Pair(
        f"SELECT a, b FROM {LEFT} WHERE a IN (SELECT a FROM {RIGHT}) OR b = 0",
        "SELECT a, b FROM s1 WHERE a IN (SELECT a FROM s2) OR b = 0",
    ),
    "EXISTS": Pair(
        f"SELECT a, b FROM {LEFT} x WHERE EXISTS (SELECT * FROM {RIGHT} y WHERE x.a < y.c)",
        "SELECT a, b FROM s1 WHERE EXISTS (SELECT * FROM s2 WHERE s1.a < s2.c)",
    ),
    "NOT EXISTS": Pair(
        f"SELECT a, b FROM {LEFT} x WHERE NOT EXISTS (SELECT * FROM {RIGHT} y WHERE x.a = y.a)",
        "SELECT a, b FROM s1 WHERE NOT EXISTS (SELECT * FROM s2 WHERE s1.a = s2.a)",
    ),
    "ALL": Pair(
        f"SELECT a, b FROM {LEFT} WHERE b >= ALL (SELECT c FROM {RIGHT})",
        "SELECT a, b FROM s1 WHERE b >= ALL (SELECT c FROM s2)",
    ),
    "ANY": Pair(
        f"SELECT a, b FROM {LEFT} WHERE b > ANY (SELECT c FROM {RIGHT})",
        "SELECT a, b FROM s1 WHERE b > ANY (SELECT c FROM s2)",
    ),
    "scalar subquery": Pair(
        f"SELECT a, (SELECT MAX(c) FROM {RIGHT} y WHERE y.a = x.a) AS m FROM {LEFT} x",
        "SELECT a, (SELECT MAX(c) FROM s2 WHERE s2.a = s1.a) FROM s1",
    ),
    "comparison with a count": Pair(
        f"SELECT a, b FROM {LEFT} x WHERE b = (SELECT COUNT(*) FROM {RIGHT} y WHERE y.a = x.a)",
        "SELECT a, b FROM s1 WHERE b = (SELECT COUNT(*) FROM s2 WHERE s2.a = s1.a)",
    ),
    "UNION ALL": Pair(
        f"SELECT a, b FROM {LEFT} UNION ALL SELECT a, c FROM {RIGHT}",
        "SELECT a, b FROM s1 UNION ALL SELECT a, c FROM s2",
    ),
    "UNION": Pair(f"SELECT a FROM {LEFT} UNION SELECT a FROM {RIGHT}", "SELECT a FROM s1 UNION SELECT a FROM s2"),
    "EXCEPT ALL": Pair(
        f"SELECT a FROM {LEFT} EXCEPT ALL SELECT a FROM {RIGHT}",
        "SELECT a FROM s1 EXCEPT ALL SELECT a FROM s2",
    ),
    "EXCEPT": Pair(f"SELECT a FROM {LEFT} EXCEPT SELECT a FROM {RIGHT}", "SELECT a FROM s1 EXCEPT SELECT a FROM s2"),
    "INTERSECT ALL": Pair(
        f"SELECT a FROM {LEFT} INTERSECT ALL SELECT a FROM {RIGHT}",
        "SELECT a FROM s1 INTERSECT ALL SELECT a FROM s2",
    ),
    "INTERSECT": Pair(
        f"SELECT a FROM {LEFT} INTERSECT SELECT a FROM {RIGHT}",
        "SELECT a FROM s1 INTERSECT SELECT a FROM s2",
    ),
    "DISTINCT": Pair(f"SELECT DISTINCT a FROM {LEFT}", "SELECT DISTINCT a FROM s1"),
    "GROUP BY": Pair(
        f"SELECT a, COUNT(*) AS n, COUNT(b) AS m, SUM(b) AS s, MIN(b) AS l FROM {LEFT} GROUP BY a",
        "SELECT a, COUNT(*), COUNT(b), SUM(b), MIN(b) FROM s1 GROUP BY a",
    ),
    "GROUP BY with HAVING": Pair(
        f"SELECT a, MAX(b) AS m FROM {LEFT} GROUP BY a HAVING COUNT(DISTINCT b) > 1",
        "SELECT a, MAX(b) FROM s1 GROUP BY a HAVING COUNT(DISTINCT b) > 1",
    ),
    "aggregation above a join": Pair(
        f"SELECT x.a, SUM(c) AS s FROM {LEFT} x, {RIGHT} y WHERE x.a = y.a GROUP BY x.a",
        "SELECT s1.a, SUM(c) FROM s1, s2 WHERE s1.a = s2.a GROUP BY s1.a",
    ),
    "scalar aggregate": Pair(
        f"SELECT COUNT(*) AS n, SUM(b) AS s, MAX(a) AS m FROM {LEFT}",
        "SELECT COUNT(*), SUM(b), MAX(a) FROM s1",
    ),
    "LIMIT": Pair(
        f"SELECT a, b FROM {LEFT} ORDER BY b DESC, a LIMIT 2",
        "SELECT a, b FROM s1 ORDER BY b DESC NULLS LAST, a ASC NULLS FIRST LIMIT 2",
    ),
    "LIMIT with OFFSET": Pair(
        f"SELECT a, b FROM {LEFT} ORDER BY a, b LIMIT 2 OFFSET 1",
        "SELECT a, b FROM s1 ORDER BY a NULLS FIRST, b NULLS FIRST LIMIT 2 OFFSET 1",
    ),
}

VALUES = st.one_of(st.none(), st.integers(0, 3))
STREAMS = st.lists(st.tuples(VALUES, VALUES, st.integers(0, 4)), max_size=6).map(
    lambda rows: sorted(rows, key=lambda row: row[2])
)
Elements = list[tuple[int | None, int | None, int]]
INSTANTS = range(8)


CONNECTION = duckdb.connect(config={"threads": 1})


def snapshot(sql: str, s1: list[Row], s2: list[Row]) -> Counter[Row]:
    """The answer of plain SQL over two tables."""
    tables = f"WITH s1(a, b) AS ({rows_of(s1)}), s2(a, c) AS ({rows_of(s2)})"
    return Counter(CONNECTION.execute(f"{tables} {sql}").fetchall())


def rows_of(rows: list[Row]) -> str:
    """Pairs of integers as a query."""
    empty = "SELECT 0, 0 WHERE FALSE"
    return " UNION ALL ".join([empty, *(f"SELECT {sql_of(a)}, {sql_of(b)}" for a, b in rows)])


def sql_of(value: Value) -> str:
    return "NULL" if value is None else str(value)


def session_over(s1: Elements, s2: Elements, dialect: str) -> Session:
    session = Session(dialect=dialect)
    session.execute(
        "CREATE STREAM S1 (a INT, b INT, ts INT) ORDERED BY ts; CREATE STREAM S2 (a INT, c INT, ts INT) ORDERED BY ts"
    )
    session.insert("S1", s1)
    session.insert("S2", s2)
    return session


def without_operator(plan: Plan) -> Plan:
    return plan.input if isinstance(plan, ToStream) else plan


def check(pair: Pair, s1: Elements, s2: Elements, dialect: str = "cql") -> None:
    """At every instant, the plan as written and the unnested one give what DuckDB gives over the windows.

    So do the changes that the query tells, added up.
    """
    session = session_over(s1, s2, dialect)
    query = ask(session, pair.continua)
    reference = session.reference([query])[query.name]
    written, unnested = map(without_operator, (query.bound.plan, query.bound.logical))
    known: dict[tuple[tuple[Row, ...], tuple[Row, ...]], Counter[Row]] = {}
    changes = reference.changes(written)
    told: Counter[Row] = Counter()
    for now in INSTANTS:
        left = [row[:2] for row in s1 if now - 3 < row[2] <= now]
        right = [row[:2] for row in s2 if now - 1 <= row[2] <= now]
        key = tuple(left), tuple(right)
        if key not in known:
            known[key] = snapshot(pair.duckdb, list(left), list(right))
        assert reference.relation(written, now) == known[key], f"at {now}"
        assert reference.relation(unnested, now) == known[key], f"unnested, at {now}"
        for change in (c for c in changes if c.instant == now):
            told[change.row] += change.count if change.op == "+" else -change.count
        assert +told == known[key], f"told, at {now}"


@pytest.mark.parametrize("name", QUERIES)
@settings(max_examples=15, deadline=None, print_blob=True)
@given(s1=STREAMS, s2=STREAMS)
def test_P9_the_answer_at_every_instant_is_plain_SQL_over_the_windows_at_that_instant(
    name: str, s1: Elements, s2: Elements
) -> None:
    check(QUERIES[name], s1, s2)


@settings(max_examples=15, deadline=None, print_blob=True)
@given(s1=STREAMS, s2=STREAMS)
def test_P8_scalar_aggregation_of_pipes_has_no_row_over_an_empty_snapshot(s1: Elements, s2: Elements) -> None:
    pair = Pair(
        f"SELECT COUNT(*) AS n, SUM(b) AS s FROM {LEFT}",
        "SELECT COUNT(*), SUM(b) FROM s1 HAVING COUNT(*) > 0",
    )
    check(pair, s1, s2, "pipes")


@pytest.mark.parametrize("name", QUERIES)
def test_P9_what_stands_above_the_windows_is_marked_snapshot_reducible_and_the_windows_are_not(name: str) -> None:
    plan = without_operator(ask(session_over([], [], "cql"), QUERIES[name].continua).bound.logical)
    windows = [node for node in nodes_of(plan) if isinstance(node, Window)]
    assert windows
    assert not any(map(is_snapshot_reducible, windows))
    assert all(is_snapshot_reducible(node) for node in above_windows(plan))


def above_windows(plan: Plan) -> list[Plan]:
    """The operators between the root and the windows."""
    if isinstance(plan, Window):
        return []
    return [plan, *(node for part in plan.inputs for node in above_windows(part))]

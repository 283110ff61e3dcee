"""Many rows at few instants: state grows, is given up and grows again, and the answers stay those of the reference."""

from __future__ import annotations

import random

import pytest

from continua.session import Session
from tests.square.checking import by_engine, by_reference, difference
from tests.square.graphs import Cut

COLUMNS = "k INT, s STRING, v DOUBLE, ts BIGINT"
QUERIES = (
    "SELECT k, COUNT(*) AS n, SUM(v) AS t, AVG(v) AS m FROM S [RANGE 2] GROUP BY k",
    "SELECT s, MAX(v) AS a, MIN(v) AS b, MEDIAN(k) AS c FROM S [RANGE 1] GROUP BY s",
    "SELECT s, COUNT(DISTINCT k) AS n, COLLECT_LIST(v) AS l FROM S [RANGE 2 SLIDE 2] GROUP BY s",
    "SELECT DISTINCT s FROM S [RANGE 2]",
    "SELECT a.k, b.v FROM S [RANGE 2] AS a JOIN P [RANGE 1] AS b ON a.k = b.k AND a.s = b.s",
    "SELECT a.s, b.s AS t FROM S [NOW] AS a FULL JOIN P [RANGE 2] AS b ON a.s = b.s",
    "SELECT k, v FROM S [RANGE 3] AS a WHERE s NOT IN (SELECT s FROM P [RANGE 1])",
    "SELECT k FROM S [RANGE 3] EXCEPT ALL SELECT k FROM P [RANGE 2]",
    "SELECT k, s FROM S [PARTITION BY k ROWS 1]",
    "SELECT k, s FROM P [ROWS 300]",
    "SELECT s, k FROM S [RANGE 2] ORDER BY v DESC, s LIMIT 400 OFFSET 100",
    "SELECT k, COUNT(*) AS n FROM (ISTREAM(SELECT k FROM S [RANGE 2])) [RANGE 1] GROUP BY k",
)


def session() -> Session:
    """Two streams of hundreds of keys and strings at a few instants."""
    rng = random.Random(7)
    made = Session()
    for name in ("S", "P"):
        made.execute(f"CREATE STREAM {name} ({COLUMNS}) ORDERED BY ts")
        keys = sorted(((rng.randint(0, 900), 2 * rng.randint(0, 7)) for _ in range(1500)), key=lambda pair: pair[1])
        rows = [(k, f"key {k * 7919 % 800}", rng.choice((None, k / 7, 0.1)), ts) for k, ts in keys]
        made.insert(name, rows)
    return made


@pytest.mark.parametrize(
    "cut",
    [Cut(None, 1), Cut(200, 3, reopened=True), Cut(331, 1, collecting=True), Cut(700, 2, piece_rows=150)],
    ids=["once", "reopened", "collected", "pieces"],
)
def test_state_of_many_keys(cut: Cut) -> None:
    made = session()
    queries = [made.sql(text) for text in QUERIES]
    chosen = [q for q in queries if q is not None]
    found = by_engine(made, chosen, cut)
    told = [difference(found[q.name], by_reference(made, q)) for q in chosen]
    assert [d for d in told if d is not None] == []

"""Rules about windows and streams where instants are longer than one."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from continua.algebra.relational import Window
from continua.algebra.traverse import nodes_of
from continua.rules.order import optimize
from continua.rules.rule import Facts
from continua.session import Session
from continua.windows.over_time import TimeWindow
from tests.square.checking import agree
from tests.square.graphs import Cut

_SECONDS = """
SET chronon = '1 second';
CREATE STREAM S (k INT, x INT, ts TIMESTAMP) ORDERED BY ts KEY k;
"""
_ROWS: dict[str, list[tuple[object, ...]]] = {
    "S": [(k, k % 3, datetime(2024, 1, 1) + timedelta(milliseconds=700 * k)) for k in range(9)]
}
_QUERIES = (
    "SELECT ISTREAM(k, x) FROM S WHERE x > 0",
    "SELECT ISTREAM(k, x) FROM S [NOW]",
    "SELECT x, COUNT(*) AS n FROM (RSTREAM(SELECT x FROM S [NOW])) AS r [RANGE 2 SECONDS] GROUP BY x",
    "SELECT k FROM (RSTREAM(SELECT k FROM S [RANGE 2 SECONDS])) AS r [NOW]",
    "SELECT x FROM (RSTREAM(SELECT x FROM S [RANGE 0 SECONDS LAG 2 SECONDS])) AS r [RANGE 1 SECOND]",
)


@pytest.mark.parametrize("text", _QUERIES)
def test_instants_of_a_second(text: str) -> None:
    agree(_SECONDS, _ROWS, text, Cut(batch_rows=2))


def test_a_now_window_is_as_long_as_an_instant() -> None:
    session = Session()
    session.execute(_SECONDS)
    query = session.sql("SELECT ISTREAM(k) FROM S")
    assert query is not None
    plan = optimize(query.bound.logical, Facts(query.chronon)).plan
    assert [n.spec for n in nodes_of(plan) if isinstance(n, Window)] == [TimeWindow(1_000_000)]

"""Aggregates of the user that depend on the order of their rows get them by time."""

from __future__ import annotations

from datetime import datetime

import pytest

from tests.binding.scripts import mistake
from tests.physical.comparing import Rows, agree, asked

PYTHON = "LANGUAGE PYTHON AS 'tests.acceptance.user_aggregates:{0}'"
DEFINITIONS = f"""
CREATE STREAM S (k STRING, x INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM T (k STRING, x INT, ts TIMESTAMP) ORDERED BY ts;
CREATE TABLE C (k STRING, n INT) AS VALUES ('a', 3), ('b', 1), ('a', 2);
CREATE AGGREGATE path (x INT) RETURNS STRING {PYTHON.format("Path")};
CREATE AGGREGATE unordered (x INT) RETURNS STRING {PYTHON.format("Path")} ORDER FREE;
CREATE AGGREGATE changes (x INT, w INT) RETURNS STRING {PYTHON.format("Changes")};
"""
ROWS: Rows = {
    "S": [("a", 5, 1), ("b", 1, 1), ("a", 2, 3), ("a", 9, 3), ("b", None, 4), ("a", 1, 6), ("b", 7, 7), ("a", 5, 9)],
    "T": [("a", 5, datetime(2024, 5, 1, 10)), ("a", 2, datetime(2024, 5, 1, 10, 0, 7)), ("a", 3, datetime(2024, 5, 2))],
}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT path(x) AS p FROM S [RANGE 4]",
        "SELECT k, path(x) AS p FROM S [ROWS 4] GROUP BY k",
        "SELECT k, path(x) FILTER (WHERE x > 1) AS p FROM S [RANGE 5 SLIDE 2] GROUP BY k",
        "SELECT k, changes(x, 2) AS p FROM S [RANGE 4] GROUP BY k",
        "SELECT changes(x, x) AS p FROM S [PARTITION BY k ROWS 2]",
        "SELECT path(x) AS p, unordered(x) AS q, COUNT(*) AS n FROM S",
        "SELECT path(DISTINCT x) AS p FROM S [RANGE 6]",
        "SELECT path(x) AS p FROM T [RANGE 1 DAY]",
        "SELECT path(n) AS p FROM C",
        "SELECT C.k, path(x) AS p FROM S [RANGE 4], C WHERE S.k = C.k GROUP BY C.k",
        "SELECT path(x) AS p FROM (ISTREAM(SELECT x FROM S [ROWS 2])) [ROWS 3]",
        "SELECT k FROM S [RANGE 4] GROUP BY k HAVING path(x) = '5>2>9'",
    ],
)
def test_an_aggregate_of_the_user_gets_its_rows_in_one_order(query: str) -> None:
    assert agree(*asked(query, DEFINITIONS, ROWS))


def test_the_order_is_that_of_time_and_then_of_values() -> None:
    session, query = asked("SELECT path(x) AS p, unordered(x) AS q FROM S [RANGE UNBOUNDED]", DEFINITIONS, ROWS)
    assert session.answers([query])[-1].row == ("1>5>2>9>1>7>5", "1>1>2>5>5>7>9")


def test_order_free_is_said_of_aggregates() -> None:
    assert mistake(f"CREATE AGGREGATE p (x INT) RETURNS STRING {PYTHON.format('Path')} ORDER;").condition == "SYNTAX"

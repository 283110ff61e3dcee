"""MIN_BY, MAX_BY, FIRST and LAST on the engine: the value of the row that is first by another value, or in time."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.runs.bounded import BoundedOptions
from tests.acceptance.on_engine import BATCHES
from tests.physical.comparing import Rows, agree, asked

STREAMS = """
    CREATE STREAM S (k STRING, i INT, d DOUBLE, c DECIMAL(8,2), w DECIMAL(30,5), s STRING, b BOOLEAN, t DATE,
                     l ARRAY<INT>, ts BIGINT) ORDERED BY ts;
    CREATE STREAM U (n INT, ts BIGINT) ORDERED BY ts;
    CREATE RELATION P (k STRING, n INT);
"""
VALUES: dict[str, list[object]] = {
    "k": ["x", "y", None],
    "i": [1, 2, None],
    "d": [0.5, float("nan"), -0.0, 0.0, None],
    "c": [Decimal("1.25"), Decimal("-3.10"), None],
    "w": [Decimal("1.25"), Decimal("-123456789012345678901234.56789"), None],
    "s": ["a", "", "Zoë", None],
    "b": [True, False, None],
    "t": [date(2020, 1, 1), date(1960, 1, 1), None],
    "l": [(1, 2), (), (2,), None],
}
WINDOWS = ["RANGE 3", "ROWS 3", "RANGE 4 SLIDE 2", "NOW", "RANGE UNBOUNDED", "FIXED 5", "PARTITION BY k ROWS 2"]
rows = st.lists(
    st.tuples(*(st.sampled_from(values) for values in VALUES.values()), st.integers(0, 20)), max_size=12
).map(lambda found: sorted(found, key=lambda row: row[-1]))
columns = st.sampled_from(list(VALUES))
calls = st.one_of(
    st.builds("{}({}, {})".format, st.sampled_from(["MIN_BY", "MAX_BY"]), columns, columns),
    st.builds("{}({})".format, st.sampled_from(["FIRST", "LAST"]), columns),
)
filters = st.sampled_from(["", "", " FILTER (WHERE i > 1)", " FILTER (WHERE s IS NOT NULL)"])


@settings(max_examples=40, deadline=None)
@given(
    rows,
    st.lists(st.builds("{}{}".format, calls, filters), min_size=1, max_size=5),
    st.sampled_from(["", "", " GROUP BY k", " GROUP BY i, b"]),
    st.sampled_from(WINDOWS),
    st.sampled_from([BoundedOptions(batch_rows=rows, partitions=parts) for rows in BATCHES for parts in (1, 2)]),
)
def test_the_first_value_by_another_is_that_of_the_reference(
    arrived: list[tuple[object, ...]], items: list[str], group: str, window: str, cut: BoundedOptions
) -> None:
    listed = ", ".join(f"{item} AS c{number}" for number, item in enumerate(items))
    query = f"SELECT {listed} FROM S [{window}]{group}"
    agree(*asked(query, STREAMS, {"S": arrived, "U": [], "P": []}), cuts=[cut])


ROWS: Rows = {
    "S": [
        ("x", 1, 0.5, None, None, "a", True, None, None, 0),
        ("y", 2, 1.5, None, None, "b", True, None, None, 1),
        ("x", None, 2.5, None, None, "c", False, None, None, 1),
        ("x", 3, 0.5, None, None, "d", None, None, None, 4),
        ("y", 0, 9.5, None, None, None, None, None, None, 9),
    ],
    "U": [(1, 2), (2, 3)],
    "P": [("x", 1), ("y", 2), ("y", 3)],
}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT FIRST(s) AS f, LAST(s) AS l FROM S [RANGE 3]",
        "SELECT FIRST(i) AS f FROM S [RANGE 3] WHERE i > 1",
        "SELECT P.n, LAST(s) AS l FROM S [RANGE 5] JOIN P ON S.k = P.k GROUP BY P.n",
        "SELECT P.n, LAST(s) AS l FROM P LEFT JOIN S [RANGE 2] ON S.k = P.k GROUP BY P.n",
        "SELECT FIRST(v) AS f FROM (SELECT i + 1 AS v, ts AS t FROM S [RANGE 3] WHERE i IS NOT NULL) AS d",
        "SELECT LAST(n) AS l FROM (SELECT ts, COUNT(*) AS n FROM S [RANGE 3] GROUP BY ts) AS d",
        "WITH d (v, t) AS (SELECT DISTINCT s, ts FROM S [ROWS 3]) SELECT LAST(v) AS l FROM d",
        "SELECT k, (SELECT LAST(n) FROM U [RANGE 3] WHERE n <= S.i) AS l FROM S [RANGE 2]",
        "SELECT MIN_BY(s, i + 1) AS m, MAX_BY(i, d) FILTER (WHERE b) AS n FROM S [RANGE 4] HAVING FIRST(i) > 0",
    ],
)
def test_the_ordering_column_is_found_below_what_stands_on_the_stream(query: str) -> None:
    assert agree(*asked(query, STREAMS, ROWS))

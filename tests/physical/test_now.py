"""NOW on the engine: rows are cut where a comparison with it changes, or into chronons."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.errors import NotSupportedError
from continua.physical.nodes import Hold, Join
from continua.physical.point_nodes import Moments
from continua.runs.bounded import BoundedOptions
from continua.runs.plans import sink_of, why_not
from tests.acceptance.on_engine import BATCHES
from tests.physical.comparing import ROWS, STREAMS, agree, asked, contents_agree, graph

BY_THRESHOLDS = [
    "NOW > ts + 3 OR a = 3",
    "NOT (NOW > ts + 2)",
    "NOW IN (3, 5, 10)",
    "NOW <> ts",
    "NOT NOW BETWEEN ts + 1 AND ts + 3",
    "CASE WHEN NOW > ts + 4 THEN a > 3 ELSE FALSE END",
    "COALESCE(NOW > ts + a, FALSE)",
    "(NOW > LENGTH(k) + 5) IS NULL OR NOW = 12",
    "NOW - ts > 3 AND NOW - ts < 8 OR a = 5",
]
BY_CHRONONS = ["NOW % 3 = 0", "NOW * 2 > ts * 3", "a = NOW % 4 OR NOW > 11"]
QUERIES = [
    "SELECT a, NOW FROM S [RANGE 3]",
    "SELECT RSTREAM(a, NOW) FROM S [RANGE 3]",
    "SELECT ISTREAM(NOW) FROM S [NOW]",
    "SELECT a, NOW > ts + 1 AS late FROM S [RANGE 3]",
    "SELECT NOW - ts AS age, COUNT(*) AS n FROM S [RANGE 3] GROUP BY NOW - ts",
    "SELECT SUM(NOW - ts) AS s FROM S [RANGE 4]",
    "SELECT MAX(a) FILTER (WHERE NOW > ts + 1) AS m FROM S [RANGE 4]",
    "SELECT a FROM S [RANGE 5] ORDER BY NOW % 2, a LIMIT 1",
    "SELECT a FROM S [RANGE 3] WHERE a > (SELECT NOW % 3)",
    "SELECT k, v, NOW FROM M WHERE NOW < 9",
    "SELECT k, NOW % 4 AS n FROM M WHERE NOW % 3 < 2",
    "SELECT COUNT(*) AS n FROM (ISTREAM(SELECT a FROM S [RANGE 3] WHERE NOW % 2 = 0)) [ROWS 3]",
]
JOINS = [
    "SELECT a, b FROM S [RANGE 3] JOIN U [RANGE 3] ON S.k = U.k AND NOW > U.ts",
    "SELECT a, b FROM S [RANGE 6] LEFT JOIN U [RANGE 4] ON S.k = U.k AND NOW - U.ts < S.a",
    "SELECT a, b FROM S [RANGE 6] RIGHT JOIN U [RANGE 4] ON S.k = U.k AND NOW - U.ts < S.a",
    "SELECT a, b FROM S [RANGE 6] FULL JOIN U [RANGE 4] ON S.k = U.k AND (NOW - U.ts < S.a OR NOW % 2 = 0)",
    "SELECT a FROM S [RANGE 3] WHERE EXISTS (SELECT * FROM U WHERE U.k = S.k AND NOW > U.ts + S.a)",
    "SELECT a FROM S [RANGE 3] WHERE NOT EXISTS (SELECT * FROM U WHERE U.k = S.k AND NOW > U.ts + S.a)",
    "SELECT a FROM S [RANGE 6] WHERE NOW % 4 IN (SELECT b FROM U WHERE U.k = S.k)",
    "SELECT a FROM S [RANGE 6] WHERE NOW % 4 NOT IN (SELECT b FROM U)",
    "SELECT a, NOW IN (SELECT b + S.ts FROM U) AS m FROM S [RANGE 6]",
    "SELECT a, (SELECT MAX(b) FROM U WHERE NOW > U.ts + S.a) AS m FROM S [RANGE 6]",
]


@pytest.mark.parametrize("condition", BY_THRESHOLDS)
def test_conditions_that_change_at_known_instants_cut_rows_there(condition: str) -> None:
    session, query = asked(f"SELECT a, k FROM S [RANGE UNBOUNDED] WHERE {condition}")
    agree(session, query)
    found = graph(session, query)
    assert not any(isinstance(node, Moments) for node in found)
    assert any(isinstance(node, Hold) for node in found)


@pytest.mark.parametrize("condition", BY_CHRONONS)
def test_other_conditions_cut_rows_into_chronons(condition: str) -> None:
    session, query = asked(f"SELECT a, k FROM S [RANGE UNBOUNDED] WHERE {condition}")
    assert agree(session, query)
    assert any(isinstance(node, Moments) for node in graph(session, query))


@pytest.mark.parametrize("text", QUERIES)
def test_now_may_stand_anywhere(text: str) -> None:
    assert agree(*asked(text))


@pytest.mark.parametrize("text", [*QUERIES, *JOINS])
def test_what_a_relation_with_now_holds_at_an_instant(text: str) -> None:
    contents_agree(*asked(text))


def test_a_window_by_predicate_on_one_side_of_a_join_is_below_it() -> None:
    text = "SELECT a, b FROM S, U WHERE S.k = U.k AND NOW - 5 < S.ts AND NOW - 3 < U.ts AND S.a < NOW + U.b"
    session, query = asked(text)
    assert agree(session, query)
    kinds = [type(node) for node in graph(session, query)]
    assert kinds[: kinds.index(Join)].count(Hold) == 2


@pytest.mark.parametrize("text", JOINS)
def test_now_in_the_condition_of_a_join(text: str) -> None:
    assert agree(*asked(text))


def test_a_subquery_for_one_value_with_now_in_its_condition_is_refused() -> None:
    session, query = asked("SELECT a, (SELECT b FROM U WHERE NOW > U.ts + S.a) AS m FROM S [RANGE 6]")
    reason = why_not(query, session.functions)
    assert reason is not None
    assert "one value" in reason
    with pytest.raises(NotSupportedError):
        sink_of(query, query.bound.logical, session.functions)


MINUTES = """
    SET chronon = '1 minute'; SET start_time = '2024-01-01 10:00:00';
    CREATE STREAM T (a INT, ts TIMESTAMP) ORDERED BY ts;
"""


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM T [RANGE UNBOUNDED] WHERE NOW - ts < INTERVAL 2 MINUTES OR a = 2",
        "SELECT a FROM T [RANGE UNBOUNDED] WHERE MINUTE(NOW) % 3 = 0",
        "SELECT a, NOW FROM T [RANGE 2 MINUTES]",
        "SELECT a FROM T [ROWS 2 SLIDE 2 MINUTES]",
        "SELECT RSTREAM(COUNT(*)) FROM T [RANGE 3 MINUTES SLIDE 2 MINUTES]",
    ],
)
def test_timestamps_are_floored_to_the_chronon(text: str) -> None:
    times = [(0, 10), (1, 5), (1, 50), (2, 30), (3, 0), (7, 59), (8, 1)]
    rows = [(n, datetime(2024, 1, 1, 10, minute, second)) for n, (minute, second) in enumerate(times)]
    assert agree(*asked(text, MINUTES, {"T": rows}))


ELEMENTS = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["x", "y", None]), st.integers(0, 9)), max_size=7)
IN_ORDER = ELEMENTS.map(lambda rows: sorted(rows, key=lambda row: row[2]))


@settings(max_examples=40, deadline=None, print_blob=True)
@given(
    left=IN_ORDER,
    right=IN_ORDER,
    text=st.sampled_from(
        [*(f"SELECT a, k FROM S [RANGE 6] WHERE {c}" for c in BY_THRESHOLDS + BY_CHRONONS), *QUERIES, *JOINS]
    ),
    rows=st.sampled_from(BATCHES),
    partitions=st.integers(1, 3),
)
def test_now_over_any_elements(
    left: list[tuple[int, str | None, int]],
    right: list[tuple[int, str | None, int]],
    text: str,
    rows: int | None,
    partitions: int,
) -> None:
    session, query = asked(text, STREAMS, {**ROWS, "S": left, "U": right})
    agree(session, query, [BoundedOptions(batch_rows=rows, partitions=partitions)])

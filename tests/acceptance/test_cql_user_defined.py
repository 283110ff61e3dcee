"""CQL 6: user-defined functions, user-defined aggregates and user-defined windows."""

from __future__ import annotations

import pytest

from continua.algebra.base import Kind
from continua.errors import BindError, ContinuaError
from tests.acceptance.helpers import Row, ask, ask_in, day, session_with

S = "CREATE STREAM S (A INT, name STRING, ts BIGINT) ORDERED BY ts;"
PEOPLE: dict[str, list[Row]] = {"S": [(1, "ann lee", 1), (-2, None, 2), (None, "bob", 4)]}


# Functions.


def test_C20_a_function_in_sql_can_stand_in_the_select_list_and_in_the_condition() -> None:
    definitions = f"{S} CREATE FUNCTION doubled(x INT) RETURNS INT AS x * 2;"
    asked = ask(definitions, PEOPLE, "SELECT doubled(A), doubled(A + 1) FROM S WHERE doubled(A) < 3")
    assert asked.elements == [(1, (2, 4)), (2, (-4, -2))]


def test_C20_a_function_in_sql_may_use_another_function_and_case() -> None:
    definitions = f"""{S}
        CREATE FUNCTION sign_of(x INT) RETURNS STRING AS CASE WHEN x < 0 THEN 'minus' ELSE 'plus' END;
        CREATE FUNCTION sign_after(x INT, y INT) RETURNS STRING AS sign_of(x - y);
    """
    asked = ask(definitions, PEOPLE, "SELECT sign_after(A, 1) FROM S WHERE A IS NOT NULL")
    assert asked.elements == [(1, ("plus",)), (2, ("minus",))]


def test_C20_a_function_in_python_sees_and_returns_null() -> None:
    definitions = f"""{S}
        CREATE FUNCTION initials(n STRING) RETURNS STRING LANGUAGE PYTHON AS 'tests.acceptance.user_code:initials';
        CREATE FUNCTION or_zero(n INT) RETURNS INT LANGUAGE PYTHON AS 'tests.acceptance.user_code:or_zero';
    """
    asked = ask(definitions, PEOPLE, "SELECT initials(name), or_zero(A) FROM S")
    assert asked.elements == [(1, ("AL", 1)), (2, (None, -2)), (4, ("B", 0))]


def test_C20_a_function_of_constants_and_of_rows_keeps_a_query_monotonic() -> None:
    definitions = f"{S} CREATE FUNCTION doubled(x INT) RETURNS INT AS x * 2;"
    assert ask(definitions, PEOPLE, "SELECT doubled(A) FROM S").query.kind is Kind.STREAM
    assert ask(definitions, PEOPLE, "SELECT doubled(A) FROM S [RANGE 1]").query.kind is Kind.RELATION


def test_C20_a_function_joins_and_groups_like_any_expression() -> None:
    definitions = f"{S} CREATE FUNCTION parity(x INT) RETURNS INT AS ABS(x) % 2;"
    rows: dict[str, list[Row]] = {"S": [(1, "a", 1), (2, "b", 2), (3, "c", 3)]}
    session = session_with(definitions, rows)
    grouped = ask_in(session, "SELECT parity(A), COUNT(*) FROM S [RANGE UNBOUNDED] GROUP BY parity(A)")
    assert grouped.contents(range(4)) == [[], [(1, 1)], [(0, 1), (1, 1)], [(0, 1), (1, 2)]]
    joined = ask_in(session, "SELECT ISTREAM(x.name, y.name) FROM S x [NOW], S y WHERE parity(x.A) = parity(y.A)")
    assert joined.elements == [(1, ("a", "a")), (2, ("b", "b")), (3, ("c", "a")), (3, ("c", "c"))]


def test_C20_a_function_with_too_few_arguments_is_an_error() -> None:
    with pytest.raises(BindError) as error:
        ask(f"{S} CREATE FUNCTION added(x INT, y INT) RETURNS INT AS x + y;", {}, "SELECT added(A) FROM S")
    assert error.value.condition == "ARGUMENT_COUNT"
    assert error.value.parameters["given"] == 1


def test_C20_a_python_function_that_cannot_be_found_is_an_error_at_its_definition() -> None:
    with pytest.raises(BindError) as error:
        session_with("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS 'tests.acceptance.user_code:missing'")
    assert error.value.condition == "BAD_PYTHON_NAME"
    assert error.value.parameters == {"path": "tests.acceptance.user_code:missing"}


# Aggregates.

SPREAD = "CREATE AGGREGATE spread(x INT) RETURNS INT LANGUAGE PYTHON AS 'tests.acceptance.user_code:Spread';"
MEAN = """
CREATE AGGREGATE weighted_mean(x DOUBLE, w INT) RETURNS DOUBLE
  LANGUAGE PYTHON AS 'tests.acceptance.user_code:WeightedMean';
"""
PRICES = "CREATE STREAM P (item STRING, price INT, ts BIGINT) ORDERED BY ts;"
BIDS: dict[str, list[Row]] = {"P": [("a", 5, 1), ("b", 7, 1), ("a", 9, 2), ("a", None, 3), ("a", 6, 4)]}


def test_C20_an_aggregate_by_initializer_merger_and_evaluator_works_over_a_window() -> None:
    asked = ask(PRICES + SPREAD, BIDS, "SELECT spread(price) FROM P [RANGE 1]")
    # The windows hold 5 7, then 5 7 9, then 9 and NULL, then NULL and 6, then 6, then nothing.
    assert asked.contents(range(7)) == [[(None,)], [(2,)], [(4,)], [(0,)], [(0,)], [(0,)], [(None,)]]


def test_C20_an_aggregate_works_per_group_and_in_having() -> None:
    session = session_with(PRICES + SPREAD, BIDS)
    grouped = ask_in(session, "SELECT item, spread(price), COUNT(*) FROM P [RANGE UNBOUNDED] GROUP BY item")
    assert grouped.contents([1, 2, 4]) == [
        [("a", 0, 1), ("b", 0, 1)],
        [("a", 4, 2), ("b", 0, 1)],
        [("a", 4, 4), ("b", 0, 1)],
    ]
    having = ask_in(session, "SELECT item FROM P [RANGE UNBOUNDED] GROUP BY item HAVING spread(price) > 3")
    assert having.lines == [(2, "+", ("a",))]


def test_C20_an_aggregate_may_have_several_arguments() -> None:
    stream = "CREATE STREAM P (price DOUBLE, volume INT, ts BIGINT) ORDERED BY ts;"
    rows: dict[str, list[Row]] = {"P": [(10.0, 1, 1), (20.0, 3, 2), (40.0, 1, 3)]}
    asked = ask(stream + MEAN, rows, "SELECT ISTREAM(weighted_mean(price, volume)) FROM P [ROWS 2]")
    assert asked.elements == [(0, (None,)), (1, (10.0,)), (2, (17.5,)), (3, (25.0,))]


def test_C20_an_aggregate_is_not_monotonic() -> None:
    assert ask(PRICES + SPREAD, BIDS, "SELECT spread(price) FROM P").query.kind is Kind.RELATION


def test_C20_an_aggregate_without_its_three_parts_is_an_error_at_its_definition() -> None:
    with pytest.raises(BindError) as error:
        session_with(SPREAD.replace("Spread", "initials"))
    assert error.value.condition == "BAD_AGGREGATE"
    assert error.value.parameters == {"name": "spread"}


# Windows.

T = "CREATE STREAM T (A INT, ts BIGINT) ORDERED BY ts;"
TICKS: dict[str, list[Row]] = {"T": [(n, n) for n in range(9)]}


def test_C20_a_window_sequence_can_be_given_a_name() -> None:
    # Window j holds the instants 2j to 2j + 2 and is the current one from 2j + 2 until 2j + 4.
    definitions = f"{T} CREATE WINDOW every_two AS [FROM 2*j TO 2*j + 2 EVERY 2];"
    session = session_with(definitions, TICKS)
    named = ask_in(session, "SELECT A FROM T [every_two]")
    assert named.contents(range(8)) == [
        [],
        [],
        [(0,), (1,), (2,)],
        [(0,), (1,), (2,)],
        [(2,), (3,), (4,)],
        [(2,), (3,), (4,)],
        [(4,), (5,), (6,)],
        [(4,), (5,), (6,)],
    ]
    written_out = ask_in(session, "SELECT A FROM T [FROM 2*j TO 2*j + 2 EVERY 2]")
    assert written_out.lines == named.lines


def test_C20_any_window_can_be_given_a_name() -> None:
    session = session_with(f"{T} CREATE WINDOW recent AS [RANGE 1];", TICKS)
    assert ask_in(session, "SELECT A FROM T [recent]").contents([0, 1, 5]) == [[(0,)], [(0,), (1,)], [(4,), (5,)]]


FIVE_UNITS = """
CREATE WINDOW day_so_far(length) LANGUAGE PYTHON AS 'tests.acceptance.user_code:day_so_far';
CREATE WINDOW delayed(by) LANGUAGE PYTHON AS 'tests.acceptance.user_code:delayed';
CREATE WINDOW ahead(by) LANGUAGE PYTHON AS 'tests.acceptance.user_code:ahead';
"""


def test_C20_a_window_in_python_gives_the_bounds_at_each_instant() -> None:
    asked = ask(T + FIVE_UNITS, TICKS, "SELECT COUNT(*), MIN(A), MAX(A) FROM T [day_so_far(4)]")
    assert asked.contents(range(10)) == [
        [(1, 0, 0)],
        [(2, 0, 1)],
        [(3, 0, 2)],
        [(4, 0, 3)],
        [(1, 4, 4)],
        [(2, 4, 5)],
        [(3, 4, 6)],
        [(4, 4, 7)],
        [(1, 8, 8)],
        [(1, 8, 8)],
    ]


def test_C20_the_changes_of_a_window_in_python_come_at_their_instants() -> None:
    rows: dict[str, list[Row]] = {"T": [(1, 1), (2, 3), (3, 6)]}
    asked = ask(T + FIVE_UNITS, rows, "SELECT A FROM T [day_so_far(5)]")
    assert asked.lines == [
        (1, "+", (1,)),
        (3, "+", (2,)),
        (5, "-", (1,)),
        (5, "-", (2,)),
        (6, "+", (3,)),
        (10, "-", (3,)),
    ]


def test_C20_a_window_in_python_joins_the_present_with_the_past() -> None:
    rows: dict[str, list[Row]] = {"T": [(10, 1), (20, 2), (40, 4)]}
    asked = ask(T + FIVE_UNITS, rows, "SELECT RSTREAM(x.A, y.A) FROM T [NOW] AS x, T [delayed(2)] AS y")
    assert asked.streamed(range(7)) == [[], [], [], [], [(40, 20)], [], []]


def test_C20_a_window_in_python_takes_a_length_of_time_over_timestamps() -> None:
    stream = "SET chronon = '1 minute'; CREATE STREAM T (A INT, ts TIMESTAMP) ORDERED BY ts;"
    rows: dict[str, list[Row]] = {"T": [(1, day("10:10")), (2, day("10:50")), (3, day("11:05"))]}
    asked = ask(stream + FIVE_UNITS, rows, "SELECT A FROM T [day_so_far(1 HOUR)]")
    moments = [day(t) for t in ("10:09", "10:10", "10:59", "11:00", "11:05", "11:59", "12:00")]
    assert asked.contents(moments) == [[], [(1,)], [(1,), (2,)], [], [(3,)], [(3,)], []]


def test_C20_a_user_defined_window_may_follow_a_derived_stream() -> None:
    query = "SELECT ISTREAM(COUNT(*)) FROM (SELECT ISTREAM(A) FROM T [NOW] WHERE A % 2 = 0) [day_so_far(4)] AS Even"
    asked = ask(T + FIVE_UNITS, TICKS, query)
    # The even numbers 0 2 | 4 6 | 8 arrive at their own instants; each section of four counts anew.
    assert asked.streamed(range(9)) == [[(1,)], [], [(2,)], [], [(1,)], [], [(2,)], [], [(1,)]]


def test_C20_a_window_that_looks_into_the_future_is_refused() -> None:
    with pytest.raises(ContinuaError) as error:
        ask(T + FIVE_UNITS, TICKS, "SELECT A FROM T [ahead(1)]").at(3)
    assert error.value.condition == "WINDOW_END_NOT_ACCESSIBLE"


def test_C20_an_unknown_window_and_a_missing_argument_are_errors_where_they_stand() -> None:
    with pytest.raises(BindError) as error:
        ask(T + FIVE_UNITS, {}, "SELECT A FROM T [day_so_fat(4)]")
    assert error.value.condition == "UNKNOWN_WINDOW"
    assert error.value.parameters == {"window": "day_so_fat"}
    assert "day_so_far" in str(error.value.diagnostics[0].hint)
    with pytest.raises(BindError) as error:
        ask(T + FIVE_UNITS, {}, "SELECT A FROM T [day_so_far]")
    assert error.value.condition == "ARGUMENT_COUNT"
    assert error.value.parameters == {"function": "day_so_far", "given": 0}

"""CQL, section 4: streams are bags of timestamped tuples, relations are bags that vary with time."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.errors import BindError
from tests.acceptance.helpers import Row, ask, day

TICKS = "CREATE STREAM S (A INT, ts BIGINT) ORDERED BY ts;"
MOMENTS = "CREATE STREAM S (A INT, ts TIMESTAMP) ORDERED BY ts;"
STOCK = "CREATE RELATION R (B STRING, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op;"


def test_C1_a_stream_may_have_several_elements_and_equal_elements_at_one_instant() -> None:
    asked = ask(TICKS, {"S": [(7, 1), (7, 1), (8, 1), (7, 4)]}, "SELECT RSTREAM(*) FROM S [NOW]")
    assert asked.elements == [(1, (7,)), (1, (7,)), (1, (8,)), (4, (7,))]


def test_C1_a_stream_in_the_domain_of_timestamps_keeps_its_moments() -> None:
    rows: list[Row] = [(7, day("10:00")), (7, day("10:00")), (8, day("10:00:00.000001"))]
    asked = ask(MOMENTS, {"S": rows}, "SELECT RSTREAM(*) FROM S [NOW]")
    assert asked.elements == [(day("10:00"), (7,)), (day("10:00"), (7,)), (day("10:00:00.000001"), (8,))]


def test_C1_the_timestamp_is_no_attribute_of_the_tuple_but_can_be_named() -> None:
    rows: dict[str, list[Row]] = {"S": [(7, 1), (8, 3)]}
    assert ask(TICKS, rows, "SELECT * FROM S").query.columns == ("A",)
    assert ask(TICKS, rows, "SELECT A, ts FROM S").elements == [(1, (7, 1)), (3, (8, 3))]


def test_C1_equal_tuples_with_different_timestamps_are_two_copies_in_a_relation() -> None:
    asked = ask(TICKS, {"S": [(7, 1), (7, 3)]}, "SELECT A, COUNT(*) FROM S [RANGE UNBOUNDED] GROUP BY A")
    assert asked.contents(range(5)) == [[], [(7, 1)], [(7, 1)], [(7, 2)], [(7, 2)]]


def test_C1_a_relation_is_a_bag_of_tuples_at_every_instant() -> None:
    changes: list[Row] = [("x", "+", 1), ("x", "+", 1), ("y", "+", 2), ("x", "-", 4), ("x", "-", 6), ("x", "+", 6)]
    asked = ask(STOCK, {"R": changes}, "SELECT * FROM R")
    x, y = ("x",), ("y",)
    assert asked.contents(range(8)) == [[], [x, x], [x, x, y], [x, x, y], [x, y], [x, y], [x, y], [x, y]]
    assert asked.lines == [(1, "+", x), (1, "+", x), (2, "+", y), (4, "-", x)]


def test_C1_a_relation_in_the_domain_of_timestamps_changes_at_its_moments() -> None:
    stock = "CREATE RELATION R (B STRING, op STRING, ts TIMESTAMP) ORDERED BY ts TAGGED BY op;"
    changes: list[Row] = [("x", "+", day("10:00")), ("y", "+", day("10:30")), ("x", "-", day("11:00"))]
    asked = ask(stock, {"R": changes}, "SELECT * FROM R")
    moments = [day(t) for t in ("09:59:59.999999", "10:00", "10:30", "10:59:59.999999", "11:00")]
    assert asked.contents(moments) == [[], [("x",)], [("x",), ("y",)], [("x",), ("y",)], [("y",)]]


def test_C1_a_stored_relation_that_nothing_changes_is_the_same_at_every_instant() -> None:
    asked = ask("CREATE TABLE T (B INT);", {"T": [(1,), (1,), (2,)]}, "SELECT B, COUNT(*) FROM T GROUP BY B")
    assert asked.contents([0, 1, 1000]) == [[(1, 2), (2, 1)]] * 3
    assert asked.lines == [(0, "+", (1, 2)), (0, "+", (2, 1))]


def test_C1_the_tuples_of_a_stored_relation_may_stand_in_its_definition() -> None:
    asked = ask("CREATE TABLE T (B INT) AS VALUES (1), (1), (2);", {}, "SELECT * FROM T")
    assert asked.contents([0, 1000]) == [[(1,), (1,), (2,)]] * 2


def test_C1_a_keyed_relation_takes_updates_in_place() -> None:
    keyed = "CREATE RELATION R (k INT, v INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op KEY k;"
    changes: list[Row] = [(1, 10, "+", 1), (2, 20, "+", 1), (1, 11, "u", 3), (2, 20, "-", 4)]
    asked = ask(keyed, {"R": changes}, "SELECT * FROM R")
    assert asked.contents(range(6)) == [
        [],
        [(1, 10), (2, 20)],
        [(1, 10), (2, 20)],
        [(1, 11), (2, 20)],
        [(1, 11)],
        [(1, 11)],
    ]


def test_C1_a_coarser_chronon_puts_all_moments_within_it_at_one_instant() -> None:
    rows: list[Row] = [(7, day("10:00:05")), (8, day("10:00:55")), (9, day("10:01"))]
    asked = ask(f"SET chronon = '1 minute'; {MOMENTS}", {"S": rows}, "SELECT RSTREAM(*) FROM S [NOW]")
    assert asked.elements == [(day("10:00"), (7,)), (day("10:00"), (8,)), (day("10:01"), (9,))]


def test_C1_equal_elements_at_neighbouring_instants_of_a_coarse_chronon_stay_two_elements() -> None:
    rows: list[Row] = [(7, day("10:00")), (7, day("10:01"))]
    asked = ask(f"SET chronon = '1 minute'; {MOMENTS}", {"S": rows}, "SELECT ISTREAM(*) FROM S [RANGE UNBOUNDED]")
    assert asked.elements == [(day("10:00"), (7,)), (day("10:01"), (7,))]


def test_C1_a_query_has_one_time_domain() -> None:
    mixed = f"{TICKS} CREATE STREAM D (A INT, ts TIMESTAMP) ORDERED BY ts;"
    with pytest.raises(BindError) as error:
        ask(mixed, {}, "SELECT * FROM S, D")
    assert error.value.condition == "MIXED_TIME_DOMAINS"
    assert error.value.parameters == {"domains": ["microseconds", "ticks"]}


@settings(max_examples=30, deadline=None, print_blob=True)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6)), max_size=8))
def test_C1_a_stream_is_the_bag_of_its_elements(elements: list[tuple[int, int]]) -> None:
    arrived = sorted(elements, key=lambda e: e[1])
    asked = ask(TICKS, {"S": arrived}, "SELECT RSTREAM(*) FROM S [NOW]")
    assert Counter((row[0], t) for t, row in asked.elements) == Counter(elements)

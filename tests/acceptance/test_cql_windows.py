"""CQL 6.1: time-based, tuple-based and partitioned windows, by hand and against the formulas at every instant."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.acceptance.helpers import Moment, Row, ask, ask_all, day, session_with

S = "CREATE STREAM S (A INT, B STRING, ts BIGINT) ORDERED BY ts;"
BID = "CREATE STREAM Bid (item_id INT, bid_price DOUBLE, ts TIMESTAMP) ORDERED BY ts;"
LAST = 12

Elements = list[tuple[int, str, int]]
random_streams = st.lists(st.tuples(st.integers(0, 2), st.sampled_from("xy"), st.integers(0, 9)), max_size=9).map(
    lambda elements: sorted(elements, key=lambda e: e[2])
)
streams_with_unique_timestamps = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from("xy"), st.integers(0, 9)), max_size=8, unique_by=lambda e: e[2]
).map(lambda elements: sorted(elements, key=lambda e: e[2]))
few = settings(max_examples=24, deadline=None, print_blob=True)


def window_contents(elements: Elements, *windows: str) -> list[list[Counter[Row]]]:
    """For each window over S: its content at every instant from 0 on, beyond the last element's departure."""
    session = session_with(S, {"S": elements})
    asked = ask_all(session, *(f"SELECT A, B FROM S {window}" for window in windows))
    return [[Counter(a.at(t)) for t in range(LAST + 1)] for a in asked]


# C2: R(τ) = {s | ⟨s, τ'⟩ ∈ S ∧ τ' ≤ τ ∧ τ' ≥ max{τ - T, 0}}.


def test_C2_a_range_holds_the_elements_of_the_last_T_units_and_of_the_instant_T_ago() -> None:
    asked = ask(S, {"S": [(1, "x", 2), (2, "y", 2), (3, "z", 4)]}, "SELECT A FROM S [Range 3]")
    assert asked.contents(range(9)) == [
        [],
        [],
        [(1,), (2,)],
        [(1,), (2,)],
        [(1,), (2,), (3,)],
        [(1,), (2,), (3,)],
        [(3,)],
        [(3,)],
        [],
    ]
    assert asked.lines == [
        (2, "+", (1,)),
        (2, "+", (2,)),
        (4, "+", (3,)),
        (6, "-", (1,)),
        (6, "-", (2,)),
        (8, "-", (3,)),
    ]


def test_C2_now_holds_the_elements_of_the_instant_alone_and_is_the_range_of_zero() -> None:
    rows: dict[str, list[Row]] = {"S": [(1, "x", 2), (1, "x", 2), (3, "z", 4)]}
    expected = [[], [], [(1,), (1,)], [], [(3,)], []]
    assert ask(S, rows, "SELECT A FROM S [Now]").contents(range(6)) == expected
    assert ask(S, rows, "SELECT A FROM S [Range 0]").contents(range(6)) == expected


def test_C2_an_unbounded_range_holds_all_elements_so_far() -> None:
    asked = ask(S, {"S": [(1, "x", 0), (1, "x", 2), (3, "z", 4)]}, "SELECT A FROM S [Range Unbounded]")
    assert asked.contents(range(5)) == [[(1,)], [(1,)], [(1,), (1,)], [(1,), (1,)], [(1,), (1,), (3,)]]
    assert asked.at(1000) == [(1,), (1,), (3,)]


def test_C2_the_bids_of_the_last_ten_minutes_include_one_that_is_exactly_ten_minutes_old() -> None:
    rows: list[Row] = [(1, 10.0, day("10:00")), (2, 30.0, day("10:04"))]
    asked = ask(BID, {"Bid": rows}, "Select Avg(bid_price) From Bid[Range 10 Minute]")
    moments: list[Moment] = [
        day("09:59:59.999999"),
        day("10:00"),
        day("10:04"),
        day("10:10"),
        day("10:10:00.000001"),
        day("10:14"),
        day("10:14:00.000001"),
    ]
    assert asked.contents(moments) == [[(None,)], [(10.0,)], [(20.0,)], [(20.0,)], [(30.0,)], [(30.0,)], [(None,)]]


def test_C2_with_a_chronon_of_a_minute_a_range_of_ten_minutes_covers_eleven_instants() -> None:
    asked = ask(
        f"SET chronon = '1 minute'; {BID}",
        {"Bid": [(1, 10.0, day("10:00:30"))]},
        "SELECT item_id FROM Bid [RANGE 10 MINUTES]",
    )
    assert asked.lines == [(day("10:00"), "+", (1,)), (day("10:11"), "-", (1,))]


@pytest.mark.parametrize("length", ["90 Minutes", "1 Hour 30 Minutes", "5400 Seconds", "5400", "90 min", "90m"])
def test_C2_a_time_interval_may_be_spelled_in_any_unit(length: str) -> None:
    asked = ask(BID, {"Bid": [(1, 10.0, day("10:00"))]}, f"SELECT item_id FROM Bid [RANGE {length} PRECEDING]")
    assert asked.lines == [(day("10:00"), "+", (1,)), (day("11:30:00.000001"), "-", (1,))]


@few
@given(random_streams, st.integers(0, 4))
def test_C2_time_based_windows_follow_the_formula_at_every_instant(elements: Elements, T: int) -> None:  # noqa: N803
    ranged, now, unbounded = window_contents(elements, f"[Range {T}]", "[Now]", "[Range Unbounded]")
    for tau in range(LAST + 1):
        assert ranged[tau] == Counter((a, b) for a, b, ts in elements if ts <= tau and ts >= max(tau - T, 0))
        assert now[tau] == Counter((a, b) for a, b, ts in elements if ts == tau)
        assert unbounded[tau] == Counter((a, b) for a, b, ts in elements if ts <= tau)


# C3: the N elements with the largest timestamps no greater than τ.


def test_C3_a_row_window_holds_the_last_N_elements() -> None:
    asked = ask(S, {"S": [(1, "x", 1), (2, "x", 3), (3, "x", 4), (4, "x", 8)]}, "SELECT A FROM S [Rows 2]")
    assert asked.contents(range(10)) == [
        [],
        [(1,)],
        [(1,)],
        [(1,), (2,)],
        [(2,), (3,)],
        [(2,), (3,)],
        [(2,), (3,)],
        [(2,), (3,)],
        [(3,), (4,)],
        [(3,), (4,)],
    ]


def test_C3_a_row_window_holds_all_elements_while_there_are_no_more_than_N() -> None:
    asked = ask(S, {"S": [(1, "x", 1), (2, "x", 3)]}, "SELECT A FROM S [Rows 5]")
    assert asked.contents([0, 1, 3, 99]) == [[], [(1,)], [(1,), (2,)], [(1,), (2,)]]


def test_C3_among_equal_timestamps_the_later_arrival_counts_as_the_more_recent() -> None:
    asked = ask(S, {"S": [(9, "x", 5), (1, "x", 5), (4, "x", 5), (7, "x", 6)]}, "SELECT A FROM S [Rows 2]")
    assert asked.contents([4, 5, 6]) == [[], [(1,), (4,)], [(4,), (7,)]]


def test_C3_unbounded_rows_are_an_unbounded_range() -> None:
    rows: dict[str, list[Row]] = {"S": [(1, "x", 1), (1, "x", 1), (2, "x", 3)]}
    expected = [[], [(1,), (1,)], [(1,), (1,)], [(1,), (1,), (2,)]]
    assert ask(S, rows, "SELECT A FROM S [Rows Unbounded]").contents(range(4)) == expected
    assert ask(S, rows, "SELECT A FROM S [Range Unbounded]").contents(range(4)) == expected


def test_C3_a_row_window_counts_elements_and_not_time_in_the_domain_of_timestamps() -> None:
    rows: list[Row] = [(1, 1.0, day("10:00")), (2, 2.0, day("10:00:00.000001")), (3, 3.0, day("18:00"))]
    asked = ask(BID, {"Bid": rows}, "SELECT item_id FROM Bid [ROWS 2]")
    assert asked.lines == [
        (day("10:00"), "+", (1,)),
        (day("10:00:00.000001"), "+", (2,)),
        (day("18:00"), "-", (1,)),
        (day("18:00"), "+", (3,)),
    ]


@few
@given(streams_with_unique_timestamps, st.integers(1, 4))
def test_C3_tuple_based_windows_follow_the_definition_at_every_instant(elements: Elements, N: int) -> None:  # noqa: N803
    rows, unbounded = window_contents(elements, f"[Rows {N}]", "[Rows Unbounded]")
    for tau in range(LAST + 1):
        largest = sorted((ts for _, _, ts in elements if ts <= tau), reverse=True)[:N]
        assert rows[tau] == Counter((a, b) for a, b, ts in elements if ts in largest)
        assert unbounded[tau] == Counter((a, b) for a, b, ts in elements if ts <= tau)


@few
@given(random_streams, st.integers(1, 4))
def test_C3_ties_leave_exactly_N_elements_and_never_an_older_one(elements: Elements, N: int) -> None:  # noqa: N803
    (rows,) = window_contents(elements, f"[Rows {N}]")
    for tau in range(LAST + 1):
        arrived = [e for e in elements if e[2] <= tau]
        assert rows[tau].total() == min(N, len(arrived))
        oldest = min((ts for _, _, ts in arrived[-N:]), default=0)
        certain = Counter((a, b) for a, b, ts in arrived if ts > oldest)
        possible = Counter((a, b) for a, b, ts in arrived if ts >= oldest)
        assert certain <= rows[tau] <= possible


# C4: a tuple-based window on each substream of equal attributes, and the union of them.


def test_C4_a_partitioned_window_holds_the_last_N_elements_of_each_partition() -> None:
    rows: list[Row] = [(1, "x", 1), (2, "y", 2), (3, "x", 3), (4, "x", 4), (5, "y", 6)]
    asked = ask(S, {"S": rows}, "SELECT B, A FROM S [Partition By B Rows 2]")
    assert asked.contents(range(1, 7)) == [
        [("x", 1)],
        [("x", 1), ("y", 2)],
        [("x", 1), ("x", 3), ("y", 2)],
        [("x", 3), ("x", 4), ("y", 2)],
        [("x", 3), ("x", 4), ("y", 2)],
        [("x", 3), ("x", 4), ("y", 2), ("y", 5)],
    ]


def test_C4_several_attributes_partition_by_their_combination() -> None:
    rows: list[Row] = [(1, "x", 1), (1, "y", 2), (2, "x", 3), (1, "x", 4)]
    asked = ask(S, {"S": rows}, "SELECT A, B, ts FROM S [Partition By A, B Rows 1]")
    assert asked.at(3) == [(1, "x", 1), (1, "y", 2), (2, "x", 3)]
    assert asked.at(4) == [(1, "x", 4), (1, "y", 2), (2, "x", 3)]


def test_C4_elements_without_a_value_form_one_partition() -> None:
    rows: list[Row] = [(1, None, 1), (2, "x", 2), (3, None, 3)]
    asked = ask(S, {"S": rows}, "SELECT A FROM S [Partition By B Rows 1]")
    assert asked.contents([1, 2, 3]) == [[(1,)], [(1,), (2,)], [(2,), (3,)]]


def test_C4_a_partitioned_window_works_in_the_domain_of_timestamps() -> None:
    rows: list[Row] = [(1, 1.0, day("10:00")), (2, 5.0, day("10:01")), (1, 2.0, day("10:02"))]
    asked = ask(BID, {"Bid": rows}, "SELECT * FROM Bid [PARTITION BY item_id ROWS 1]")
    assert asked.lines == [
        (day("10:00"), "+", (1, 1.0)),
        (day("10:01"), "+", (2, 5.0)),
        (day("10:02"), "-", (1, 1.0)),
        (day("10:02"), "+", (1, 2.0)),
    ]


@few
@given(streams_with_unique_timestamps, st.integers(1, 3))
def test_C4_partitioned_windows_follow_the_definition_at_every_instant(elements: Elements, N: int) -> None:  # noqa: N803
    by_b, by_both = window_contents(elements, f"[Partition By B Rows {N}]", f"[Partition By A, B Rows {N}]")
    for tau in range(LAST + 1):
        arrived = [e for e in elements if e[2] <= tau]
        assert by_b[tau] == Counter(
            (a, b)
            for a, b, ts in arrived
            if ts in sorted((other for _, same, other in arrived if same == b), reverse=True)[:N]
        )
        assert by_both[tau] == Counter(
            (a, b)
            for a, b, ts in arrived
            if ts in sorted((other for c, same, other in arrived if (c, same) == (a, b)), reverse=True)[:N]
        )


@few
@given(random_streams, st.integers(1, 3))
def test_C4_a_partitioned_window_is_the_union_of_row_windows_over_the_substreams(
    elements: Elements,
    N: int,  # noqa: N803
) -> None:
    (partitioned,) = window_contents(elements, f"[Partition By B Rows {N}]")
    by_value = sorted(elements, key=lambda e: (e[1], e[2]))
    parts = [window_contents(list(part), f"[Rows {N}]")[0] for _, part in groupby(by_value, key=lambda e: e[1])]
    for tau in range(LAST + 1):
        assert partitioned[tau] == sum((part[tau] for part in parts), Counter())

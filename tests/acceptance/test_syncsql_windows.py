"""SyncSQL 2.2 and 3.3: predicate windows over TS and Now, the Now view, windows with range and slide."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime.executors.executor import InProcess
from continua.runtime.progress import Progress
from continua.session import Session
from continua.windows.occurrences import Row
from tests.acceptance.sync_helpers import ask, first_column, states, sync_view, tagged

EXAMPLE_5 = """
create STREAMED view FiveUnitsWindow as
select *
from ℜ(S) R
where Now - 5 < R.TS ≤ Now;
"""
FIVE_UNITS = EXAMPLE_5.replace("≤", "<=")
EXAMPLE_6 = """
select STREAMED COUNT(*)
from ℜ(FiveUnitsWindow)
group by CarType
"""
EXAMPLE_13 = """
create STREAMED view NowView as
select 1 as KEY, MAX(T.Timepoint) as currTime
from ℜ(clockStr) T;
"""
FIVE_UNITS_OVER_NOW_VIEW = """
create STREAMED view FiveUnitsWindow as
select R.*
from ℜ(S) R, ℜ(NowView) N
where N.currTime - 5 <= R.TS <= N.currTime;
"""
EXAMPLE_14 = """
create STREAMED view TwoUnitsSlide as
select 1 as KEY, MAX(T.Timepoint) as currTime
from ℜ(Sync2) T;
create STREAMED view RangeFiveSlideTwo as
select R.*
from ℜ_Sync2(S) R, ℜ(TwoUnitsSlide) N
where N.currTime - 5 <= R.TS <= N.currTime;
"""
CARS = [(1, "car", 1), (2, "truck", 2), (3, "car", 4), (4, "bus", 9)]


def road(definitions: str = "", rows: list[tuple[int, str, int]] = CARS) -> Session:
    session = Session(dialect="sync")
    session.execute(
        "REGISTER SOURCE Road (int CarID, string CarType, int ts) ORDERED BY ts; CREATE STREAM S OVER Road KEY NULL;"
        + sync_view(2)
        + definitions
    )
    session.insert("Road", rows)
    return session


FIVE_UNITS_OUTPUT = ["+<1>1", "+<2>2", "+<3>4", "-<1>6", "-<2>7", "-<3>9", "+<4>9", "-<4>14"]


def test_S7_the_window_of_example_5_as_it_is_printed() -> None:
    assert tagged(road(EXAMPLE_5), "select STREAMED CarID from ℜ(FiveUnitsWindow)") == FIVE_UNITS_OUTPUT


def test_S7_a_window_of_five_units_inserts_new_tuples_and_deletes_expired_ones() -> None:
    assert tagged(road(FIVE_UNITS), "select STREAMED CarID from ℜ(FiveUnitsWindow)") == FIVE_UNITS_OUTPUT


def test_S7_the_view_of_a_window_keeps_the_timestamps_of_the_stream() -> None:
    session = road(FIVE_UNITS)
    query = ask(session, "select COMPLETE CarID, TS from ℜ(FiveUnitsWindow)")
    assert states(session, query, (0, 2, 5, 6, 9, 13, 14)) == {
        0: [], 2: [(1, 1), (2, 2)], 5: [(1, 1), (2, 2), (3, 4)], 6: [(2, 2), (3, 4)], 9: [(4, 9)], 13: [(4, 9)], 14: []
    }  # fmt: skip


def test_S7_a_comparison_of_three_is_two_comparisons() -> None:
    chained = "select STREAMED CarID from ℜ(S) R where Now - 5 < R.TS <= Now"
    spelled = "select STREAMED CarID from ℜ(S) R where Now - 5 < R.TS and R.TS <= Now"
    session = road()
    assert ask(session, chained).bound.logical == ask(session, spelled).bound.logical


def test_S7_example_6_counts_the_cars_of_each_type_in_the_window() -> None:
    # At 9 the only car leaves and a bus enters: the counts without their types stay the same.
    assert tagged(road(FIVE_UNITS), EXAMPLE_6) == [
        "+<1>1", "+<1>2", "-<1>4", "+<2>4", "-<2>6", "+<1>6", "-<1>7", "-<1>14"
    ]  # fmt: skip


def test_S7_example_6_with_the_type_in_the_answer_is_a_stream_of_updates() -> None:
    text = EXAMPLE_6.replace("COUNT(*)", "CarType, COUNT(*)")
    assert tagged(road(FIVE_UNITS), text) == [
        "+<car,1>1", "+<truck,1>2", "u<car,2>4", "u<car,1>6", "-<truck>7", "-<car>9", "+<bus,1>9", "-<bus>14"
    ]  # fmt: skip


def test_S7_example_6_complete_has_every_group_at_every_instant() -> None:
    session = road(FIVE_UNITS)
    query = ask(session, EXAMPLE_6.replace("STREAMED COUNT(*)", "COMPLETE CarType, COUNT(*)"))
    assert states(session, query, (4, 5, 6, 8, 9, 14)) == {
        4: [("car", 2), ("truck", 1)],
        5: [("car", 2), ("truck", 1)],
        6: [("car", 1), ("truck", 1)],
        8: [("car", 1)],
        9: [("bus", 1)],
        14: [],
    }


def two_streams(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> Session:
    session = Session(dialect="sync")
    for number, rows in ((1, left), (2, right)):
        session.execute(f"REGISTER SOURCE Src{number} (int ID, int ts) ORDERED BY ts")
        session.execute(f"CREATE STREAM S{number} OVER Src{number} KEY NULL")
        session.insert(f"Src{number}", rows)
    return session


APART = "select STREAMED R1.ID, R2.ID from ℜ(S1) R1, ℜ(S2) R2 where R2.TS - 5 {0} R1.TS {0} R2.TS + 5"


def test_S7_a_window_join_of_tuples_at_most_five_apart() -> None:
    session = two_streams([(1, 0), (2, 6), (3, 20)], [(7, 5), (8, 11), (9, 26)])
    assert tagged(session, APART.format("<=")) == ["+<1,7>5", "+<2,7>6", "+<2,8>11"]


def test_S7_with_the_strict_comparisons_that_are_printed_tuples_five_apart_do_not_meet() -> None:
    session = two_streams([(1, 0), (2, 6), (3, 20)], [(7, 5), (8, 11), (9, 26)])
    assert tagged(session, APART.format("<")) == ["+<2,7>6"]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("R.TS + 3 >= Now", ["+<1>5", "-<1>9"]),
        ("R.TS + R.Life > Now", ["+<1>5", "-<1>15"]),
        ("Now - R.TS < R.Life", ["+<1>5", "-<1>15"]),
        ("R.TS * 2 >= Now", ["+<1>5", "-<1>11"]),
        ("Now - R.TS between 2 and 20", ["+<1>7", "-<1>26"]),
        ("Now < 100", ["+<1>5", "-<1>100"]),
        ("Now in (3, 30)", ["+<1>30", "-<1>31"]),
    ],
)
def test_S7_a_window_predicate_may_be_over_any_attribute(predicate: str, expected: list[str]) -> None:
    session = Session(dialect="sync")
    session.execute("REGISTER SOURCE Src (int ID, int Life, int ts) ORDERED BY ts; CREATE STREAM S OVER Src KEY NULL")
    session.insert("Src", [(1, 10, 5)])
    assert tagged(session, f"select STREAMED ID from ℜ(S) R where {predicate}") == expected


@settings(max_examples=20, deadline=None, print_blob=True)
@given(
    left=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12)), max_size=5),
    right=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12)), max_size=5),
    width=st.integers(1, 6),
)
def test_S7_a_separate_window_on_each_stream_is_a_predicate_on_each(
    left: list[tuple[int, int]], right: list[tuple[int, int]], width: int
) -> None:
    left, right = (sorted(rows, key=lambda row: row[1]) for rows in (left, right))
    session = two_streams(left, right)
    query = ask(
        session,
        "select STREAMED R1.ID, R2.TS as T from ℜ(S1) R1, ℜ(S2) R2 where R1.ID = R2.ID "
        f"and Now - {width} < R1.TS <= Now and Now - 3 < R2.TS <= Now",
    )
    state: Counter[Row] = Counter()
    answers = session.answers([query])
    for now in range(22):
        for a in answers:
            if a.instant == now:
                state[a.row] += 1 if a.op == "+" else -1
        expected = Counter(
            (a, s) for a, t in left for b, s in right if a == b and now - width < t <= now and now - 3 < s <= now
        )
        assert +state == expected, f"at {now}"


def test_S10_the_now_view_has_one_row_that_every_tick_updates() -> None:
    session = road(EXAMPLE_13)
    found = tagged(session, "select STREAMED KEY, currTime from ℜ(NowView)")
    assert found[:4] == ["+<1,0>0", "u<1,1>1", "u<1,2>2", "u<1,3>3"]
    assert found[1:] == [f"u<1,{t}>{t}" for t in range(1, len(found))]


def test_S10_the_now_view_holds_the_present_instant() -> None:
    session = road(EXAMPLE_13)
    query = ask(session, "select COMPLETE currTime from ℜ(NowView)")
    assert states(session, query, (0, 3, 17)) == {0: [(0,)], 3: [(3,)], 17: [(17,)]}


def test_S10_the_window_over_the_now_view_has_the_bounds_that_are_written() -> None:
    # Example 13 writes both bounds with ≤, so that a tuple stays for six instants; example 5 writes the first with <.
    session = road(EXAMPLE_13 + FIVE_UNITS_OVER_NOW_VIEW)
    assert tagged(session, "select STREAMED CarID from ℜ(FiveUnitsWindow)") == [
        "+<1>1", "+<2>2", "+<3>4", "-<1>7", "-<2>8", "+<4>9", "-<3>10", "-<4>15"
    ]  # fmt: skip


def test_S10_a_window_over_the_now_view_expires_however_long_its_range() -> None:
    session = road(EXAMPLE_13 + FIVE_UNITS_OVER_NOW_VIEW.replace("- 5", "- 50"), [(1, "car", 3)])
    assert tagged(session, "select STREAMED CarID from ℜ(FiveUnitsWindow)") == ["+<1>3", "-<1>54"]


def test_S10_now_and_the_now_view_define_the_same_window() -> None:
    over_view = FIVE_UNITS_OVER_NOW_VIEW.replace("5 <=", "5 <").replace("FiveUnitsWindow", "OverNowView")
    session = road(FIVE_UNITS + EXAMPLE_13 + over_view)
    for view in ("FiveUnitsWindow", "OverNowView"):
        assert tagged(session, f"select STREAMED CarID from ℜ({view})") == FIVE_UNITS_OUTPUT


def test_S10_a_slide_of_two_units_is_a_row_that_every_second_tick_updates() -> None:
    found = tagged(road(EXAMPLE_14), "select STREAMED KEY, currTime from ℜ(TwoUnitsSlide)")
    assert found[:4] == ["+<1,0>0", "u<1,2>2", "u<1,4>4", "u<1,6>6"]


def test_S10_a_window_of_range_five_and_slide_two_changes_at_even_instants() -> None:
    # Evaluated at 2, 4, ...: car 1 is in [t - 5, t] at 2, 4 and 6, car 2 at 2, 4 and 6, car 3 at 4, 6 and 8.
    session = road(EXAMPLE_14)
    assert tagged(session, "select STREAMED CarID from ℜ(RangeFiveSlideTwo)") == [
        "+<1>2", "+<2>2", "+<3>4", "-<1>8", "-<2>8", "-<3>10", "+<4>10", "-<4>16"
    ]  # fmt: skip


@pytest.mark.parametrize("slide", [2, 3])
def test_S10_range_and_slide_by_predicate_equal_the_window_in_brackets(slide: int) -> None:
    by_predicate = EXAMPLE_14.replace("Sync2", f"Sync{slide}")
    session = road((sync_view(3) if slide == 3 else "") + by_predicate)
    instants = range(18)
    assert first_column(session, "select CarID from ℜ(RangeFiveSlideTwo)", instants) == first_column(
        session, f"select CarID from Road [RANGE 5 SLIDE {slide}]", instants
    )


MANY = 100_000
"""Rows, one at each instant: a window of 5 units holds 5 or 6 of them."""
BOUNDED = {
    "example 5": "select STREAMED CarID from ℜ(FiveUnitsWindow)",
    "example 6": EXAMPLE_6.replace("COUNT(*)", "CarType, COUNT(*)"),
    "example 13": "select STREAMED R.CarType, COUNT(*) from ℜ(S) R, ℜ(NowView) N "
    "where N.currTime - 5 <= R.TS <= N.currTime group by R.CarType",
    "example 14": "select STREAMED R.CarType, COUNT(*) from ℜ_Sync2(S) R, ℜ(TwoUnitsSlide) N "
    "where N.currTime - 5 <= R.TS <= N.currTime group by R.CarType",
    "a window on each of two views": "select STREAMED A.CarID, B.CarID from ℜ(S) A, ℜ(S) B "
    "where A.CarType = B.CarType and Now - 5 < A.TS and Now - 3 < B.TS",
    "tuples at most five apart": "select STREAMED A.CarID, B.CarID from ℜ(S) A, ℜ(S) B "
    "where A.CarType = B.CarType and B.TS - 5 <= A.TS <= B.TS + 5",
    "a view with a key": "select STREAMED K.CarID from ℜ(ByType) K where Now - 5 < K.TS",
}


def test_S7_S10_the_state_of_a_window_by_predicate_is_bounded_by_the_window() -> None:
    session = road(FIVE_UNITS + EXAMPLE_13 + EXAMPLE_14 + "CREATE STREAM ByType OVER Road KEY CarType;", [])
    session.insert("Road", [(i, f"type {i // 3}", i) for i in range(MANY)])
    queries = [ask(session, text) for text in BOUNDED.values()]
    found: list[Progress] = []
    with BoundedRun(queries, session.inputs.given(queries[0].sources), [], InProcess(), BoundedOptions(20_000)) as run:
        run.to_the_end(found.append)
    assert sum(done.rows_in["road"] for done in found) == MANY
    states = [sum(done.state_rows.values()) for done in found]
    assert max(states) < 40 * len(queries), "a few rows of a window in each operator, and none that has left it"

"""CQL 7.2: window reduction and filter-window commutativity hold at every instant, and fail where they must."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.acceptance.helpers import Asked, Row, ask, ask_all, ask_in, auction_streams, day, session_with

S = "CREATE STREAM S (A INT, B STRING, ts BIGINT) ORDERED BY ts;"
KEYED = "CREATE STREAM S (A INT, B STRING, ts BIGINT) ORDERED BY ts KEY A;"
DERIVED = "CREATE STREAM D AS SELECT DSTREAM(A, B) FROM S [RANGE 1];"
LAST = 12

Elements = list[tuple[int, str, int]]
few = settings(max_examples=12, deadline=None, print_blob=True)
elements_ = st.tuples(st.integers(0, 2), st.sampled_from("xy"), st.integers(0, 6))
random_streams = st.lists(elements_, max_size=9).map(lambda elements: sorted(elements, key=lambda e: e[2]))
streams_with_key = st.lists(elements_, max_size=7).map(
    lambda elements: [(n, b, ts) for n, (_, b, ts) in enumerate(sorted(elements, key=lambda e: e[2]))]
)

LISTS: list[tuple[str, Callable[[int, str], Row]]] = [
    ("*", lambda a, b: (a, b)),
    ("B", lambda _, b: (b,)),
    ("A + 1, A", lambda a, _: (a + 1, a)),
]
CONDITIONS: list[tuple[str, Callable[[int, str], bool]]] = [
    ("A > 0", lambda a, _: a > 0),
    ("A = 1 or B = 'x'", lambda a, b: a == 1 or b == "x"),
]
queries = st.tuples(st.sampled_from(LISTS), st.sampled_from(CONDITIONS))


def streams(asked: Asked) -> list[Counter[Row]]:
    return [Counter(asked.streamed_at(t)) for t in range(LAST + 1)]


def relations(asked: Asked) -> list[Counter[Row]]:
    return [Counter(asked.at(t)) for t in range(LAST + 1)]


def departures(elements: Elements, t: int) -> Counter[tuple[int, str]]:
    """What leaves S[Range 1] at an instant."""
    before, now = (Counter((a, b) for a, b, ts in elements if u - 1 <= ts <= u) for u in (t - 1, t))
    return before - now


# Window reduction (7.2.1).


def test_C17_an_unbounded_window_under_istream_is_a_now_window_under_rstream() -> None:
    session = session_with(S, {"S": [(1, "x", 1), (1, "x", 1), (1, "x", 2), (0, "y", 2), (1, "x", 5)]})
    unbounded = ask_in(session, "Select Istream(B) From S[Range Unbounded]\nWhere A = 1")
    reduced = ask_in(session, "Select Rstream(B) From S[Now] Where A = 1")
    assert unbounded.elements == [(1, ("x",)), (1, ("x",)), (2, ("x",)), (5, ("x",))]
    assert reduced.elements == unbounded.elements


def test_C17_without_a_key_a_now_window_under_istream_loses_a_tuple_that_repeats_at_the_next_instant() -> None:
    asked = ask(S, {"S": [(1, "x", 1), (1, "x", 2), (1, "x", 2), (1, "x", 5)]}, "Select Istream(*) From S[Now]")
    assert asked.elements == [(1, (1, "x")), (2, (1, "x")), (5, (1, "x"))]


def test_C17_a_key_that_the_select_list_drops_does_not_allow_istream() -> None:
    session = session_with(KEYED, {"S": [(1, "x", 1), (2, "x", 2), (3, "x", 4)]})
    assert ask_in(session, "Select Istream(B) From S[Range Unbounded]").elements == [
        (1, ("x",)),
        (2, ("x",)),
        (4, ("x",)),
    ]
    assert ask_in(session, "Select Rstream(B) From S[Now]").elements == [(1, ("x",)), (2, ("x",)), (4, ("x",))]
    assert ask_in(session, "Select Istream(B) From S[Now]").elements == [(1, ("x",)), (4, ("x",))]


@few
@given(random_streams, queries)
def test_C17_window_reduction_holds_for_any_list_and_condition_over_any_stream(
    elements: Elements,
    query: tuple[tuple[str, Callable[[int, str], Row]], tuple[str, Callable[[int, str], bool]]],
) -> None:
    (select, row), (condition, holds) = query
    session = session_with(S, {"S": elements})
    unbounded, reduced = ask_all(
        session,
        f"Select Istream({select}) From S[Range Unbounded] Where {condition}",
        f"Select Rstream({select}) From S[Now] Where {condition}",
    )
    expected = [Counter(row(a, b) for a, b, ts in elements if ts == t and holds(a, b)) for t in range(LAST + 1)]
    assert streams(unbounded) == expected
    assert streams(reduced) == expected


@few
@given(random_streams)
def test_C17_window_reduction_holds_over_a_subquery_that_produces_a_stream(elements: Elements) -> None:
    session = session_with(S, {"S": elements})
    subquery = "(Select Dstream(A, B) From S[Range 1]) As D"
    unbounded, reduced = ask_all(
        session,
        f"Select Istream(A + 1) From {subquery} [Range Unbounded] Where B = 'x'",
        f"Select Rstream(A + 1) From {subquery} [Now] Where B = 'x'",
    )
    expected = [Counter((a + 1,) for a, b in departures(elements, t).elements() if b == "x") for t in range(LAST + 1)]
    assert streams(unbounded) == expected
    assert streams(reduced) == expected


@few
@given(streams_with_key)
def test_C17_with_a_key_istream_over_the_now_window_is_the_same_as_well(elements: Elements) -> None:
    session = session_with(KEYED, {"S": elements})
    unbounded, kept = ask_all(
        session,
        "Select Istream(*) From S[Range Unbounded] Where B = 'x'",
        "Select Istream(*) From S[Now] Where B = 'x'",
    )
    expected = [Counter((a, b) for a, b, ts in elements if ts == t and b == "x") for t in range(LAST + 1)]
    assert streams(unbounded) == expected
    assert streams(kept) == expected


@few
@given(random_streams)
def test_C17_istream_is_rstream_over_a_relation_that_shares_no_tuple_with_its_predecessor(elements: Elements) -> None:
    alternating = [(a + 10 * (ts % 2), b, ts) for a, b, ts in elements]
    at = [Counter((a, b) for a, b, ts in alternating if ts == t) for t in range(LAST + 1)]
    assert all(not now & before for before, now in pairwise(at))
    session = session_with(S, {"S": alternating})
    istream, rstream = ask_all(session, *(f"Select {op}(A, B) From S[Now]" for op in ("Istream", "Rstream")))
    assert streams(istream) == at
    assert streams(rstream) == at


# Filter-window commutativity (7.2.2).

QUERY_6_2 = """
Select Count(*) From Bid[Range 1 Hour]
Where item_id >= 100 and item_id <= 200
"""
QUERY_6_2_COMMUTED = """
Select Count(*) From
  (Select * From Bid
   Where item_id >= 100 and item_id <= 200)
 [Range 1 Hour]
"""


def test_C18_query_6_2_may_filter_before_or_after_its_window() -> None:
    bids: list[Row] = [
        (100, 1, 5.0, day("10:00")),
        (99, 1, 5.0, day("10:10")),
        (200, 1, 5.0, day("10:30")),
        (200, 1, 5.0, day("10:30")),
        (201, 1, 5.0, day("10:40")),
    ]
    session = session_with(auction_streams("TIMESTAMP"), {"Bid": bids})
    after, before = ask_in(session, QUERY_6_2), ask_in(session, QUERY_6_2_COMMUTED)
    moments = [day(t) for t in ("09:00", "10:00", "10:20", "10:30", "11:00", "11:00:00.000001", "11:30", "11:31")]
    assert after.contents(moments) == [[(n,)] for n in (0, 1, 1, 3, 3, 2, 2, 0)]
    assert before.contents(moments) == after.contents(moments)
    assert before.lines == after.lines


def test_C18_a_filter_does_not_commute_with_a_row_window() -> None:
    session = session_with(S, {"S": [(1, "x", 1), (0, "y", 2), (1, "z", 3), (0, "u", 4)]})
    filtered_first = ask_in(session, "Select * From (Select B From S Where A = 1)[Rows 2]")
    windowed_first = ask_in(session, "Select B From S[Rows 2] Where A = 1")
    assert filtered_first.contents(range(1, 5)) == [[("x",)], [("x",)], [("x",), ("z",)], [("x",), ("z",)]]
    assert windowed_first.contents(range(1, 5)) == [[("x",)], [("x",)], [("z",)], [("z",)]]


@pytest.mark.parametrize("window", ["[Now]", "[Range 1]", "[Range 3]", "[Range Unbounded]"])
@few
@given(elements=random_streams, query=queries)
def test_C18_a_filter_commutes_with_a_time_window_for_any_list_and_condition(
    window: str,
    elements: Elements,
    query: tuple[tuple[str, Callable[[int, str], Row]], tuple[str, Callable[[int, str], bool]]],
) -> None:
    (select, row), (condition, holds) = query
    session = session_with(S, {"S": elements})
    before, after = ask_all(
        session,
        f"Select * From (Select {select} From S Where {condition}) {window}",
        f"Select {select} From S {window} Where {condition}",
    )
    size = {"[Now]": 0, "[Range 1]": 1, "[Range 3]": 3, "[Range Unbounded]": LAST}[window]
    expected = [
        Counter(row(a, b) for a, b, ts in elements if t - size <= ts <= t and holds(a, b)) for t in range(LAST + 1)
    ]
    assert relations(before) == expected
    assert relations(after) == expected


@few
@given(random_streams)
def test_C18_a_filter_commutes_with_a_time_window_over_a_derived_stream(elements: Elements) -> None:
    session = session_with(S + DERIVED, {"S": elements})
    before, after = ask_all(
        session,
        "Select * From (Select A From D Where B = 'x')[Range 2]",
        "Select A From D[Range 2] Where B = 'x'",
    )
    expected = [
        Counter((a,) for u in (t - 2, t - 1, t) for a, b in departures(elements, u).elements() if b == "x")
        for t in range(LAST + 1)
    ]
    assert relations(before) == expected
    assert relations(after) == expected

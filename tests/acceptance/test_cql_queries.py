"""CQL 6.3: the example queries 6.1 to 6.4 as they are printed, over a few auctions."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from continua.algebra.base import Kind
from tests.acceptance.helpers import Line, Moment, Row, ask, ask_all, ask_in, auction_streams, day, session_with

TICKS, MOMENTS = auction_streams("BIGINT"), auction_streams("TIMESTAMP")
BEGINNING = datetime(1970, 1, 1)

QUERY_6_1 = "Select * From Open Where start_price > 100"
QUERY_6_1_REWRITTEN = """
Select Istream(*) From Open[Now]
Where start_price > 100
"""
QUERY_6_2 = """
Select Count(*) From Bid[Range 1 Hour]
Where item_id >= 100 and item_id <= 200
"""
QUERY_6_3 = """
Select * From Open
Where item_id Not In (Select * From Close)
"""
QUERY_6_4 = """
Select user_id, name, state
From Register[Partition By user_id Rows 1]
Where user_id Not In
      (Select * From Deregister)
"""


def test_C8_query_6_1_streams_each_auction_that_starts_above_100() -> None:
    opened: list[Row] = [(1, 10, 100.0, 1), (2, 11, 150.0, 3), (3, 10, 250.5, 3), (4, 12, 99.0, 4), (5, 11, 101.0, 6)]
    asked = ask(TICKS, {"Open": opened}, QUERY_6_1)
    assert asked.elements == [(3, (2, 11, 150.0)), (3, (3, 10, 250.5)), (6, (5, 11, 101.0))]


def test_C8_query_6_1_works_in_the_domain_of_timestamps() -> None:
    opened: list[Row] = [(1, 10, 100.0, day("10:00")), (2, 11, 150.0, day("10:00:00.5"))]
    assert ask(MOMENTS, {"Open": opened}, QUERY_6_1).elements == [(day("10:00:00.5"), (2, 11, 150.0))]


def test_C8_query_6_1_relies_on_two_defaults() -> None:
    asked = ask(TICKS, {}, QUERY_6_1)
    assert asked.notices == {
        "DEFAULT_WINDOW": [{"stream": "Open", "window": "[RANGE UNBOUNDED]"}],
        "DEFAULT_OPERATOR": [{"operator": "ISTREAM"}],
        "EXPANDED_QUERY": [{"query": "SELECT ISTREAM(*) FROM Open [RANGE UNBOUNDED] WHERE start_price > 100"}],
    }


def test_C8_query_6_1_equals_its_rewritten_form() -> None:
    opened: list[Row] = [(1, 10, 100.0, 1), (2, 11, 150.0, 3), (3, 11, 150.0, 3), (4, 12, 150.0, 4)]
    session = session_with(TICKS, {"Open": opened})
    expected = [(3, (2, 11, 150.0)), (3, (3, 11, 150.0)), (4, (4, 12, 150.0))]
    assert ask_in(session, QUERY_6_1).elements == expected
    assert ask_in(session, QUERY_6_1_REWRITTEN).elements == expected


auctions = st.lists(st.tuples(st.integers(9, 11), st.sampled_from([50.0, 100.0, 150.0]), st.integers(0, 5)), max_size=8)


@settings(max_examples=20, deadline=None, print_blob=True)
@given(auctions)
def test_C8_query_6_1_equals_its_rewritten_form_whatever_is_opened(opened: list[tuple[int, float, int]]) -> None:
    in_order = sorted(opened, key=lambda o: o[2])
    rows: list[Row] = [(item, seller, price, ts) for item, (seller, price, ts) in enumerate(in_order)]
    session = session_with(TICKS, {"Open": rows})
    expected = [(ts, (item, seller, price)) for item, (seller, price, ts) in enumerate(in_order) if price > 100]
    query, rewritten = ask_all(session, QUERY_6_1, QUERY_6_1_REWRITTEN)
    for t in range(7):
        at_once = [row for ts, row in expected if ts == t]
        assert query.streamed_at(t) == at_once
        assert rewritten.streamed_at(t) == at_once


BIDS: list[Row] = [
    (100, 1, 5.0, day("10:00")),
    (200, 2, 6.0, day("10:30")),
    (99, 1, 7.0, day("10:40")),
    (201, 1, 8.0, day("10:45")),
    (150, 3, 9.0, day("10:45")),
]
COUNTS: list[tuple[Moment, Row]] = [
    (BEGINNING, (0,)),
    (day("10:00"), (1,)),
    (day("10:30"), (2,)),
    (day("10:45"), (3,)),
    (day("11:00:00.000001"), (2,)),
    (day("11:30:00.000001"), (1,)),
    (day("11:45:00.000001"), (0,)),
]


def test_C9_query_6_2_maintains_a_running_count_of_the_last_hour() -> None:
    asked = ask(MOMENTS, {"Bid": BIDS}, QUERY_6_2)
    assert asked.query.kind is Kind.RELATION
    assert asked.notices == {}
    changes: list[Line] = [(BEGINNING, "+", (0,))]
    for (_, old), (moment, new) in pairwise(COUNTS):
        changes += [(moment, "-", old), (moment, "+", new)]
    assert asked.lines == changes
    between = [day("09:00"), day("10:29:59"), day("11:00"), day("11:30"), day("11:45"), day("20:00")]
    assert asked.contents(between) == [[(0,)], [(1,)], [(3,)], [(2,)], [(1,)], [(0,)]]


def test_C9_query_6_2_with_istream_streams_a_new_value_when_the_count_changes() -> None:
    asked = ask(MOMENTS, {"Bid": BIDS}, QUERY_6_2.replace("Count(*)", "Istream(Count(*))"))
    assert asked.elements == COUNTS


def test_C9_query_6_2_with_istream_is_silent_where_one_bid_comes_as_another_goes() -> None:
    bids: list[Row] = [(100, 1, 5.0, day("10:00")), (101, 1, 5.0, day("11:01"))]
    session = session_with(f"SET chronon = '1 minute'; {MOMENTS}", {"Bid": bids})
    istream = ask_in(session, QUERY_6_2.replace("Count(*)", "Istream(Count(*))"))
    assert istream.elements == [(BEGINNING, (0,)), (day("10:00"), (1,)), (day("12:02"), (0,))]
    rstream = ask_in(session, QUERY_6_2.replace("Count(*)", "Rstream(Count(*))"))
    assert rstream.streamed([day("11:00"), day("11:01"), day("11:02")]) == [[(1,)]] * 3


def test_C9_query_6_2_with_rstream_streams_the_count_at_each_instant() -> None:
    bids: list[Row] = [(100, 1, 5.0, day("10:00")), (101, 1, 5.0, day("10:02")), (300, 1, 5.0, day("10:03"))]
    asked = ask(
        f"SET chronon = '1 minute'; {MOMENTS}", {"Bid": bids}, QUERY_6_2.replace("Count(*)", "Rstream(Count(*))")
    )
    minutes = [day(f"{t}") for t in ("09:59", "10:00", "10:01", "10:02", "10:03", "11:00", "11:01", "11:02", "11:03")]
    assert asked.streamed(minutes) == [[(n,)] for n in (0, 1, 1, 2, 2, 2, 1, 1, 0)]


def test_C10_query_6_3_maintains_a_table_of_the_open_auctions() -> None:
    rows: dict[str, list[Row]] = {
        "Open": [(1, 10, 5.0, 1), (2, 11, 6.0, 2), (3, 10, 7.0, 4)],
        "Close": [(1, 3), (3, 4), (9, 5), (2, 7)],
    }
    asked = ask(TICKS, rows, QUERY_6_3)
    one, two = (1, 10, 5.0), (2, 11, 6.0)
    assert asked.contents(range(9)) == [[], [one], [one, two], [two], [two], [two], [two], [], []]
    assert asked.lines == [(1, "+", one), (2, "+", two), (3, "-", one), (7, "-", two)]


def test_C10_query_6_3_gets_unbounded_windows_but_no_operator() -> None:
    asked = ask(TICKS, {}, QUERY_6_3)
    assert asked.query.kind is Kind.RELATION
    assert asked.notices["DEFAULT_WINDOW"] == [
        {"stream": "Open", "window": "[RANGE UNBOUNDED]"},
        {"stream": "Close", "window": "[RANGE UNBOUNDED]"},
    ]
    assert "DEFAULT_OPERATOR" not in asked.notices


REGISTRATIONS: dict[str, list[Row]] = {
    "Register": [
        (1, "ann", "CA", 1),
        (2, "bob", "NY", 2),
        (1, "ann", "OR", 4),
        (2, "bob", "CA", 7),
        (3, "cy", "WA", 8),
    ],
    "Deregister": [(1, 5), (3, 8)],
}


def test_C11_query_6_4_holds_the_latest_registration_of_each_user_who_has_not_deregistered() -> None:
    asked = ask(TICKS, REGISTRATIONS, QUERY_6_4)
    ann, moved_ann, bob, moved_bob = (1, "ann", "CA"), (1, "ann", "OR"), (2, "bob", "NY"), (2, "bob", "CA")
    assert asked.contents(range(9)) == [
        [],
        [ann],
        [ann, bob],
        [ann, bob],
        [moved_ann, bob],
        [bob],
        [bob],
        [moved_bob],
        [moved_bob],
    ]
    assert asked.lines == [
        (1, "+", ann),
        (2, "+", bob),
        (4, "-", ann),
        (4, "+", moved_ann),
        (5, "-", moved_ann),
        (7, "-", bob),
        (7, "+", moved_bob),
    ]


def test_C11_query_6_4_names_the_columns_of_the_derived_relation() -> None:
    assert ask(TICKS, REGISTRATIONS, QUERY_6_4).query.columns == ("user_id", "name", "state")


def test_C11_a_view_of_query_6_4_equals_the_query_put_in_its_place() -> None:
    session = session_with(TICKS, REGISTRATIONS)
    session.execute(f"CREATE VIEW User AS {QUERY_6_4}")
    by_view = ask_in(session, "SELECT state, COUNT(*) FROM User GROUP BY state")
    in_place = ask_in(session, f"SELECT state, COUNT(*) FROM ({QUERY_6_4}) AS User GROUP BY state")
    expected = [[], [("CA", 1)], [("CA", 1), ("NY", 1)], [("CA", 1), ("NY", 1)], [("NY", 1), ("OR", 1)], [("NY", 1)]]
    assert by_view.contents(range(6)) == expected
    assert in_place.contents(range(6)) == expected
    assert in_place.lines == by_view.lines


def test_C11_query_6_4_works_in_the_domain_of_timestamps() -> None:
    rows: dict[str, list[Row]] = {
        "Register": [(1, "ann", "CA", day("10:00")), (1, "ann", "OR", day("11:00"))],
        "Deregister": [(1, day("12:00"))],
    }
    asked = ask(MOMENTS, rows, QUERY_6_4)
    assert asked.lines == [
        (day("10:00"), "+", (1, "ann", "CA")),
        (day("11:00"), "-", (1, "ann", "CA")),
        (day("11:00"), "+", (1, "ann", "OR")),
        (day("12:00"), "-", (1, "ann", "OR")),
    ]

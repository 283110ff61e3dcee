"""CQL 6.3: the example queries 6.5 to 6.7 as they are printed, and the notes on their windows."""

from __future__ import annotations

from tests.acceptance.helpers import Row, ask, ask_in, auction_streams, day, session_with

TICKS, MOMENTS = auction_streams("BIGINT"), auction_streams("TIMESTAMP")

USER = """
CREATE VIEW User (id, name, state) AS
Select user_id, name, state
From Register[Partition By user_id Rows 1]
Where user_id Not In
      (Select * From Deregister);
"""
QUERY_6_5 = """
Select Istream(Open.*) From Open[Now], User
Where seller_id = id and state = 'CA'
"""
QUERY_6_6 = """
Select Istream(Close.item_id)
From Close[Now], Open[Range 5 Hours]
Where Close.item_id = Open.item_id
"""
QUERY_6_7 = """
Select Istream(Close.item_id, P.price)
From Close[Now],
  ((Select item_id, bid_price as price
   From Bid)
  Union
  (Select item_id, start_price as price
   From Open))
  [Partition By item_id Rows 1] As P
Where Close.item_id = P.item_id
"""

# Ann lives in CA, moves to OR at 8 and back at 12; Bob lives in NY, moves to CA at 6 and deregisters at 10.
SELLERS: dict[str, list[Row]] = {
    "Register": [
        (1, "ann", "CA", 1),
        (2, "bob", "NY", 1),
        (2, "bob", "CA", 6),
        (1, "ann", "OR", 8),
        (1, "ann", "CA", 12),
    ],
    "Deregister": [(2, 10)],
    "Open": [
        (101, 1, 10.0, 2),
        (102, 2, 10.0, 3),
        (105, 2, 10.0, 6),
        (103, 2, 10.0, 7),
        (104, 1, 10.0, 9),
        (106, 2, 10.0, 11),
        (107, 3, 10.0, 11),
    ],
}


def test_C12_query_6_5_streams_auctions_of_users_who_live_in_california_when_they_start_them() -> None:
    asked = ask(TICKS + USER, SELLERS, QUERY_6_5)
    assert asked.elements == [(2, (101, 1, 10.0)), (6, (105, 2, 10.0)), (7, (103, 2, 10.0))]
    assert asked.query.columns == ("item_id", "seller_id", "start_price")
    assert asked.notices == {}


def test_C12_query_6_5_with_an_unbounded_window_streams_old_auctions_when_a_user_moves_into_california() -> None:
    asked = ask(TICKS + USER, SELLERS, QUERY_6_5.replace("[Now]", "[Range Unbounded]"))
    assert asked.elements == [
        (2, (101, 1, 10.0)),
        (6, (102, 2, 10.0)),
        (6, (105, 2, 10.0)),
        (7, (103, 2, 10.0)),
        (12, (101, 1, 10.0)),
        (12, (104, 1, 10.0)),
    ]


def test_C12_query_6_5_without_a_window_gets_the_unbounded_one_and_the_author_is_told() -> None:
    session = session_with(TICKS + USER, SELLERS)
    unbounded = ask_in(session, QUERY_6_5.replace("[Now]", "[Range Unbounded]"))
    default = ask_in(session, QUERY_6_5.replace("[Now]", ""))
    assert default.notices["DEFAULT_WINDOW"] == [{"stream": "Open", "window": "[RANGE UNBOUNDED]"}]
    assert default.elements == unbounded.elements


def test_C12_query_6_5_with_rstream_is_the_same_over_a_now_window() -> None:
    asked = ask(TICKS + USER, SELLERS, QUERY_6_5.replace("Istream", "Rstream"))
    assert asked.elements == [(2, (101, 1, 10.0)), (6, (105, 2, 10.0)), (7, (103, 2, 10.0))]


def test_C12_query_6_5_works_in_the_domain_of_timestamps() -> None:
    rows: dict[str, list[Row]] = {
        "Register": [(1, "ann", "NY", day("09:00")), (1, "ann", "CA", day("10:00"))],
        "Open": [(1, 1, 5.0, day("09:59:59.999999")), (2, 1, 5.0, day("10:00")), (3, 1, 5.0, day("23:00"))],
    }
    asked = ask(MOMENTS + USER, rows, QUERY_6_5)
    assert asked.elements == [(day("10:00"), (2, 1, 5.0)), (day("23:00"), (3, 1, 5.0))]


def test_C13_query_6_6_streams_auctions_closed_within_five_hours_at_the_time_of_their_closing() -> None:
    rows: dict[str, list[Row]] = {
        "Open": [
            (1, 10, 5.0, day("08:00")),
            (2, 10, 5.0, day("08:00")),
            (3, 10, 5.0, day("08:00")),
            (5, 10, 5.0, day("12:00")),
        ],
        "Close": [
            (1, day("10:00")),
            (4, day("11:00")),
            (5, day("12:00")),
            (2, day("13:00")),
            (3, day("13:00:00.000001")),
        ],
    }
    asked = ask(MOMENTS, rows, QUERY_6_6)
    assert asked.elements == [(day("10:00"), (1,)), (day("12:00"), (5,)), (day("13:00"), (2,))]
    assert asked.notices == {}


def test_C13_query_6_6_in_ticks_takes_a_range_without_a_unit() -> None:
    rows: dict[str, list[Row]] = {
        "Open": [(1, 10, 5.0, 1), (2, 10, 5.0, 1), (3, 10, 5.0, 4)],
        "Close": [(1, 6), (2, 7), (3, 8)],
    }
    asked = ask(TICKS, rows, QUERY_6_6.replace("5 Hours", "5"))
    assert asked.elements == [(6, (1,)), (8, (3,))]


CLOSINGS: dict[str, list[Row]] = {
    "Open": [(1, 10, 5.0, 1), (2, 11, 8.0, 1), (3, 10, 9.0, 2)],
    "Bid": [(1, 20, 6.0, 2), (1, 21, 7.5, 3), (3, 20, 10.0, 4), (3, 22, 12.0, 6)],
    "Close": [(1, 5), (2, 6), (3, 7)],
}
PRICES: list[tuple[int, Row]] = [(5, (1, 7.5)), (6, (2, 8.0)), (7, (3, 12.0))]


def test_C14_query_6_7_streams_the_last_bid_or_the_starting_price_of_each_closed_auction() -> None:
    asked = ask(TICKS, CLOSINGS, QUERY_6_7)
    assert asked.elements == PRICES
    assert asked.query.columns == ("item_id", "price")


def test_C14_query_6_7_works_in_the_domain_of_timestamps() -> None:
    rows: dict[str, list[Row]] = {
        "Open": [(1, 10, 5.0, day("10:00")), (2, 10, 7.0, day("10:00"))],
        "Bid": [(1, 20, 6.0, day("10:00:00.000001"))],
        "Close": [(1, day("11:00")), (2, day("11:00"))],
    }
    assert ask(MOMENTS, rows, QUERY_6_7).elements == [(day("11:00"), (1, 6.0)), (day("11:00"), (2, 7.0))]


def test_C14_query_6_7_gets_unbounded_windows_in_the_union_and_istream_around_it() -> None:
    asked = ask(TICKS, CLOSINGS, QUERY_6_7)
    assert asked.notices["DEFAULT_WINDOW"] == [
        {"stream": "Bid", "window": "[RANGE UNBOUNDED]"},
        {"stream": "Open", "window": "[RANGE UNBOUNDED]"},
    ]
    assert asked.notices["DEFAULT_OPERATOR"] == [{"operator": "ISTREAM"}]
    explicit = QUERY_6_7.replace("  ((Select", "  (Istream((Select").replace("From Open))", "From Open)))")
    written_out = ask(TICKS, CLOSINGS, explicit)
    assert "DEFAULT_OPERATOR" not in written_out.notices
    assert written_out.elements == PRICES


def test_C14_the_expanded_query_6_7_gives_the_same_answer() -> None:
    session = session_with(TICKS, CLOSINGS)
    (told,) = ask_in(session, QUERY_6_7).notices["EXPANDED_QUERY"]
    expanded = ask_in(session, str(told["query"]))
    assert expanded.notices == {}
    assert expanded.elements == PRICES


def test_C14_query_6_7_is_the_same_with_an_unbounded_window_on_close_while_no_bid_follows_a_closing() -> None:
    session = session_with(TICKS, CLOSINGS)
    assert ask_in(session, QUERY_6_7.replace("Close[Now]", "Close[Range Unbounded]")).elements == PRICES
    assert ask_in(session, QUERY_6_7.replace("Close[Now]", "Close")).elements == PRICES


def test_C14_a_bid_after_the_closing_tells_the_two_windows_apart() -> None:
    rows: dict[str, list[Row]] = {**CLOSINGS, "Bid": [*CLOSINGS["Bid"], (1, 20, 99.0, 8)]}
    session = session_with(TICKS, rows)
    assert ask_in(session, QUERY_6_7).elements == PRICES
    unbounded = ask_in(session, QUERY_6_7.replace("Close[Now]", "Close[Range Unbounded]"))
    assert unbounded.elements == [*PRICES, (8, (1, 99.0))]

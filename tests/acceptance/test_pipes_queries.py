"""PIPES 2009, examples 3, 4 and 5: the NEXMark queries, their answers and the logical plans of figures 6 and 7."""

from __future__ import annotations

from datetime import datetime
from typing import TypeVar

from continua.algebra.base import Plan
from continua.algebra.leaves import Source
from continua.algebra.printer import tree
from continua.algebra.relational import Aggregate, Join, JoinKind, SetOperation, SetOperator, Window
from continua.algebra.streaming import ToStream
from continua.algebra.traverse import nodes_of
from continua.instants import instant_of
from continua.session import Session
from continua.windows.occurrences import Row
from continua.windows.over_time import NOW, TimeWindow
from tests.acceptance.sync_helpers import ask, segments, windows_of

P = TypeVar("P", bound=Plan)
MINUTE = 60_000_000

STREAMS = """
CREATE STREAM OpenAuction(itemID INT, sellerID INT, start_price REAL, timestamp TIMESTAMP) ORDERED BY timestamp;
CREATE STREAM ClosedAuction(itemID INT, buyerID INT, timestamp TIMESTAMP) ORDERED BY timestamp;
CREATE STREAM Bid(itemID INT, bid_price REAL, bidderID INT, timestamp TIMESTAMP) ORDERED BY timestamp;
"""

CURRENCY_CONVERSION = """
SELECT itemID, DolToEuro(bid_price), bidderID
FROM Bid;
"""

SELECTION = """
SELECT *
FROM Bid
WHERE itemID = 1007 OR itemID = 1020 OR itemID = 2001 OR itemID = 2019 OR itemID = 1087;
"""

SHORT_AUCTIONS = """
SELECT O.*
FROM OpenAuction O WINDOW(RANGE 5 HOURS), ClosedAuction C
WHERE O.itemID = C.itemID;
"""

CLOSING_PRICE = """
CREATE STREAM CurrentPrice AS

SELECT P.itemID, P.price, O.sellerID AS sellerID

FROM ((SELECT itemID, bid_price AS price

FROM Bid WINDOW(RANGE 2 DAYS))

UNION ALL

(SELECT itemID, start_price AS price

FROM OpenAuction WINDOW(RANGE 2 DAYS))) P,

ClosedAuction C,

OpenAuction O WINDOW(RANGE 2 DAYS)

WHERE P.itemID = C.itemID AND C.itemID = O.itemID;

CREATE STREAM ClosingPriceStream AS

SELECT itemID, sellerID, MAX(P.price) AS price
FROM CurrentPrice P,
GROUP BY P.itemID, P.sellerID;
"""

HIGHEST_BID = """
SELECT itemID, bid_price
FROM Bid WINDOW(RANGE 10 MINUTES)
WHERE bid_price = (SELECT MAX(bid_price)
                   FROM Bid WINDOW(RANGE 10 MINUTES));
"""

HOT_ITEM = """
SELECT itemID

FROM (SELECT B1.itemID AS itemID, COUNT(*) AS num
FROM Bid WINDOW(RANGE 60 MINUTES) B1
GROUP BY B1.itemID)

WHERE num >= ALL(SELECT COUNT(*)

FROM Bid WINDOW(RANGE 60 MINUTES) B2

GROUP BY B2.itemID);
"""


def moment(text: str) -> datetime:
    """``10:30`` on the first of the month, ``3 10:30`` on the third."""
    day, _, time = text.rpartition(" ")
    return datetime.fromisoformat(f"2024-01-{int(day or 1):02} {time:0>5}")


def at(text: str) -> int:
    """The instant of that moment."""
    return instant_of(moment(text))


def nexmark(
    bids: list[tuple[int, float, int, str]] | None = None,
    opened: list[tuple[int, int, float, str]] | None = None,
    closed: list[tuple[int, int | None, str]] | None = None,
) -> Session:
    """The three streams of NEXMark; the last value of a row is its time."""
    session = Session(dialect="pipes")
    session.execute(STREAMS)
    session.insert("Bid", [(*row[:-1], moment(row[-1])) for row in bids or []])
    session.insert("OpenAuction", [(*row[:-1], moment(row[-1])) for row in opened or []])
    session.insert("ClosedAuction", [(*row[:-1], moment(row[-1])) for row in closed or []])
    return session


def elements(session: Session, text: str) -> list[tuple[Row, str]]:
    """The answer of a query whose elements last one instant each, with their times on the first of the month."""
    found = segments(session.answers([ask(session, text)]))
    assert all((end, count) == (start + 1, 1) for _, start, end, count in found)
    return [(row, f"{(start - at('0:00')) // (60 * MINUTE)}:{(start // MINUTE) % 60:02}") for row, start, *_ in found]


def nodes(plan: Plan, kind: type[P]) -> list[P]:
    """The operators of a kind in a plan."""
    return [node for node in nodes_of(plan) if isinstance(node, kind)]


def logical(text: str, definitions: str = "") -> Plan:
    session = nexmark()
    session.execute(definitions)
    return ask(session, text).bound.logical


EURO = "CREATE FUNCTION DolToEuro(dollars DOUBLE) RETURNS DOUBLE AS dollars * 0.75;"


def test_P4_the_currency_conversion_query_maps_every_bid() -> None:
    session = nexmark(bids=[(1, 10.0, 50, "10:00"), (2, 20.0, 51, "10:05"), (1, 12.0, 52, "10:09")])
    session.execute(EURO)
    assert elements(session, CURRENCY_CONVERSION) == [
        ((1, 7.5, 50), "10:00"),
        ((2, 15.0, 51), "10:05"),
        ((1, 9.0, 52), "10:09"),
    ]


def euros(dollars: float) -> float:
    """A conversion written in Python."""
    return dollars * 0.5


def test_P4_the_conversion_function_may_be_written_in_python() -> None:
    session = nexmark(bids=[(1, 10.0, 50, "10:00")])
    session.execute(
        "CREATE FUNCTION DolToEuro(dollars DOUBLE) RETURNS DOUBLE "
        "LANGUAGE PYTHON AS 'tests.acceptance.test_pipes_queries:euros'"
    )
    assert elements(session, CURRENCY_CONVERSION) == [((1, 5.0, 50), "10:00")]


def test_P4_the_selection_query_keeps_the_bids_on_five_items() -> None:
    session = nexmark(bids=[(1007, 1.0, 50, "10:00"), (8, 2.0, 51, "10:05"), (2019, 3.0, 52, "10:09")])
    assert elements(session, SELECTION) == [((1007, 1.0, 50), "10:00"), ((2019, 3.0, 52), "10:09")]
    listed = "SELECT * FROM Bid WHERE itemID IN (1007, 1020, 2001, 2019, 1087)"
    assert elements(session, listed) == elements(session, SELECTION)


def test_P4_the_short_auctions_query_reports_auctions_closed_within_five_hours() -> None:
    session = nexmark(
        opened=[(1, 70, 8.0, "0:00"), (2, 71, 9.0, "0:30"), (3, 72, 5.0, "0:40")],
        closed=[(1, 52, "4:00"), (2, 51, "5:30"), (3, None, "5:39")],
    )
    assert elements(session, SHORT_AUCTIONS) == [((1, 70, 8.0), "4:00"), ((3, 72, 5.0), "5:39")]


def test_P4_the_plans_of_conversion_and_selection_have_a_now_window_under_map_and_filter() -> None:
    session = nexmark()
    session.execute(EURO)
    assert ask(session, CURRENCY_CONVERSION).explain().splitlines() == [
        "Rstream",
        "└─ Map Bid.itemID AS itemID, CAST(Bid.bid_price AS DOUBLE) * 0.75 AS `doltoeuro(bid_price)`, "
        "Bid.bidderID AS bidderID",
        "   └─ Window [NOW]",
        "      └─ Source Bid",
    ]
    assert ask(session, "SELECT * FROM Bid WHERE itemID = 1007").explain().splitlines() == [
        "Rstream",
        "└─ Map Bid.itemID AS itemID, Bid.bid_price AS bid_price, Bid.bidderID AS bidderID",
        "   └─ Filter Bid.itemID = 1007",
        "      └─ Window [NOW]",
        "         └─ Source Bid",
    ]


def test_P6_now_windows_can_be_left_out_of_a_plan() -> None:
    short = ask(nexmark(), SHORT_AUCTIONS).bound.logical
    assert tree(short).count("Window") == 2
    assert tree(short, now_windows=False).count("Window") == 1
    assert "[NOW]" not in tree(short, now_windows=False)


def test_P4_the_plan_of_short_auctions_joins_a_window_of_five_hours_and_a_now_window() -> None:
    plan = logical(SHORT_AUCTIONS)
    (join,) = nodes(plan, Join)
    assert join.join is JoinKind.INNER
    assert isinstance(join.left, Window)
    assert isinstance(join.right, Window)
    assert (join.left.spec, join.right.spec) == (TimeWindow(300 * MINUTE), NOW)
    assert [s.name for s in nodes(plan, Source)] == ["OpenAuction", "ClosedAuction"]


def closing_prices() -> Session:
    """Item 1 has two bids, item 2 a bid below its start price, item 3 none, item 4 is open for more than two days."""
    session = nexmark(
        bids=[(1, 10.0, 50, "10:00"), (4, 99.0, 53, "10:01"), (2, 7.0, 51, "10:05"), (1, 12.0, 52, "11:00")],
        opened=[(1, 70, 8.0, "9:00"), (2, 71, 9.0, "9:30"), (3, 72, 5.0, "9:40"), (4, 73, 1.0, "9:50")],
        closed=[(1, 52, "12:00"), (2, 51, "12:30"), (3, None, "12:30"), (4, 53, "3 9:50")],
    )
    session.execute(CLOSING_PRICE)
    return session


def test_P5_the_current_price_stream_has_every_price_of_an_auction_when_it_closes() -> None:
    assert elements(closing_prices(), "SELECT * FROM CurrentPrice") == [
        ((1, 10.0, 70), "12:00"),
        ((1, 12.0, 70), "12:00"),
        ((1, 8.0, 70), "12:00"),
        ((2, 7.0, 71), "12:30"),
        ((2, 9.0, 71), "12:30"),
        ((3, 5.0, 72), "12:30"),
    ]


def test_P5_the_closing_price_is_the_highest_bid_or_else_the_start_price() -> None:
    assert elements(closing_prices(), "SELECT * FROM ClosingPriceStream") == [
        ((1, 70, 12.0), "12:00"),
        ((2, 71, 9.0), "12:30"),
        ((3, 72, 5.0), "12:30"),
    ]


def test_P5_a_derived_stream_may_be_replaced_by_its_query() -> None:
    session = closing_prices()
    inner = CLOSING_PRICE.split("CREATE STREAM ClosingPriceStream AS")[0].split("AS", 1)[1].strip().removesuffix(";")
    nested = f"SELECT itemID, sellerID, MAX(P.price) AS price FROM ({inner}) P GROUP BY P.itemID, P.sellerID"
    assert elements(session, nested) == elements(session, "SELECT * FROM ClosingPriceStream")


def test_P5_the_plan_groups_the_join_of_the_merged_streams_with_closed_and_open_auctions() -> None:
    plan = logical("SELECT * FROM ClosingPriceStream", CLOSING_PRICE)
    (grouping,) = nodes(plan, Aggregate)
    assert [call.function for _, call in grouping.aggregates] == ["MAX"]
    (union,) = nodes(grouping, SetOperation)
    assert (union.operator, union.distinct) == (SetOperator.UNION, False)
    assert [s.name for s in nodes(union, Source)] == ["Bid", "OpenAuction"]
    assert len(nodes(grouping, Join)) == 2
    two_days = TimeWindow(2880 * MINUTE)
    assert [w for w in windows_of(grouping) if w != NOW] == [two_days, two_days, two_days]


def test_P5_a_window_over_a_source_stands_directly_above_it() -> None:
    plan = logical("SELECT * FROM ClosingPriceStream", CLOSING_PRICE)
    above_sources = [w for w in nodes(plan, Window) if isinstance(w.input, Source)]
    assert len(above_sources) == len(nodes(plan, Source)) == 4


def test_P5_a_window_over_a_derived_stream_is_the_topmost_operator_of_its_plan() -> None:
    plan = logical("SELECT itemID FROM CurrentPrice WINDOW(RANGE 10 MINUTES)", CLOSING_PRICE)
    (window,) = (w for w in nodes(plan, Window) if w.spec == TimeWindow(10 * MINUTE))
    assert isinstance(window.input, ToStream)
    assert len(nodes(window.input, Join)) == 2


def test_P5_a_window_over_a_derived_stream_makes_its_elements_last() -> None:
    session = closing_prices()
    query = ask(session, "SELECT itemID FROM CurrentPrice WINDOW(RANGE 10 MINUTES)")
    assert segments(session.answers([query])) == [
        ((1,), at("12:00"), at("12:10"), 3),
        ((2,), at("12:30"), at("12:40"), 2),
        ((3,), at("12:30"), at("12:40"), 1),
    ]


def test_P5_a_snapshot_of_a_source_joined_with_a_derived_stream_may_be_asked_for_at_once() -> None:
    session = closing_prices()
    text = "SELECT B.bidderID, C.price FROM Bid B WINDOW(RANGE 1 DAY), ClosingPriceStream C WHERE B.itemID = C.itemID"
    assert session.snapshot(ask(session, text), at("12:00")) == [(50, 12.0), (52, 12.0)]


def test_P6_the_highest_bids_of_the_last_ten_minutes() -> None:
    session = nexmark(
        bids=[
            (1, 10.0, 50, "10:00"),
            (2, 20.0, 51, "10:05"),
            (1, 12.0, 52, "10:09"),
            (3, 12.0, 53, "10:10"),
            (4, 5.0, 54, "10:30"),
        ]
    )
    assert segments(session.answers([ask(session, HIGHEST_BID)])) == [
        ((1, 10.0), at("10:00"), at("10:05"), 1),
        ((2, 20.0), at("10:05"), at("10:15"), 1),
        ((1, 12.0), at("10:15"), at("10:19"), 1),
        ((3, 12.0), at("10:15"), at("10:20"), 1),
        ((4, 5.0), at("10:30"), at("10:40"), 1),
    ]


def test_P6_the_highest_bid_query_is_a_semijoin_with_the_maximum() -> None:
    plan = logical(HIGHEST_BID)
    (join,) = nodes(plan, Join)
    assert join.join is JoinKind.SEMI
    assert isinstance(join.left, Window)
    assert [call.function for _, call in nodes(join.right, Aggregate)[0].aggregates] == ["MAX"]
    assert windows_of(plan) == [TimeWindow(10 * MINUTE), TimeWindow(10 * MINUTE)]
    assert ask(nexmark(), HIGHEST_BID).explain().splitlines() == [
        "Rstream",
        "└─ Map Bid.itemID AS itemID, Bid.bid_price AS bid_price",
        "   └─ Semijoin Bid.bid_price = `sub.max(bid_price)`",
        "      ├─ Window WINDOW(RANGE 10 MINUTES)",
        "      │  └─ Source Bid",
        "      └─ Map max AS `sub.max(bid_price)`",
        "         └─ ScalarAggregation MAX(Bid_2.bid_price) AS max WHEN EMPTY no row",
        "            └─ Window WINDOW(RANGE 10 MINUTES)",
        "               └─ Source Bid AS Bid_2",
    ]


def test_P6_the_hot_items_of_the_past_hour_are_those_with_most_bids() -> None:
    session = nexmark(bids=[(1, 1.0, 50, "10:00"), (2, 1.0, 51, "10:05"), (1, 1.0, 52, "10:09"), (2, 1.0, 50, "10:30")])
    assert segments(session.answers([ask(session, HOT_ITEM)])) == [
        ((1,), at("10:00"), at("11:00"), 1),
        ((2,), at("10:05"), at("10:09"), 1),
        ((2,), at("10:30"), at("11:30"), 1),
        ((1,), at("11:05"), at("11:09"), 1),
    ]


def test_P6_the_hot_item_query_is_an_antijoin_on_a_smaller_number() -> None:
    (join,) = nodes(logical(HOT_ITEM), Join)
    assert join.join is JoinKind.ANTI
    assert ask(nexmark(), HOT_ITEM).explain().splitlines() == [
        "Rstream",
        "└─ Map derived.itemID AS itemID",
        "   └─ Antijoin derived.num < `sub.count(1)`",
        "      ├─ Map B1.itemID AS derived.itemID, count AS derived.num",
        "      │  └─ Grouping COUNT(*) AS count BY B1.itemID",
        "      │     └─ Window WINDOW(RANGE 60 MINUTES)",
        "      │        └─ Source Bid AS B1",
        "      └─ Map count_2 AS `sub.count(1)`",
        "         └─ Grouping COUNT(*) AS count_2 BY B2.itemID",
        "            └─ Window WINDOW(RANGE 60 MINUTES)",
        "               └─ Source Bid AS B2",
    ]


def test_P6_the_unnested_plans_have_the_answers_of_the_queries_as_written() -> None:
    session = nexmark(bids=[(1, 10.0, 50, "10:00"), (2, 20.0, 51, "10:05"), (1, 20.0, 52, "10:09")])
    for text in (HIGHEST_BID, HOT_ITEM):
        query = ask(session, text)
        reference = session.reference([query])[query.name]
        written, unnested = query.bound.plan, query.bound.logical
        assert isinstance(written, ToStream)
        assert isinstance(unnested, ToStream)
        for t in reference.instants(written.input):
            assert reference.relation(unnested.input, t) == reference.relation(written.input, t)

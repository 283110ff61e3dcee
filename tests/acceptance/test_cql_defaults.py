"""CQL 6.2: the defaults for windows and for relation-to-stream operators, and what the author is told of them."""

from __future__ import annotations

import pytest

from continua.algebra.base import Kind
from continua.errors import BindError
from continua.session import Session
from tests.acceptance.helpers import Row, ask_in, found, session_with

AUCTIONS = """
CREATE STREAM Open (item_id INT, seller_id INT, start_price DOUBLE, ts BIGINT) ORDERED BY ts;
CREATE STREAM Close (item_id INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM Bid (item_id INT, bidder_id INT, bid_price DOUBLE, ts BIGINT) ORDERED BY ts;
CREATE RELATION Person (id INT, name STRING, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op;
CREATE TABLE State (code STRING);
"""
ROWS: dict[str, list[Row]] = {
    "Open": [(1, 10, 50.0, 1), (2, 11, 150.0, 2), (3, 10, 20.0, 2)],
    "Bid": [(1, 20, 60.0, 3), (2, 21, 160.0, 4), (1, 21, 70.0, 5), (1, 20, 60.0, 5)],
    "Close": [(1, 6), (2, 7)],
    "Person": [(10, "ann", "+", 0), (10, "ann", "-", 4)],
    "State": [("CA",)],
}
UNBOUNDED = "[RANGE UNBOUNDED]"


def auctions() -> Session:
    return session_with(AUCTIONS, ROWS)


def test_C7_a_stream_without_a_window_gets_an_unbounded_one_and_the_author_is_told() -> None:
    asked = ask_in(auctions(), "SELECT item_id FROM Close")
    assert asked.notices["DEFAULT_WINDOW"] == [{"stream": "Close", "window": UNBOUNDED}]
    assert asked.contents(range(5, 9)) == [[], [(1,)], [(1,), (2,)], [(1,), (2,)]]


def test_C7_each_stream_without_a_window_is_named() -> None:
    asked = ask_in(auctions(), "SELECT Open.item_id FROM Open, Close [NOW], Bid WHERE Open.item_id = Bid.item_id")
    windows = asked.notices["DEFAULT_WINDOW"]
    assert windows == [{"stream": "Open", "window": UNBOUNDED}, {"stream": "Bid", "window": UNBOUNDED}]


def test_C7_a_stream_derived_by_a_subquery_gets_an_unbounded_window_too() -> None:
    asked = ask_in(auctions(), "SELECT * FROM (SELECT ISTREAM(item_id) FROM Close [NOW]) AS Closed")
    assert asked.notices["DEFAULT_WINDOW"] == [{"stream": "Closed", "window": UNBOUNDED}]
    assert asked.contents(range(5, 9)) == [[], [(1,)], [(1,), (2,)], [(1,), (2,)]]


def test_C7_a_named_derived_stream_gets_an_unbounded_window_too() -> None:
    session = auctions()
    session.execute("CREATE STREAM Closed AS SELECT ISTREAM(item_id) FROM Close [NOW]")
    asked = ask_in(session, "SELECT * FROM Closed")
    assert asked.notices["DEFAULT_WINDOW"] == [{"stream": "Closed", "window": UNBOUNDED}]
    assert asked.elements == [(6, (1,)), (7, (2,))]


def test_C7_a_monotonic_outermost_query_becomes_a_stream_by_istream_and_the_author_is_told() -> None:
    asked = ask_in(auctions(), "SELECT item_id FROM Open WHERE start_price > 30")
    assert asked.query.kind is Kind.STREAM
    assert asked.notices["DEFAULT_OPERATOR"] == [{"operator": "ISTREAM"}]
    assert asked.elements == [(1, (1,)), (2, (2,))]


def test_C7_a_query_that_is_not_monotonic_stays_a_relation() -> None:
    asked = ask_in(auctions(), "SELECT item_id FROM Close [RANGE 1]")
    assert asked.query.kind is Kind.RELATION
    assert asked.notices == {}
    assert asked.lines == [(6, "+", (1,)), (7, "+", (2,)), (8, "-", (1,)), (9, "-", (2,))]


def test_C7_a_query_that_says_everything_gets_no_default_and_no_notice() -> None:
    asked = ask_in(auctions(), "SELECT RSTREAM(item_id) FROM Close [NOW]")
    assert asked.notices == {}
    assert asked.query.bound.expanded == "SELECT RSTREAM(item_id) FROM Close [NOW]"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM Open [RANGE UNBOUNDED]",
        "SELECT * FROM Open [ROWS UNBOUNDED]",
        "SELECT seller_id + 1 FROM Open WHERE start_price > 100",
        "SELECT DISTINCT seller_id FROM Open",
        "SELECT * FROM Open, Close WHERE Open.item_id = Close.item_id",
        "SELECT * FROM Open JOIN Close USING (item_id)",
        "SELECT * FROM Open, State",
        "SELECT * FROM State",
        "SELECT item_id FROM Open UNION SELECT item_id FROM Bid",
        "SELECT item_id FROM Open UNION ALL SELECT item_id FROM Bid",
        "SELECT item_id FROM Open INTERSECT SELECT item_id FROM Bid",
        "SELECT * FROM Open WHERE item_id IN (SELECT item_id FROM Bid)",
        "SELECT * FROM Open WHERE EXISTS (SELECT * FROM Bid WHERE Bid.item_id = Open.item_id)",
        "SELECT * FROM (SELECT ISTREAM(*) FROM Open [NOW]) AS D [RANGE UNBOUNDED]",
    ],
)
def test_C7_what_only_grows_is_found_monotonic(query: str) -> None:
    asked = ask_in(auctions(), query)
    assert asked.query.kind is Kind.STREAM
    assert asked.notices["DEFAULT_OPERATOR"] == [{"operator": "ISTREAM"}]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM Open [NOW]",
        "SELECT * FROM Open [RANGE 5]",
        "SELECT * FROM Open [ROWS 5]",
        "SELECT * FROM Open [PARTITION BY item_id ROWS 1]",
        "SELECT COUNT(*) FROM Open",
        "SELECT seller_id, MAX(start_price) FROM Open GROUP BY seller_id",
        "SELECT * FROM Open, Close [NOW]",
        "SELECT * FROM Open LEFT JOIN Close ON Open.item_id = Close.item_id",
        "SELECT item_id FROM Open EXCEPT SELECT item_id FROM Close",
        "SELECT item_id FROM Open UNION ALL SELECT item_id FROM Close [NOW]",
        "SELECT * FROM Open WHERE item_id NOT IN (SELECT item_id FROM Close)",
        "SELECT * FROM Open WHERE NOT EXISTS (SELECT * FROM Close WHERE Close.item_id = Open.item_id)",
        "SELECT * FROM Open WHERE start_price >= ALL (SELECT bid_price FROM Bid)",
        "SELECT * FROM Open WHERE start_price > (SELECT MIN(bid_price) FROM Bid)",
        "SELECT * FROM Open ORDER BY start_price LIMIT 1",
        "SELECT * FROM Person",
    ],
)
def test_C7_what_may_shrink_is_not_found_monotonic(query: str) -> None:
    asked = ask_in(auctions(), query)
    assert asked.query.kind is Kind.RELATION
    assert "DEFAULT_OPERATOR" not in asked.notices


def test_C7_a_monotonic_subquery_with_a_window_becomes_a_stream_by_istream() -> None:
    query = "SELECT * FROM (SELECT item_id FROM Bid WHERE bid_price < 100) [ROWS 2] AS Cheap"
    asked = ask_in(auctions(), query)
    assert asked.notices["DEFAULT_OPERATOR"] == [{"operator": "ISTREAM"}]
    assert asked.contents(range(2, 6)) == [[], [(1,)], [(1,)], [(1,), (1,)]]
    assert asked.query.bound.expanded == (
        f"SELECT * FROM (ISTREAM(SELECT item_id FROM Bid {UNBOUNDED} WHERE bid_price < 100)) [ROWS 2] AS Cheap"
    )


@pytest.mark.parametrize(
    "subquery",
    [
        "SELECT COUNT(*) AS n FROM Bid",
        "SELECT item_id FROM Bid [RANGE 5]",
        "SELECT item_id FROM Open WHERE item_id NOT IN (SELECT item_id FROM Close)",
    ],
)
def test_C7_a_window_on_a_subquery_that_is_not_monotonic_is_an_error_that_names_the_operators(subquery: str) -> None:
    with pytest.raises(BindError) as error:
        auctions().sql(f"SELECT *\nFROM ({subquery}) [ROWS 2] AS D")
    assert error.value.condition == "NON_MONOTONIC_WINDOW"
    assert error.value.parameters == {"operators": ["ISTREAM", "DSTREAM", "RSTREAM"]}
    span = error.value.diagnostics[0].span
    assert span is not None
    assert (span.line, span.column, span.length) == (2, len(f"FROM ({subquery}) ["), len("[ROWS 2]"))


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        # COUNT(*) over [NOW] is 0 until 2, 1 at 3 and 4, 2 at 5 and 0 from 6 on.
        ("ISTREAM", [[(0,)], [(0,)], [(0,)], [(1,)], [(1,)], [(2,)], [(0,)], [(0,)]]),
        ("DSTREAM", [[], [], [], [(0,)], [(0,)], [(1,)], [(2,)], [(2,)]]),
    ],
)
def test_C7_with_one_of_the_operators_the_windowed_subquery_has_a_meaning(
    operator: str, expected: list[list[Row]]
) -> None:
    asked = ask_in(auctions(), f"SELECT * FROM ({operator}(SELECT COUNT(*) FROM Bid [NOW])) [ROWS 1] AS D")
    assert asked.contents(range(8)) == expected


def test_C7_a_stream_defined_by_a_query_that_is_not_monotonic_is_the_same_error() -> None:
    with pytest.raises(BindError) as error:
        auctions().execute("CREATE STREAM D AS SELECT COUNT(*) AS n FROM Bid")
    assert error.value.condition == "NON_MONOTONIC_WINDOW"
    assert error.value.parameters == {"operators": ["ISTREAM", "DSTREAM", "RSTREAM"]}


EXPANDED = {
    "SELECT * FROM Open WHERE start_price > 100": (f"SELECT ISTREAM(*) FROM Open {UNBOUNDED} WHERE start_price > 100"),
    "SELECT DISTINCT seller_id FROM Open O": f"SELECT ISTREAM(DISTINCT seller_id) FROM Open {UNBOUNDED} AS O",
    "SELECT COUNT(*) FROM Bid": f"SELECT COUNT(*) FROM Bid {UNBOUNDED}",
    "SELECT item_id FROM Open UNION ALL SELECT item_id FROM Bid": (
        f"ISTREAM(SELECT item_id FROM Open {UNBOUNDED} UNION ALL SELECT item_id FROM Bid {UNBOUNDED})"
    ),
}


@pytest.mark.parametrize("query", EXPANDED)
def test_C7_the_author_is_shown_the_expanded_query(query: str) -> None:
    asked = ask_in(auctions(), query)
    assert asked.notices["EXPANDED_QUERY"] == [{"query": EXPANDED[query]}]


@pytest.mark.parametrize(
    "query",
    [
        *EXPANDED,
        "SELECT * FROM Open, Close WHERE Open.item_id = Close.item_id",
        "SELECT * FROM Open WHERE item_id NOT IN (SELECT * FROM Close)",
        "SELECT b.item_id, MAX(bid_price) FROM Bid AS b GROUP BY b.item_id HAVING COUNT(*) > 1",
        "SELECT item_id FROM Bid EXCEPT ALL SELECT item_id FROM Close",
        "SELECT * FROM (SELECT item_id AS i, bid_price FROM Bid) [PARTITION BY i ROWS 1] AS P, Close WHERE i = item_id",
        "SELECT * FROM ((SELECT item_id FROM Bid) UNION (SELECT item_id FROM Open)) [ROWS 2] AS U",
        "WITH Dear AS (SELECT item_id FROM Bid WHERE bid_price > 65) SELECT * FROM Dear",
        "WITH Dear AS (SELECT item_id FROM Bid WHERE bid_price > 65) SELECT * FROM Dear [ROWS 1]",
        "SELECT o.item_id FROM Open o LEFT JOIN Close c ON o.item_id = c.item_id WHERE c.item_id IS NULL",
        "SELECT CASE WHEN bid_price > 65 THEN 'dear' ELSE 'cheap' END AS kind FROM Bid",
    ],
)
def test_C7_the_expanded_query_means_the_same_and_leaves_nothing_to_default(query: str) -> None:
    session = auctions()
    short = ask_in(session, query)
    (told,) = short.notices["EXPANDED_QUERY"]
    full = ask_in(session, str(told["query"]))
    assert full.notices == {}
    assert full.lines == short.lines
    assert full.query.columns == short.query.columns
    assert len(short.lines) > 0


def test_C7_the_author_of_a_view_or_a_derived_stream_is_told_as_well() -> None:
    (outcome,) = auctions().execute("CREATE STREAM Dear AS SELECT item_id FROM Open WHERE start_price > 100")
    assert found(outcome.notices, "DEFAULT_WINDOW") == [{"stream": "Open", "window": UNBOUNDED}]
    assert found(outcome.notices, "DEFAULT_OPERATOR") == [{"operator": "ISTREAM"}]
    assert found(outcome.notices, "EXPANDED_QUERY") == [
        {"query": f"SELECT ISTREAM(item_id) FROM Open {UNBOUNDED} WHERE start_price > 100"}
    ]
    (outcome,) = auctions().execute("CREATE VIEW Dear AS SELECT item_id FROM Open WHERE start_price > 100")
    assert found(outcome.notices, "DEFAULT_WINDOW") == [{"stream": "Open", "window": UNBOUNDED}]
    assert found(outcome.notices, "EXPANDED_QUERY") == [
        {"query": f"SELECT item_id FROM Open {UNBOUNDED} WHERE start_price > 100"}
    ]

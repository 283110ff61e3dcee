"""PIPES 2009, 2.8, 3.1 and 3.2: registered source streams, their timestamps, and the window grammar of figure 5."""

from __future__ import annotations

from pathlib import Path

import pytest

from continua.catalog import StreamInfo
from continua.errors import ContinuaError, DataError, ParseError, SourceError
from continua.instants import INFINITY, TimeDomain
from continua.session import Session
from continua.types import Value
from continua.windows.measures import Axis, Rate
from continua.windows.over_rows import RowsWindow
from continua.windows.over_time import NOW, TimeWindow
from continua.windows.spec import WindowSpec
from tests.acceptance.sync_helpers import ask, first_column, segments, states, windows_of

EXAMPLE_2 = """
CREATE STREAM OpenAuction(itemID INT, sellerID INT, start_price REAL, timestamp TIMESTAMP)
SOURCE establishConnection('port34100', 'converter')
ORDERED BY timestamp;
"""
MINUTE = 60_000_000
DIALECTS = ("cql", "pipes", "sync")


class Clock:
    """A clock that shows what it is told to."""

    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def pipes(definitions: str) -> Session:
    session = Session(dialect="pipes")
    session.execute(definitions)
    return session


def four_elements(dialect: str = "pipes") -> Session:
    """1 and 3, 4 of group x at 1, 2 and 5; 2 of group y at 2, before 3."""
    session = Session(dialect=dialect)
    session.execute("CREATE STREAM S (a INT, k STRING, ts INT) ORDERED BY ts")
    session.insert("S", [(1, "x", 1), (2, "y", 2), (3, "x", 2), (4, "x", 5)])
    return session


def test_P2_the_statement_of_example_2_registers_a_source_stream() -> None:
    session = pipes(EXAMPLE_2)
    stream = session.catalog.table("OpenAuction")
    assert isinstance(stream, StreamInfo)
    assert (stream.name, stream.order_by, stream.domain) == ("OpenAuction", "timestamp", TimeDomain.MICROSECONDS)
    assert stream.source is not None
    assert stream.source.function.text == "establishConnection"
    assert stream.source.arguments == ("port34100", "converter")


def test_P2_a_query_over_a_source_that_cannot_be_read_binds_and_fails_when_it_runs() -> None:
    session = pipes(EXAMPLE_2)
    query = ask(session, "SELECT itemID FROM OpenAuction")
    with pytest.raises(SourceError) as raised:
        session.answers([query])
    assert raised.value.condition == "UNKNOWN_SOURCE"
    assert raised.value.parameters == {"source": "establishconnection", "stream": "OpenAuction"}


def test_P2_the_timestamp_attribute_is_not_part_of_the_schema() -> None:
    session = pipes(EXAMPLE_2)
    assert ask(session, "SELECT * FROM OpenAuction").columns == ("itemID", "sellerID", "start_price")
    assert ask(session, "SELECT O.* FROM OpenAuction O").columns == ("itemID", "sellerID", "start_price")


def test_P2_the_timestamp_attribute_does_not_tell_elements_apart() -> None:
    session = pipes("CREATE STREAM S (a INT, ts INT) ORDERED BY ts")
    session.insert("S", [(7, 1), (7, 2)])
    query = ask(session, "SELECT DISTINCT * FROM S WINDOW(RANGE 3)")
    assert segments(session.answers([query])) == [((7,), 1, 5, 1)]


def test_P2_of_several_timestamp_attributes_ordered_by_decides() -> None:
    session = pipes("CREATE STREAM S (a INT, sent INT, received INT) ORDERED BY received")
    session.insert("S", [(1, 9, 10), (2, 3, 11)])
    query = ask(session, "SELECT * FROM S")
    assert query.columns == ("a", "sent")
    assert segments(session.answers([query])) == [((1, 9), 10, 11, 1), ((2, 3), 11, 12, 1)]


def test_P2_a_stream_without_ordered_by_gets_the_time_of_the_system_clock() -> None:
    session = Session(dialect="pipes", clock=Clock(10))
    session.execute("CREATE STREAM Bid (item INT)")
    session.insert("Bid", [(1,), (2,)])
    query = ask(session, "SELECT * FROM Bid")
    assert query.domain is TimeDomain.MICROSECONDS
    assert segments(session.answers([query])) == [((1,), 10, 11, 1), ((2,), 10, 11, 1)]


def test_P2_the_implicit_timestamp_is_that_of_the_arrival() -> None:
    clock = Clock(10)
    session = Session(dialect="pipes", clock=clock)
    session.execute("CREATE STREAM Bid (item INT)")
    session.insert("Bid", [(1,)])
    clock.now = 20
    session.insert("Bid", [(2,)])
    clock.now = 30
    query = ask(session, "SELECT * FROM Bid")
    assert segments(session.answers([query])) == [((1,), 10, 11, 1), ((2,), 20, 21, 1)]


def test_P2_the_implicit_timestamp_of_an_element_never_changes() -> None:
    clock = Clock(10)
    session = Session(dialect="pipes", clock=clock)
    session.execute("CREATE STREAM Bid (item INT)")
    session.insert("Bid", [(1,)])
    query = ask(session, "SELECT * FROM Bid")
    assert segments(session.answers([query])) == [((1,), 10, 11, 1)]
    clock.now = 20
    session.insert("Bid", [(2,)])
    assert segments(session.answers([query])) == [((1,), 10, 11, 1), ((2,), 20, 21, 1)]


AUCTIONS = """
CREATE STREAM Auction (itemID INT, sellerID INT, opened INT, closed INT) VALID FROM opened TO closed;
CREATE STREAM Bid (itemID INT, price INT, ts INT) ORDERED BY ts;
"""


def auctions() -> Session:
    session = pipes(AUCTIONS)
    session.insert("Auction", [(1, 70, 2, 6), (2, 71, 3, 5)])
    session.insert("Bid", [(1, 10, 1), (1, 11, 3), (2, 5, 4), (2, 6, 5), (1, 12, 5)])
    return session


def test_P2_an_interval_tagged_stream_is_valid_as_long_as_its_intervals() -> None:
    session = auctions()
    query = ask(session, "SELECT * FROM Auction")
    assert query.columns == ("itemID", "sellerID")
    assert segments(session.answers([query])) == [((1, 70), 2, 6, 1), ((2, 71), 3, 5, 1)]


def test_P2_with_intervals_for_auctions_a_now_window_on_bids_is_enough_for_the_current_price() -> None:
    session = auctions()
    query = ask(
        session, "SELECT A.itemID, sellerID, MAX(price) FROM Auction A, Bid B WHERE A.itemID = B.itemID "
        "GROUP BY A.itemID, sellerID",
    )  # fmt: skip
    assert [w for w in windows_of(query.bound.logical) if w != NOW] == []
    assert segments(session.answers([query])) == [
        ((1, 70, 11), 3, 4, 1),
        ((2, 71, 5), 4, 5, 1),
        ((1, 70, 12), 5, 6, 1),
    ]


def test_P2_a_window_over_an_interval_tagged_stream_holds_each_of_its_instants() -> None:
    session = auctions()
    query = ask(session, "SELECT itemID FROM Auction WINDOW(RANGE 2) WHERE itemID = 2")
    assert segments(session.answers([query])) == [((2,), 3, 4, 1), ((2,), 4, 5, 2), ((2,), 5, 6, 1)]


def test_P2_an_empty_interval_is_refused() -> None:
    session = pipes(AUCTIONS)
    with pytest.raises(DataError) as raised:
        session.insert("Auction", [(1, 70, 4, 4)])
    assert raised.value.condition == "MALFORMED_ROW"


def test_P2_a_source_function_reads_a_file(tmp_path: Path) -> None:
    (tmp_path / "bids.csv").write_text("itemID,price,ts\n1,10,3\n2,20,5\n")
    session = Session(dialect="pipes", data=tmp_path)
    session.execute("CREATE STREAM Bid (itemID INT, price INT, ts INT) SOURCE csv('bids.csv') ORDERED BY ts")
    query = ask(session, "SELECT * FROM Bid")
    assert segments(session.answers([query])) == [((1, 10), 3, 4, 1), ((2, 20), 5, 6, 1)]


@pytest.mark.parametrize(
    ("window", "spec"),
    [
        ("RANGE 10 MINUTES", TimeWindow(10 * MINUTE)),
        ("RANGE 1 MINUTE", TimeWindow(MINUTE)),
        ("RANGE 5 HOURS", TimeWindow(300 * MINUTE)),
        ("RANGE 2 DAYS", TimeWindow(2880 * MINUTE)),
        ("RANGE 1 WEEK", TimeWindow(10080 * MINUTE)),
        ("RANGE 60 SECONDS", TimeWindow(MINUTE)),
        ("RANGE 250 MILLISECONDS", TimeWindow(250_000)),
        ("RANGE 7 MICROSECONDS", TimeWindow(7)),
        ("RANGE 60", TimeWindow(MINUTE)),
        ("RANGE UNBOUNDED", TimeWindow(INFINITY)),
        ("RANGE 10 MINUTES SLIDE 2 MINUTES", TimeWindow(10 * MINUTE, Rate(2 * MINUTE))),
        ("RANGE UNBOUNDED SLIDE 1 HOUR", TimeWindow(INFINITY, Rate(60 * MINUTE))),
        ("ROWS 5", RowsWindow(5)),
        ("ROWS UNBOUNDED", RowsWindow(INFINITY)),
        ("ROWS 5 SLIDE 2", RowsWindow(5, slide=Rate(2, Axis.ROWS))),
        ("PARTITION BY k ROWS 5", RowsWindow(5, ("S.k",))),
        ("PARTITION BY k, a ROWS UNBOUNDED", RowsWindow(INFINITY, ("S.k", "S.a"))),
        ("PARTITION BY k ROWS 5 SLIDE 2", RowsWindow(5, ("S.k",), slide=Rate(2, Axis.ROWS))),
    ],
)
def test_P3_the_grammar_of_figure_5_gives_windows(window: str, spec: WindowSpec) -> None:
    session = pipes("CREATE STREAM S (a INT, k STRING, ts TIMESTAMP) ORDERED BY ts")
    assert windows_of(ask(session, f"SELECT a FROM S WINDOW({window})").bound.logical) == [spec]


def test_P3_partition_by_may_stand_before_range_and_makes_no_difference_to_it() -> None:
    session = four_elements()
    plain = first_column(session, "SELECT a FROM S WINDOW(RANGE 3)", range(9))
    assert first_column(session, "SELECT a FROM S WINDOW(PARTITION BY k RANGE 3)", range(9)) == plain


@pytest.mark.parametrize("window", ["RANGE 0", "ROWS 0", "RANGE 3 SLIDE 0", "ROWS 3 SLIDE 0"])
def test_P3_sizes_and_slides_are_positive(window: str) -> None:
    with pytest.raises(ParseError) as raised:
        four_elements().execute(f"SELECT a FROM S WINDOW({window})")
    assert raised.value.condition == "NOT_POSITIVE"


@pytest.mark.parametrize("window", ["", "SLIDE 2", "PARTITION BY k", "3 MINUTES", "RANGE"])
def test_P3_what_figure_5_does_not_derive_is_refused(window: str) -> None:
    with pytest.raises(ParseError) as raised:
        four_elements().execute(f"SELECT a FROM S WINDOW({window})")
    assert raised.value.condition == "SYNTAX"


@pytest.mark.parametrize(
    ("window", "contents"),
    [
        ("RANGE 3", {1: [1], 2: [1, 2, 3], 3: [1, 2, 3], 4: [2, 3], 5: [4], 7: [4], 8: []}),
        ("RANGE UNBOUNDED", {0: [], 1: [1], 2: [1, 2, 3], 4: [1, 2, 3], 5: [1, 2, 3, 4], 99: [1, 2, 3, 4]}),
        ("RANGE 4 SLIDE 2", {1: [], 2: [1, 2, 3], 4: [1, 2, 3], 5: [1, 2, 3], 6: [4], 9: [4], 10: []}),
        ("RANGE 2 SLIDE 2", {1: [], 2: [1, 2, 3], 3: [1, 2, 3], 4: [], 5: [], 6: [4], 7: [4], 8: []}),
        ("ROWS 2", {0: [], 1: [1], 2: [2, 3], 4: [2, 3], 5: [3, 4], 99: [3, 4]}),
        ("ROWS UNBOUNDED", {1: [1], 2: [1, 2, 3], 5: [1, 2, 3, 4]}),
        ("ROWS 2 SLIDE 2", {1: [], 2: [1, 2], 4: [1, 2], 5: [3, 4]}),
        ("PARTITION BY k ROWS 1", {1: [1], 2: [2, 3], 4: [2, 3], 5: [2, 4]}),
        ("PARTITION BY k ROWS 2", {1: [1], 2: [1, 2, 3], 5: [2, 3, 4]}),
        ("PARTITION BY k ROWS 1 SLIDE 2", {1: [], 2: [3], 4: [3], 5: [3]}),
    ],
)
def test_P3_the_windows_of_figure_5_hold_what_they_say(window: str, contents: dict[int, list[Value]]) -> None:
    assert first_column(four_elements(), f"SELECT a FROM S WINDOW({window})", contents) == contents


def test_P3_a_stream_without_a_window_has_the_now_window() -> None:
    session = four_elements()
    query = ask(session, "SELECT a FROM S")
    assert windows_of(query.bound.logical) == [NOW]
    assert states(session, query, range(7)) == {0: [], 1: [(1,)], 2: [(2,), (3,)], 3: [], 4: [], 5: [(4,)], 6: []}
    told = {n.condition: n.parameters for n in query.bound.notices}
    assert told["DEFAULT_WINDOW"] == {"stream": "S", "window": "[NOW]"}


def test_P3_the_default_window_a_written_now_window_and_a_window_of_size_1_are_one_plan() -> None:
    session = four_elements()
    plans = {ask(session, f"SELECT a FROM S {w}").bound.logical for w in ("", "[NOW]", "[RANGE 0]", "WINDOW(RANGE 1)")}
    assert len(plans) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_P3_window_has_the_bounds_of_pipes_and_brackets_those_of_CQL_in_every_dialect(dialect: str) -> None:
    session = four_elements(dialect)
    instants = (1, 2, 3, 4, 5, 7, 8, 9)
    assert first_column(session, "SELECT a FROM S WINDOW(RANGE 3)", instants) == {
        1: [1], 2: [1, 2, 3], 3: [1, 2, 3], 4: [2, 3], 5: [4], 7: [4], 8: [], 9: []
    }  # fmt: skip
    assert first_column(session, "SELECT a FROM S [RANGE 3]", instants) == {
        1: [1], 2: [1, 2, 3], 3: [1, 2, 3], 4: [1, 2, 3], 5: [2, 3, 4], 7: [4], 8: [4], 9: []
    }  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS)
def test_P3_half_open_range_bounds_change_brackets_and_nothing_else(dialect: str) -> None:
    session = four_elements(dialect)
    session.execute("SET range_bounds = half_open")
    specs = [windows_of(ask(session, f"SELECT a FROM S {w}").bound.logical) for w in ("[RANGE 3]", "WINDOW(RANGE 3)")]
    assert specs == [[TimeWindow(3)], [TimeWindow(3)]]
    session.execute("SET range_bounds = closed")
    assert windows_of(ask(session, "SELECT a FROM S [RANGE 3]").bound.logical) == [TimeWindow(4)]


@pytest.mark.parametrize("form", ["S {} X", "S X {}", "S AS X {}", "S {} AS X"])
def test_P3_an_alias_stands_before_or_after_the_window(form: str) -> None:
    item = form.format("WINDOW(RANGE 3)")
    assert first_column(four_elements(), f"SELECT X.a FROM {item}", (4,)) == {4: [2, 3]}


def test_P3_preceding_is_superfluous_and_each_stream_of_a_from_clause_has_its_own_window() -> None:
    session = four_elements()
    query = ask(session, "SELECT X.a FROM S X WINDOW(RANGE 3 PRECEDING), S WINDOW(ROWS 2) Y, S Z")
    assert windows_of(query.bound.logical) == [TimeWindow(3), RowsWindow(2), NOW]


def test_P3_a_unit_of_time_does_not_go_with_integer_timestamps() -> None:
    with pytest.raises(ContinuaError) as raised:
        four_elements().execute("SELECT a FROM S WINDOW(RANGE 3 MINUTES)")
    assert raised.value.condition == "UNIT_OF_TICKS"

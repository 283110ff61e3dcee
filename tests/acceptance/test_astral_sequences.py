"""Astral 3 and 4: chronon, positions and batches, window sequence descriptions, partitioned and generic windows."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.errors import BindError, WindowError
from continua.session import Session
from continua.types import Value
from continua.windows.measures import Axis, Linear, Rate
from continua.windows.occurrences import Element, Timeline
from continua.windows.over_rows import RowsWindow
from continua.windows.sequence import SequenceWindow
from continua.windows.spec import GenericWindow
from tests.acceptance.sync_helpers import (
    HOUR,
    ask,
    first_column,
    positions,
    segments,
    timeline,
    windows_of,
    working_hours,
)

ROWS, TIME = Axis.ROWS, Axis.TIME
BATCHES = [0, 1, 1, 1, 2, 4, 6, 7]
"""The instants of eight elements; those at positions 1, 2 and 3 are simultaneous."""
LAST = SequenceWindow(Linear(1, 0), Linear(1, 0), Rate(1, ROWS), ROWS)
"""S[j, j, 1n]: whose gamma is the pseudo-inverse of the position-timestamp mapping."""


def numbered(instants: list[int] = BATCHES) -> Session:
    session = Session()
    session.execute("CREATE STREAM S (a INT, ts INT) ORDERED BY ts")
    session.insert("S", list(enumerate(instants)))
    return session


def seconds(*times: float) -> list[tuple[str, datetime]]:
    """Elements s1, s2, ... at these seconds."""
    return [(f"s{n}", datetime(1970, 1, 1) + timedelta(seconds=t)) for n, t in enumerate(times, 1)]


def timed(rows: list[tuple[str, datetime]], script: str = "") -> Session:
    session = Session()
    session.execute(script + "CREATE STREAM S (a STRING, ts TIMESTAMP) ORDERED BY ts")
    session.insert("S", rows)
    return session


SECOND = 1_000_000


def test_A1_timestamps_are_floored_to_the_chronon() -> None:
    session = timed(seconds(1.2, 1.9, 3.0), "SET chronon = '1 second';")
    query = ask(session, "SELECT ISTREAM a FROM S [NOW]")
    found = [(a.row, a.instant) for a in session.answers([query])]
    assert found == [(("s1",), SECOND), (("s2",), SECOND), (("s3",), 3 * SECOND)]


def test_A1_the_present_lasts_one_chronon() -> None:
    session = timed(seconds(1.2, 1.9, 3.0), "SET chronon = '1 second';")
    found = first_column(session, "SELECT a FROM S [NOW]", [n * SECOND for n in range(5)])
    assert list(found.values()) == [[], ["s1", "s2"], [], ["s3"], []]


def test_A1_a_range_counts_chronons() -> None:
    session = timed(seconds(1.2, 3.0), "SET chronon = '1 second';")
    answers = session.answers([ask(session, "SELECT RSTREAM a FROM S [RANGE 2 SECONDS]")])
    assert segments(answers, SECOND) == [(("s1",), 1 * SECOND, 4 * SECOND, 1), (("s2",), 3 * SECOND, 6 * SECOND, 1)]


def test_A1_elements_of_one_chronon_are_simultaneous_and_form_one_batch() -> None:
    session = timed(seconds(1.2, 1.9, 3.0), "SET chronon = '1 second';")
    found = first_column(session, "SELECT a FROM S [FROM j TO j EVERY 1 ROW]", [n * SECOND for n in range(4)])
    assert list(found.values()) == [[], ["s2"], ["s2"], ["s3"]]


def test_A1_positions_follow_timestamps_and_then_arrival() -> None:
    session = Session()
    session.execute("CREATE STREAM S (a INT, ts INT) ORDERED BY ts SLACK 5")
    session.insert("S", [(10, 3), (11, 1), (12, 3), (13, 1)])
    assert first_column(session, "SELECT a FROM S [ROWS 1]", (1, 3)) == {1: [13], 3: [12]}
    assert first_column(session, "SELECT a FROM S [ROWS 3]", (1, 3)) == {1: [11, 13], 3: [10, 12, 13]}


def test_A1_the_pseudo_inverse_gives_the_highest_position_so_far() -> None:
    stream = timeline([2, 2, 5])
    assert [LAST.delay(stream.until(t), t) for t in range(7)] == [-1, -1, 1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("alpha", "beta", "rate"),
    [
        (Linear(1, 5), Linear(1, 3), Rate(1)),
        (Linear(2, 0), Linear(1, 3), Rate(2)),
        (Linear(1, 0, least=4), Linear(1, 3), Rate(1)),
    ],
)
def test_A2_the_beginning_must_not_be_after_the_end(alpha: Linear, beta: Linear, rate: Rate) -> None:
    with pytest.raises(WindowError) as raised:
        SequenceWindow(alpha, beta, rate)
    assert raised.value.condition == "WINDOW_BEGINS_AFTER_END"


@pytest.mark.parametrize(
    ("alpha", "bounds", "start"),
    [(Linear(2, -1), TIME, 0), (Linear(1, 5), TIME, 6), (Linear(1, -1), ROWS, 0)],
)
def test_A2_the_beginning_must_exist(alpha: Linear, bounds: Axis, start: int) -> None:
    with pytest.raises(WindowError) as raised:
        SequenceWindow(alpha, Linear(2, 9), Rate(2, bounds), bounds, start=start)
    assert raised.value.condition == "WINDOW_BEGINS_TOO_EARLY"


@pytest.mark.parametrize("axis", [TIME, ROWS])
def test_A2_the_end_must_be_accessible(axis: Axis) -> None:
    with pytest.raises(WindowError) as raised:
        SequenceWindow(Linear(1, 0), Linear(3, 3), Rate(2, axis), axis)
    assert raised.value.condition == "WINDOW_END_NOT_ACCESSIBLE"


def test_A2_descriptions_at_the_edge_of_the_conditions_are_valid() -> None:
    SequenceWindow(Linear(2, 3), Linear(2, 3), Rate(2))
    SequenceWindow(Linear(0, 6), Linear(0, 6), Rate(1), start=6)
    SequenceWindow(Linear(2, -4, least=0), Linear(2, 0), Rate(2))
    SequenceWindow(Linear(1, 0), Linear(1, 0), Rate(1, ROWS), ROWS, start=6)


@pytest.mark.parametrize(
    ("window", "condition"),
    [
        ("[FROM 5 TO 3 EVERY 1]", "WINDOW_BEGINS_AFTER_END"),
        ("[FROM 2*j TO j + 3 EVERY 2]", "WINDOW_BEGINS_AFTER_END"),
        ("[FROM 2*j - 4 TO 2*j EVERY 2]", "WINDOW_BEGINS_TOO_EARLY"),
        ("[FROM j - 1 TO j EVERY 1 ROW]", "WINDOW_BEGINS_TOO_EARLY"),
        ("[FROM j TO 3*j + 4 EVERY 2]", "WINDOW_END_NOT_ACCESSIBLE"),
        ("[FROM j TO 3*j + 4 EVERY 2 ROWS]", "WINDOW_END_NOT_ACCESSIBLE"),
        ("[FROM j*j TO j*j + 4 EVERY 2]", "WINDOW_BOUNDS"),
        ("[FROM j ROWS TO j + 4 SECONDS EVERY 2]", "WINDOW_BOUNDS"),
    ],
)
def test_A2_a_query_with_an_invalid_description_is_refused_at_its_window(window: str, condition: str) -> None:
    with pytest.raises(BindError) as raised:
        numbered().execute(f"SELECT a FROM S {window}")
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.condition == condition
    assert diagnostic.span is not None
    assert diagnostic.span.column >= 17


EXAMPLE_1 = SequenceWindow(Linear(100, 91), Linear(100, 100), Rate(100, ROWS), ROWS)


def test_A2_example_1_takes_the_last_ten_of_every_hundred_items() -> None:
    session = numbered()
    query = ask(session, "SELECT a FROM S [FROM 100*j + 91 TO 100*(j + 1) EVERY 100 ROWS]")
    assert windows_of(query.bound.logical) == [EXAMPLE_1]


def test_A2_example_2_the_last_window_created_at_1024_seconds_is_number_9() -> None:
    stream = timeline(range(1100))
    assert EXAMPLE_1.delay(stream.until(1024), 1024) == 9
    assert positions(EXAMPLE_1, stream, 1024) == list(range(991, 1001))


def test_A2_example_2_no_window_is_created_before_the_first_end() -> None:
    stream = timeline(range(300))
    assert [EXAMPLE_1.delay(stream.until(t), t) for t in (0, 99, 100, 199, 200)] == [-1, -1, 0, 0, 1]
    assert positions(EXAMPLE_1, stream, 99) == []
    assert positions(EXAMPLE_1, stream, 199) == list(range(91, 101))


EXAMPLE_3 = "[FROM 2*j SECONDS TO 2*j + 3 SECONDS EVERY 2 SECONDS]"
FIGURE_1 = (0.5, 1.0, 1.5, 2.0, 2.5, 3.5, 4.0, 5.0, 5.3)


def test_A2_example_3_the_relation_at_5_and_a_half_seconds_is_window_1() -> None:
    stream = timeline([round(10 * t) for t in FIGURE_1])
    tenths = SequenceWindow(Linear(20, 0), Linear(20, 30), Rate(20))
    assert tenths.delay(stream.until(55), 55) == 1
    session = timed(seconds(*FIGURE_1))
    found = first_column(session, f"SELECT a FROM S {EXAMPLE_3}", (5_500_000,))
    assert found == {5_500_000: ["s4", "s5", "s6", "s7", "s8"]}


def test_A2_example_3_windows_follow_each_other_every_two_seconds() -> None:
    session = timed(seconds(*FIGURE_1))
    instants = [2_999_999, 3_000_000, 4_999_999, 7_000_000, 9_000_000]
    assert list(first_column(session, f"SELECT a FROM S {EXAMPLE_3}", instants).values()) == [
        [], ["s1", "s2", "s3", "s4", "s5"], ["s1", "s2", "s3", "s4", "s5"], ["s7", "s8", "s9"], []
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("window", "contents"),
    [
        ("[FROM j TO j EVERY 1 ROW]", {0: [0], 1: [3], 2: [4], 3: [4], 4: [5], 7: [7], 9: [7]}),
        ("[FROM 2*j TO 2*j + 1 EVERY 2 ROWS]", {0: [], 1: [2, 3], 2: [2, 3], 4: [4, 5], 6: [4, 5], 7: [6, 7]}),
        ("[FROM 3*j TO 3*j + 2 EVERY 3 ROWS]", {0: [], 1: [1, 2, 3], 2: [1, 2, 3], 4: [3, 4, 5], 9: [3, 4, 5]}),
        ("[FROM 0 TO j EVERY 1 ROW]", {0: [0], 1: [0, 1, 2, 3], 2: [0, 1, 2, 3, 4]}),
    ],
)
def test_A2_positional_windows_hold_the_most_recent_of_the_batches_they_touch(
    window: str, contents: dict[int, list[Value]]
) -> None:
    # At 1 the window [0, 2] of three rows touches the batches {0} and {1, 2, 3}: its most recent three are 1, 2, 3.
    assert first_column(numbered(), f"SELECT a FROM S {window}", contents) == contents


def test_A2_temporal_windows_take_batches_whole() -> None:
    contents = {0: [], 1: [0, 1, 2, 3], 2: [1, 2, 3, 4], 3: [4], 4: [5], 5: [5], 6: [6]}
    assert first_column(numbered(), "SELECT a FROM S [FROM j TO j + 1 EVERY 1]", contents) == contents


def test_A2_positional_bounds_with_a_temporal_rate() -> None:
    # Position 1 arrives at 1, so window j is created at 1 + 2j.
    contents = {0: [], 1: [2, 3], 2: [2, 3], 3: [2, 3], 6: [2, 3], 7: [3, 4], 8: [3, 4], 9: [4, 5]}
    assert first_column(numbered(), "SELECT a FROM S [FROM j ROWS TO j + 1 ROWS EVERY 2]", contents) == contents


def test_A2_a_positional_end_that_is_not_there_yet_does_not_let_in_what_is_before_the_beginning() -> None:
    # Windows [2, 2] at 1 and [2, 3] at 2; position 3 never comes, and position 1 is before both beginnings.
    window = SequenceWindow(Linear(0, 2), Linear(1, 2), Rate(1), ROWS)
    stream = timeline([0, 1, 1])
    assert [positions(window, stream, t) for t in (0, 1, 2)] == [[], [2], [2]]


CROSS = SequenceWindow(Linear(1, 0), Linear(1, 3), Rate(1, ROWS), TIME)


def test_A2_temporal_bounds_with_a_positional_rate() -> None:
    # At 3 the element with position 3 arrives, which is the last up to beta(0); every later element moves the window.
    stream = timeline([0, 1, 2, 3, 5, 6])
    assert {t: positions(CROSS, stream, t) for t in range(3, 8)} == {
        3: [0, 1, 2, 3],
        4: [0, 1, 2, 3],
        5: [1, 2, 3],
        6: [2, 3, 4],
        7: [2, 3, 4],
    }


def test_A2_temporal_bounds_with_a_positional_rate_have_no_window_before_the_first_end() -> None:
    stream = timeline([0, 1, 2, 3, 5, 6])
    assert {t: positions(CROSS, stream, t) for t in range(3)} == {0: [], 1: [], 2: []}


def test_A2_temporal_bounds_with_a_positional_rate_in_a_query() -> None:
    session = timed(seconds(0, 1, 2, 3, 5, 6))
    window = "[FROM j SECONDS TO j + 3 SECONDS EVERY 1 ROW]"
    assert first_column(session, f"SELECT a FROM S {window}", (4 * SECOND, 5 * SECOND)) == {
        4 * SECOND: ["s1", "s2", "s3", "s4"],
        5 * SECOND: ["s2", "s3", "s4"],
    }


def measurements() -> Session:
    session = Session()
    session.execute("CREATE STREAM S (id INT, loc STRING, m INT, t INT) ORDERED BY t")
    session.insert("S", [(1, "x", 10, 1), (2, "x", 20, 2), (1, "y", 11, 3), (2, "x", 21, 5)])
    return session


def test_A3_the_last_value_sent_by_each_location() -> None:
    contents = {0: [], 1: [10], 2: [20], 3: [11, 20], 4: [11, 20], 5: [11, 21]}
    for window in ("[PARTITION BY loc FROM j TO j EVERY 1 ROW]", "[PARTITION BY loc ROWS 1]"):
        assert first_column(measurements(), f"SELECT m FROM S {window}", contents) == contents


def test_A3_the_last_value_sent_by_each_source() -> None:
    contents = {1: [10], 2: [10, 20], 3: [11, 20], 5: [11, 21]}
    for window in ("[PARTITION BY id FROM j TO j EVERY 1 ROW]", "[PARTITION BY id ROWS 1]"):
        assert first_column(measurements(), f"SELECT m FROM S {window}", contents) == contents


PARTITIONED = st.one_of(
    st.builds(RowsWindow, st.integers(1, 3), st.just(("k",)), slide=st.sampled_from([None, Rate(2, ROWS), Rate(2)])),
    st.builds(
        SequenceWindow,
        st.just(Linear(1, 0)),
        st.integers(0, 2).map(lambda d: Linear(1, d)),
        st.builds(Rate, st.integers(1, 2), st.sampled_from([ROWS, TIME])),
        st.just(ROWS),
        st.just(("k",)),
    ),
)


@settings(max_examples=80, deadline=None, print_blob=True)
@given(
    window=PARTITIONED,
    rows=st.lists(st.tuples(st.sampled_from("xy"), st.integers(0, 8)), max_size=8),
    t=st.integers(0, 10),
)
def test_A3_a_partitioned_window_is_the_union_of_the_windows_over_the_substreams(
    window: RowsWindow | SequenceWindow, rows: list[tuple[str, int]], t: int
) -> None:
    ordered = sorted(rows, key=lambda row: row[1])
    elements = [Element((k, n), at, at + 1, n) for n, (k, at) in enumerate(ordered)]
    parts = [Timeline([e for e in elements if e.row[0] == k], 0, 1) for k in "xy"]
    apart = [o.row for part in parts for o in window.content(part, t, lambda _: 0)]
    whole = [o.row for o in window.content(Timeline(elements, 0, 1), t, lambda _: 0)]
    assert sorted(map(str, whole)) == sorted(map(str, apart))


def test_A4_gamma_of_example_5_steps_faster_in_working_hours() -> None:
    gamma = working_hours(10, 60).gamma
    instants = [6 * HOUR + 59, 7 * HOUR + 5, 7 * HOUR + 15, 19 * HOUR + 59, 20 * HOUR + 59, 21 * HOUR + 1]
    assert [gamma(t) for t in instants] == [360, 420, 430, 1190, 1200, 1260]


def test_A4_the_window_of_example_5_in_a_query() -> None:
    session = numbered([415, 425, 432, 1195, 1210, 1265])
    session.execute(
        "CREATE WINDOW working_hours(day, night) LANGUAGE PYTHON AS 'tests.acceptance.sync_helpers:working_hours'"
    )
    contents = {419: [], 420: [0], 429: [0], 430: [0, 1], 440: [0, 1, 2], 1255: [3], 1260: [4], 1319: [4], 1320: [5]}
    assert first_column(session, "SELECT a FROM S [working_hours(10, 60)]", contents) == contents


@pytest.mark.parametrize(
    ("alpha", "beta", "condition"),
    [
        (lambda t: t, lambda t: t - 1, "WINDOW_BEGINS_AFTER_END"),
        (lambda t: t, lambda t: t + 1, "WINDOW_END_NOT_ACCESSIBLE"),
        (lambda t: t - 60, lambda t: t, "WINDOW_BEGINS_TOO_EARLY"),
    ],
)
def test_A4_a_generic_window_is_checked_at_every_evaluation(alpha: Linear, beta: Linear, condition: str) -> None:
    window = GenericWindow("w", alpha, beta, lambda t: t)
    with pytest.raises(WindowError) as raised:
        positions(window, timeline(range(20)), 10)
    assert raised.value.condition == condition


@pytest.mark.parametrize("rows", [[], [(1, 3)], [(1, 118), (2, 131)]])
@pytest.mark.parametrize(
    ("window", "first"),
    [
        ("FROM GREATEST(5*j - 2, 0) TO 5*j + 0 EVERY 5", 120),
        ("RANGE 5 SLIDE 5", 120),
        ("ROWS 3 SLIDE 5 TICKS", 120),
        ("RANGE 5 SLIDE 7", 126),
    ],
)
def test_A8_a_window_is_evaluated_at_a_point_that_is_the_start_whatever_comes_later(
    window: str, first: int, rows: list[tuple[Value, ...]]
) -> None:
    session = Session()
    session.execute("CREATE STREAM S (x INT, ts BIGINT) ORDERED BY ts")
    session.insert("S", rows)
    query = ask(session, f"SELECT RSTREAM COUNT(*) AS n, MAX(x) AS m FROM S [{window}]").starting_at(120)
    found = [(a.instant, a.row) for a in session.answers([query])]
    # what can go on for ever is shown up to the last instant at which anything changes
    assert found[:1] == ([(first, (0, None))] if first == 120 or (2, 131) in rows else [])

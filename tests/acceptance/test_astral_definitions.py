"""Astral 6.1 and definition 3: the window definitions of other systems as sequences, and queries that start at t0."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from continua.errors import WindowError
from continua.session import Session
from continua.types import Value
from continua.windows.measures import Axis, Linear, Rate
from continua.windows.over_rows import RowsWindow
from continua.windows.over_time import TimeWindow
from continua.windows.sequence import SequenceWindow
from continua.windows.spec import GenericWindow, for_loop
from tests.acceptance.sync_helpers import ask, first_column, positions, states, timeline, windows_of, written

WITH_MAX = "[FROM GREATEST(2*j - 4, 0) TO 2*j EVERY 2]"
WITHOUT_MAX = "[FROM 2*j TO 2*j + 4 EVERY 2]"


def ticking(*instants: int, start: int = 0) -> Session:
    """A stream with an element an instant, whose value is the instant; 0 to 8 unless others are given."""
    session = Session()
    session.execute(f"SET start_time = {start}; CREATE STREAM S (a INT, ts INT) ORDERED BY ts")
    session.insert("S", [(t, t) for t in instants or range(9)])
    return session


def contents(window: str, instants: list[int] | range, session: Session | None = None) -> list[list[Value]]:
    return list(first_column(session or ticking(), f"SELECT a FROM S {window}", instants).values())


def test_A7_range_4_slide_2_with_an_initial_phase() -> None:
    expected = [[0], [0], [0, 1, 2], [0, 1, 2], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [2, 3, 4, 5, 6]]
    assert contents(WITH_MAX, range(7)) == expected


def test_A7_range_4_slide_2_without_an_initial_phase() -> None:
    expected = [[], [], [], [], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [2, 3, 4, 5, 6]]
    assert contents(WITHOUT_MAX, range(7)) == expected


def test_A7_figure_3_the_two_models_differ_by_the_first_two_evaluations() -> None:
    session = ticking()
    with_max, without_max = (contents(w, range(16), session) for w in (WITH_MAX, WITHOUT_MAX))
    assert [t for t in range(16) if with_max[t] != without_max[t]] == [0, 1, 2, 3]


def test_A7_range_and_slide_in_brackets_are_the_sequence_with_an_initial_phase() -> None:
    session = ticking(0, 1, 1, 4, 5, 9)
    assert contents("[RANGE 4 SLIDE 2]", range(16), session) == contents(WITH_MAX, range(16), session)


def test_A7_the_sequence_may_start_at_the_start_of_the_query() -> None:
    session = ticking(start=1)
    window = "[FROM GREATEST(2*j - 4 + 1, 0 + 1) TO 2*j + 1 EVERY 2]"
    assert contents(window, [0, 1, 3, 5, 7], session) == [[], [1], [1, 2, 3], [1, 2, 3, 4, 5], [3, 4, 5, 6, 7]]


@pytest.mark.parametrize("window", ["[RANGE 4 SLIDE 2]", WITH_MAX, WITHOUT_MAX, "[RANGE 3]", "[ROWS 3]"])
def test_A7_a_lag_shifts_all_evaluations(window: str) -> None:
    session = ticking()
    late = window.replace("]", " LAG 3]")
    assert contents(late, range(3, 20), session) == contents(window, range(17), session)
    assert contents(late, range(3), session) == [[], [], []]


def test_A7_range_x_is_evaluated_when_an_element_enters_or_leaves_and_at_no_other_instant() -> None:
    session = ticking(2, 3, 30)
    query = ask(session, "SELECT a FROM S [RANGE 10]")
    instants = session.reference([query])[query.name].instants(query.bound.plan)
    assert instants == [0, 2, 3, 13, 14, 30, 41]
    assert written(session.answers([query])) == ["+<2>2", "+<3>3", "-<2>13", "-<3>14", "+<30>30", "-<30>41"]


def test_A7_range_x_is_range_x_with_the_slide_of_a_chronon() -> None:
    session = ticking(2, 3, 7)
    assert contents("[RANGE 3]", range(15), session) == contents("[RANGE 3 SLIDE 1]", range(15), session)


def test_A7_five_values_describe_a_sequence() -> None:
    window = SequenceWindow.five_tuple(start=3, end=8, rate=5, start_adv=2, end_adv=5)
    assert window == SequenceWindow(Linear(2, 3), Linear(5, 8), Rate(5))
    stream = timeline(range(20))
    assert [positions(window, stream, t) for t in (7, 8, 12, 13, 18)] == [
        [], list(range(3, 9)), list(range(3, 9)), list(range(5, 14)), list(range(7, 19))
    ]  # fmt: skip


def test_A7_the_five_values_are_a_sequence_in_the_language() -> None:
    query = ask(ticking(), "SELECT a FROM S [FROM 2*j + 3 TO 5*j + 8 EVERY 5]")
    assert windows_of(query.bound.logical) == [SequenceWindow.five_tuple(3, 8, 5, 2, 5)]


def test_A7_five_values_are_checked_like_any_description() -> None:
    with pytest.raises(WindowError) as raised:
        SequenceWindow.five_tuple(start=0, end=3, rate=5, start_adv=5, end_adv=6)
    assert raised.value.condition == "WINDOW_END_NOT_ACCESSIBLE"


def doubling() -> GenericWindow:
    """for (t = 2; t < 10; t = 2 * t) WindowIs(S, t - 2, t)"""
    return for_loop("doubling", 2, lambda t: t < 10, lambda t: 2 * t, lambda t: t - 2, lambda t: t)


def test_A7_gamma_of_a_for_loop_has_the_points_of_the_loop() -> None:
    gamma = doubling().gamma
    assert [gamma(t) for t in (0, 1, 2, 3, 4, 7, 8, 15, 16, 99)] == [None, None, 2, 2, 4, 4, 8, 8, 16, 16]


def test_A7_a_for_loop_window_shows_the_last_evaluation_until_the_next() -> None:
    stream = timeline(range(20))
    assert [positions(doubling(), stream, t) for t in (1, 2, 3, 5, 9, 50)] == [
        [], [0, 1, 2], [0, 1, 2], [2, 3, 4], [6, 7, 8], [14, 15, 16]
    ]  # fmt: skip


def test_A7_a_for_loop_window_in_a_query() -> None:
    session = ticking(1, 3, 7, 15)
    session.execute("CREATE WINDOW doubling LANGUAGE PYTHON AS 'tests.acceptance.test_astral_definitions:doubling'")
    query = ask(session, "SELECT a FROM S [doubling]")
    assert written(session.answers([query])) == ["+<1>2", "-<1>4", "+<3>4", "-<3>8", "+<7>8", "-<7>16", "+<15>16"]


def test_A7_a_loop_that_does_not_advance_is_refused() -> None:
    window = for_loop("stuck", 0, lambda _: True, lambda t: t, lambda t: t, lambda t: t)
    with pytest.raises(WindowError) as raised:
        positions(window, timeline([1]), 5)
    assert raised.value.condition == "WINDOW_LOOP_STUCK"


SECOND = 1_000_000


def sensors(*times: int) -> Session:
    session = Session()
    session.execute("CREATE STREAM S (a INT, ts TIMESTAMP) ORDERED BY ts")
    session.insert("S", [(t, datetime(1970, 1, 1) + timedelta(seconds=t)) for t in times])
    return session


def test_A7_the_last_two_tuples_every_three_seconds() -> None:
    session = sensors(1, 2, 4, 5, 8)
    instants = [n * SECOND for n in range(13)]
    assert contents("[ROWS 2 SLIDE 3 SECONDS]", instants, session) == [
        [], [], [], [1, 2], [1, 2], [1, 2], [4, 5], [4, 5], [4, 5], [5, 8], [5, 8], [5, 8], [5, 8]
    ]  # fmt: skip


def test_A7_the_last_thirty_items_each_minute() -> None:
    query = ask(sensors(), "SELECT a FROM S [ROWS 30 SLIDE 1 MINUTE]")
    assert windows_of(query.bound.logical) == [RowsWindow(30, slide=Rate(60 * SECOND))]


def test_A7_a_range_that_moves_with_every_second_element() -> None:
    session = ticking(0, 1, 3, 7)
    assert contents("[RANGE 3 SLIDE 2 ROWS]", range(9), session) == [
        [], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1], [0, 1], [7], [7]
    ]  # fmt: skip
    query = ask(session, "SELECT a FROM S [RANGE 3 SLIDE 2 ROWS]")
    assert windows_of(query.bound.logical) == [TimeWindow(4, Rate(2, Axis.ROWS))]


def odd(start: int) -> Session:
    return ticking(1, 3, 5, 7, 9, start=start)


def test_A8_the_relation_of_a_query_is_empty_before_its_start() -> None:
    session = odd(4)
    session.execute("CREATE TABLE T AS VALUES (1), (2)")
    assert contents("[RANGE UNBOUNDED]", [0, 3, 4, 5, 9], session) == [[], [], [], [5], [5, 7, 9]]
    query = ask(session, "SELECT * FROM T")
    assert states(session, query, (0, 3, 4, 9)) == {0: [], 3: [], 4: [(1,), (2,)], 9: [(1,), (2,)]}


def test_A8_elements_before_the_start_are_never_seen() -> None:
    assert contents("[RANGE 4]", [4, 5, 7, 9], odd(4)) == [[], [5], [5, 7], [5, 7, 9]]
    assert contents("[ROWS 2]", [4, 5, 7, 9], odd(4)) == [[], [5], [5, 7], [7, 9]]


def test_A8_an_element_at_the_start_is_seen() -> None:
    session = odd(5)
    query = ask(session, "SELECT ISTREAM a FROM S [NOW]")
    assert [(a.instant, a.row) for a in session.answers([query])] == [(5, (5,)), (7, (7,)), (9, (9,))]


def test_A8_a_query_registered_later_has_its_own_start() -> None:
    session = odd(4)
    first = ask(session, "SELECT a FROM S [RANGE UNBOUNDED]")
    session.execute("SET start_time = 8")
    second = ask(session, "SELECT a FROM S [RANGE UNBOUNDED]")
    assert (first.start, second.start) == (4, 8)
    assert states(session, first, (5, 7, 9)) == {5: [(5,)], 7: [(5,), (7,)], 9: [(5,), (7,), (9,)]}
    assert states(session, second, (5, 7, 9)) == {5: [], 7: [], 9: [(9,)]}
    both = [(a.query, a.instant, a.row) for a in session.answers([first, second])]
    assert both == [("q1", 5, (5,)), ("q1", 7, (7,)), ("q1", 9, (9,)), ("q2", 9, (9,))]


@pytest.mark.parametrize(("start", "expected"), [(0, [[1, 3], [1, 3], [5, 7], [5, 7]]), (6, [[], [], [], [7, 9]])])
def test_A8_positions_count_from_the_start(start: int, expected: list[list[Value]]) -> None:
    assert contents("[FROM 2*j TO 2*j + 1 EVERY 2 ROWS]", [3, 5, 7, 9], odd(start)) == expected


def test_A8_a_sequence_that_begins_before_the_start_is_refused() -> None:
    with pytest.raises(ValueError, match="WINDOW_BEGINS_TOO_EARLY"):
        odd(4).execute("SELECT a FROM S [FROM 2*j TO 2*j + 1 EVERY 2]")


def test_A8_the_start_may_be_a_timestamp() -> None:
    session = sensors(1, 3, 5)
    session.execute("SET start_time = '1970-01-01 00:00:03'")
    query = ask(session, "SELECT a FROM S [RANGE UNBOUNDED]")
    assert query.start == 3 * SECOND
    assert states(session, query, (2 * SECOND, 5 * SECOND)) == {2 * SECOND: [], 5 * SECOND: [(3,), (5,)]}


def test_A8_a_tagged_stream_is_read_from_the_start_on() -> None:
    session = Session(dialect="sync")
    session.execute(
        "SET start_time = 3; REGISTER SOURCE Src (char k, int v, int ts) ORDERED BY ts; CREATE STREAM S OVER Src KEY k"
    )
    session.insert("Src", [("a", 1, 1), ("b", 2, 3), ("a", 3, 4), ("b", 4, 5)])
    query = ask(session, "select STREAMED k, v from ℜ(S)")
    assert written(session.answers([query])) == ["+<b,2>3", "+<a,3>4", "u<b,4>5"]


def test_A8_a_tagged_relation_begins_with_what_its_modifications_have_made_of_it() -> None:
    session = Session()
    session.execute(
        "CREATE RELATION K (id INT, b INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op KEY id; SET start_time = 3"
    )
    session.insert("K", [(1, 1, "+", 1), (2, 1, "+", 2), (1, 5, "u", 4)])
    found = [(a.instant, a.op, a.row) for a in session.answers([ask(session, "SELECT * FROM K")])]
    assert found == [(3, "+", (1, 1)), (3, "+", (2, 1)), (4, "-", (1, 1)), (4, "+", (1, 5))]

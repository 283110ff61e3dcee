"""Validity functions against window contents: every closed-form window, element by element, instant by instant."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.instants import INFINITY
from continua.session import Session
from continua.windows.fixed import FixedWindow
from continua.windows.landmark import LandmarkWindow
from continua.windows.measures import Axis, Linear, Rate
from continua.windows.over_rows import RowsWindow
from continua.windows.over_time import TimeWindow
from continua.windows.sequence import SequenceWindow
from continua.windows.spec import GenericWindow, WindowSpec
from tests.acceptance.sync_helpers import ask, positions, states, timeline, windows_of

INSTANTS = range(45)


@st.composite
def sequences(draw: st.DrawFn) -> SequenceWindow:
    """Valid descriptions with temporal bounds and rate; alpha may have a least value, as in 6.1.1."""
    rate = draw(st.integers(1, 5))
    beta = Linear(draw(st.integers(0, rate)), draw(st.integers(0, 8)))
    slope = draw(st.integers(0, beta.slope))
    if draw(st.booleans()):
        alpha = Linear(slope, draw(st.integers(0, beta.start)))
    else:
        alpha = Linear(slope, draw(st.integers(-6, beta.start)), draw(st.integers(0, beta.start)))
    return SequenceWindow(alpha, beta, Rate(rate), lag=draw(st.integers(0, 3)))


WINDOWS: dict[str, st.SearchStrategy[WindowSpec]] = {
    "time": st.builds(TimeWindow, st.integers(1, 9) | st.just(INFINITY), lag=st.integers(0, 3)),
    "time with a slide": st.builds(
        TimeWindow, st.integers(1, 9) | st.just(INFINITY), st.integers(1, 6).map(Rate), st.integers(0, 3)
    ),
    "fixed": st.builds(FixedWindow, st.integers(1, 9)),
    "landmark": st.builds(LandmarkWindow, st.integers(0, 12)),
    "sequence": sequences(),
}


def agree(window: WindowSpec, instants: list[int]) -> None:
    """The elements that a window holds at an instant are those whose interval holds it."""
    assert window.knows_ends
    stream = timeline(sorted(instants))
    intervals = [(n, window.validity(t)) for n, t in enumerate(sorted(instants))]
    for now in INSTANTS:
        held = [n for n, valid in intervals if valid is not None and valid[0] <= now < valid[1]]
        assert positions(window, stream, now) == held, f"at {now}"


@pytest.mark.parametrize("kind", WINDOWS)
@settings(max_examples=60, deadline=None, print_blob=True)
@given(data=st.data(), instants=st.lists(st.integers(0, 20), max_size=8))
def test_A2_an_element_is_in_the_window_at_the_instants_of_its_validity(
    kind: str, data: st.DataObject, instants: list[int]
) -> None:
    agree(data.draw(WINDOWS[kind]), instants)


@pytest.mark.parametrize("kind", WINDOWS)
@settings(max_examples=60, deadline=None, print_blob=True)
@given(data=st.data(), t=st.integers(0, 20))
def test_A2_a_validity_is_an_interval_that_starts_no_earlier_than_the_element(
    kind: str, data: st.DataObject, t: int
) -> None:
    valid = data.draw(WINDOWS[kind]).validity(t)
    assert valid is None or t <= valid[0] < valid[1]


@pytest.mark.parametrize("kind", WINDOWS)
@settings(max_examples=60, deadline=None, print_blob=True)
@given(data=st.data(), instants=st.lists(st.integers(0, 30), min_size=1, max_size=8))
def test_A2_the_intervals_of_many_elements_are_those_of_each(
    kind: str, data: st.DataObject, instants: list[int]
) -> None:
    window = data.draw(WINDOWS[kind])
    starts, ends, kept = window.intervals(np.array(instants, np.int64))
    for n, t in enumerate(instants):
        expected = window.validity(t)
        assert ((int(starts[n]), int(ends[n])) if kept is None or kept[n] else None) == expected


@st.composite
def positional(draw: st.DrawFn) -> SequenceWindow:
    """Valid descriptions with positional bounds and either rate."""
    rate = draw(st.integers(1, 4))
    beta = Linear(draw(st.integers(0, rate)), draw(st.integers(0, 4)))
    alpha = Linear(draw(st.integers(0, beta.slope)), draw(st.integers(0, beta.start)))
    axis = draw(st.sampled_from(Axis))
    return SequenceWindow(alpha, beta, Rate(rate, axis), Axis.ROWS, lag=draw(st.integers(0, 3)))


SCHEDULED: dict[str, st.SearchStrategy[WindowSpec]] = {
    **WINDOWS,
    "time with a slide of rows": st.builds(
        TimeWindow, st.integers(1, 9), st.integers(1, 4).map(lambda n: Rate(n, Axis.ROWS)), st.integers(0, 3)
    ),
    "rows": st.builds(
        RowsWindow,
        st.integers(1, 4),
        size=st.integers(1, 6) | st.just(INFINITY),
        slide=st.none() | st.builds(Rate, st.integers(1, 4), st.sampled_from(Axis)),
        lag=st.integers(0, 3),
    ),
    "positional sequence": positional(),
}


@pytest.mark.parametrize("kind", SCHEDULED)
@settings(max_examples=60, deadline=None, print_blob=True)
@given(data=st.data(), copies=st.lists(st.integers(1, 3), max_size=8))
def test_A7_a_window_changes_at_no_other_instants_than_it_is_scheduled_for(
    kind: str, data: st.DataObject, copies: list[int]
) -> None:
    # As long as there are elements at every instant, no end of a positional window lies in the future.
    instants = range(1, len(copies)) if kind == "positional sequence" else INSTANTS[1:]
    window = data.draw(SCHEDULED[kind])
    stream = timeline([t for t, count in enumerate(copies) for _ in range(count)])
    scheduled = window.change_points(stream)
    for now in instants:
        if now not in scheduled:
            assert positions(window, stream, now) == positions(window, stream, now - 1), f"at {now}"


def test_A2_the_end_of_a_sequence_may_have_a_least_value_too() -> None:
    agree(SequenceWindow(Linear(0, 0), Linear(2, -4, least=3), Rate(2)), [0, 1, 3, 4, 7])


@pytest.mark.parametrize(
    ("window", "t", "expected"),
    [
        (TimeWindow(5), 7, (7, 12)),
        (TimeWindow(5, lag=2), 7, (9, 14)),
        (TimeWindow(INFINITY), 7, (7, INFINITY)),
        (TimeWindow(5, Rate(4)), 7, (8, 12)),
        (TimeWindow(5, Rate(4)), 8, (8, 16)),
        (TimeWindow(2, Rate(4)), 5, None),
        (FixedWindow(5), 7, (7, 10)),
        (FixedWindow(5), 10, (10, 15)),
        (LandmarkWindow(8), 7, None),
        (LandmarkWindow(7), 7, (7, INFINITY)),
        (SequenceWindow(Linear(2, 0), Linear(2, 3), Rate(2)), 4, (5, 9)),
        (SequenceWindow(Linear(2, -4, least=0), Linear(2, 0), Rate(2)), 1, (2, 6)),
        (SequenceWindow(Linear(0, 2), Linear(3, 2), Rate(3)), 4, (5, INFINITY)),
        (SequenceWindow(Linear(0, 2), Linear(0, 5), Rate(3)), 6, None),
        (SequenceWindow(Linear(2, 3), Linear(5, 8), Rate(5)), 9, (13, 28)),
    ],
)
def test_A2_validities_worked_out_by_hand(window: WindowSpec, t: int, expected: tuple[int, int] | None) -> None:
    assert window.validity(t) == expected


@pytest.mark.parametrize(
    "window",
    [
        RowsWindow(3),
        TimeWindow(3, Rate(2, Axis.ROWS)),
        SequenceWindow(Linear(1, 0), Linear(1, 0), Rate(1, Axis.ROWS), Axis.ROWS),
        SequenceWindow(Linear(1, 0), Linear(1, 0), Rate(1), Axis.ROWS),
        SequenceWindow(Linear(1, 0), Linear(1, 3), Rate(1, Axis.ROWS)),
        GenericWindow("w", lambda t: t, lambda t: t, lambda t: t),
    ],
)
def test_A2_windows_that_count_positions_have_no_closed_form(window: WindowSpec) -> None:
    assert not window.knows_ends


@pytest.mark.parametrize(
    "text", ["[RANGE 4]", "WINDOW(RANGE 4)", "[RANGE 4 SLIDE 3]", "[FIXED 4]", "[LANDMARK 3]", "[RANGE 2 LAG 3]"]
)
def test_A2_a_query_holds_an_element_at_the_instants_of_its_validity(text: str) -> None:
    session = Session()
    session.execute("CREATE STREAM S (a INT, ts INT) ORDERED BY ts")
    instants = [1, 2, 4, 9, 10]
    session.insert("S", list(enumerate(instants)))
    query = ask(session, f"SELECT a FROM S {text}")
    interval = windows_of(query.bound.logical)[0].validity
    for now, rows in states(session, query, range(20)).items():
        held = [n for n, t in enumerate(instants) if (valid := interval(t)) and valid[0] <= now < valid[1]]
        assert [row[0] for row in rows] == held

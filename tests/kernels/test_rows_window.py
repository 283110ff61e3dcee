"""Windows over rows: at every instant what the definition says, however the input is cut into epochs."""

from __future__ import annotations

from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.kernels.store.arena import Arena
from continua.kernels.window.rows_window import RowsWindowSweep
from continua.kernels.words.batch import INFINITY, Batch
from continua.windows.measures import Axis, Rate
from continua.windows.over_rows import RowsWindow
from tests.kernels.window_content import Elements, batch_of, check, elements


@st.composite
def windows(draw: st.DrawFn) -> RowsWindow:
    slide = draw(st.none() | st.builds(Rate, st.integers(1, 6), st.sampled_from(Axis)))
    return RowsWindow(
        draw(st.sampled_from([1, 2, 3, 5, INFINITY])),
        draw(st.sampled_from([(), ("key",)])),
        draw(st.sampled_from([1, 2, 4, INFINITY])),
        slide,
        draw(st.sampled_from([0, 0, 1, 3])),
    )


def sweep_of(window: RowsWindow, arena: Arena, at_once: bool = False) -> RowsWindowSweep:
    by_rows = window.slide.amount if window.slide and window.slide.axis is Axis.ROWS else None
    by_time = window.slide.amount if window.slide and window.slide.axis is Axis.TIME else None
    width = len(window.partition)
    return RowsWindowSweep(
        arena, "w", width, 2, window.rows, window.size, by_rows, by_time, window.lag, at_once=at_once
    )


MODES = st.lists(st.booleans(), min_size=1, max_size=3)


@settings(max_examples=250, deadline=None)
@given(elements(), windows(), st.sets(st.integers(-6, 40), max_size=8), st.booleans(), MODES)
def test_content_at_every_instant(
    rows: Elements, window: RowsWindow, cuts: set[int], in_file: bool, modes: list[bool]
) -> None:
    """Whether changes are written at once may differ from one opening of the state to the next."""
    mode = cycle(modes)
    check(window, lambda arena: sweep_of(window, arena, next(mode)), rows, cuts, in_file)


def run(window: RowsWindow, rows: Elements, until: int) -> tuple[RowsWindowSweep, Batch]:
    sweep = sweep_of(window, Arena())
    batch = batch_of(rows)
    return sweep, sweep.epoch(batch.words[: len(window.partition)], batch, -1, until)


def test_elements_never_visible_produce_nothing() -> None:
    _, out = run(RowsWindow(1), [(1, 0, 7, 3), (1, 0, 8, 1)], 5)
    assert out.words[1].tolist() == [8]
    _, out = run(RowsWindow(1, slide=Rate(10)), [(1, 0, 7, 1), (9, 0, 8, 1)], 20)
    assert (out.words[1].tolist(), out.start.tolist(), out.end.tolist()) == ([8], [10], [INFINITY])


def test_both_ends_in_one_epoch_make_one_row() -> None:
    _, out = run(RowsWindow(1), [(1, 0, 7, 1), (4, 0, 8, 1)], 5)
    assert out.end.tolist() == [4, INFINITY]
    assert out.weight.tolist() == [1, 1]


def test_changes_are_written_in_the_order_of_time() -> None:
    window = RowsWindow(1)
    batch = batch_of([(1, 0, 7, 1), (4, 0, 8, 1), (4, 0, 9, 1)])
    out = sweep_of(window, Arena(), at_once=True).epoch(batch.words[:0], batch, -1, 5)
    assert list(zip(out.start.tolist(), out.words[1].tolist(), out.weight.tolist(), strict=True)) == [
        (1, 7, 1),
        (4, 7, -1),
        (4, 8, 1),
        (4, 8, -1),
        (4, 9, 1),
    ]
    assert set(out.end.tolist()) == {INFINITY}


def test_state_is_what_can_still_leave() -> None:
    sweep, _ = run(RowsWindow(2, ("key",)), [(t, t % 3, t, 1) for t in range(20)], 20)
    assert sweep.state_rows == 6
    assert sorted(sweep.interned([1])[0].tolist()) == [14, 15, 16, 17, 18, 19]
    assert sorted(sweep.interned_keys([0])[0].tolist()) == [0, 1, 2]


@pytest.mark.parametrize("slide", [None, Rate(3, Axis.ROWS), Rate(4)])
@pytest.mark.parametrize("rows", [2, INFINITY])
def test_old_elements_and_their_keys_are_dropped(rows: int, slide: Rate | None) -> None:
    window = RowsWindow(rows, ("key",), 5, slide)
    sweep, _ = run(window, [(t, t // 3, t, 1) for t in range(21)], 20)
    assert sweep.state_rows <= 8
    none = Batch.empty(2)
    sweep.epoch(none.words[:1], none, 20, 40)
    assert sweep.state_rows == 0
    assert sweep.interned_keys([0])[0].size == 0


def test_large_windows_grow_with_their_content() -> None:
    window = RowsWindow(1000, ("key",))
    sweep, out = run(window, [(t, t % 2, t, 1) for t in range(5000)], 5000)
    assert (sweep.state_rows, len(out)) == (2000, 5000)
    assert int((out.end == INFINITY).sum()) == 2000

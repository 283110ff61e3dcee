"""Window sequences and their like: at every instant what the definition says, however the input is cut."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.errors import WindowError
from continua.kernels.jit import Int64s
from continua.kernels.store.arena import Arena
from continua.kernels.window.sequence_window import OwnBounds, SequenceSweep, TimeByRows, WindowSequence
from continua.kernels.words.batch import INFINITY, Batch
from continua.windows.measures import Axis, Linear, Rate
from continua.windows.occurrences import Element, Timeline
from continua.windows.over_time import TimeWindow
from continua.windows.sequence import SequenceWindow
from continua.windows.spec import GenericWindow, WindowSpec, for_loop

Elements = list[tuple[int, int, int, int]]
"""Instant, key, value, number of copies."""


@st.composite
def elements(draw: st.DrawFn) -> Elements:
    t, found = draw(st.integers(0, 5)), []
    for gap in draw(st.lists(st.sampled_from([0, 0, 0, 1, 1, 2, 5]), max_size=20)):
        t += gap
        copies = draw(st.sampled_from([1, 1, 1, 2, 3]))
        found.append((t, draw(st.integers(0, 2)), draw(st.integers(0, 3)), copies))
    return found


@st.composite
def sequences(draw: st.DrawFn) -> SequenceWindow:
    rate, bounds = Rate(draw(st.integers(1, 4)), draw(st.sampled_from(Axis))), draw(st.sampled_from(Axis))
    most = rate.amount if bounds is rate.axis else 4
    beta_slope = draw(st.integers(0, most))
    alpha_slope = draw(st.integers(0, beta_slope))
    beta = draw(st.integers(0, 6))
    alpha = Linear(alpha_slope, draw(st.integers(0, beta)))
    if draw(st.booleans()):
        alpha = Linear(alpha_slope, draw(st.integers(-6, beta)), draw(st.integers(0, beta)))
    partition = draw(st.sampled_from([(), ("key",)]))
    return SequenceWindow(alpha, Linear(beta_slope, beta), rate, bounds, partition, draw(st.sampled_from([0, 0, 2])))


@st.composite
def generics(draw: st.DrawFn) -> GenericWindow:
    step, back, by_rows = draw(st.integers(1, 5)), draw(st.integers(0, 6)), draw(st.booleans())
    first = draw(st.integers(0, 8))
    alpha, beta = (lambda t: max(t - back, 0)), (lambda t: t)
    if draw(st.booleans()):
        return for_loop("loop", first, lambda t: t < 15, lambda t: t + step, alpha, beta)
    return GenericWindow(
        "own", alpha, beta, lambda t: None if t < first else t - t % step, bounds=Axis.ROWS if by_rows else Axis.TIME
    )


def times_by_rows() -> st.SearchStrategy[TimeWindow]:
    slides = st.builds(Rate, st.integers(1, 5), st.just(Axis.ROWS))
    return st.builds(TimeWindow, st.sampled_from([1, 2, 5, INFINITY]), slides, st.sampled_from([0, 0, 2]))


def sweep_of(window: WindowSpec, arena: Arena, forward: bool = True, chronon: int = 1) -> SequenceSweep:
    match window:
        case TimeWindow(size=size, slide=Rate(amount=rows), lag=lag):
            return SequenceSweep(arena, "w", 0, 2, TimeByRows(size, rows, lag, chronon))
        case SequenceWindow(alpha=a, beta=b, rate=rate, partition=partition):
            alpha, beta = Linear(a.slope, a.start, a.least), Linear(b.slope, b.start, b.least)
            by_rows = rate.axis is Axis.ROWS, window.bounds is Axis.ROWS
            sequence = WindowSequence(alpha, beta, rate.amount, *by_rows, window.lag)
            return SequenceSweep(arena, "w", len(partition), 2, sequence)
        case GenericWindow():
            bounds = partial(window.checked_bounds, start=0)
            following = partial(window.next_step, chronon=chronon)
            own = OwnBounds(following, bounds, window.bounds is Axis.ROWS, forward, chronon)
            return SequenceSweep(arena, "w", 0, 2, own)
        case _:
            raise TypeError(window)


def batch_of(rows: Elements) -> Batch:
    columns: Int64s = np.array(rows, np.int64).reshape(-1, 4).T
    return Batch(np.ascontiguousarray(columns[1:3]), columns[0].copy(), columns[0] + 1, columns[3].copy())


def at(rows: list[Batch], t: int) -> Counter[tuple[int, ...]]:
    """What rows count at an instant."""
    found: Counter[tuple[int, ...]] = Counter()
    for batch in rows:
        for i in np.flatnonzero((batch.start <= t) & (t < batch.end)):
            found[tuple(batch.words[:, i].tolist())] += int(batch.weight[i])
    return Counter({row: count for row, count in found.items() if count})


def check(
    window: WindowSpec, rows: Elements, cuts: set[int], in_file: bool, forward: bool = True, chronon: int = 1
) -> None:
    copies = [(t, k, v) for t, k, v, n in rows for _ in range(n)]
    elements = [Element((k, v), t, t + chronon, i) for i, (t, k, v) in enumerate(copies)]
    stream = Timeline(elements, 0, chronon)
    last = max((t for t, *_ in rows), default=0) + 15
    found: list[Batch] = []
    after = -1
    partition = window.partition if isinstance(window, SequenceWindow) else ()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "arena" if in_file else None
        arena = Arena(path)
        sweep = sweep_of(window, arena, forward, chronon)
        for until in [*sorted(c for c in cuts if c < last), last]:
            part = batch_of([e for e in rows if after < e[0] <= until])
            out = sweep.epoch(part.words[: len(partition)], part, after, until)
            assert ((out.start > after) & (out.start <= until) & (out.start < out.end)).all()
            found.append(out)
            after = until
            if path:
                arena.save()
                arena = Arena(path)
                sweep = sweep_of(window, arena, forward, chronon)
        for t in range(0, last + 1, chronon):
            assert at(found, t) == Counter(o.row for o in window.content(stream, t, lambda _: 0)), t


cuts = st.sets(st.integers(0, 40), max_size=8)


@settings(max_examples=300, deadline=None)
@given(sequences(), elements(), cuts, st.booleans())
def test_sequences(window: SequenceWindow, rows: Elements, cuts: set[int], in_file: bool) -> None:
    check(window, rows, cuts, in_file)


@settings(max_examples=100, deadline=None)
@given(generics(), elements(), cuts, st.booleans())
def test_windows_with_own_bounds(window: GenericWindow, rows: Elements, cuts: set[int], in_file: bool) -> None:
    check(window, rows, cuts, in_file)


@settings(max_examples=100, deadline=None)
@given(times_by_rows(), elements(), cuts, st.booleans())
def test_time_windows_that_slide_by_rows(window: TimeWindow, rows: Elements, cuts: set[int], in_file: bool) -> None:
    check(window, rows, cuts, in_file)


@settings(max_examples=100, deadline=None)
@given(generics() | times_by_rows(), elements(), cuts, st.integers(2, 3))
def test_a_coarser_chronon(window: WindowSpec, rows: Elements, cuts: set[int], chronon: int) -> None:
    check(window, [(t * chronon, k, v, n) for t, k, v, n in rows], cuts, False, chronon=chronon)


BACKWARD = GenericWindow("back", lambda t: max(20 - t, 0), lambda t: max(20 - t, 0), lambda t: None if t < 10 else t)
STREAM: Elements = [(t, 0, t, 1) for t in range(20)]


@given(cuts)
def test_windows_that_move_back_are_exact_when_announced(cuts: set[int]) -> None:
    check(BACKWARD, STREAM, cuts, False, forward=False)


def run(window: WindowSpec, rows: Elements, until: int) -> tuple[SequenceSweep, Batch]:
    sweep = sweep_of(window, Arena())
    batch = batch_of(rows)
    partition = window.partition if isinstance(window, SequenceWindow) else ()
    return sweep, sweep.epoch(batch.words[: len(partition)], batch, -1, until)


def test_windows_that_move_back_without_notice_fail() -> None:
    with pytest.raises(ValueError, match="left behind"):
        run(BACKWARD, STREAM, 20)


def test_bad_bounds_fail_like_the_definition() -> None:
    with pytest.raises(WindowError, match="in the future"):
        run(GenericWindow("bad", lambda t: t, lambda t: t + 1, lambda t: t), STREAM, 20)


@pytest.mark.parametrize(
    ("window", "most"),
    [
        (TimeWindow(5, Rate(3, Axis.ROWS)), 8),
        (TimeWindow(INFINITY, Rate(3, Axis.ROWS)), 3),
        (SequenceWindow(Linear(2, 0), Linear(2, 3), Rate(2, Axis.ROWS), Axis.ROWS), 6),
        (SequenceWindow(Linear(0, 2), Linear(0, 4), Rate(2, Axis.ROWS), Axis.ROWS), 0),
        (SequenceWindow(Linear(0, 2), Linear(0, 4), Rate(2), Axis.ROWS), 0),
        (SequenceWindow(Linear(0, 2), Linear(0, 4), Rate(2, Axis.ROWS)), 0),
        (SequenceWindow(Linear(0, 0), Linear(1, 0), Rate(1, Axis.ROWS)), 0),
        (SequenceWindow(Linear(1, 0), Linear(1, 4), Rate(1)), 0),
        (SequenceWindow(Linear(1, 0), Linear(1, 4), Rate(1), lag=3), 3),
        (GenericWindow("own", lambda t: max(t - 4, 0), lambda t: t, lambda t: t), 5),
    ],
)
def test_state_is_what_later_windows_can_hold(window: WindowSpec, most: int) -> None:
    sweep, _ = run(window, [(t, 0, t, 1) for t in range(100)], 99)
    assert sweep.state_rows <= most
    held = sweep.interned([1])[0]
    assert held.size == sweep.state_rows
    assert (held >= 99 - 2 * most).all()


def test_keys_are_remembered_with_their_positions() -> None:
    window = SequenceWindow(Linear(2, 0), Linear(2, 1), Rate(2, Axis.ROWS), Axis.ROWS, ("key",))
    sweep, _ = run(window, [(t, t % 3, t, 1) for t in range(9)], 9)
    assert sorted(sweep.interned_keys([0])[0].tolist()) == [0, 1, 2]


def test_a_window_far_from_its_last_element_costs_nothing() -> None:
    asked: list[int] = []
    gamma = lambda t: asked.append(t) or t  # type: ignore[func-returns-value]  # noqa: E731
    sweep, _ = run(GenericWindow("own", lambda t: max(t - 4, 0), lambda t: t, gamma), STREAM, 10**15)
    assert sweep.state_rows == 0
    assert len(asked) < 1000


def test_a_window_that_never_comes_to_rest_fails_at_the_end_of_time() -> None:
    spec = OwnBounds(lambda now, until: now + 1 if now < until else None, lambda t: (0, t), most=1000)
    sweep = SequenceSweep(Arena(), "w", 0, 2, spec)
    with pytest.raises(OverflowError, match="more than 1000 evaluations"):
        sweep.epoch(np.empty((0, 20), np.int64), batch_of(STREAM), -1, INFINITY - 1)


@pytest.mark.parametrize(
    "window",
    [
        TimeWindow(5, Rate(3, Axis.ROWS), 2),
        SequenceWindow(Linear(2, 0), Linear(2, 3), Rate(2), Axis.ROWS, lag=1),
        SequenceWindow(Linear(0, 0), Linear(2, 3), Rate(2), Axis.ROWS),
        SequenceWindow(Linear(1, 0), Linear(1, 4), Rate(3)),
        for_loop("loop", 2, lambda t: t < 15, lambda t: t + 3, lambda t: t - 2, lambda t: t),
    ],
)
def test_the_end_of_time_is_an_epoch(window: WindowSpec) -> None:
    _, out = run(window, STREAM, INFINITY - 1)
    assert at([out], 12) == at([run(window, STREAM, 12)[1]], 12)

"""Validity functions over arrays: the interval of each element in a window, from its instant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from continua.instants import INFINITY
from continua.kernels.jit import Int64s
from continua.windows.spec import (
    Axis,
    FixedWindow,
    LandmarkWindow,
    Rate,
    RowsWindow,
    SequenceWindow,
    TimeWindow,
    WindowSpec,
)
from continua.windows.validity import validity

Kept = NDArray[np.bool_]


def valid(window: WindowSpec, instant: Int64s) -> tuple[Int64s, Int64s, Kept | None]:
    """Starts and ends, and which elements are in the window at all (None: all of them)."""
    match window:
        case TimeWindow(size=size, slide=None, lag=lag):
            start = instant + lag if lag else instant
            return start, _later(start, size), None
        case TimeWindow(size=size, slide=Rate(amount=step, axis=Axis.TIME), lag=lag):
            start = _up(instant, step) + lag
            end = np.full_like(instant, INFINITY) if size >= INFINITY else _up(instant + size, step) + lag
            kept = start < end
            return start, end, None if bool(kept.all()) else kept
        case FixedWindow(size=size):
            return instant, _up(instant + 1, size), None
        case LandmarkWindow(start=first):
            kept = instant >= first
            return instant, np.full_like(instant, INFINITY), None if bool(kept.all()) else kept
        case SequenceWindow():
            return _one_by_one(window, instant)
        case _:
            raise TypeError(f"{type(window).__name__} has no validity function")


def fits_chronon(window: WindowSpec, chronon: int) -> bool:
    """Whether all lengths of time in a window are whole chronons: only then does it change at chronons alone."""
    match window:
        case TimeWindow(size=size, slide=slide, lag=lag) | RowsWindow(size=size, slide=slide, lag=lag):
            step = slide.amount if slide is not None and slide.axis is Axis.TIME else 0
            lengths = [lag, step, 0 if size >= INFINITY else size]
        case FixedWindow(size=size):
            lengths = [size]
        case SequenceWindow(lag=lag, rate=rate):
            lengths = [lag, rate.amount if rate.axis is Axis.TIME else 0]
        case _:
            lengths = []
    return all(length % chronon == 0 for length in lengths)


def _later(start: Int64s, size: int) -> Int64s:
    return np.full_like(start, INFINITY) if size >= INFINITY else start + size


def _up(instant: Int64s, step: int) -> Int64s:
    return instant + (-instant) % step


def _one_by_one(window: SequenceWindow, instant: Int64s) -> tuple[Int64s, Int64s, Kept]:
    function = validity(window)
    assert function is not None
    distinct, places = np.unique(instant, return_inverse=True)
    found = [function(int(t)) for t in distinct]
    start = np.array([0 if f is None else f[0] for f in found], np.int64)
    end = np.array([0 if f is None else f[1] for f in found], np.int64)
    return start[places], end[places], (start < end)[places]

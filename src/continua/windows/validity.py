"""The validity function: the interval during which an element at instant t is in a window.

Closed-form arithmetic on t for every window whose bounds and rate count time. Windows that count positions have
no such form (they need the position-to-time mapping of the stream) and give None as their function.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from continua.instants import INFINITY, ceil_to
from continua.windows.spec import (
    Axis,
    FixedWindow,
    GenericWindow,
    LandmarkWindow,
    Rate,
    RowsWindow,
    SequenceWindow,
    TimeWindow,
    WindowSpec,
)

Validity: TypeAlias = Callable[[int], "tuple[int, int] | None"]


def validity(window: WindowSpec) -> Validity | None:
    """The function from an element's instant to its half-open interval (None: never in the window)."""
    match window:
        case TimeWindow(size=size, slide=None, lag=lag):
            return lambda t: (t + lag, _add(t + lag, size))
        case TimeWindow(size=size, slide=Rate(amount=step, axis=Axis.TIME), lag=lag):
            return lambda t: _rounded(t, _add(t, size), step, lag)
        case FixedWindow(size=size):
            return lambda t: (t, ceil_to(t + 1, size))
        case LandmarkWindow(start=start):
            return lambda t: (t, INFINITY) if t >= start else None
        case SequenceWindow(bounds=Axis.TIME, partition=(), rate=Rate(axis=Axis.TIME)):
            return partial(_in_sequence, window)
        case TimeWindow() | RowsWindow() | SequenceWindow() | GenericWindow():
            return None


def _add(instant: int, length: int) -> int:
    return INFINITY if length >= INFINITY else instant + length


def _rounded(start: int, end: int, step: int, lag: int) -> tuple[int, int] | None:
    """Both ends rounded up to the next synchronization point; an element whose ends meet vanishes."""
    first = ceil_to(start, step) + lag
    last = end if end >= INFINITY else ceil_to(end, step) + lag
    return (first, last) if first < last else None


def _in_sequence(window: SequenceWindow, t: int) -> tuple[int, int] | None:
    """The evaluations d + r*j of the windows j that hold t: the first by beta, the last by alpha."""
    alpha, beta, step = window.alpha, window.beta, window.rate.amount
    if t <= beta(0):
        first = 0
    elif beta.slope > 0:
        first = -((beta.start - t) // beta.slope)
    else:
        return None
    if alpha.least is not None and t < alpha.least:
        return None
    origin = beta(0) + window.lag
    if alpha.slope == 0:
        return (origin + step * first, INFINITY) if alpha.start <= t else None
    last = (t - alpha.start) // alpha.slope
    return (origin + step * first, origin + step * (last + 1)) if first <= last else None

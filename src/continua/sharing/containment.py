"""Containment of synchronization streams and of synchronized relations (SyncSQL 4.3.1 and 4.3.2).

A synchronization stream is known here by its points: the instants ``offset`` + multiples of ``step``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from math import gcd

from continua.windows.change_points import EVERY_INSTANT, Points


def is_contained(inner: Points, outer: Points) -> bool:
    """Proposition 3: whether every point of one synchronization stream is a point of the other."""
    return inner.step % outer.step == 0 and (inner.offset - outer.offset) % outer.step == 0


def clock_of(synchronizations: Iterable[Points]) -> Points:
    """The coarsest points that hold those of all (SyncSQL 5.2: the greatest common divisor, in place of the clock)."""
    found = list(synchronizations)
    if not found:
        return EVERY_INSTANT
    first = found[0]
    step = reduce(gcd, (part for p in found for part in (p.step, p.offset - first.offset)), 0)
    return Points(step, first.offset)

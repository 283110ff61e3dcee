"""Containment of synchronization streams and of synchronized relations (SyncSQL 4.3.1 and 4.3.2).

A synchronization stream is known here by its points: the instants ``offset`` + multiples of ``step``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from math import gcd, lcm

from continua.algebra.synchronization import Both, PointSet, Synchronization
from continua.windows.change_points import EVERY_INSTANT, Points


def is_contained(inner: Points, outer: Points) -> bool:
    """Proposition 3: whether every point of one synchronization stream is a point of the other."""
    return inner.step % outer.step == 0 and (inner.offset - outer.offset) % outer.step == 0


def intersection(one: Points, other: Points) -> Points | None:
    """The points of both synchronization streams; None where they have none in common."""
    common = gcd(one.step, other.step)
    if (other.offset - one.offset) % common:
        return None
    step = lcm(one.step, other.step)
    rest = other.step // common
    turns = (other.offset - one.offset) // common * pow(one.step // common, -1, rest) % rest if rest > 1 else 0
    return Points(step, one.offset + one.step * turns)


def clock_of(synchronizations: Iterable[Points]) -> Points:
    """The coarsest points that hold those of all (SyncSQL 5.2: the greatest common divisor, in place of the clock)."""
    found = list(synchronizations)
    if not found:
        return EVERY_INSTANT
    first = found[0]
    step = reduce(gcd, (part for p in found for part in (p.step, p.offset - first.offset)), 0)
    return Points(step, first.offset)


def full_points(found: Synchronization) -> Points | None:
    """The full synchronization points of a result (proposition 2), where all its points are regular.

    None where there are none, or where some are known only when they come.
    """
    points: Points | None = EVERY_INSTANT
    for leaf in found.leaves:
        points = _with(points, leaf)
    return points


def _with(points: Points | None, leaf: PointSet) -> Points | None:
    match leaf:
        case Points():
            return None if points is None else intersection(points, leaf)
        case Both(outer=outer, inner=inner):
            return _with(_with(points, outer), inner)
        case _:
            return None


def has_partial_points(found: Synchronization) -> bool:
    """Whether a result is refreshed at points that do not reflect all of its input."""
    return len(found.leaves) > 1

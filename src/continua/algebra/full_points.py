"""Full synchronization points: those at which a result reflects all of its input (SyncSQL 4.2.2, proposition 2)."""

from __future__ import annotations

from math import gcd, lcm

from continua.algebra.synchronization import Both, PointSet, Synchronization
from continua.windows.change_points import EVERY_INSTANT, Points


def intersection(one: Points, other: Points) -> Points | None:
    """The points of both synchronization streams; None where they have none in common."""
    common = gcd(one.step, other.step)
    if (other.offset - one.offset) % common:
        return None
    step = lcm(one.step, other.step)
    rest = other.step // common
    turns = (other.offset - one.offset) // common * pow(one.step // common, -1, rest) % rest if rest > 1 else 0
    return Points(step, one.offset + one.step * turns)


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

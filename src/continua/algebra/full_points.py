"""Full synchronization points: those at which a result reflects all of its input (SyncSQL 4.2.2, proposition 2)."""

from __future__ import annotations

from math import gcd, lcm

from continua.algebra.synchronization import Both, PointSet, Synchronization
from continua.windows.change_points import EVERY_INSTANT, Points
from continua.windows.periodic import Periodic


def intersection(one: Points, other: Points) -> Points | None:
    """The points of both synchronization streams; None where they have none in common."""
    common = gcd(one.step, other.step)
    if (other.offset - one.offset) % common:
        return None
    step = lcm(one.step, other.step)
    rest = other.step // common
    turns = (other.offset - one.offset) // common * pow(one.step // common, -1, rest) % rest if rest > 1 else 0
    return Points(step, one.offset + one.step * turns)


def full_points(found: Synchronization) -> Points | Periodic | None:
    """The full synchronization points of a result (proposition 2), where all its points are known ahead.

    None where there are none, or where some are known only when they come.
    """
    points: Points | Periodic | None = EVERY_INSTANT
    for leaf in found.leaves:
        points = _with(points, leaf)
    return points


def _with(points: Points | Periodic | None, leaf: PointSet) -> Points | Periodic | None:
    match points, leaf:
        case None, _:
            return None
        case Points(), Points():
            return intersection(points, leaf)
        case _, Points() | Periodic():
            both = _periodic(points).and_also(_periodic(leaf))
            return None if both is None or not both.stretches else both.points or both
        case _, Both(outer=outer, inner=inner):
            return _with(_with(points, outer), inner)
        case _:
            return None


def _periodic(points: Points | Periodic) -> Periodic:
    return Periodic.at(points) if isinstance(points, Points) else points

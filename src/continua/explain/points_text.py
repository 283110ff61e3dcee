"""At which points a query is refreshed, and which of them are full, for a reader (SyncSQL 4.2.2)."""

from __future__ import annotations

from continua.algebra.base import Kind, Plan
from continua.algebra.full_points import full_points
from continua.algebra.streaming import Tag, ToStream
from continua.algebra.synchronization import Both, PointSet, synchronization
from continua.instants import TimeDomain, show_length
from continua.windows.change_points import EVERY_INSTANT, EventPoints, Points
from continua.windows.periodic import Periodic

_SHOWN = 6
"""So many stretches of a period are told."""


def points_text(plan: Plan, domain: TimeDomain) -> str | None:
    """The points of a query that something else than the clock refreshes; None for others."""
    relation = plan.input if isinstance(plan, ToStream | Tag) else plan
    if relation.yields is not Kind.RELATION:
        return None
    found = synchronization(relation)
    if not found.leaves or found.leaves == {EVERY_INSTANT}:
        return None
    single = [leaf for leaf in found.leaves if not isinstance(leaf, Both)]
    shown = " and ".join(sorted(_text(leaf, domain) for leaf in single))
    full = full_points(found)
    if len(found.leaves) == 1:
        return f"refreshed {shown}: these points are full"
    if full is None:
        return f"refreshed {shown}: all of these points are partial, as far as is known ahead"
    return f"refreshed {shown}: full points {_text(full, domain)}, the others are partial"


def _text(points: PointSet, domain: TimeDomain) -> str:
    match points:
        case Points() if points == EVERY_INSTANT:
            return "at every instant"
        case Points(step=step, offset=0):
            return f"every {show_length(step, domain)}"
        case Points(step=step, offset=offset):
            return f"every {show_length(step, domain)} from {show_length(offset, domain)} on"
        case Periodic(period=period, stretches=stretches):
            shown = ", ".join(_stretch(*s, domain) for s in stretches[:_SHOWN])
            more = ", ..." if len(stretches) > _SHOWN else ""
            return f"every {show_length(period, domain)} at {shown}{more}"
        case EventPoints(stream_name=name):
            return f"by events of {name}"
        case Both(outer=outer, inner=inner):
            return f"{_text(outer, domain)} where also {_text(inner, domain)}"


def _stretch(start: int, end: int, domain: TimeDomain) -> str:
    """A stretch of a period, or its only instant."""
    first = show_length(start, domain)
    return first if end == start + 1 else f"{first} to before {show_length(end, domain)}"

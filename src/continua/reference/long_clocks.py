"""The clock where looking at each of its instants would be too many: timestamps have a million in a second.

What is asked of a clock that long is known without a look at every instant: its latest instant, and the points of a
synchronization stream whose conditions recur. It is a question of effort: over integers, and over timestamps with a
coarse chronon and a start, the same questions are answered by the definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from continua.algebra.base import Plan
from continua.algebra.expr import Column, Expr, Literal
from continua.algebra.relational import Aggregate, Project
from continua.algebra.streaming import RelationalView, Tag
from continua.algebra.synchronization import latest_point, points_of_sync
from continua.algebra.traverse import domain_of, nodes_of
from continua.instants import TimeDomain, floor_to, value_of
from continua.types import Value
from continua.windows.change_points import Points
from continua.windows.occurrences import LIMIT
from continua.windows.periodic import Periodic

if TYPE_CHECKING:
    from continua.reference.semantics import Reference


def is_long(reference: Reference, until: int) -> bool:
    """Whether the clock has too many instants to be listed by then."""
    return (until - reference.start) // reference.chronon > LIMIT // 10


def latest_columns(plan: Plan) -> dict[str, Points]:
    """The columns that hold the latest instant of the clock, or of points of it, at any place of a plan."""
    return dict(found for node in nodes_of(plan) if (found := latest_point(node)) is not None)


def next_point(reference: Reference, sync: Plan, instant: int) -> int | None:
    """The first point at or after an instant, where points recur; None where that is not known."""
    points = points_of_sync(sync, reference.chronon)
    if points is None:
        return None
    first = max(instant, reference.start)
    if isinstance(points, Points):
        return first + (points.offset - first) % points.step
    return points.ceil(first) if points.stretches else None


def last_point(reference: Reference, points: Points | Periodic, instant: int) -> int | None:
    """The last point at or before an instant; None where there is none since the start."""
    if isinstance(points, Points):
        found = floor_to(instant - points.offset, points.step) + points.offset
    elif points.stretches:
        found = floor_to(points.floor(instant), reference.chronon)
    else:
        return None
    return found if found >= reference.start else None


def latest_row(reference: Reference, plan: Plan, t: int) -> tuple[Value, ...]:
    """The only row of a plan that holds the latest instant of a clock (SyncSQL 3.3)."""
    match plan:
        case RelationalView(input=Tag(input=below), timestamp=timestamp):
            row = latest_row(reference, below, t)
            return row if timestamp is None else (*row, _latest(reference, below, t))
        case Project(input=below, outputs=outputs):
            known = dict(zip(below.schema.names, latest_row(reference, below, t), strict=True))
            exprs = [e for _, e in outputs]
            return tuple(known[e.name] if isinstance(e, Column) else _constant(e) for e in exprs)
        case Aggregate():
            return (_latest(reference, plan, t),)
        case _:
            raise TypeError(type(plan).__name__)


def _constant(expr: Expr) -> Value:
    assert isinstance(expr, Literal)
    return expr.value


def _latest(reference: Reference, plan: Plan, t: int) -> Value:
    found = latest_point(plan)
    assert found is not None
    instant = last_point(reference, found[1], t)
    return None if instant is None else value_of(instant, domain_of(plan) or TimeDomain.TICKS)

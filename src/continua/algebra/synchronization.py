"""Synchronization: at which instants a plan's result can change, and when it reflects all of its input.

SyncSQL 4.2.2: a result is refreshed at the points of any of its leaves (proposition 2); a point of all of them is
a full synchronization point, any other a partial one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from continua.algebra.base import Plan, remembered
from continua.algebra.expr import AggregateCall, Column, Literal
from continua.algebra.leaves import BaseRelation, Clock, Source, TaggedSource, Values
from continua.algebra.monotonicity import uses_now
from continua.algebra.recurring import recurring
from continua.algebra.relational import (
    Aggregate,
    DuplicateElimination,
    Filter,
    Project,
    SetOperation,
    SetOperator,
    Timeslice,
    Window,
)
from continua.algebra.streaming import RelationalView, Synchronize, Tag
from continua.algebra.traverse import all_inputs, expressions_of, nodes_of
from continua.windows.change_points import EVERY_INSTANT, EventPoints, Points
from continua.windows.periodic import Periodic


@dataclass(frozen=True, slots=True)
class Both:
    """The instants that two point sets share: a synchronized relation read at other points."""

    outer: PointSet
    inner: PointSet

    def contains(self, instant: int) -> bool:
        """Whether it surely is a point of both."""
        return self.outer.contains(instant) and self.inner.contains(instant)

    def may_contain(self, instant: int) -> bool:
        """Whether it can be a point of both."""
        return self.outer.may_contain(instant) and self.inner.may_contain(instant)


PointSet: TypeAlias = Points | Periodic | EventPoints | Both


@dataclass(frozen=True, slots=True)
class Synchronization:
    """The point sets of a plan's leaves; static relations have none."""

    leaves: frozenset[PointSet]

    def refreshes_at(self, instant: int) -> bool:
        """Whether the result can change: it is (or for events: may be) a point of some leaf."""
        return any(leaf.may_contain(instant) for leaf in self.leaves)

    def is_full_at(self, instant: int) -> bool:
        """Whether the result surely reflects all input up to the instant: it is a point of every leaf."""
        return all(leaf.contains(instant) for leaf in self.leaves)

    @property
    def is_synchronized(self) -> bool:
        """Whether something other than the clock decides when the result changes."""
        return bool(self.leaves) and EVERY_INSTANT not in self.leaves


def synchronization(plan: Plan) -> Synchronization:
    """When the result of a plan is refreshed, by propositions 1 and 2 of SyncSQL."""
    return Synchronization(_leaves(plan))


def _leaves(plan: Plan) -> frozenset[PointSet]:
    if (points := _known_points(plan)) is not None:
        return frozenset((points,))
    match plan:
        case BaseRelation() | Values() | Timeslice():
            return frozenset()
        case Source() | TaggedSource():
            return frozenset((EVERY_INSTANT,))
        case Window(input=stream, spec=spec):
            return _read_at(spec.points(stream_name(stream)), stream)
        case Synchronize(input=below, step=step, offset=offset):
            return _read_at(Points(step, offset), below)
        case RelationalView(input=below, sync=Plan() as sync):
            return _read_at(_known_points(sync) or EventPoints("sync"), below)
        case _:
            found = frozenset(leaf for part in all_inputs(plan) for leaf in _leaves(part))
            return found | {EVERY_INSTANT} if any(map(uses_now, expressions_of(plan))) else found


def _known_points(plan: Plan) -> Points | Periodic | None:
    """The points of the clock that a plan has, regular or not."""
    found = clock_instants(plan)
    return None if found is None else found.points or found


def _read_at(points: PointSet, below: Plan) -> frozenset[PointSet]:
    """What is below, seen only at some points: these refresh it, those that it shares with them are full."""
    inner = _leaves(below) - {EVERY_INSTANT, points}
    if points == EVERY_INSTANT:
        return inner | {points}
    return frozenset((points, *(Both(points, leaf) for leaf in inner)))


def stream_name(plan: Plan) -> str:
    """The name of the base streams below, for messages."""
    names = dict.fromkeys(n.name for n in nodes_of(plan) if isinstance(n, Source | TaggedSource))
    return ", ".join(names) or "the stream"


def clock_points(plan: Plan) -> Points | None:
    """The points of a synchronization stream that are regular instants of the clock (SyncSQL 3.2, example 10)."""
    found = clock_instants(plan)
    return None if found is None else found.points


@remembered
def clock_instants(plan: Plan) -> Periodic | None:
    """The points of a synchronization stream that are instants of the clock by conditions that recur.

    (SyncSQL 3.2, examples 10 and 11.)
    """
    found = _clock(plan)
    return found[1] if found else None


@lru_cache(256)
def points_of_sync(plan: Plan, chronon: int) -> Points | Periodic | None:
    """The points of a synchronization stream where instants are as long as a chronon; None where they are events."""
    found = clock_instants(plan)
    among = None if found is None else found.among(chronon)
    return None if among is None else among.regular(chronon) or among


def _clock(plan: Plan) -> tuple[str, Periodic] | None:
    """The column that holds the time point, and the points that are left."""
    match plan:
        case Clock():
            return plan.schema.names[0], Periodic.at(EVERY_INSTANT)
        case RelationalView(input=below, sync=None) | Tag(input=below) | DuplicateElimination(input=below):
            return _clock(below)
        case Project(input=below, outputs=outputs) if (found := _clock(below)) is not None:
            name, points = found
            kept = next((n for n, e in outputs if isinstance(e, Column) and e.name == name), None)
            plain = all(isinstance(e, Column | Literal) for _, e in outputs)
            return (kept, points) if kept is not None and plain else None
        case Filter(input=below, predicate=predicate) if (found := _clock(below)) is not None:
            name, points = found
            chosen = recurring(predicate, name)
            both = None if chosen is None else points.and_also(chosen)
            return None if both is None else (name, both)
        case SetOperation(operator=SetOperator.UNION | SetOperator.INTERSECTION as operator):
            return _of_both(plan, operator is SetOperator.UNION)
        case _:
            return None


def _of_both(plan: SetOperation, union: bool) -> tuple[str, Periodic] | None:
    """The points of either of two streams, or of both: rows are equal where their time points are."""
    left, right = _clock(plan.left), _clock(plan.right)
    if left is None or right is None:
        return None
    place = plan.left.schema.names.index(left[0])
    told = (e for node in nodes_of(plan) if isinstance(node, Project) for _, e in node.outputs)
    if place != plan.right.schema.names.index(right[0]) or not (union or all(isinstance(e, Column) for e in told)):
        return None
    joined = left[1].or_else(right[1]) if union else left[1].and_also(right[1])
    return None if joined is None else (plan.schema.names[place], joined)


def latest_point(plan: Plan) -> tuple[str, Points] | None:
    """The column that holds the latest instant of the clock, or of such points of it, where a plan has no other rows.

    (SyncSQL 3.3, examples 13 and 14; NULL before the first.)
    """
    match plan:
        case RelationalView(input=Tag(input=below), sync=None):
            return latest_point(below)
        case Project(input=below, outputs=outputs) if (found := latest_point(below)) is not None:
            kept = next((n for n, e in outputs if isinstance(e, Column) and e.name == found[0]), None)
            plain = all(isinstance(e, Column | Literal) for _, e in outputs)
            return (kept, found[1]) if kept is not None and plain else None
        case Aggregate(
            input=below,
            keys=(),
            aggregates=((name, AggregateCall(function="MAX", arguments=(Column(name=latest),), where=None)),),
        ) if (clock := _clock(below)) is not None and clock[0] == latest and (points := clock[1].points) is not None:
            return name, points
        case _:
            return None

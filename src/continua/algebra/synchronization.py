"""Synchronization: at which instants a plan's result can change, and when it reflects all of its input.

SyncSQL 4.2.2: a result is refreshed at the points of any of its leaves (proposition 2); a point of all of them is
a full synchronization point, any other a partial one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from continua.algebra.base import Plan
from continua.algebra.expr import Call, Column, Expr, Literal
from continua.algebra.leaves import BaseRelation, Clock, Source, TaggedSource, Values
from continua.algebra.monotonicity import uses_now
from continua.algebra.relational import Filter, Project, Timeslice, Window
from continua.algebra.streaming import RelationalView, Synchronize, Tag
from continua.algebra.traverse import all_inputs, expressions_of, nodes_of
from continua.functions.scalars import operator_of
from continua.windows.change_points import EVERY_INSTANT, EventPoints, Points


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


PointSet: TypeAlias = Points | EventPoints | Both


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
    if (points := clock_points(plan)) is not None:
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
            return _read_at(clock_points(sync) or EventPoints("sync"), below)
        case _:
            found = frozenset(leaf for part in all_inputs(plan) for leaf in _leaves(part))
            return found | {EVERY_INSTANT} if any(map(uses_now, expressions_of(plan))) else found


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
    """The points of a synchronization stream that filters the clock by its remainder (SyncSQL 3.2, example 10)."""
    found = _clock(plan)
    return found[1] if found else None


def _clock(plan: Plan) -> tuple[str, Points] | None:
    """The column that holds the time point, and the points that are left."""
    match plan:
        case Clock():
            return plan.schema.names[0], EVERY_INSTANT
        case RelationalView(input=below, sync=None) | Tag(input=below):
            return _clock(below)
        case Project(input=below, outputs=outputs) if (found := _clock(below)) is not None:
            name, points = found
            kept = next((n for n, e in outputs if isinstance(e, Column) and e.name == name), None)
            plain = all(isinstance(e, Column | Literal) for _, e in outputs)
            return (kept, points) if kept is not None and plain else None
        case Filter(input=below, predicate=predicate) if (found := _clock(below)) is not None:
            name, points = found
            remainder = _remainder(predicate, name)
            return (name, remainder) if remainder is not None and points == EVERY_INSTANT else None
        case _:
            return None


def _remainder(predicate: Expr, timepoint: str) -> Points | None:
    """``timepoint % step = offset``, either way round."""
    match predicate:
        case Call(function="=", arguments=(one, other)):
            sides = (one, other), (other, one)
        case _:
            return None
    for divided, rest in sides:
        match divided, rest:
            case (
                Call(function=function, arguments=(Column(name=name), Literal(value=int(step)))),
                Literal(value=int(offset)),
            ) if operator_of(function) == "%":
                return Points(step, offset) if name == timepoint and 0 <= offset < step else None
    return None

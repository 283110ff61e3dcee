"""Commutation and the normal form: data over the finest relations, and the points at which it is seen (SyncSQL 5.1).

Corollaries 2 and 3 pull synchronization out of operators, so that any expression has the form ℜ_Sync(ξ(Q(ℜ(S1), ...)))
(theorem 2). They speak of full synchronization points. The normal form is equal to the expression at every instant only
where all its inputs are refreshed at the same points, or where it is itself seen only at full ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from continua.algebra.base import Kind, Plan
from continua.algebra.expr import Call, Literal
from continua.algebra.full_points import intersection
from continua.algebra.leaves import BaseRelation, Clock, Values
from continua.algebra.reducibility import is_snapshot_reducible
from continua.algebra.relational import (
    Aggregate,
    DuplicateElimination,
    Filter,
    Group,
    Join,
    Project,
    SetOperation,
    Timeslice,
    TopK,
    Window,
)
from continua.algebra.streaming import Complete, RelationalView, Synchronize, Tag
from continua.algebra.synchronization import clock_points
from continua.algebra.traverse import domain_of, with_inputs
from continua.instants import TimeDomain
from continua.sharing.blocks import is_told_whole
from continua.sharing.containment import is_contained
from continua.types import BIGINT, BOOLEAN, TIMESTAMP
from continua.windows.change_points import EVERY_INSTANT, Points
from continua.windows.over_time import TimeWindow

_POINTWISE = (Filter, Project, Join, SetOperation, DuplicateElimination, Aggregate, TopK, Group, Complete)


@dataclass(frozen=True, slots=True)
class NormalForm:
    """What theorem 2 makes of a relation."""

    data: Plan
    """The same over inputs that are not synchronized."""
    points: Points | None
    """The full synchronization points of all inputs together; None where there are none."""
    everywhere: bool
    """Whether the data seen at these points is the relation at every instant, and not at full points alone."""


def normal_form(plan: Plan) -> NormalForm:
    """The normal form of a relation (theorem 2, by corollaries 2 and 3)."""
    data, found = _pulled(plan)
    return NormalForm(data, found.full, found.same)


@dataclass(frozen=True, slots=True)
class _Refreshed:
    """The points at which the inputs of a part are refreshed."""

    full: Points | None
    """Those of all inputs."""
    same: bool = True
    """Whether the part is at every instant what its data was at the last of these points."""
    static: bool = False
    """Whether it has no inputs that change."""

    def and_also(self, other: _Refreshed) -> _Refreshed:
        """The same of an operator with two inputs (proposition 2)."""
        if self.static or other.static:
            return other if self.static else self
        full = None if self.full is None or other.full is None else intersection(self.full, other.full)
        return _Refreshed(full, self.same and other.same and self.full == other.full)


_ALWAYS = _Refreshed(EVERY_INSTANT)


def _pulled(plan: Plan) -> tuple[Plan, _Refreshed]:
    """A plan without its synchronizations, and what these were."""
    match plan:
        case BaseRelation() | Values() | Timeslice():
            return plan, _Refreshed(EVERY_INSTANT, static=True)
        case RelationalView(input=Tag(input=below) as tag, sync=sync, timestamp=None) if is_told_whole(tag):
            return _at(plan, with_inputs(replace(plan, sync=None), lambda _: tag), below, sync)
        case RelationalView(input=below, sync=Plan() as sync) if not _reads_synchronized(below):
            points = clock_points(sync)
            return (plan, _ALWAYS) if points is None else (replace(plan, sync=None), _Refreshed(points))
        case Synchronize(input=below, step=step, offset=offset):
            data, found = _pulled(below)
            return data, _seen_at(found, Points(step, offset))
        case Window(spec=TimeWindow(slide=slide, lag=0) as spec) if slide is not None:
            moves, finer = spec.points(""), replace(spec, slide=None, text="")
            if isinstance(moves, Points) and finer.slower(moves.step, moves.offset) == spec:
                return replace(plan, spec=finer), _Refreshed(moves)
            return plan, _ALWAYS
        case _ if isinstance(plan, _POINTWISE) and is_snapshot_reducible(plan):
            parts = {id(part): _pulled(part) for part in plan.inputs}
            found = _Refreshed(EVERY_INSTANT, static=True)
            for part in plan.inputs:
                found = found.and_also(parts[id(part)][1])
            return with_inputs(plan, lambda part: parts[id(part)][0]), found
        case _:
            return plan, _ALWAYS


def _at(plan: RelationalView, bare: RelationalView, below: Plan, sync: Plan | None) -> tuple[Plan, _Refreshed]:
    """A view of a relation's changes, which is the relation, seen at some points (corollary 1)."""
    data, found = _pulled(below)
    points = EVERY_INSTANT if sync is None else clock_points(sync)
    if points is None:
        return plan, _ALWAYS
    tag = bare.input
    assert isinstance(tag, Tag)
    return replace(bare, input=replace(tag, input=data)), found if sync is None else _seen_at(found, points)


def _seen_at(found: _Refreshed, points: Points) -> _Refreshed:
    """A part that is read at other points: where these are full ones, it is what its data is at them."""
    if found.static:
        return _Refreshed(points)
    full = found.full
    if full is not None and is_contained(points, full):
        return _Refreshed(points)
    if full is not None and found.same and is_contained(full, points):
        return found
    return _Refreshed(None if full is None else intersection(full, points), same=False)


def _reads_synchronized(tagged: Plan) -> bool:
    """Whether a tagged stream is of a relation: what it was told of depends on when that was refreshed."""
    return isinstance(tagged, Tag) and tagged.input.yields is Kind.RELATION


def seen_at(plan: Plan, points: Points) -> Plan:
    """A relation seen at points alone (definition 2)."""
    return plan if points == EVERY_INSTANT else Synchronize(plan, points.step, points.offset)


def with_clock(data: Plan, points: Points) -> Plan | None:
    """Data with its inputs synchronized by other points than those of the clock; None where an input cannot be.

    Corollaries 2 and 3 from right to left: what is seen at these points alone is computed at them alone.
    """
    if points == EVERY_INSTANT:
        return data
    match data:
        case BaseRelation() | Values() | Timeslice():
            return data
        case RelationalView(input=Tag(input=below) as tag, sync=None, timestamp=None) if is_told_whole(tag):
            inner = with_clock(below, points)
            return None if inner is None else replace(data, input=replace(tag, input=inner))
        case RelationalView(input=below, sync=None) if not _reads_synchronized(below):
            return replace(data, sync=_ticks(domain_of(below) or TimeDomain.TICKS, points))
        case Window(spec=spec):
            slower = spec.slower(points.step, points.offset)
            return None if slower is None else replace(data, spec=slower)
        case _ if isinstance(data, _POINTWISE):
            parts = [with_clock(part, points) for part in data.inputs]
            if any(part is None for part in parts):
                return None
            ahead = iter(parts)
            return with_inputs(data, lambda part: next(ahead) or part)
        case _:
            return None


def _ticks(domain: TimeDomain, points: Points) -> Plan | None:
    """A synchronization stream with these points (example 10)."""
    clock = Clock("clock", domain)
    column = clock.schema.fields[0].column
    kind = TIMESTAMP if domain is TimeDomain.MICROSECONDS else BIGINT
    assert column.type == kind
    rest = Call("%", (column, Literal(points.step, BIGINT)), BIGINT, False)
    return Filter(RelationalView(clock), Call("=", (rest, Literal(points.offset, BIGINT)), BOOLEAN, False))

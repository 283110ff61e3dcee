"""Rstream over synchronized inputs: all that a relation holds, whenever one of its inputs is refreshed."""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.expr import FALSE, Expr
from continua.algebra.relational import Window
from continua.algebra.streaming import RelationalView, Synchronize
from continua.algebra.synchronization import points_of_sync, synchronization
from continua.physical import nodes, point_nodes
from continua.physical.followed_until import FollowedUntil, followed_until, rhythm_of
from continua.physical.query_parameters import Plans
from continua.physical.relation import Relation, cannot, schema_of
from continua.physical.sources import unit_source
from continua.physical.steps import OLD_START
from continua.physical.times import compared, plus
from continua.physical.views import held, sync_points
from continua.windows.change_points import AtElements, AtEveryNth, AtMultiples, AtOwnRhythm, AtSteps, Points
from continua.windows.spec import WindowSpec

_NOTHING = schema_of(())


def content_at_points(plans: Plans, plan: Plan, endless: bool) -> Relation:
    """What a relation holds at its points of refresh."""
    parameters = plans.parameters
    relation = plans.relation(plan)
    regular = [leaf for leaf in synchronization(plan).leaves if isinstance(leaf, Points)]
    followed = followed_until(plans, plan)
    several = len(set(_refreshed(plan))) > 1
    points = _union(plans, _points(plans, plan, followed, several))
    at_start = relation.computed([], [], [compared(OLD_START, "<=", parameters.start)])
    node = point_nodes.At(
        relation.node.schema,
        (relation.node, points, at_start.node, *followed.inputs),
        parameters.start,
        parameters.chronon,
        tuple(sorted((leaf.step, leaf.offset) for leaf in regular)),
        followed.least,
        endless or not regular,
    )
    return Relation(node, relation.fields)


def _union(plans: Plans, parts: list[nodes.Node]) -> nodes.Node:
    if not parts:
        return Relation(unit_source(plans.parameters), ()).computed([], [], [FALSE]).node
    distinct = tuple(dict.fromkeys(parts))
    return distinct[0] if len(distinct) == 1 else nodes.Union(_NOTHING, distinct)


def _refreshed(plan: Plan) -> list[Plan]:
    """The inputs that are refreshed at points."""
    match plan:
        case Window() | RelationalView(sync=Plan()) | Synchronize():
            return [plan]
        case _:
            return [leaf for part in plan.inputs for leaf in _refreshed(part)]


def _points(plans: Plans, plan: Plan, followed: FollowedUntil, several: bool) -> list[nodes.Node]:
    """The points at which the synchronized inputs of a plan are refreshed."""
    match plan:
        case Window():
            return [_evaluations(plans, plan, followed, several)]
        case RelationalView(sync=Plan() as sync):
            points = points_of_sync(sync, plans.parameters.chronon)
            if isinstance(points, Points):
                return [_ticks(plans, points.step, points.offset, followed)]
            points_held = sync_points(plans, sync)
            return [held(_bare(points_held, points_held.fields[0].column)).node]
        case Synchronize(step=step, offset=offset):
            return [_ticks(plans, step, offset, followed)]
        case _:
            return [node for part in plan.inputs for node in _points(plans, part, followed, several)]


def _evaluations(plans: Plans, plan: Window, followed: FollowedUntil, several: bool) -> nodes.Node:
    """The instants at which a window that slides is evaluated, from its first content on."""
    elements, spec = plans.elements(plan.input), plan.spec
    match spec.evaluations:
        case AtMultiples(step=step, lag=lag, offset=offset):
            return _ticks(plans, step, offset, followed, elements, lag)
        case AtEveryNth(rows=rows):
            return point_nodes.EveryNth(_NOTHING, (_bare(elements).node,), rows)
        case AtSteps(step=step, first=first):
            _alone(spec, several)
            return _ticks(plans, step, first, followed, start=first)
        case AtOwnRhythm():
            _alone(spec, several)
            return rhythm_of(plans, plan)
        case AtElements():
            return _bare(elements).node


def _alone(spec: WindowSpec, several: bool) -> None:
    """When the evaluations of such a window end depends on elements to come: nothing else may wait for that."""
    if several:
        raise cannot(f"RSTREAM over {spec.text} and other synchronized inputs")


def _ticks(
    plans: Plans,
    step: int,
    offset: int,
    followed: FollowedUntil,
    elements: Relation | None = None,
    lag: int = 0,
    start: int = 0,
) -> nodes.Node:
    """Points in time from the start on, or from the first element on."""
    waits = elements is not None
    below = () if elements is None else (point_nodes.Earliest(_NOTHING, (elements.computed([], []).node,)),)
    inputs = (*below, *followed.inputs) or (unit_source(plans.parameters),)
    start = max(plans.parameters.start, start)
    return point_nodes.Ticks(_NOTHING, inputs, step, offset % step, start, waits, lag, followed.least)


def _bare(rows: Relation, instant: Expr = OLD_START) -> Relation:
    """The instants of rows, or those that they hold, without columns."""
    return rows.computed([], [], (), instant, plus(instant, 1))

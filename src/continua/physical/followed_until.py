"""How far an answer that never ends is followed when the input has ended.

As far as anything changes: to the last instant at which windows, views and slides say that an input can make a
difference. These instants are found from the rows by operators of their own, of which only the largest value counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations

import pyarrow as pa

from continua.algebra.base import Kind, Plan
from continua.algebra.expr import Case, Cast, Expr, Literal, both, walk
from continua.algebra.leaves import BaseRelation, Clock, Source, TaggedSource
from continua.algebra.relational import Timeslice, Window
from continua.algebra.streaming import RelationalView, Synchronize, Tag
from continua.algebra.synchronization import points_of_sync
from continua.algebra.traverse import expressions_of, nodes_of
from continua.physical import nodes, point_nodes
from continua.physical.now_conditions import has_now, is_piecewise
from continua.physical.query_parameters import Plans, QueryParameters
from continua.physical.relation import Relation, cannot
from continua.physical.sources import fed, tagged_source
from continua.physical.steps import OLD_END, OLD_START, column
from continua.physical.times import (
    NEVER,
    compared,
    first_column,
    instant,
    later,
    microseconds,
    minus,
    plus,
    rounded_up,
)
from continua.types import BIGINT, TIMESTAMP
from continua.windows.change_points import AtOwnRhythm, Points

_INSTANT = pa.schema([("c0", pa.int64())])


@dataclass(frozen=True)
class FollowedUntil:
    """An instant up to which an answer is followed in any case, and nodes whose only column holds further ones."""

    least: int
    found: tuple[nodes.Node, ...] = ()

    @property
    def inputs(self) -> tuple[nodes.Node, ...]:
        """The instants as one input of a node, if there are any."""
        return self.found if len(self.found) < 2 else (nodes.Union(_INSTANT, self.found),)


def largest(parts: Iterable[FollowedUntil], least: int) -> FollowedUntil:
    """As far as the furthest of all parts."""
    chosen = list(parts)
    nodes_found = dict.fromkeys(n for part in chosen for n in part.found)
    return FollowedUntil(max([least, *(part.least for part in chosen)]), tuple(nodes_found))


def latest(below: nodes.Node, value: Expr) -> nodes.Node:
    """The largest value of an expression over the rows of a batch."""
    return point_nodes.Latest(_INSTANT, (below,), value)


def followed_until(plans: Plans, plan: Plan) -> FollowedUntil:
    """The last instant at which a relation can change."""
    start = plans.parameters.start
    match plan:
        case Window():
            return _of_window(plans, plan)
        case RelationalView(input=Clock()):
            return clock_followed_until(plans.parameters, plans.whole)
        case RelationalView():
            return _of_view(plans, plan)
        case Synchronize(input=below, step=step, offset=offset):
            return _moved(largest([followed_until(plans, below)], start), step, offset)
        case Timeslice(instant=instant):
            return FollowedUntil(max(start, instant))
        case _:
            return largest([followed_until(plans, part) for part in plan.inputs], start)


def _moved(followed: FollowedUntil, step: int, offset: int) -> FollowedUntil:
    """Rounded up to the next point."""
    moved = tuple(latest(node, rounded_up(first_column(), step, offset)) for node in followed.found)
    return FollowedUntil(followed.least + (offset - followed.least) % step, moved)


def _of_view(plans: Plans, plan: RelationalView) -> FollowedUntil:
    start = plans.parameters.start
    match plan.input:
        case TaggedSource() as source:
            found = latest(tagged_source(plans.parameters, source).node, OLD_START)
        case Tag(input=below) if below.yields is Kind.STREAM:
            length = compared(minus(OLD_END, OLD_START), ">", plans.parameters.chronon)
            lasts = both(length, compared(OLD_END, "<", NEVER))
            found = latest(plans.stream(below).node, Case(((lasts, OLD_END),), OLD_START, BIGINT))
        case Tag(input=below):
            relation = plans.changing(below).node
            found = latest(nodes.Changes(relation.schema, (relation,), "NET", plans.parameters.chronon), OLD_START)
        case other:
            raise cannot(f"a view of {type(other).__name__}")
    if plan.sync is None:
        return FollowedUntil(start, (found,))
    points = points_of_sync(plan.sync, plans.parameters.chronon)
    if isinstance(points, Points):
        return _moved(FollowedUntil(start, (found,)), points.step, points.offset)
    return FollowedUntil(start, (latest(plans.relation(plan).node, OLD_START),))


def _of_window(plans: Plans, plan: Window) -> FollowedUntil:
    start, spec = plans.parameters.start, plan.spec
    below = plans.elements(plan.input, spec.span).node
    if isinstance(spec.evaluations, AtOwnRhythm):
        return FollowedUntil(
            start, (latest(below, plus(OLD_START, spec.lag)), latest(rhythm_of(plans, plan), OLD_START))
        )
    start = start if spec.begins is None else max(start, spec.begins)
    return FollowedUntil(start, (point_nodes.LastChange(_INSTANT, (below,), spec),))


def rhythm_of(plans: Plans, plan: Window) -> nodes.Node:
    """When a window is evaluated that has a rhythm of its own."""
    spec = plan.spec
    if spec.partition:
        raise cannot(f"a stream of all that is in {spec.text} at its evaluations")
    arrivals = plans.elements(plan.input).computed([], []).node
    return point_nodes.Rhythm(arrivals.schema, (arrivals,), spec, plans.parameters.start, plans.parameters.chronon)


# What the clock and NOW are followed to.


def lengths(exprs: Iterable[Expr]) -> int:
    """The largest sum of up to three lengths of time in expressions."""
    single = {
        abs(_length(part.value))
        for expr in exprs
        for part in walk(expr)
        if isinstance(part, Literal) and isinstance(part.value, int | timedelta) and not isinstance(part.value, bool)
    }
    sums = {sum(group) for size in (2, 3) for group in combinations(sorted(single)[:12], size)}
    return max({0} | single | sums)


def _length(value: object) -> int:
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    assert isinstance(value, int)
    return value


def clock_followed_until(parameters: QueryParameters, plan: Plan) -> FollowedUntil:
    """How far the clock goes: a little further than the last input."""
    ahead = lengths(e for node in nodes_of(plan) for e in expressions_of(node)) + 8 * parameters.chronon
    found = [latest(fed(parameters, s).node, plus(OLD_START, ahead)) for s in _sources(plan, (Source, TaggedSource))]
    return FollowedUntil(parameters.start + ahead, tuple(found))


def follows_now(plan: Plan) -> bool:
    """Whether what a relation holds can be another at every instant."""
    return any(has_now(e) and not is_piecewise(e) for node in nodes_of(plan) for e in expressions_of(node))


def now_followed_until(plans: Plans, plan: Plan) -> FollowedUntil:
    """How far NOW is followed: a little further than anything in a relation changes, or any value of the input lies."""
    clocked = [e for node in nodes_of(plan) for e in expressions_of(node) if has_now(e)]
    ahead = 2 * lengths(clocked) + 64 * plans.parameters.chronon
    followed = largest(
        [followed_until(plans, plan), time_values(plans.parameters, plans.whole)], plans.parameters.start
    )
    return FollowedUntil(
        followed.least + ahead, tuple(latest(node, plus(first_column(), ahead)) for node in followed.found)
    )


def time_values(parameters: QueryParameters, plan: Plan) -> FollowedUntil:
    """The largest value of any input that can be an instant, and the instants of the inputs themselves."""
    found = []
    for source in _sources(plan, (Source, TaggedSource, BaseRelation)):
        rows = fed(parameters, source)
        found.append(latest(rows.node, _values(rows, timed=not isinstance(source, BaseRelation))))
    return FollowedUntil(parameters.start, tuple(found))


def _values(rows: Relation, timed: bool) -> Expr:
    found: list[Expr] = [OLD_START if timed else instant(0)]
    for place, field in enumerate(rows.fields):
        value = column(place, field.type, field.nullable)
        if field.type == TIMESTAMP:
            found.append(microseconds(value))
        elif field.type.is_integer:
            found.append(Cast(value, BIGINT))
    return later(*found)


def _sources(plan: Plan, kinds: tuple[type[Plan], ...]) -> Sequence[Plan]:
    found: dict[object, Plan] = {}
    for node in nodes_of(plan):
        if isinstance(node, kinds):
            found.setdefault((type(node), getattr(node, "name", "").casefold()), node)
    return list(found.values())

"""Logical plans to physical operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from continua.algebra.base import Kind, Plan
from continua.algebra.expr import TRUE, Call, Expr, Literal, conjunction, conjuncts
from continua.algebra.instant_rows import has_moments, is_momentary, is_written_as_intervals
from continua.algebra.leaves import BaseRelation, Source, Values
from continua.algebra.relational import (
    Aggregate,
    DuplicateElimination,
    Filter,
    Group,
    Join,
    JoinKind,
    Project,
    SetOperation,
    SetOperator,
    Timeslice,
    TopK,
    Window,
)
from continua.algebra.safety import asked_together, going_first
from continua.algebra.streaming import (
    Coalesce,
    Complete,
    RelationalView,
    Split,
    StreamOperator,
    Synchronize,
    Tag,
    ToStream,
)
from continua.algebra.synchronization import synchronization
from continua.algebra.traverse import expressions_of, origin
from continua.catalog import AggregateInfo
from continua.instants import TimeDomain
from continua.physical import nodes, point_nodes, sources
from continua.physical.distribution import by_key
from continua.physical.followed_until import FollowedUntil, clock_followed_until, follows_now, now_followed_until
from continua.physical.grouping import first_rows, grouped
from continua.physical.join_distribution import load_of
from continua.physical.joins import join, union, with_conditions
from continua.physical.now_conditions import clipped, clips, cut_at, has_now, is_piecewise, thresholds, with_start
from continua.physical.query_parameters import QueryParameters
from continua.physical.refresh import content_at_points
from continua.physical.relation import Relation, cannot, split
from continua.physical.row_lifetimes import has_instants
from continua.physical.steps import OLD_END, OLD_START
from continua.physical.timed_joins import with_filters
from continua.physical.times import NEVER, compared, instant
from continua.physical.views import held, modifications, rounded, view
from continua.rules.rule import Facts
from continua.rules.statistics import Statistics
from continua.types import BIGINT, BOOLEAN
from continua.windows.change_points import EVERY_INSTANT

_RULES = {
    SetOperator.UNION: "UNION",
    SetOperator.MAX_UNION: "MAX_UNION",
    SetOperator.INTERSECTION: "INTERSECTION",
    SetOperator.DIFFERENCE: "DIFFERENCE",
    SetOperator.STRICT_DIFFERENCE: "STRICT_DIFFERENCE",
}
_SYNC_AHEAD = 1 << 18
"""So many chronons behind the last input a point of a synchronization stream is still found."""


class Planner:
    """Plans one query: its start t0, its chronon, and the user's aggregates."""

    def __init__(
        self,
        start: int = 0,
        chronon: int = 1,
        domain: TimeDomain = TimeDomain.TICKS,
        aggregates: Mapping[str, AggregateInfo] | None = None,
        generation: str = "",
        statistics: Statistics | None = None,
        light_side_everywhere: bool = True,
        carried: Mapping[str, int] | None = None,
        last: int | None = None,
    ) -> None:
        known, held = statistics or Statistics(), dict(carried or {})
        self.parameters = QueryParameters(start, chronon, domain, generation, known, light_side_everywhere, held, last)
        self.whole: Plan = Values((), ())
        self.further = 0
        self._aggregates = dict(aggregates or {})
        self._scope: Plan = self.whole
        """The relation whose changes are told: so far as it changes, NOW is followed."""
        self._relations: dict[tuple[Plan, Plan], Relation] = {}

    def query(self, name: str, plan: Plan, changes: bool = False) -> nodes.QueryResult:
        """The graph of a query: elements of its stream, or the rows of its relation with their intervals.

        With ``changes`` the rows of a relation are its net changes instead, in the order of time.
        """
        self.whole = plan
        match plan.yields:
            case Kind.STREAM if isinstance(plan, ToStream) and plan.longest is not None:
                result = self._net_changes(self.changing(plan.input))
                cut = nodes.Pieces(result.node.schema, (result.node,), plan.longest)
                result = replace(result, node=cut)
            case Kind.STREAM if not is_written_as_intervals(plan, self.parameters.chronon):
                result = self.stream(plan)
            case Kind.STREAM:
                assert isinstance(plan, ToStream)
                result = self._result(plan.input, changes)
            case Kind.TAGGED if isinstance(plan, Tag) and plan.input.yields is Kind.RELATION:
                visible = [i for i, f in enumerate(plan.input.schema) if not f.hidden]
                result = self._result(plan.input, changes, visible)
            case Kind.TAGGED:
                result = modifications(self, plan)
            case Kind.RELATION:
                result = self._result(plan, changes)
        return nodes.QueryResult(result.node.schema, (result.node,), name)

    def _result(self, plan: Plan, changes: bool, places: Sequence[int] | None = None) -> Relation:
        relation = self.changing(plan)
        if places is not None:
            relation = relation.picked(places)
        return self._net_changes(relation) if changes else relation

    def _net_changes(self, relation: Relation) -> Relation:
        """The net changes of a relation.

        A filter that keeps all columns lets through the changes of the rows that it lets through: it stands above, so
        that many such filters share the changes.
        """
        node = relation.node
        if isinstance(node, nodes.Evaluate) and node.only_filters:
            below = node.inputs[0]
            changes = nodes.Changes(below.schema, (below,), "NET", self.parameters.chronon)
            return replace(relation, node=replace(node, inputs=(changes,)))
        return self._changes(relation, "NET")

    @property
    def made(self) -> dict[Plan, nodes.Node]:
        """The operators of relations that were planned."""
        return {plan: relation.node for (_, plan), relation in self._relations.items()}

    # Streams: elements are rows that are valid for one chronon.

    def stream(self, plan: Plan, endless: bool = True) -> Relation:
        """The elements of a stream; some may last. ``endless``: whether it may repeat what it has for ever."""
        match plan:
            case Source():
                return sources.stream_source(self.parameters, plan)
            case ToStream(operator=StreamOperator.RSTREAM, input=below):
                return self._rstream(below, endless).named(plan.schema)
            case ToStream(operator=operator, input=below):
                kind = "ISTREAM" if operator is StreamOperator.ISTREAM else "DSTREAM"
                return self._changes(self.changing(below), kind).named(plan.schema)
            case Split(input=below) | Coalesce(input=below):
                return self.stream(below, endless)
            case Filter(input=below, predicate=predicate):
                return self.stream(below, endless).filtered(predicate)
            case Project(input=below, outputs=outputs):
                return self.stream(below, endless).computed([e for _, e in outputs], plan.schema.fields)
            case _:
                raise cannot(f"{type(plan).__name__} as a stream")

    def elements(self, plan: Plan, span: int | None = None) -> Relation:
        """The elements of a stream, each of one chronon; ``span``: how many instants the window over it holds."""
        stream = self.stream(plan, endless=False)
        if has_moments(plan, self.parameters.chronon):
            return stream
        return split(stream, self.parameters.chronon, span)

    def _rstream(self, below: Plan, endless: bool) -> Relation:
        if synchronization(below).is_synchronized:
            with self._within(below):
                return content_at_points(self, below, endless)
        relation = self.changing(below)
        cut = is_momentary(below, self.parameters.chronon) and not has_instants(relation.node)
        return split(relation, self.parameters.chronon) if cut else relation

    def _changes(self, relation: Relation, kind: str) -> Relation:
        below = relation.node
        return replace(relation, node=nodes.Changes(below.schema, (below,), kind, self.parameters.chronon))

    # Relations.

    @contextmanager
    def _within(self, plan: Plan) -> Iterator[None]:
        before, self._scope = self._scope, plan
        try:
            yield
        finally:
            self._scope = before

    def changing(self, plan: Plan) -> Relation:
        """The content of a relation whose changes are told."""
        with self._within(plan):
            return self.relation(plan)

    def relation(self, plan: Plan) -> Relation:
        """The content of a relation over time, as a part of one whose changes are told."""
        key = self._scope, plan
        if key not in self._relations:
            self._relations[key] = self._relation(plan)
        return self._relations[key]

    def clock_followed_until(self) -> FollowedUntil:
        """How far the clock goes when the input has ended: as far as NOW, where that is followed."""
        if follows_now(self._scope):
            return now_followed_until(self, self._scope)
        return clock_followed_until(self.parameters, self.whole)

    def synchronization(self, plan: Plan) -> Relation:
        """The time points of a synchronization stream: the first one behind the last input is among them."""
        parameters = self.parameters
        other = Planner(aggregates=self._aggregates)
        other.parameters = parameters
        other.whole, other.further = self.whole, _SYNC_AHEAD
        return other.changing(plan)

    def _relation(self, plan: Plan) -> Relation:
        match plan:
            case Window():
                return self._window(plan)
            case BaseRelation():
                return sources.stored(self.parameters, plan)
            case Values():
                return sources.values(self.parameters, plan)
            case Filter(input=Join(join=JoinKind.INNER) as below, predicate=predicate):
                merged, rest = with_conditions(below, conjuncts(predicate))
                return self._filter(self.relation(merged), conjunction(rest) or TRUE)
            case Filter(input=below, predicate=predicate):
                return self._filter(self.relation(below), predicate)
            case Group(input=below, function=function, index=index):
                wanted = Call("=", (function, Literal(index, BIGINT)), BOOLEAN)
                return self._filter(self.relation(below), wanted)
            case Project(input=below, outputs=outputs):
                rows, exprs = self._at_instants(self.relation(below), [e for _, e in outputs])
                return rows.computed(exprs, plan.schema.fields)
            case Join() if any(map(has_now, expressions_of(plan))):
                return self.relation(with_filters(plan)).named(plan.schema)
            case Join():
                left, right = self._side(plan.left), self._side(plan.right)
                return join(plan, left, right)
            case SetOperation():
                return self._set_operation(plan)
            case DuplicateElimination(input=below):
                return self._multiplicity("DISTINCT", self.relation(below))
            case Aggregate():
                return self._aggregate(plan)
            case TopK(input=below, order=order, partition=partition):
                rows, exprs = self._at_instants(self.relation(below), [*(k.expr for k in order), *partition])
                keys = tuple(replace(k, expr=e) for k, e in zip(order, exprs, strict=False))
                return first_rows(replace(plan, order=keys, partition=tuple(exprs[len(order) :])), rows)
            case Synchronize(input=below, step=step, offset=offset):
                return rounded(self.relation(below), step, offset)
            case Timeslice(input=below, instant=moment):
                return held(_sliced(self.relation(below), moment))
            case RelationalView():
                return view(self, plan)
            case Split(input=below) | Coalesce(input=below) | Complete(input=below):
                return self.relation(below)
            case _:
                raise cannot(type(plan).__name__)

    def _side(self, plan: Plan) -> Relation:
        """A side of a join, and what is thought of it."""
        parameters = self.parameters
        load = load_of(plan, Facts(parameters.chronon, parameters.statistics), parameters.light_side_everywhere)
        return replace(self.relation(plan), load=load)

    def _filter(self, below: Relation, predicate: Expr) -> Relation:
        """The rows while they satisfy a predicate; what is known of NOW's part in it cuts their intervals."""
        first, parts = going_first(conjuncts(predicate), lambda part: not has_now(part))
        for some in asked_together(first):
            below = below.filtered(*some)
        clipping = [p for p in parts if clips(p)]
        for part in clipping:
            below = clipped(below, part, self.parameters.domain, self.parameters.chronon)
        below = held(below) if clipping else below
        below, timed = self._at_instants(below, [p for p in parts if not clips(p)])
        for some in asked_together(timed):
            below = below.filtered(*some)
        return below

    def _at_instants(self, below: Relation, exprs: list[Expr]) -> tuple[Relation, list[Expr]]:
        """Rows cut so that NOW makes no difference within any, and the expressions with its start as NOW."""
        clocked = [e for e in exprs if has_now(e)]
        if not clocked:
            return below, exprs
        parameters = self.parameters
        if all(map(is_piecewise, clocked)):
            for bound in dict.fromkeys(bound for e in clocked for bound in thresholds(e)):
                below = cut_at(below, bound, parameters.domain, parameters.chronon)
            below = held(below)
        else:
            followed = now_followed_until(self, self._scope)
            inputs = (below.node, *followed.inputs)
            node = point_nodes.Moments(below.node.schema, inputs, parameters.start, parameters.chronon, followed.least)
            below = replace(below, node=node)
        return below, [with_start(e, parameters.domain) for e in exprs]

    def _window(self, plan: Window) -> Relation:
        parameters, spec = self.parameters, plan.spec
        if any(length % parameters.chronon for length in spec.lengths):
            raise cannot(f"{spec.text}: its lengths are not multiples of the chronon")
        if spec.is_momentary(parameters.chronon) and not spec.lag:
            return self.stream(plan.input, endless=False).named(plan.schema)
        stream = self.elements(plan.input, spec.span)
        if spec.knows_ends:
            below, above = _evaluated_later(stream.node)
            node: nodes.Node = nodes.Validity(below.schema, (below,), spec)
            if spec.lag or spec.begins is not None or spec.points("") != EVERY_INSTANT:
                node = nodes.Hold(node.schema, (node,))
            return Relation(node if above is None else replace(above, inputs=(node,)), plan.schema.fields)
        places = tuple(plan.input.schema.names.index(n) for n in spec.partition)
        source = origin(plan.input)
        derived = not isinstance(source, Source)
        names = plan.input.schema.names
        told = isinstance(source, Source) and not spec.ignores_order
        order = tuple(map(names.index, source.order)) if isinstance(source, Source) and told else ()
        batch = order[0] if isinstance(source, Source) and told and source.batch is not None else None
        below = stream.node
        if isinstance(below, nodes.Chronons):
            below = replace(below, distribution=by_key(places))
        rows = nodes.SweptWindow(below.schema, (below,), spec, places, parameters.chronon, parameters.start, derived)
        rows = replace(rows, order=order, batch=batch)
        return Relation(rows, plan.schema.fields)

    def _set_operation(self, plan: SetOperation) -> Relation:
        left = self.relation(plan.left).cast(plan.schema.fields)
        right = self.relation(plan.right).cast(plan.schema.fields)
        rule = _RULES[plan.operator]
        if rule == "UNION" and not plan.distinct:
            return union(left, right)
        if rule == "UNION":
            return self._multiplicity("DISTINCT", union(left, right))
        return self._multiplicity(f"{rule}_DISTINCT" if plan.distinct else rule, left, right)

    def _multiplicity(self, rule: str, *parts: Relation) -> Relation:
        first = parts[0]
        return Relation(nodes.Multiplicity(first.node.schema, tuple(p.node for p in parts), rule), first.fields)

    def _aggregate(self, plan: Aggregate) -> Relation:
        below = self.relation(plan.input)
        if any(map(has_now, expressions_of(plan))):
            below, _ = self._at_instants(below, list(expressions_of(plan)))
            plan = self._with_start(plan)
        return grouped(plan, below, self.parameters, self._aggregates)

    def _with_start(self, plan: Aggregate) -> Aggregate:
        def change(expr: Expr) -> Expr:
            return with_start(expr, self.parameters.domain)

        keys = tuple((n, change(e)) for n, e in plan.keys)
        calls = []
        for name, call in plan.aggregates:
            where = None if call.where is None else change(call.where)
            calls.append((name, replace(call, arguments=tuple(map(change, call.arguments)), where=where)))
        return replace(plan, keys=keys, aggregates=tuple(calls))


def _evaluated_later(stream: nodes.Node) -> tuple[nodes.Node, nodes.Evaluate | None]:
    """A stream without the filters and maps on top of it, and these: above a window they let others share it."""
    if isinstance(stream, nodes.Evaluate) and stream.keeps_times:
        return stream.inputs[0], stream
    return stream, None


def _sliced(relation: Relation, moment: int) -> Relation:
    valid = [compared(OLD_START, "<=", moment), compared(OLD_END, ">", moment)]
    return relation.kept(valid, instant(moment), NEVER)

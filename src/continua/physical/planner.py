"""Logical plans to physical operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from continua.algebra.expr import (
    TRUE,
    AggregateCall,
    Call,
    Case,
    Cast,
    Column,
    Expr,
    Literal,
    Now,
    conjunction,
    conjuncts,
    walk,
)
from continua.algebra.momentary import has_moments, is_momentary
from continua.algebra.plan import (
    Aggregate,
    BaseRelation,
    Coalesce,
    Complete,
    DuplicateElimination,
    Filter,
    Group,
    Join,
    JoinKind,
    Kind,
    Plan,
    Project,
    RelationalView,
    SetOperation,
    SetOperator,
    Source,
    Split,
    StreamOperator,
    Synchronize,
    Tag,
    TaggedSource,
    Timeslice,
    TopK,
    ToStream,
    Values,
    Window,
)
from continua.algebra.properties import synchronization
from continua.algebra.schema import Field
from continua.algebra.synchronization import Points
from continua.catalog import AggregateInfo
from continua.instants import INFINITY, TimeDomain
from continua.kernels.aggregate_specs import AggregateSpec, UserAggregate
from continua.physical import nodes
from continua.physical.joins import join, union, with_conditions
from continua.physical.moments import clipped, remainder
from continua.physical.relation import Relation, cannot, schema_of, split
from continua.types import BIGINT, BOOLEAN, DOUBLE, STRING, TIMESTAMP
from continua.windows.spec import RowsWindow, SequenceWindow, TimeWindow
from continua.windows.validity import validity

_RULES = {
    SetOperator.UNION: "UNION",
    SetOperator.MAX_UNION: "MAX_UNION",
    SetOperator.INTERSECTION: "INTERSECTION",
    SetOperator.DIFFERENCE: "DIFFERENCE",
    SetOperator.STRICT_DIFFERENCE: "STRICT_DIFFERENCE",
}


class Planner:
    """Plans one query: its start t0, its chronon, and the user's aggregates."""

    def __init__(
        self,
        start: int = 0,
        chronon: int = 1,
        domain: TimeDomain = TimeDomain.TICKS,
        aggregates: Mapping[str, AggregateInfo] | None = None,
        generation: str = "",
    ) -> None:
        self._generation = generation
        """Stored relations are fed once: queries that come later have sources of their own for them."""
        self._start = start
        self._chronon = chronon
        self._domain = domain
        self._aggregates = dict(aggregates or {})
        self._relations: dict[Plan, Relation] = {}

    def query(self, name: str, plan: Plan, changes: bool = False) -> nodes.Sink:
        """The graph of a query: elements of its stream, or the rows of its relation with their intervals.

        With ``changes`` the rows of a relation are its net changes instead, in the order of time.
        """
        match plan.yields:
            case Kind.STREAM if not self._lasting(plan):
                result = self.stream(plan)
            case Kind.STREAM:
                assert isinstance(plan, ToStream)
                result = self._result(self.relation(plan.input), changes)
            case Kind.TAGGED:
                if not isinstance(plan, Tag) or plan.input.yields is not Kind.RELATION:
                    raise cannot("a query for a tagged stream as it is")
                visible = [i for i, f in enumerate(plan.input.schema) if not f.hidden]
                result = self._result(self.relation(plan.input).picked(visible), changes)
            case Kind.RELATION:
                result = self._result(self.relation(plan), changes)
        return nodes.Sink(result.node.schema, (result.node,), name)

    def _lasting(self, plan: Plan) -> bool:
        """Whether it is an Rstream that is written as intervals."""
        match plan:
            case ToStream(operator=StreamOperator.RSTREAM, input=below):
                return not synchronization(below).is_synchronized and not is_momentary(below, self._chronon)
            case _:
                return False

    # Streams: elements are rows that are valid for one chronon.

    def stream(self, plan: Plan) -> Relation:
        """The elements of a stream."""
        match plan:
            case Source():
                return self._source(plan)
            case ToStream(operator=StreamOperator.RSTREAM, input=below):
                return self._rstream(below).named(plan.schema)
            case ToStream(operator=operator, input=below):
                kind = "ISTREAM" if operator is StreamOperator.ISTREAM else "DSTREAM"
                return self._changes(self.relation(below), kind).named(plan.schema)
            case Split(input=below) | Coalesce(input=below):
                return self.stream(below)
            case _:
                raise cannot(f"{type(plan).__name__} as a stream")

    def _source(self, plan: Source) -> Relation:
        node = nodes.Source(schema_of(plan.schema.types), (), plan.name.casefold())
        rows = Relation(node, plan.schema.fields)
        start, end = f"`{nodes.START}`", f"`{nodes.END}`"
        if self._chronon > 1:
            start, end = _floored(self._chronon)
        if plan.interval:
            first = f"GREATEST({start}, {self._start})"
            return rows.computed([f.column for f in rows.fields], rows.fields, f"{end} > {self._start}", first, end)
        if self._start > 0 or self._chronon > 1:
            where = f"{start} >= {self._start}"
            return rows.computed([f.column for f in rows.fields], rows.fields, where, start, end)
        return rows

    def _rstream(self, below: Plan) -> Relation:
        relation = self.relation(below)
        points = synchronization(below)
        if not points.is_synchronized:
            cut = is_momentary(below, self._chronon) and not relation.node.is_fed
            return split(relation, self._chronon) if cut else relation
        if len(points.leaves) == 1 and isinstance(leaf := next(iter(points.leaves)), Points):
            node = nodes.Sample(
                relation.node.schema, (relation.node,), leaf.step, leaf.offset, self._chronon, endless=True
            )
            return Relation(node, relation.fields)
        raise cannot("RSTREAM over several synchronizations, or over one by events")

    def _result(self, relation: Relation, changes: bool) -> Relation:
        return self._changes(relation, "NET") if changes else relation

    def _changes(self, relation: Relation, kind: str) -> Relation:
        return replace(relation, node=nodes.Changes(relation.node.schema, (relation.node,), kind, self._chronon))

    # Relations.

    def relation(self, plan: Plan) -> Relation:
        """The content of a relation over time."""
        if plan not in self._relations:
            self._relations[plan] = self._relation(plan)
        return self._relations[plan]

    def _relation(self, plan: Plan) -> Relation:
        match plan:
            case Window():
                return self._window(plan)
            case BaseRelation():
                return self._stored(plan)
            case Values():
                return self._values(plan)
            case Filter(input=Join(join=JoinKind.INNER) as below, predicate=predicate):
                merged, rest = with_conditions(below, conjuncts(predicate))
                return self._filter(self.relation(merged), conjunction(rest) or TRUE)
            case Filter(input=below, predicate=predicate):
                return self._filter(self.relation(below), predicate)
            case Group(input=below, function=function, index=index):
                wanted = Call("=", (function, Literal(index, BIGINT)), BOOLEAN)
                return self._filter(self.relation(below), wanted)
            case Project(input=below, outputs=outputs):
                _refuse_now(*(e for _, e in outputs))
                return self.relation(below).computed([e for _, e in outputs], plan.schema.fields)
            case Join():
                _refuse_now(*conjuncts(plan.predicate))
                return join(plan, self.relation(plan.left), self.relation(plan.right))
            case SetOperation():
                return self._set_operation(plan)
            case DuplicateElimination(input=below):
                return self._multiplicity("DISTINCT", self.relation(below))
            case Aggregate():
                return self._aggregate(plan)
            case TopK():
                return self._top(plan)
            case Synchronize(input=below, step=step, offset=offset):
                return self._held(_rounded(self.relation(below), step, offset))
            case Timeslice(input=below, instant=instant):
                return self._held(_sliced(self.relation(below), instant))
            case RelationalView():
                return self._view(plan)
            case Split(input=below) | Coalesce(input=below) | Complete(input=below):
                return self.relation(below)
            case _:
                raise cannot(type(plan).__name__)

    def _stored(self, plan: BaseRelation) -> Relation:
        name = plan.name.casefold() + self._generation
        rows = Relation(nodes.Source(schema_of(plan.schema.types), (), name), plan.schema.fields)
        columns = [f.column for f in rows.fields]
        return rows.computed(columns, rows.fields, None, str(self._start), str(INFINITY))

    def _values(self, plan: Values) -> Relation:
        """Constant rows: made from a source that has one row without columns."""
        unit = Relation(nodes.Source(schema_of(()), (), nodes.UNIT + self._generation), ())
        lines = [
            unit.computed([Literal(v, f.type) for f, v in zip(plan.columns, row, strict=True)], plan.columns, None,
                          str(self._start), str(INFINITY))
            for row in plan.rows
        ]  # fmt: skip
        if not lines:
            nothing = [Literal(None, f.type) for f in plan.columns]
            return unit.computed(nothing, plan.columns, "FALSE", str(self._start), str(INFINITY))
        return union(*lines) if len(lines) > 1 else lines[0]

    def _filter(self, below: Relation, predicate: Expr) -> Relation:
        parts = conjuncts(predicate)
        timed = [p for p in parts if _has_now(p)]
        for part in timed:
            below = self._held(clipped(below, part, self._domain, self._chronon))
        for part in parts:
            if part not in timed:
                below = below.filtered(part)
        return below

    def _held(self, relation: Relation) -> Relation:
        return replace(relation, node=nodes.Hold(relation.node.schema, (relation.node,)))

    def _window(self, plan: Window) -> Relation:
        stream, spec = self.stream(plan.input), plan.spec
        now = isinstance(spec, TimeWindow) and spec.size <= self._chronon and spec.slide is None and not spec.lag
        if now:
            return stream.named(plan.schema)
        if not has_moments(plan.input, self._chronon):
            stream = split(stream, self._chronon)
        if validity(spec) is not None:
            node: nodes.Node = nodes.Validity(stream.node.schema, (stream.node,), spec)
            if not isinstance(spec, TimeWindow) or spec.slide is not None or spec.lag:
                node = nodes.Hold(node.schema, (node,))
            return Relation(node, plan.schema.fields)
        partition = spec.partition if isinstance(spec, RowsWindow | SequenceWindow) else ()
        places = tuple(plan.input.schema.names.index(n) for n in partition)
        derived = not isinstance(plan.input, Source)
        rows = nodes.Rows(stream.node.schema, (stream.node,), spec, places, self._chronon, self._start, derived)
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
        _refuse_now(*(e for _, e in plan.keys))
        outputs = [e for _, e in plan.keys]
        fields = [Field(n, e.type, e.nullable) for n, e in plan.keys]
        specs: list[AggregateSpec] = []
        for number, (_, call) in enumerate(plan.aggregates):
            specs.append(self._spec(call, number, outputs, fields))
        prepared = below.computed(outputs, fields)
        node = nodes.Aggregate(
            schema_of(plan.schema.types), (prepared.node,), len(plan.keys), tuple(specs), plan.empty_row, self._start
        )
        return Relation(node, plan.schema.fields)

    def _spec(self, call: AggregateCall, number: int, outputs: list[Expr], fields: list[Field]) -> AggregateSpec:
        """The kernel's description of an aggregate; its arguments become columns behind the keys."""
        _refuse_now(*call.arguments, *([call.where] if call.where is not None else []))
        function, arguments = call.function, list(call.arguments)
        parameters: tuple[float, ...] = ()
        if function == "COUNT_IF":
            function, arguments = "COUNT", [Case(((arguments[0], Literal(1, BIGINT)),), None, BIGINT)]
        if function == "COUNT" and not arguments:
            if call.where is None:
                return AggregateSpec("COUNT_ALL", ())
            arguments = [Literal(1, BIGINT)]
        if function.startswith(("VAR_", "STDDEV_")) and arguments[0].type.name in ("BIGINT", "DECIMAL"):
            arguments = [Cast(arguments[0], DOUBLE)]
        if function == "PERCENTILE":
            *arguments, last = arguments
            parameters = (float(str(_constant(last))),)
        if call.where is not None:
            arguments = [Case(((call.where, a),), None, a.type) for a in arguments]
        places = []
        for place, argument in enumerate(arguments):
            places.append(_placed(argument, f"#argument{number}.{place}", outputs, fields))
        info = self._aggregates.get(function)
        user = None
        if info is not None:
            function = "USER"
            user = UserAggregate(info.initializer, info.merger, info.evaluator, info.inverse)
        return AggregateSpec(function, tuple(places), call.distinct, user, parameters)

    def _top(self, plan: TopK) -> Relation:
        below = self.relation(plan.input)
        outputs: list[Expr] = [f.column for f in below.fields]
        fields = list(below.fields)
        order = [
            nodes.Order(_placed(k.expr, f"#order{i}", outputs, fields), k.descending, k.nulls_first)
            for i, k in enumerate(plan.order)
        ]
        order += [nodes.Order(i) for i in range(len(below.fields))]
        partition = tuple(_placed(e, f"#partition{i}", outputs, fields) for i, e in enumerate(plan.partition))
        prepared = below.computed(outputs, fields)
        node = nodes.TopK(prepared.node.schema, (prepared.node,), tuple(order), plan.limit, plan.offset, partition)
        return Relation(node, tuple(fields)).picked(range(len(below.fields))).named(plan.schema)

    def _view(self, plan: RelationalView) -> Relation:
        if plan.sync is not None:
            raise cannot("a synchronized view")
        if not isinstance(plan.input, TaggedSource):
            raise cannot("a view of a derived tagged stream")
        source = plan.input
        types = (*source.schema.types, STRING)
        fed = nodes.Source(schema_of(types), (), source.name.casefold())
        tagged = Relation(fed, (*source.schema.fields, Field("#tag", STRING, False)))
        where = f"`{nodes.START}` >= {self._start}" if self._start > 0 else None
        tagged = tagged.computed([f.column for f in tagged.fields], tagged.fields, where)
        key = tuple(source.schema.names.index(k) for k in source.key)
        time = [TIMESTAMP if self._domain is TimeDomain.MICROSECONDS else BIGINT] if plan.timestamp else []
        schema = schema_of([*source.schema.types, *time])
        node = nodes.TaggedView(schema, (tagged.node,), key, bool(key), bool(plan.timestamp), self._domain.name)
        return Relation(node, plan.schema.fields)


def _placed(expr: Expr, name: str, outputs: list[Expr], fields: list[Field]) -> int:
    """The place of an expression among the outputs; it is added if it is not there."""
    if expr in outputs:
        return outputs.index(expr)
    outputs.append(expr)
    fields.append(Field(name, expr.type, expr.nullable))
    return len(outputs) - 1


def _constant(expr: Expr) -> object:
    match expr:
        case Literal(value=value):
            return value
        case Cast(operand=operand):
            return _constant(operand)
        case _:
            raise cannot("a percentile that is no constant")


def _has_now(expr: Expr) -> bool:
    return any(isinstance(part, Now) for part in walk(expr))


def _refuse_now(*exprs: Expr) -> None:
    if any(map(_has_now, exprs)):
        raise cannot("NOW outside of a comparison in WHERE")


def _floored(chronon: int) -> tuple[str, str]:
    start = f"(`{nodes.START}` - {remainder(f'`{nodes.START}`', chronon)})"
    ceiled = f"(`{nodes.END}` + {remainder(f'-`{nodes.END}`', chronon)})"
    end = f"CASE WHEN `{nodes.END}` >= {INFINITY} THEN {INFINITY} ELSE GREATEST({ceiled}, {start} + {chronon}) END"
    return start, end


def _rounded(relation: Relation, step: int, offset: int) -> Relation:
    """Both ends rounded up to the next point; what begins and ends at one point vanishes."""

    def up(column: str) -> str:
        return f"(`{column}` + {remainder(f'{offset} - `{column}`', step)})"

    start = up(nodes.START)
    end = f"CASE WHEN `{nodes.END}` >= {INFINITY} THEN {INFINITY} ELSE {up(nodes.END)} END"
    columns = [f.column for f in relation.fields]
    return relation.computed(columns, relation.fields, f"{start} < {end}", start, end)


def _sliced(relation: Relation, instant: int) -> Relation:
    where = f"`{nodes.START}` <= {instant} AND `{nodes.END}` > {instant}"
    columns = [f.column for f in relation.fields]
    return relation.computed(columns, relation.fields, where, str(instant), str(INFINITY))


__all__ = ["Column", "Planner"]

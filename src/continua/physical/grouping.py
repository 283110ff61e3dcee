"""Grouping with aggregation, and the first rows in an order: arguments and keys become columns."""

from __future__ import annotations

from collections.abc import Mapping

from continua.algebra.expr import AggregateCall, Case, Cast, Expr, Literal
from continua.algebra.plan import Aggregate, TopK
from continua.algebra.schema import Field
from continua.catalog import AggregateInfo
from continua.kernels.aggregate.aggregate_calls import AggregateSpec, UserAggregate
from continua.physical import nodes
from continua.physical.partial import partial
from continua.physical.relation import Relation, cannot, schema_of
from continua.physical.setting import Setting
from continua.types import BIGINT, DOUBLE


def grouped(plan: Aggregate, below: Relation, setting: Setting, aggregates: Mapping[str, AggregateInfo]) -> Relation:
    """The groups of a relation and their aggregates; what can be aggregated before it moves is."""
    outputs = [e for _, e in plan.keys]
    fields = [Field(n, e.type, e.nullable) for n, e in plan.keys]
    specs: list[AggregateSpec] = []
    for number, (_, call) in enumerate(plan.aggregates):
        specs.append(_spec(call, number, outputs, fields, aggregates.get(call.function)))
    prepared = below.computed(outputs, fields)
    merge = partial(prepared.node, len(plan.keys), specs, setting.chronon)
    rows, calls = (prepared.node, tuple(specs)) if merge is None else (merge.node, merge.specs)
    node = nodes.Aggregate(schema_of(plan.schema.types), (rows,), len(plan.keys), calls, plan.empty_row, setting.start)
    return Relation(node, plan.schema.fields)


def _spec(
    call: AggregateCall, number: int, outputs: list[Expr], fields: list[Field], info: AggregateInfo | None
) -> AggregateSpec:
    """The kernel's description of an aggregate; its arguments become columns behind the keys."""
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
        places.append(placed(argument, f"#argument{number}.{place}", outputs, fields))
    user = None
    if info is not None:
        function = "USER"
        user = user_aggregate(info)
    return AggregateSpec(function, tuple(places), call.distinct, user, parameters)


def user_aggregate(info: AggregateInfo) -> UserAggregate:
    """A user's aggregate as its kernel takes it."""
    return UserAggregate(info.initializer, info.merger, info.evaluator, info.inverse)


def first_rows(plan: TopK, below: Relation) -> Relation:
    """The first rows in an order; rows that are equal in it are in the order of their values."""
    outputs: list[Expr] = [f.column for f in below.fields]
    fields = list(below.fields)
    order = [
        nodes.Order(placed(k.expr, f"#order{i}", outputs, fields), k.descending, k.nulls_first)
        for i, k in enumerate(plan.order)
    ]
    order += [nodes.Order(i) for i in range(len(below.fields))]
    for nested in (fields[key.column] for key in order if fields[key.column].type.name in ("ARRAY", "MAP", "STRUCT")):
        raise cannot(f"an order by {nested.type}")
    partition = tuple(placed(e, f"#partition{i}", outputs, fields) for i, e in enumerate(plan.partition))
    prepared = below.computed(outputs, fields)
    node = nodes.TopK(prepared.node.schema, (prepared.node,), tuple(order), plan.limit, plan.offset, partition)
    return Relation(node, tuple(fields)).picked(range(len(below.fields))).named(plan.schema)


def placed(expr: Expr, name: str, outputs: list[Expr], fields: list[Field]) -> int:
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

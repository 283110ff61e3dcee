"""Grouping with aggregation, and the first rows in an order: arguments and keys become columns."""

from __future__ import annotations

from collections.abc import Mapping

from continua.algebra.expr import AggregateCall, Case, Cast, Expr, Literal
from continua.algebra.relational import Aggregate, TopK
from continua.algebra.schema import Field
from continua.catalog import AggregateInfo
from continua.functions.aggregates import AGGREGATES, AggregateFunction
from continua.kernels.aggregate.aggregate_calls import AggregateSpec, UserAggregate
from continua.kernels.aggregate.state_families import USER
from continua.physical import nodes
from continua.physical.partial import partial
from continua.physical.query_parameters import QueryParameters
from continua.physical.relation import Relation, cannot, schema_of
from continua.types import BIGINT, DOUBLE


def grouped(
    plan: Aggregate, below: Relation, parameters: QueryParameters, aggregates: Mapping[str, AggregateInfo]
) -> Relation:
    """The groups of a relation and their aggregates; what can be aggregated before it moves is."""
    outputs = [e for _, e in plan.keys]
    fields = [Field(n, e.type, e.nullable) for n, e in plan.keys]
    specs: list[AggregateSpec] = []
    for number, (_, call) in enumerate(plan.aggregates):
        specs.append(_spec(call, number, outputs, fields, aggregates.get(call.function)))
    parts = [None if call.function in aggregates else AGGREGATES[call.function].parts for _, call in plan.aggregates]
    prepared = below.computed(outputs, fields)
    merge = partial(prepared.node, len(plan.keys), list(zip(specs, parts, strict=True)), parameters.chronon)
    rows, calls = (prepared.node, tuple(specs)) if merge is None else (merge.node, merge.specs)
    node = nodes.Aggregate(
        schema_of(plan.schema.types), (rows,), len(plan.keys), calls, plan.empty_row, parameters.start
    )
    return Relation(node, plan.schema.fields)


def _spec(
    call: AggregateCall, number: int, outputs: list[Expr], fields: list[Field], info: AggregateInfo | None
) -> AggregateSpec:
    """The kernel's description of an aggregate; its arguments become columns behind the keys."""
    arguments = call.arguments if info is not None else _values(call, AGGREGATES[call.function])
    if call.where is not None:
        arguments = tuple(Case(((call.where, a),), None, a.type) for a in arguments)
    places = tuple(place_among(a, f"#argument{number}.{place}", outputs, fields) for place, a in enumerate(arguments))
    if info is not None:
        return AggregateSpec(USER, places, call.distinct, user_aggregate(info, call.by_time))
    declared = AGGREGATES[call.function]
    return AggregateSpec(declared.kernel_function, places, call.distinct, parameters=_parameters(call, declared))


def _values(call: AggregateCall, declared: AggregateFunction) -> tuple[Expr, ...]:
    """What the kernel is given of the arguments of a call, as its declaration says."""
    values = call.arguments[: len(call.arguments) - declared.constants]
    if not values and call.where is not None:
        values = (Literal(1, BIGINT),)  # rows that do not count are told by NULL, for which there must be a value
    if declared.of_true:
        values = tuple(Case(((value, Literal(1, BIGINT)),), None, BIGINT) for value in values)
    if declared.in_doubles:
        values = tuple(Cast(v, DOUBLE) if v.type.name in ("BIGINT", "DECIMAL") else v for v in values)
    return values


def _parameters(call: AggregateCall, declared: AggregateFunction) -> tuple[float, ...]:
    """The arguments of a call that are constants."""
    constants = call.arguments[len(call.arguments) - declared.constants :]
    return tuple(float(str(_constant(value))) for value in constants)


def user_aggregate(info: AggregateInfo, by_time: bool) -> UserAggregate:
    """A user's aggregate as its kernel takes it."""
    return UserAggregate(info.initializer, info.merger, info.evaluator, info.inverse, by_time)


def first_rows(plan: TopK, below: Relation) -> Relation:
    """The first rows in an order; rows that are equal in it are in the order of their values."""
    outputs: list[Expr] = [f.column for f in below.fields]
    fields = list(below.fields)
    order = [
        nodes.Order(place_among(k.expr, f"#order{i}", outputs, fields), k.descending, k.nulls_first)
        for i, k in enumerate(plan.order)
    ]
    order += [nodes.Order(i) for i in range(len(below.fields))]
    for nested in (fields[key.column] for key in order if fields[key.column].type.name in ("ARRAY", "MAP", "STRUCT")):
        raise cannot(f"an order by {nested.type}")
    partition = tuple(place_among(e, f"#partition{i}", outputs, fields) for i, e in enumerate(plan.partition))
    prepared = below.computed(outputs, fields)
    node = nodes.TopK(prepared.node.schema, (prepared.node,), tuple(order), plan.limit, plan.offset, partition)
    return Relation(node, tuple(fields)).picked(range(len(below.fields))).named(plan.schema)


def place_among(expr: Expr, name: str, outputs: list[Expr], fields: list[Field]) -> int:
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

"""Rows as they are fed: of streams, of stored relations, of tagged streams, and constants."""

from __future__ import annotations

import pyarrow as pa

from continua.algebra.base import Plan
from continua.algebra.expr import FALSE, Expr, Literal
from continua.algebra.leaves import BaseRelation, Check, Sample, Source, TaggedSource, Values
from continua.algebra.schema import Field
from continua.physical import check_nodes, nodes
from continua.physical.carried_leaves import leaf_key
from continua.physical.joins import union
from continua.physical.query_parameters import QueryParameters
from continua.physical.relation import Relation, schema_of
from continua.physical.steps import OLD_END, OLD_START
from continua.physical.times import (
    NEVER,
    compared,
    instant,
    later,
    minus,
    plus,
    remainder,
    rounded_up,
    unless_endless,
)
from continua.types import STRING

TAG = Field("#tag", STRING, False)
"""The column that says what a modification does."""


def stream_source(parameters: QueryParameters, plan: Source) -> Relation:
    """The elements of a stream, from the query's start on, at instants of its chronon."""
    rows = _of_source(plan.name, plan.schema.fields, plan.checks, plan.sample)
    start, end = _floored(parameters.chronon)
    if leaf_key(plan) in parameters.carried:
        new = rows.kept([compared(start, ">=", parameters.start)], start, end)
        return union(carried_content(parameters, plan), new)
    if plan.interval:
        return rows.kept([compared(end, ">", parameters.start)], later(start, instant(parameters.start)), end)
    wanted = [compared(start, ">=", parameters.start)] if parameters.start > 0 or parameters.chronon > 1 else []
    wanted += [] if parameters.last is None else [compared(start, "<=", parameters.last)]
    return rows.kept(wanted, start, end) if wanted else rows


def tagged_source(parameters: QueryParameters, plan: TaggedSource) -> Relation:
    """The modifications of a tagged stream, whenever the query starts; the last column is the tag."""
    rows = _of_source(plan.name, (*plan.schema.fields, TAG), plan.checks)
    return rows if parameters.chronon == 1 else rows.kept((), *_floored(parameters.chronon))


def carried_content(parameters: QueryParameters, plan: Plan) -> Relation:
    """What a leaf held when a query joined that reads it: it is fed from the query's start on."""
    return _fed(leaf_key(plan) or "", plan.schema.fields, parameters.generation)


def stored(parameters: QueryParameters, plan: BaseRelation) -> Relation:
    """The rows of a stored relation: there from the start, for ever."""
    rows = _fed(plan.name, plan.schema.fields, parameters.generation)
    return rows.kept((), instant(parameters.start), NEVER)


def fed(parameters: QueryParameters, plan: Plan) -> Relation:
    """The rows of a source as they come, at instants of the chronon but without regard to the query's start."""
    match plan:
        case TaggedSource(name=name, checks=checks):
            rows = _of_source(name, (*plan.schema.fields, TAG), checks)
        case BaseRelation(name=name):
            return _fed(name, plan.schema.fields, parameters.generation)
        case Source(name=name, checks=checks, sample=sample):
            rows = _of_source(name, plan.schema.fields, checks, sample)
        case _:
            raise TypeError(type(plan).__name__)
    rows = rows.kept((), *_floored(parameters.chronon))
    return union(carried_content(parameters, plan), rows) if leaf_key(plan) in parameters.carried else rows


def values(parameters: QueryParameters, plan: Values) -> Relation:
    """Constant rows: made from a source that has one row without columns."""
    start = instant(parameters.start)
    unit = Relation(unit_source(parameters), ())
    lines = [
        unit.computed(
            [Literal(v, f.type) for f, v in zip(plan.columns, row, strict=True)], plan.columns, (), start, NEVER
        )
        for row in plan.rows
    ]
    if not lines:
        return unit.computed([Literal(None, f.type) for f in plan.columns], plan.columns, [FALSE], start, NEVER)
    return union(*lines) if len(lines) > 1 else lines[0]


def unit_source(parameters: QueryParameters) -> nodes.Source:
    """The source that has one row without columns."""
    return nodes.Source(schema_of(()), (), nodes.UNIT + parameters.generation)


def _fed(name: str, fields: tuple[Field, ...], generation: str = "") -> Relation:
    names = tuple(f.short for f in fields)
    return Relation(nodes.Source(schema_of([f.type for f in fields]), (), name.casefold() + generation, names), fields)


def _of_source(
    name: str, fields: tuple[Field, ...], checks: tuple[Check, ...], sample: Sample | None = None
) -> Relation:
    """The rows of a source that pass all its checks, in their order, and of these the ones that a sample has."""
    asked = [*checks, *([] if sample is None else [sample])]
    if not asked:
        return _fed(name, fields)
    names = tuple(f.short for f in fields)
    schema = schema_of([f.type for f in fields])
    node: nodes.Node = nodes.Source(_placed(schema), (), name.casefold(), (*names, nodes.ORIGIN, nodes.OFFSET), True)
    for number, what in enumerate(asked, start=1):
        own = _placed(schema) if number < len(asked) else schema
        match what:
            case Check(key=key):
                node = check_nodes.Checked(own, (node,), what, tuple(names.index(k) for k in key), names)
            case Sample():
                node = check_nodes.Sampled(own, (node,), what, names)
    return Relation(node, fields)


def _placed(schema: pa.Schema) -> pa.Schema:
    """A schema with the two columns behind it that tell where a row stands."""
    return schema.append(pa.field(nodes.ORIGIN, pa.int64())).append(pa.field(nodes.OFFSET, pa.int64()))


def _floored(chronon: int) -> tuple[Expr, Expr]:
    """The interval of a row in whole chronons, of which it has at least one."""
    if chronon == 1:
        return OLD_START, OLD_END
    start = minus(OLD_START, remainder(OLD_START, chronon))
    return start, unless_endless(OLD_END, later(rounded_up(OLD_END, chronon), plus(start, chronon)))

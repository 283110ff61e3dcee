"""Walks over plans: their expressions, subqueries, operators and free columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from continua.algebra.base import P, Plan, remembered
from continua.algebra.expr import Exists, Expr, InSubquery, Quantified, ScalarSubquery, columns_of, walk
from continua.algebra.leaves import Clock, Source, TaggedSource
from continua.algebra.relational import Aggregate, Filter, Group, Join, Project, TopK
from continua.instants import TimeDomain


def domain_of(plan: Plan) -> TimeDomain | None:
    """The time domain of a plan's timed inputs; None when it has none."""
    match plan:
        case Source(domain=domain) | TaggedSource(domain=domain) | Clock(domain=domain):
            return domain
        case _:
            return next((d for d in map(domain_of, all_inputs(plan)) if d is not None), None)


@remembered
def expressions_of(plan: Plan) -> tuple[Expr, ...]:
    """The scalar expressions that stand in an operator itself."""
    match plan:
        case Filter(predicate=predicate):
            return (predicate,)
        case Project(outputs=outputs):
            return tuple(e for _, e in outputs)
        case Join(predicate=predicate, null_aware=pairs):
            both = tuple(e for pair in pairs for e in pair)
            return both if predicate is None else (predicate, *both)
        case Aggregate(keys=keys, aggregates=aggregates):
            wheres = tuple(a.where for _, a in aggregates if a.where is not None)
            return tuple(e for _, e in keys) + tuple(e for _, a in aggregates for e in a.arguments) + wheres
        case TopK(order=order, partition=partition):
            return tuple(k.expr for k in order) + partition
        case Group(function=function):
            return (function,)
        case _:
            return ()


@remembered
def subplans_of(plan: Plan) -> tuple[Plan, ...]:
    """The plans of the subqueries that stand in an operator's own expressions."""
    subqueries = (Exists, InSubquery, Quantified, ScalarSubquery)
    parts = (part for expr in expressions_of(plan) for part in walk(expr))
    return tuple(part.plan for part in parts if isinstance(part, subqueries))


@remembered
def has_subplans(plan: Plan) -> bool:
    """Whether a subquery stands in an expression anywhere in the plan."""
    return bool(subplans_of(plan)) or any(map(has_subplans, plan.inputs))


def all_inputs(plan: Plan) -> tuple[Plan, ...]:
    """Inputs and the plans of subqueries."""
    return plan.inputs + subplans_of(plan)


def nodes_of(plan: Plan) -> Iterator[Plan]:
    """The plan's operators, those of subqueries included, from the top."""
    yield plan
    for part in all_inputs(plan):
        yield from nodes_of(part)


def with_inputs(plan: P, change: Callable[[Plan], Plan]) -> P:
    """The operator with its inputs changed (subqueries are left as they are)."""
    changes = {name: change(part) for name in plan.input_names if (part := getattr(plan, name)) is not None}
    return with_parts(plan, **changes)


def with_parts(plan: P, **parts: Any) -> P:
    """The operator with other values of some fields; itself, if they are those that it has."""
    same = all(part is getattr(plan, name) for name, part in parts.items())
    return plan if same else replace(plan, **parts)


def free_columns(plan: Plan) -> frozenset[str]:
    """The names that a plan uses and its own inputs do not supply: its correlated references."""
    supplied = {name for part in plan.inputs for name in part.schema.names}
    used = {name for expr in expressions_of(plan) for name in columns_of(expr)}
    below = {name for part in plan.inputs for name in free_columns(part)}
    return frozenset((used - supplied) | below)


def origin(stream: Plan) -> Plan:
    """The stream whose elements are filtered and mapped."""
    while isinstance(stream, Filter | Project):
        stream = stream.input
    return stream

"""Joins whose condition depends on NOW: as inner joins with a filter above, which cuts the pairs in time.

The pairs that satisfy the condition at an instant say which rows have a partner then: rows that are equal to one of
their left rows. All other kinds of join follow from that.
"""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.expr import FALSE, TRUE, Call, Expr, Literal, conjunction, equal
from continua.algebra.relational import Filter, Join, JoinKind, Project, SetOperation, SetOperator
from continua.algebra.schema import Schema
from continua.physical.relation import cannot
from continua.types import BOOLEAN


def with_filters(plan: Join) -> Plan:
    """The same relation without NOW in the condition of a join."""
    predicate = plan.predicate or TRUE
    match plan.join:
        case JoinKind.INNER:
            return _pairs(plan.left, plan.right, predicate)
        case JoinKind.SEMI | JoinKind.ANTI:
            return _with_partner(plan.join, plan.left, plan.right, predicate)
        case JoinKind.NULL_AWARE_ANTI:
            unknown = [Call("COALESCE", (equal(a, b), TRUE), BOOLEAN, False) for a, b in plan.null_aware]
            return _with_partner(JoinKind.ANTI, plan.left, plan.right, conjunction([predicate, *unknown]) or TRUE)
        case JoinKind.LEFT | JoinKind.RIGHT | JoinKind.FULL:
            return _outer(plan, predicate)
        case JoinKind.MARK:
            return _marked(plan, predicate)
        case JoinKind.SINGLE:
            raise cannot("NOW in a condition of a subquery that stands for one value")


def _pairs(left: Plan, right: Plan, predicate: Expr) -> Plan:
    return Filter(Join(JoinKind.INNER, left, right), predicate)


def _with_partner(kind: JoinKind, left: Plan, right: Plan, predicate: Expr) -> Plan:
    """Left rows with a partner, or without one."""
    names = {f.name: f"#match.{f.name}" for f in left.schema}
    matches = Project(_pairs(left, right, predicate), tuple((names[f.name], f.column) for f in left.schema))
    same: list[Expr] = [
        Call("<=>", (mine.column, theirs.column), BOOLEAN, False)
        for mine, theirs in zip(left.schema, matches.schema, strict=True)
    ]
    return Join(kind, left, matches, conjunction(same))


def _outer(plan: Join, predicate: Expr) -> Plan:
    result = _shaped(_pairs(plan.left, plan.right, predicate), plan.schema)
    if plan.join is not JoinKind.RIGHT:
        lonely = _with_partner(JoinKind.ANTI, plan.left, plan.right, predicate)
        result = _union(result, _shaped(lonely, plan.schema))
    if plan.join is not JoinKind.LEFT:
        lonely = _with_partner(JoinKind.ANTI, plan.right, plan.left, predicate)
        result = _union(result, _shaped(lonely, plan.schema))
    return result


def _shaped(plan: Plan, schema: Schema) -> Plan:
    """The rows with the columns of a schema; those that they do not have are NULL."""
    names = set(plan.schema.names)
    return Project(plan, tuple((f.name, f.column if f.name in names else Literal(None, f.type)) for f in schema))


def _union(left: Plan, right: Plan) -> Plan:
    return SetOperation(SetOperator.UNION, left, right)


def _marked(plan: Join, predicate: Expr) -> Plan:
    """Left rows with TRUE where a partner satisfies the predicate, NULL where one may, else FALSE."""
    unknown = Call("IS NULL", (predicate,), BOOLEAN, False)
    sure = _with_partner(JoinKind.SEMI, plan.left, plan.right, predicate)
    rest = _with_partner(JoinKind.ANTI, plan.left, plan.right, predicate)
    perhaps = _with_partner(JoinKind.SEMI, rest, plan.right, unknown)
    never = _with_partner(JoinKind.ANTI, rest, plan.right, unknown)
    parts = [(sure, TRUE), (perhaps, Literal(None, BOOLEAN)), (never, FALSE)]
    first, second, third = (_with_mark(plan, rows, mark) for rows, mark in parts)
    return _union(_union(first, second), third)


def _with_mark(plan: Join, rows: Plan, mark: Expr) -> Plan:
    return Project(rows, (*((f.name, f.column) for f in plan.left.schema), (plan.mark, mark)))

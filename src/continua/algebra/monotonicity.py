"""Monotonicity: relations that only grow, found by a conservative look at the plan (CQL 6.2.2)."""

from __future__ import annotations

from continua.algebra.base import Kind, Plan, kind_of
from continua.algebra.expr import Call, Exists, Expr, InSubquery, Now, Quantified, Quantifier, has_subquery, walk
from continua.algebra.leaves import BaseRelation, Clock, Source, Values
from continua.algebra.relational import (
    DuplicateElimination,
    Filter,
    Group,
    Join,
    JoinKind,
    Project,
    SetOperation,
    SetOperator,
    Timeslice,
    Window,
)
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


def is_monotonic(plan: Plan) -> bool:
    """Whether the plan is a relation R with R(t1) ⊆ R(t2) for all t1 <= t2, as bags. False where that is not sure.

    A stream or tagged stream is no relation, so it is not monotonic; what stands in its window may be.
    """
    match plan:
        case BaseRelation() | Values() | Timeslice():
            return True
        case Window(spec=spec):
            return spec.never_forgets
        case Filter(input=below, predicate=predicate):
            return is_monotonic(below) and _stays_true(predicate)
        case Project(input=below, outputs=outputs):
            return is_monotonic(below) and all(_constant(e) for _, e in outputs)
        case Group(input=below, function=function):
            return is_monotonic(below) and _constant(function)
        case Join(join=JoinKind.INNER | JoinKind.SEMI, left=left, right=right, predicate=predicate):
            return is_monotonic(left) and is_monotonic(right) and (predicate is None or _stays_true(predicate))
        case SetOperation(operator=operator, left=left, right=right):
            subtracts = operator in (SetOperator.DIFFERENCE, SetOperator.STRICT_DIFFERENCE)
            return not subtracts and is_monotonic(left) and is_monotonic(right)
        case RelationalView(input=tagged):
            return _only_inserts(tagged)
        case (
            DuplicateElimination(input=below)
            | Synchronize(input=below)
            | Complete(input=below)
            | Split(input=below)
            | Coalesce(input=below)
        ):
            return is_monotonic(below)
        case _:
            return False


def uses_now(expr: Expr) -> bool:
    """Whether the instant stands in the expression itself (not in the plan of a subquery)."""
    return any(isinstance(part, Now) for part in walk(expr))


def _constant(expr: Expr) -> bool:
    """Whether the value depends on nothing but the row."""
    return not uses_now(expr) and not has_subquery(expr)


def _stays_true(predicate: Expr) -> bool:
    """Whether a row that satisfies the predicate does so for ever: what a semijoin with a growing relation is."""
    match predicate:
        case Call(function="AND" | "OR", arguments=arguments):
            return all(map(_stays_true, arguments))
        case Exists(plan=plan):
            return is_monotonic(plan)
        case InSubquery(operands=operands, plan=plan):
            return is_monotonic(plan) and all(map(_constant, operands))
        case Quantified(quantifier=Quantifier.ANY, operand=operand, plan=plan):
            return is_monotonic(plan) and _constant(operand)
        case _:
            return _constant(predicate)


def _may_last(stream: Plan) -> bool:
    """Whether elements can be of more than one instant: they are deleted when they end."""
    match stream:
        case Source(interval=interval):
            return interval
        case ToStream(operator=operator):
            return operator is StreamOperator.RSTREAM
        case _:
            return any(map(_may_last, stream.inputs))


def _only_inserts(tagged: Plan) -> bool:
    """Whether a tagged stream holds no update and no delete: the clock, and a raw stream's elements without key."""
    match tagged:
        case Clock():
            return True
        case Tag(input=below, key=()) if kind_of(below) is Kind.STREAM:
            return not _may_last(below)
        case Tag(input=below, key=()):
            return is_monotonic(below)
        case Filter(input=below, predicate=predicate):
            return _only_inserts(below) and _constant(predicate)
        case Project(input=below, outputs=outputs):
            return _only_inserts(below) and all(_constant(e) for _, e in outputs)
        case Split(input=below) | Coalesce(input=below):
            return _only_inserts(below)
        case _:
            return False

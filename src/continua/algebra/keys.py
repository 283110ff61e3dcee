"""Keys: columns on which no two rows of a relation agree at one instant, derived without looking at data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from continua.algebra.base import Kind, Plan, kind_of
from continua.algebra.expr import Call, Column, Expr, columns_of, conjuncts, has_subquery
from continua.algebra.leaves import BaseRelation, Clock, Source, TaggedSource, Values
from continua.algebra.monotonicity import is_monotonic
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
from continua.types import common_type

Keys: TypeAlias = frozenset[frozenset[str]]

NO_KEYS: Keys = frozenset()
ONE_ROW: Keys = frozenset((frozenset[str](),))
"""The empty key: at most one row."""


def keys(plan: Plan) -> Keys:
    """The smallest column sets that are known to tell the rows of one instant apart; NULL agrees with NULL.

    The empty set among them means that there is at most one row. Of a tagged stream: the keys of its relational
    view. A stream's declared key holds over the whole stream, so it holds in every window.
    """
    visible = frozenset(plan.schema.names)
    return _smallest(key for key in _keys(plan) if key <= visible)


def _keys(plan: Plan) -> Iterable[frozenset[str]]:
    match plan:
        case Source() | BaseRelation() | TaggedSource():
            return _declared(plan, plan.key)
        case Clock():
            return _declared(plan, plan.schema.names)
        case Values(rows=rows):
            return ONE_ROW if len(rows) <= 1 else NO_KEYS
        case Window():
            return _in_window(plan)
        case Project(input=below, outputs=outputs):
            return _renamed(keys(below), outputs)
        case Join():
            return _of_join(plan)
        case SetOperation():
            return _of_set_operation(plan)
        case DuplicateElimination(input=below):
            return keys(below) | {frozenset(plan.schema.names)}
        case Aggregate(input=below, keys=grouping):
            return _renamed(keys(below), grouping) | {frozenset(name for name, _ in grouping)}
        case TopK(input=below):
            return keys(below) | _of_first_rows(plan)
        case Tag(input=below, key=key) if kind_of(below) is Kind.STREAM:
            return _declared(plan, key) if key else _over_stream(below)
        case (
            Filter(input=below)
            | Group(input=below)
            | Timeslice(input=below)
            | Synchronize(input=below)
            | RelationalView(input=below)
            | ToStream(input=below)
            | Tag(input=below)
            | Complete(input=below)
            | Split(input=below)
            | Coalesce(input=below)
        ):
            return keys(below)
        case _:
            return NO_KEYS


def _smallest(found: Iterable[frozenset[str]]) -> Keys:
    distinct = frozenset(found)
    return frozenset(key for key in distinct if not any(other < key for other in distinct))


def _declared(plan: Plan, key: tuple[str, ...]) -> Keys:
    known = bool(key) and all(plan.schema.get(name) is not None for name in key)
    return frozenset((frozenset(key),)) if known else NO_KEYS


def _in_window(window: Window) -> Keys:
    if window.spec.spans_one_instant:
        return keys(window.input)
    found = _over_stream(window.input)
    return found | {frozenset(window.spec.partition)} if window.spec.one_per_partition else found


def _over_stream(plan: Plan) -> Keys:
    """The keys that hold over all elements of a stream, not only over those of one instant.

    Istream of a monotonic relation has its relation's: what was inserted stays, so a second row with the same key
    would meet the first. Other derived streams can repeat a row that left and came back.
    """
    match plan:
        case Source(interval=True):
            return NO_KEYS  # an element that lasts occurs anew at every instant
        case Source():
            return keys(plan)
        case Project(input=below, outputs=outputs):
            return _renamed(_over_stream(below), outputs)
        case ToStream(operator=StreamOperator.ISTREAM, input=below) if is_monotonic(below):
            return keys(below)
        case Filter(input=below) | Split(input=below) | Coalesce(input=below):
            return _over_stream(below)
        case _:
            return NO_KEYS


def _renamed(below: Keys, outputs: tuple[tuple[str, Expr], ...]) -> Keys:
    """The keys all of whose columns are handed on as they are, under their new names."""
    names: dict[str, str] = {}
    for name, expr in outputs:
        if isinstance(expr, Column):
            names.setdefault(expr.name, name)
    return frozenset(frozenset(names[c] for c in key) for key in below if key <= names.keys())


def _of_join(join: Join) -> Keys:
    left, right = keys(join.left), keys(join.right)
    pairs = frozenset(a | b for a in left for b in right)
    match join.join:
        case JoinKind.SEMI | JoinKind.ANTI | JoinKind.NULL_AWARE_ANTI | JoinKind.MARK | JoinKind.SINGLE:
            return left
        case JoinKind.INNER:
            return (
                pairs
                | (left if _one_match(join, join.right) else NO_KEYS)
                | (right if _one_match(join, join.left) else NO_KEYS)
            )
        case JoinKind.LEFT:
            return left if _one_match(join, join.right) else pairs
        case JoinKind.RIGHT:
            return right if _one_match(join, join.left) else pairs
        case JoinKind.FULL:
            # A row without partner on the left and one without on the right agree where both keys are NULL.
            present = {f.name for side in (join.left, join.right) for f in side.schema if not f.nullable}
            return frozenset(pair for pair in pairs if pair & present)


def _one_match(join: Join, side: Plan) -> bool:
    """Whether a row of the other side meets at most one row of ``side``: a key of it is equated."""
    own = frozenset(side.schema.names)
    equated = {name for part in conjuncts(join.predicate) for name in _equated(part, own)}
    return any(key <= equated for key in keys(side))


def _equated(part: Expr, own: frozenset[str]) -> Iterable[str]:
    """The columns of ``own`` that a condition fixes to a value from elsewhere, exactly (not by widening them)."""
    match part:
        case Call(function="=" | "<=>", arguments=(a, b)):
            for column, value in ((a, b), (b, a)):
                elsewhere = not has_subquery(value) and not columns_of(value) & own
                if isinstance(column, Column) and column.name in own and elsewhere and _exact(column, value):
                    yield column.name
        case _:
            return


def _exact(column: Expr, value: Expr) -> bool:
    if column.type.is_integer and value.type.is_integer:
        return True
    return common_type(column.type, value.type) == column.type


def _of_set_operation(plan: SetOperation) -> Keys:
    whole = frozenset((frozenset(plan.schema.names),)) if plan.distinct else NO_KEYS
    match plan.operator:
        case SetOperator.INTERSECTION | SetOperator.DIFFERENCE | SetOperator.STRICT_DIFFERENCE:
            # Widening a column can make different values equal.
            kept = {a.name for a, b in zip(plan.left.schema, plan.schema, strict=True) if a.type == b.type}
            return whole | {key for key in keys(plan.left) if key <= kept}
        case _:
            return whole


def _of_first_rows(plan: TopK) -> Keys:
    if plan.limit is None or plan.limit > 1:
        return NO_KEYS
    columns = [e.name for e in plan.partition if isinstance(e, Column)]
    return frozenset((frozenset(columns),)) if len(columns) == len(plan.partition) else NO_KEYS

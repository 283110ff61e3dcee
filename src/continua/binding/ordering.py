"""Which column of a FROM has the instants of its elements: what FIRST and LAST go by."""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.expr import Column
from continua.algebra.leaves import BaseRelation, Source, Values
from continua.algebra.relational import Aggregate, Join, JoinKind, Project, SetOperation, Window
from continua.algebra.streaming import RelationalView

_LEFT_ONLY = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.NULL_AWARE_ANTI, JoinKind.MARK, JoinKind.SINGLE)

Times = tuple[Column | None, ...]
"""For each stream of a FROM its ordering column, or None if that has no name."""


def ordering_columns(plan: Plan) -> Times:
    """The streams whose windows a plan is made of. What a derived table does not select is not among them."""
    match plan:
        case Window(input=below):
            return (_ordering_column(below),)
        case BaseRelation() | RelationalView() | Values():
            return ()
        case Project(input=below, outputs=outputs) | Aggregate(input=below, keys=outputs):
            names = {e.name: Column(n, e.type, e.nullable) for n, e in reversed(outputs) if isinstance(e, Column)}
            return tuple(names[c.name] for c in ordering_columns(below) if c is not None and c.name in names)
        case Join(join=kind, left=left, right=right):
            both = ordering_columns(left) + (() if kind in _LEFT_ONLY else ordering_columns(right))
            return tuple(None if c is None else _refreshed(plan, c) for c in both)
        case SetOperation(left=left, right=right):
            return tuple(None for _ in ordering_columns(left) + ordering_columns(right))
        case _:
            return tuple(column for below in plan.inputs for column in ordering_columns(below))


def _ordering_column(stream: Plan) -> Column | None:
    """That of a base stream; rows that last, that arrive or that are derived have none."""
    if not isinstance(stream, Source) or stream.interval:
        return None
    return next((f.column for f in stream.columns if f.hidden), None)


def _refreshed(plan: Plan, column: Column) -> Column | None:
    """The column as it comes out of a join: an outer one may make it NULL."""
    field = plan.schema.get(column.name)
    return None if field is None else field.column

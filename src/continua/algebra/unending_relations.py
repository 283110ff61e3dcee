"""Which relations can hold something for ever when no more elements come, as far as their plans show."""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.leaves import BaseRelation, Source, Values
from continua.algebra.relational import Aggregate, Join, JoinKind, SetOperation, SetOperator, Timeslice, Window
from continua.algebra.streaming import RelationalView, StreamOperator, ToStream
from continua.algebra.synchronization import synchronization
from continua.windows.change_points import AtEveryNth, AtMultiples, Points


def repeats_for_ever(plan: ToStream) -> bool:
    """Whether an Rstream is written point by point, there is no last point, and its relation need not run empty."""
    points = synchronization(plan.input)
    if plan.operator is not StreamOperator.RSTREAM or not points.is_synchronized:
        return False
    return any(isinstance(leaf, Points) for leaf in points.leaves) and can_last(plan.input)


def can_last(plan: Plan) -> bool:
    """Whether the relation can still hold something long after the last element."""
    match plan:
        case Window(input=stream, spec=spec):
            slides = isinstance(spec.evaluations, AtMultiples | AtEveryNth)
            # over elements that never end there is no window but that of the present instant
            return not spec.runs_empty or (not slides and _can_be_endless(stream))
        case BaseRelation() | RelationalView() | Timeslice() | Aggregate(scalar=True, empty_row=True):
            return True
        case Values(rows=rows):
            return bool(rows)
        case (
            Join(join=JoinKind.INNER, left=left, right=right)
            | SetOperation(operator=SetOperator.INTERSECTION, left=left, right=right)
        ):
            return can_last(left) and can_last(right)
        case (
            Join(join=JoinKind.FULL, left=left, right=right)
            | SetOperation(operator=SetOperator.UNION | SetOperator.MAX_UNION, left=left, right=right)
        ):
            return can_last(left) or can_last(right)
        case Join(join=JoinKind.RIGHT, right=kept) | Join(left=kept) | SetOperation(left=kept):
            return can_last(kept)
        case _:
            return any(map(can_last, plan.inputs))


def _can_be_endless(stream: Plan) -> bool:
    """Whether a stream can have elements that never end."""
    match stream:
        case Source(interval=interval):
            return interval
        case ToStream(operator=operator, input=below):
            return operator is StreamOperator.RSTREAM and can_last(below)
        case _:
            return any(map(_can_be_endless, stream.inputs))

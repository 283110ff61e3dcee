"""What the declarations of aggregates say of their calls in plans; of users' aggregates nothing is known."""

from __future__ import annotations

from continua.algebra.expr import AggregateCall, Call, Expr, Literal
from continua.functions.aggregates import AGGREGATES, Extreme, OfNothing
from continua.types import BIGINT


def of_nothing(call: AggregateCall) -> Expr | None:
    """What a call is of no rows; None if it is NULL."""
    declared = AGGREGATES.get(call.function)
    if declared is None:
        return None
    match declared.of_nothing:
        case OfNothing.ZERO:
            return Literal(0, BIGINT)
        case OfNothing.EMPTY_ARRAY:
            return Call("ARRAY", (), call.type)
        case OfNothing.NULL:
            return None


def extreme_of(call: AggregateCall) -> Extreme | None:
    """Which of all values a call is; None if it is something else."""
    declared = AGGREGATES.get(call.function)
    return None if declared is None else declared.extreme


def counts_rows(call: AggregateCall) -> bool:
    """Whether a call without arguments is of the rows themselves."""
    declared = AGGREGATES.get(call.function)
    return declared is not None and declared.counts_rows

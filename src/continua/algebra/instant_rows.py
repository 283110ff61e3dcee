"""Which relations hold each row for one instant only: those that stand on now-windows."""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.leaves import Source
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
    TopK,
    Window,
)
from continua.algebra.streaming import Coalesce, Split, StreamOperator, ToStream
from continua.algebra.synchronization import synchronization


def is_momentary(plan: Plan, chronon: int = 1) -> bool:
    """Whether no row of the relation outlives the instant at which it appears, unless it appears anew."""
    match plan:
        case Window(input=stream, spec=spec):
            return spec.is_momentary(chronon) and has_moments(stream, chronon)
        case Aggregate(scalar=True, empty_row=True):
            return False
        case Filter(input=below) | Project(input=below) | DuplicateElimination(input=below) | Group(input=below):
            return is_momentary(below, chronon)
        case TopK(input=below) | Aggregate(input=below) | Split(input=below) | Coalesce(input=below):
            return is_momentary(below, chronon)
        case Join(join=JoinKind.INNER, left=left, right=right):
            return is_momentary(left, chronon) or is_momentary(right, chronon)
        case Join(join=JoinKind.RIGHT | JoinKind.FULL):
            return False
        case Join(left=left):
            return is_momentary(left, chronon)
        case SetOperation(operator=SetOperator.UNION | SetOperator.MAX_UNION, left=left, right=right):
            return is_momentary(left, chronon) and is_momentary(right, chronon)
        case SetOperation(left=left):
            return is_momentary(left, chronon)
        case _:
            return False


def has_moments(stream: Plan, chronon: int = 1) -> bool:
    """Whether every element of a stream is of one instant: none lasts."""
    match stream:
        case Source(interval=interval):
            return not interval
        case ToStream(operator=StreamOperator.RSTREAM, input=below):
            return synchronization(below).is_synchronized or is_momentary(below, chronon)
        case Split(input=below) | Coalesce(input=below) | Filter(input=below) | Project(input=below):
            return has_moments(below, chronon)
        case _:
            return True


def is_written_as_intervals(stream: Plan, chronon: int) -> bool:
    """Whether it is an Rstream over a relation whose rows stay: its elements are told with their ends."""
    match stream:
        case ToStream(as_intervals=True):
            return True
        case ToStream(operator=StreamOperator.RSTREAM, input=below):
            return not synchronization(below).is_synchronized and not is_momentary(below, chronon)
        case _:
            return False

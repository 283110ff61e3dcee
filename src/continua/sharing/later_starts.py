"""From when on a query holds what another one does that is like it but started earlier (Astral 5.2).

An operator whose content at an instant follows from that of its inputs at the same instant hands on what is so of the
windows below it: once these hold the same, so does whatever stands on them. A window over a derived stream holds the
same once all elements have left it from before the stream was the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from continua.algebra.base import Kind, Plan
from continua.algebra.expr import has_subquery
from continua.algebra.instant_rows import has_moments
from continua.algebra.leaves import BaseRelation, Source, Values
from continua.algebra.monotonicity import uses_now
from continua.algebra.relational import (
    Aggregate,
    DuplicateElimination,
    Filter,
    Group,
    Join,
    JoinKind,
    Project,
    SetOperation,
    TopK,
    Window,
)
from continua.algebra.safety import cannot_fail
from continua.algebra.streaming import Coalesce, Complete, Split, StreamOperator, Synchronize, Tag, ToStream
from continua.algebra.traverse import expressions_of, nodes_of, with_inputs
from continua.functions.aggregates import AGGREGATES
from continua.instants import ceil_to
from continua.sharing.transposition import NotTransposedError, Transposed, transposed

_REDUCIBLE = (Filter, Project, Join, SetOperation, DuplicateElimination, Aggregate, TopK, Group)
_THE_SAME = (Split, Coalesce, Complete)


@dataclass(frozen=True, slots=True)
class LaterStart:
    """How a query goes on with what an earlier one holds."""

    after: int
    """The first instant at which both hold the same: behind it both change alike."""
    windows: tuple[Transposed, ...]
    """How each of its windows is found among those of the earlier query."""


def with_windows_of(plan: Plan, earlier: Plan) -> Plan:
    """The plan with the windows of another one, in the order of its operators; it has no subqueries in expressions.

    Columns by which these divide their streams are found by their places.
    """
    own, left = ([node for node in nodes_of(p) if isinstance(node, Window)] for p in (plan, earlier))
    if len(own) != len(left):
        return plan

    def change(below: Plan) -> Plan:
        other = left.pop(0) if isinstance(below, Window) else None
        found = with_inputs(below, change)
        if other is None or not isinstance(found, Window):
            return found
        names = zip(other.input.schema.names, found.input.schema.names, strict=False)
        spec = other.spec.renamed(dict(names))
        return found if spec is None else replace(found, spec=spec)

    return change(plan)


def later_start(plan: Plan, earlier: Plan, starts: tuple[int, int], chronon: int) -> LaterStart:
    """From when on a query's plan holds what another one does, which differs from it in its windows alone.

    ``starts``: those of the later and of the earlier query. What is refused says so in a ``NotTransposedError``:

    1. No expression can fail, since it might fail for a row from before the later start (CAN_FAIL).
    2. Nothing but the content of inputs counts: not the clock, nor the order in which rows came (CLOCK, FUNCTION).
    3. Windows are over streams whose elements do not last (LASTING), by the conditions of ``transposed``.
    4. No Rstream lists a relation: it does so from the first element on that its query sees (RSTREAM).
    """
    found = _Comparison(starts, chronon)
    match plan, earlier:
        case ToStream(operator=StreamOperator.RSTREAM), _:
            raise _lists_from_the_first_on()
        case (ToStream(input=below), ToStream(input=other)) | (Tag(input=below), Tag(input=other)):
            after = found.relation(below, other)
        case _ if plan.yields is Kind.RELATION:
            after = found.relation(plan, earlier)
        case _:
            raise NotTransposedError("OPERATOR", "a stream without a relation behind it holds nothing to be shared")
    return LaterStart(max(after, ceil_to(starts[0], chronon)), tuple(found.windows))


class _Comparison:
    def __init__(self, starts: tuple[int, int], chronon: int) -> None:
        self.windows: list[Transposed] = []
        self._starts = starts
        self._chronon = chronon

    def relation(self, plan: Plan, earlier: Plan) -> int:
        """The first instant from which both relations hold the same."""
        _check(plan)
        match plan, earlier:
            case Window(input=stream, spec=spec), Window(input=other, spec=before):
                if not has_moments(stream, self._chronon):
                    raise NotTransposedError("LASTING", "elements last, and are in force at a later start")
                found = transposed(spec, before, self._starts, self.stream(stream, other), self._chronon)
                self.windows.append(found)
                return found.after
            case ((BaseRelation() | Values()), _):
                return ceil_to(self._starts[0], self._chronon)
            case Synchronize(input=below, step=step, offset=offset), Synchronize(input=other):
                after = self.relation(below, other)
                return after + (offset - after) % step
            case _ if isinstance(plan, _REDUCIBLE + _THE_SAME):
                return max(self.relation(a, b) for a, b in zip(plan.inputs, earlier.inputs, strict=True))
            case _:
                raise NotTransposedError("OPERATOR", f"what {type(plan).__name__} holds may depend on the start")

    def stream(self, plan: Plan, earlier: Plan) -> int:
        """The first instant from which both streams have the same elements."""
        _check(plan)
        match plan, earlier:
            case Source(), Source():
                return ceil_to(self._starts[0], self._chronon)
            case ToStream(operator=operator, input=below), ToStream(input=other):
                if operator is StreamOperator.RSTREAM:
                    raise _lists_from_the_first_on()
                return self.relation(below, other) + self._chronon
            case ((Filter() | Project() | Split() | Coalesce()), _):
                return max(self.stream(a, b) for a, b in zip(plan.inputs, earlier.inputs, strict=True))
            case _:
                raise NotTransposedError("OPERATOR", f"the elements of {type(plan).__name__} may depend on the start")


def _lists_from_the_first_on() -> NotTransposedError:
    return NotTransposedError("RSTREAM", "an RSTREAM lists its relation from the first element on that its query sees")


def _check(plan: Plan) -> None:
    """Refuses expressions that can fail (condition 1), and what depends on more than content (condition 2)."""
    expressions = expressions_of(plan)
    if any(map(uses_now, expressions)):
        raise NotTransposedError("CLOCK", "it asks for the time")  # 2
    if any(map(has_subquery, expressions)) or not all(map(cannot_fail, expressions)):
        raise NotTransposedError("CAN_FAIL", "an expression can fail for rows from before the later start")  # 1
    if isinstance(plan, Join) and plan.join is JoinKind.SINGLE:
        raise NotTransposedError("CAN_FAIL", "a subquery may have a second row before the later start")  # 1
    if isinstance(plan, Aggregate) and any(call.function not in AGGREGATES for _, call in plan.aggregates):
        raise NotTransposedError("FUNCTION", "a user's aggregate may depend on more than what a group holds")  # 2

"""Groups of groups: which aggregates follow from those of finer groups (distributive and algebraic ones)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from continua.algebra.aggregate_facts import of_nothing
from continua.algebra.base import Plan
from continua.algebra.expr import AggregateCall, Call, Case, Cast, Column, Expr, Literal
from continua.algebra.expression_text import aggregate_text
from continua.algebra.relational import Aggregate, Project
from continua.functions.aggregates import AGGREGATES
from continua.sharing.offered_columns import OF_VALUES, NotOfferedError, Offered
from continua.types import BIGINT, BOOLEAN, DOUBLE, DataType

_SMALL = ("TINYINT", "SMALLINT", "INT")
"""Numbers of which a sum is never too large, so that an average has one wherever it has a value."""


def is_own(call: AggregateCall) -> bool:
    """Whether an aggregate is a user's: it may fail for rows that another query has not.

    Sums may grow too large for their type too. They are shared all the same: a query fails where one fails that it is
    answered from, as it does wherever operators are shared.
    """
    return call.function not in AGGREGATES


@dataclass(frozen=True, slots=True)
class Merged:
    """An aggregate put together: what is aggregated of finer groups, and the result computed of that."""

    parts: tuple[AggregateCall, ...]

    def result(self, columns: Sequence[Column], call: AggregateCall, of_groups: bool) -> Expr:
        """The aggregate by the columns of its parts; ``of_groups``: each is of a row at least."""
        if call.function == "AVG":
            return average(*columns)
        nothing = of_nothing(call)
        if nothing is None:
            return columns[0]
        if of_groups and all(part.where is None for part in self.parts):
            return replace(columns[0], nullable=call.nullable)  # a sum of counts has a value then
        return Call("COALESCE", (columns[0], nothing), call.type, False)


def average(total: Column, number: Column) -> Expr:
    """An average by a sum and a count."""
    divided = Call("/", (Cast(total, DOUBLE), Cast(number, DOUBLE)), DOUBLE)
    some = Call(">", (number, Literal(0, BIGINT)), BOOLEAN, number.nullable)
    return Case(((some, divided),), None, DOUBLE)


def parts_of_average(call: AggregateCall) -> tuple[AggregateCall, AggregateCall] | None:
    """The sum and the count that an average is of; None where it is not exactly their quotient."""
    if call.function != "AVG" or call.distinct or call.arguments[0].type.name not in _SMALL:
        return None
    total = AggregateCall("SUM", call.arguments, BIGINT, where=call.where)
    number = AggregateCall("COUNT", call.arguments, BIGINT, where=call.where, nullable=False)
    return total, number


def merged(call: AggregateCall, view: Offered) -> Merged:
    """An aggregate by those of finer groups.

    Of the view's keys every aggregate can be had that asks for different values alone. COUNT is the sum of counts, SUM
    of whole numbers that of sums, the others merge by themselves; AVG is algebraic, the quotient of a sum and a count.
    """
    averaged = parts_of_average(call)
    if averaged is not None:
        found = [merged(part, view).parts[0] for part in averaged]
        return Merged(tuple(found))
    if call.distinct or call.function in OF_VALUES:
        try:
            return Merged((view.computed_call(call),))
        except NotOfferedError:
            if call.function not in OF_VALUES:
                raise
    return Merged((_of_parts(call, view),))


def _of_parts(call: AggregateCall, view: Offered) -> AggregateCall:
    """The aggregate of the results for finer groups; those that a condition on keys drops are left out."""
    known, where = view.call(call), None
    if known is None and call.where is not None:
        plain = AggregateCall(call.function, call.arguments, call.type, call.distinct, nullable=call.nullable)
        known, where = view.call(plain), view.computed(call.where)
    if known is None:
        raise NotOfferedError(aggregate_text(call, ()))
    declared = AGGREGATES.get(call.function)
    if call.function in OF_VALUES:
        return AggregateCall(call.function, (known,), call.type, where=where)
    adds = declared is not None and declared.merged_by == "SUM" and not call.distinct and call.type == BIGINT
    if not adds:
        raise NotOfferedError(f"{aggregate_text(call, ())} of parts")
    return AggregateCall("SUM", (known,), call.type, where=where)


def regrouped(
    rows: Plan,
    keys: Sequence[tuple[str, Expr]],
    calls: Sequence[tuple[str, AggregateCall, Merged]],
    empty_row: bool,
) -> Plan:
    """Coarser groups of a view's rows, under the names of the query's grouping."""
    parts: dict[AggregateCall, str] = {}
    outputs: list[tuple[str, Expr]] = []
    for name, call, put_together in calls:
        columns = [Column(parts.setdefault(p, f"part {len(parts)}"), p.type, True) for p in put_together.parts]
        outputs.append((name, put_together.result(columns, call, bool(keys))))
    grouped = Aggregate(rows, tuple(keys), tuple((name, part) for part, name in parts.items()), empty_row)
    shown = [(n, Column(n, e.type, e.nullable)) for n, e in keys]
    return Project(grouped, (*shown, *outputs))


def is_exact(kind: DataType) -> bool:
    """Whether equal values of a type look alike, so that it does not matter which of them a group is told by."""
    return kind.is_integer or kind.name in ("STRING", "BOOLEAN", "DATE", "TIMESTAMP", "DECIMAL")

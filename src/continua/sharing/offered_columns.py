"""What a view offers: expressions over its inputs, each under the name of an output; others are computed of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from continua.algebra.expr import AggregateCall, Column, Expr, Literal, children, rebuild
from continua.algebra.expression_text import expression_text
from continua.rules.substitution import exactly
from continua.sharing.known_conditions import Known

OF_VALUES = ("MIN", "MAX", "BOOL_AND", "BOOL_OR", "ANY_VALUE")
"""Aggregates of which it does not matter how often a value is there; each puts its own results for parts together."""


class NotOfferedError(Exception):
    """An expression that cannot be computed from what a view offers."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class Offered:
    """The outputs of a view by what they are, for rows of which some conditions are known."""

    def __init__(
        self, outputs: Iterable[tuple[Expr, Column]], known: Known, calls: Mapping[str, Column] | None = None
    ) -> None:
        self.known = known
        self._calls = dict(calls or {})
        self._columns: dict[str, Column] = {}
        for expr, column in outputs:
            self._columns.setdefault(known.text(expr), column)

    def has(self, expr: Expr) -> bool:
        """Whether an expression is an output."""
        return self.known.text(expr) in self._columns

    def computed(self, expr: Expr) -> Expr:
        """The expression over the view's columns."""
        found = self._columns.get(self.known.text(expr))
        if found is not None and found.type == expr.type:
            return found
        if isinstance(expr, Column):
            value = self.known.constant(expr)
            if value is not None:
                return exactly(value)
            raise NotOfferedError(expr.name)
        if isinstance(expr, Literal):
            return expr
        if not children(expr):
            raise NotOfferedError(expression_text(expr))
        return rebuild(expr, self.computed)

    def call(self, call: AggregateCall) -> Column | None:
        """The output that is an aggregate; None if there is none."""
        found = self._calls.get(call_text(call, self.known))
        return found if found is not None and found.type == call.type else None

    def computed_call(self, call: AggregateCall) -> AggregateCall:
        """An aggregate of the view's rows."""
        arguments = tuple(map(self.computed, call.arguments))
        where = None if call.where is None else self.computed(call.where)
        return replace(call, arguments=arguments, where=where)


def call_text(call: AggregateCall, known: Known) -> str:
    """An aggregate as a text that is the same for those that are equal. COUNT of what is not NULL counts rows."""
    arguments = call.arguments
    if call.function == "COUNT" and not call.distinct and arguments and all(map(known.is_present, arguments)):
        arguments = ()
    where = "" if call.where is None else known.text(call.where)
    distinct = call.distinct and call.function not in OF_VALUES
    return f"{call.function}:{call.type}({distinct}, {', '.join(map(known.text, arguments))}) {where}"

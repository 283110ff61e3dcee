"""Which values a term may have: a range, some values, all but some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil, floor, isnan
from typing import Any

from continua.algebra.expr import Call, Expr, InList, Literal
from continua.types import DataType

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "<>": "<>"}


@dataclass(frozen=True, slots=True)
class Range:
    """The values between two bounds, of them those in ``values`` if there are any, but none of ``others``.

    A bound is a value and whether it is itself among them.
    """

    low: tuple[Any, bool] | None = None
    high: tuple[Any, bool] | None = None
    values: frozenset[Any] | None = None
    others: frozenset[Any] = frozenset()

    def and_also(self, other: Range) -> Range:
        """The values of both."""
        values = other.values if self.values is None else self.values
        if self.values is not None and other.values is not None:
            values = self.values & other.values
        found = Range(_higher(self.low, other.low), _lower(self.high, other.high), values, self.others | other.others)
        return found if values is None else replace(found, values=frozenset(v for v in values if found._bounds(v)))

    def holds(self, value: Any) -> bool:
        """Whether a value is among them."""
        return self._bounds(value) and (self.values is None or value in self.values)

    def _bounds(self, value: Any) -> bool:
        above = self.low is None or value > self.low[0] or (value == self.low[0] and self.low[1])
        below = self.high is None or value < self.high[0] or (value == self.high[0] and self.high[1])
        return above and below and value not in self.others

    @property
    def is_empty(self) -> bool:
        """Whether there surely is no such value."""
        if self.values is not None:
            return not self.values
        if self.low is None or self.high is None:
            return False
        return bool(self.low[0] > self.high[0]) or (self.low[0] == self.high[0] and not (self.low[1] and self.high[1]))

    @property
    def only(self) -> Any:
        """The one value that is left; None where there can be others."""
        if self.values is not None:
            return next(iter(self.values)) if len(self.values) == 1 else None
        same = self.low is not None and self.high is not None and self.low == self.high and self.low[1]
        return self.low[0] if same and self.low is not None else None

    def within(self, other: Range) -> bool:
        """Whether all its values are among those of another one."""
        if self.is_empty:
            return True
        if self.values is not None:
            return all(map(other.holds, self.values))
        if other.values is not None:
            return self.only is not None and other.holds(self.only)
        inside = _higher(self.low, other.low) == self.low and _lower(self.high, other.high) == self.high
        return inside and all(not self.holds(value) for value in other.others)

    def compares(self, function: str, other: Range) -> bool:
        """Whether each of its values compares like this with each value of another one."""
        match function:
            case "<" | "<=":
                return _ends_before(self, other, function == "<=")
            case ">" | ">=":
                return _ends_before(other, self, function == ">=")
            case "=":
                return self.only is not None and self.only == other.only
            case _:
                return _ends_before(self, other, False) or _ends_before(other, self, False)


ANY = Range()


def _ends_before(one: Range, other: Range, or_equal: bool) -> bool:
    highest = max(one.values) if one.values else None
    lowest = min(other.values) if other.values else None
    high = (highest, True) if highest is not None else one.high
    low = (lowest, True) if lowest is not None else other.low
    if high is None or low is None:
        return False
    return bool(high[0] < low[0]) or (high[0] == low[0] and (or_equal or not (high[1] and low[1])))


def _higher(one: tuple[Any, bool] | None, other: tuple[Any, bool] | None) -> tuple[Any, bool] | None:
    if one is None or other is None:
        return other if one is None else one
    if one[0] == other[0]:
        return (one[0], one[1] and other[1])
    return max(one, other, key=lambda bound: bound[0])


def _lower(one: tuple[Any, bool] | None, other: tuple[Any, bool] | None) -> tuple[Any, bool] | None:
    if one is None or other is None:
        return other if one is None else one
    if one[0] == other[0]:
        return (one[0], one[1] and other[1])
    return min(one, other, key=lambda bound: bound[0])


def range_of(condition: Expr) -> tuple[Expr, Range] | None:
    """The term that a condition compares with constants, and the values for which it is met; None for others."""
    match condition:
        case Call(function=function, arguments=(Literal() as value, term)) if function in _TURNED:
            return _compared(term, _TURNED[function], value)
        case Call(function=function, arguments=(term, Literal() as value)) if function in _TURNED:
            return _compared(term, function, value)
        case InList(operand=term, items=items):
            values = _values(term, items)
            return None if values is None else (term, Range(values=values))
        case Call(function="NOT", arguments=(InList(operand=term, items=items),)):
            values = _values(term, items)
            return None if values is None or len(values) < len(items) else (term, Range(others=values))
        case _:
            return None


def _values(term: Expr, items: tuple[Expr, ...]) -> frozenset[Any] | None:
    found = []
    for item in items:
        if isinstance(term, Literal) or not isinstance(item, Literal):
            return None
        value = comparable_value(item, term.type)
        if value is None:
            return None
        found.append(value)
    return frozenset(found)


def _compared(term: Expr, function: str, literal: Literal) -> tuple[Expr, Range] | None:
    value = None if isinstance(term, Literal) else comparable_value(literal, term.type)
    if value is None:
        return None
    whole = term.type.is_integer
    match function:
        case "=":
            return term, Range(values=frozenset((value,)))
        case "<>":
            return term, Range(others=frozenset((value,)))
        case "<" | "<=":
            return term, Range(high=_whole_below(value, function == "<=") if whole else (value, function == "<="))
        case _:
            return term, Range(low=_whole_above(value, function == ">=") if whole else (value, function == ">="))


def _whole_below(value: Any, included: bool) -> tuple[int, bool]:
    highest = floor(value)
    return (highest if included or highest != value else highest - 1), True


def _whole_above(value: Any, included: bool) -> tuple[int, bool]:
    lowest = ceil(value)
    return (lowest if included or lowest != value else lowest + 1), True


def comparable_value(literal: Literal, kind: DataType) -> Any:
    """A constant as it is compared with terms of a type; None where that is not known to be exact."""
    value = literal.value
    if value is None:
        return None
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if kind.is_integer or kind.name == "DECIMAL":
        return value if number and not isinstance(value, float) else None
    if kind.name == "DOUBLE":
        as_double = float(value) if number and isinstance(value, int | float | Decimal) else None
        return None if as_double is None or isnan(as_double) else as_double
    same = literal.type == kind and kind.name in ("STRING", "DATE", "TIMESTAMP", "BOOLEAN")
    return value if same else None


def equals(value: Any, literal: Literal, kind: DataType) -> bool:
    """Whether a value that is known is that of a constant."""
    return value is not None and comparable_value(literal, kind) == value

"""Conditions on a time point that recur: which instants meet them, without a look at every instant.

``MINUTE(t) % 2 = 0``, ``t % INTERVAL '2' SECOND = INTERVAL '0' SECOND`` and ``HOUR(t) BETWEEN 9 AND 17 AND
DAYOFWEEK(t) BETWEEN 2 AND 6`` depend on where t lies in a minute, an hour, a day or a week.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache
from math import lcm
from typing import TypeAlias

from continua.algebra.expr import Call, Cast, Column, Expr, InList, Literal
from continua.functions.scalars import operator_of
from continua.types import TIMESTAMP
from continua.windows.periodic import MOST_STRETCHES, Periodic

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND
_UNITS = {"second": _SECOND, "minute": 60 * _SECOND, "hour": 3600 * _SECOND, "day": _DAY}
_THURSDAY = 4
"""The number of the day 1970-01-01 since a Sunday."""
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "<=>": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ALWAYS, _NEVER = Periodic(1, ((0, 1),)), Periodic(1, ())


@dataclass(frozen=True, slots=True)
class _Count:
    """How many whole units lie between an instant and the beginning of time, and ``more``."""

    unit: int
    shift: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True)
class _Rest:
    """What remains of an instant, ``shift`` later, behind the last multiple of a length, and ``more``."""

    length: int
    shift: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True)
class _Begin:
    """Where the unit of time begins that an instant lies in."""

    length: int


@dataclass(frozen=True, slots=True)
class _Steps:
    """A value that stays the same in each stretch of a period: the starts of the stretches, the first 0, and values."""

    period: int
    starts: tuple[int, ...]
    values: tuple[int, ...]

    def instants(self, test: Callable[[int], bool]) -> Periodic:
        """When a value passes a test."""
        ends = (*self.starts[1:], self.period)
        kept = (s for s, v in zip(zip(self.starts, ends, strict=True), self.values, strict=True) if test(v))
        return Periodic.of(self.period, kept)

    def mapped(self, change: Callable[[int], int]) -> _Steps:
        """With other values."""
        return replace(self, values=tuple(map(change, self.values)))


_Value: TypeAlias = int | _Count | _Rest | _Begin | _Steps


def recurring(condition: Expr, timepoint: str) -> Periodic | None:
    """The instants at which a condition on a time point holds, where they recur; None where that is not known."""
    try:
        return _instants(condition, timepoint)
    except (OverflowError, ZeroDivisionError):
        return None


def _instants(condition: Expr, name: str) -> Periodic | None:
    match condition:
        case Literal(value=bool(value)):
            return _ALWAYS if value else _NEVER
        case Call(function="AND" | "OR" as word, arguments=parts):
            found = _instants(parts[0], name)
            for part in parts[1:]:
                other = _instants(part, name)
                if found is None or other is None:
                    return None
                found = found.and_also(other) if word == "AND" else found.or_else(other)
            return found
        case Call(function="NOT", arguments=(part,)):
            inner = _instants(part, name)
            return None if inner is None else inner.inverted()
        case Call(function=comparison, arguments=(left, right)) if comparison in _COMPARISONS:
            return _compared(comparison, _value(left, name), _value(right, name))
        case InList(operand=operand, items=items):
            return _instants_of_any([Call("=", (operand, item), condition.type) for item in items], name)
        case _:
            return None


def _instants_of_any(conditions: list[Call], name: str) -> Periodic | None:
    found: Periodic | None = _NEVER
    for condition in conditions:
        other = _instants(condition, name)
        if found is None or other is None:
            return None
        found = found.or_else(other)
    return found


def _compared(comparison: str, left: _Value | None, right: _Value | None) -> Periodic | None:
    if isinstance(left, int) and not isinstance(right, int):
        left, right, comparison = right, left, _TURNED.get(comparison, comparison)
    holds = _COMPARISONS[comparison]
    match left, right:
        case int(), int():
            return _ALWAYS if holds(left, right) else _NEVER
        case _Steps(), int():
            return left.instants(lambda value: holds(value, right))
        case _Rest(), int():
            return _of_rest(left, comparison, right)
        case _Count(unit=1, shift=0), _Begin(length=length):
            return _of_rest(_Rest(length), comparison, 0)
        case _Begin(), _Count():
            return _compared(_TURNED.get(comparison, comparison), right, left)
        case _Steps() | _Rest(), _Steps() | _Rest():
            both = _combined("-", left, right)
            return _compared(comparison, both, 0) if isinstance(both, _Steps) else None
        case _:
            return None


def _of_rest(rest: _Rest, comparison: str, bound: int) -> Periodic:
    """When the rest is less than, equal to or more than a bound."""
    bound -= rest.more
    ends = {"<": (0, bound), "<=": (0, bound + 1), ">": (bound + 1, rest.length), ">=": (bound, rest.length)}
    start, end = ends.get(comparison, (bound, bound + 1))
    places = [(start, min(end, rest.length))] if start < rest.length and end > 0 else []
    moved = [(max(a, 0) - rest.shift % rest.length, b - rest.shift % rest.length) for a, b in places]
    whole = [piece for a, b in moved for piece in ((a, b), (a + rest.length, b + rest.length))]
    found = Periodic.of(rest.length, whole)
    return found.inverted() if comparison == "<>" else found


def _together(one: _Steps, other: _Steps, combine: Callable[[int, int], int]) -> _Steps | None:
    """Two values of a period that has whole numbers of both."""
    period = lcm(one.period, other.period)
    if period // one.period * len(one.starts) + period // other.period * len(other.starts) > MOST_STRETCHES:
        return None
    edges: dict[int, None] = {}
    for steps in (one, other):
        edges.update((start + turn, None) for turn in range(0, period, steps.period) for start in steps.starts)
    starts = sorted(edges)
    values = [combine(_at(one, start), _at(other, start)) for start in starts]
    return _Steps(period, tuple(starts), tuple(values))


def _at(steps: _Steps, instant: int) -> int:
    return steps.values[bisect_right(steps.starts, instant % steps.period) - 1]


# Values.


def _value(expr: Expr, name: str) -> _Value | None:
    match expr:
        case Column() if expr.name == name:
            return _Count(1)
        case Literal(value=bool()):
            return None
        case Literal(value=int(value)):
            return value
        case Literal(value=timedelta() as value):
            return value // timedelta(microseconds=1)
        case Cast(operand=operand, type=kind) if kind.is_integer and operand.type.is_integer:
            return _value(operand, name)
        case Call(function=function, arguments=(left, right)) if operator_of(function) in _ARITHMETIC:
            one, other = _value(left, name), _value(right, name)
            return None if one is None or other is None else _combined(operator_of(function), one, other)
        case Call(function="DATE_TRUNC", arguments=(Literal(value=str(unit)), moment)) if unit.lower() in _UNITS:
            return _Begin(_UNITS[unit.lower()]) if _value(moment, name) == _Count(1) else None
        case Call(function=function, arguments=(moment,)) if moment.type == TIMESTAMP and function in _FIELDS:
            instant = _value(moment, name)
            if not isinstance(instant, _Count) or instant.unit != 1:
                return None
            return _FIELDS[function](instant)
        case _:
            return None


def _combined(function: str, one: _Value, other: _Value) -> _Value | None:
    """Arithmetic; a rest is a value that changes at every instant where there is no closer description."""
    found = _ARITHMETIC[function](one, other)
    if found is None and _Rest in (type(one), type(other)):
        first, second = _stepwise(one), _stepwise(other)
        return None if first is None or second is None else _ARITHMETIC[function](first, second)
    return found


def _stepwise(value: _Value) -> _Value | None:
    if not isinstance(value, _Rest):
        return value
    found = _counted(_Count(1, value.shift), value.length)
    return None if found is None else found.mapped(lambda number: number + value.more)


def _sum(one: _Value, other: _Value) -> _Value | None:
    match one, other:
        case int(), int():
            return one + other
        case int(), _:
            return _sum(other, one)
        case _Count(unit=1), int():
            return replace(one, shift=one.shift + other)
        case _Count() | _Rest(), int():
            return replace(one, more=one.more + other)
        case _Steps(), int():
            return one.mapped(lambda value: value + other)
        case _Steps(), _Steps():
            return _together(one, other, operator.add)
        case _:
            return None


def _minus(one: _Value, other: _Value) -> _Value | None:
    match one, other:
        case _, int():
            return _sum(one, -other)
        case int(), _Steps():
            return other.mapped(lambda value: one - value)
        case _Steps(), _Steps():
            return _together(one, other, operator.sub)
        case _Count(unit=1, shift=0), _Begin(length=length):
            return _Rest(length)
        case _:
            return None


def _times(one: _Value, other: _Value) -> _Value | None:
    match one, other:
        case int(), int():
            return one * other
        case int(), _Steps():
            return other.mapped(lambda value: one * value)
        case _Steps(), int():
            return one.mapped(lambda value: value * other)
        case _:
            return None


def _whole(one: _Value, other: _Value) -> _Value | None:
    """DIV, which cuts off what remains."""
    if not isinstance(other, int) or other <= 0:
        return None
    match one:
        case int():
            return one - _remains(one, other)
        case _Count():
            return _Count(one.unit * other, one.shift + one.more * one.unit)
        case _Rest(length=length, more=0) if length % other == 0:
            return _counted(_Count(other, one.shift), length // other)
        case _Steps():
            return one.mapped(lambda value: (value - _remains(value, other)) // other)
        case _:
            return None


def _rest(one: _Value, other: _Value) -> _Value | None:
    if not isinstance(other, int) or other <= 0:
        return None
    match one:
        case int():
            return _remains(one, other)
        case _Count(unit=1):
            return _Rest(other, one.shift)
        case _Count():
            return _counted(one, other)
        case _Rest(length=length, more=0) if length % other == 0:
            return _Rest(other, one.shift)
        case _Steps():
            return one.mapped(lambda value: _remains(value, other))
        case _:
            return None


def _remains(value: int, divisor: int) -> int:
    """What remains of a division that rounds to 0."""
    return value % divisor if value >= 0 else -(-value % divisor)


_ARITHMETIC: dict[str, Callable[[_Value, _Value], _Value | None]] = {
    "+": _sum,
    "-": _minus,
    "*": _times,
    "DIV": _whole,
    "%": _rest,
}


def _counted(count: _Count, turns: int) -> _Steps | None:
    """The number of the unit, counted anew whenever there were so many."""
    if turns > MOST_STRETCHES:
        return None
    period, unit = count.unit * turns, count.unit
    starts = sorted({0, *((number * unit - count.shift) % period for number in range(turns))})
    return _Steps(period, tuple(starts), tuple(((s + count.shift) // unit + count.more) % turns for s in starts))


def _field(unit: int, turns: int, first: int = 0) -> Callable[[_Count], _Value | None]:
    """So many units since the last larger one began: the hour of a day."""

    def value(instant: _Count) -> _Value | None:
        found = _counted(_Count(unit, instant.shift), turns)
        return None if found is None else found.mapped(lambda number: number + first)

    return value


def _of_days(function: Callable[[date], int]) -> Callable[[_Count], _Value | None]:
    """A function of the date: its values come again after 400 years."""
    return lambda instant: None if instant.shift else _calendar(function)


@cache
def _calendar(function: Callable[[date], int]) -> _Steps:
    first = date(1970, 1, 1).toordinal()
    starts: list[int] = []
    values: list[int] = []
    for number in range(_DAYS_IN_400_YEARS):
        value = function(date.fromordinal(first + number))
        if not values or value != values[-1]:
            starts.append(number * _DAY)
            values.append(value)
    return _Steps(_DAYS_IN_400_YEARS * _DAY, tuple(starts), tuple(values))


_DAYS_IN_400_YEARS = 146_097

_FIELDS: dict[str, Callable[[_Count], _Value | None]] = {
    "SECOND": _field(_SECOND, 60),
    "MINUTE": _field(60 * _SECOND, 60),
    "HOUR": _field(3600 * _SECOND, 24),
    "DAYOFWEEK": lambda instant: _field(_DAY, 7, 1)(replace(instant, shift=instant.shift + _THURSDAY * _DAY)),
    "DAY": _of_days(lambda day: day.day),
    "MONTH": _of_days(lambda day: day.month),
    "QUARTER": _of_days(lambda day: (day.month + 2) // 3),
    "UNIX_SECONDS": lambda instant: replace(instant, unit=_SECOND),
    "UNIX_MILLIS": lambda instant: replace(instant, unit=1000),
    "UNIX_MICROS": lambda instant: instant,
}

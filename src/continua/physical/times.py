"""Arithmetic on instants, as typed trees over the interval of a row and its columns."""

from __future__ import annotations

from continua.algebra.expr import Call, Case, Column, Expr, Literal
from continua.instants import INFINITY
from continua.types import BIGINT, BOOLEAN

NEVER = Literal(INFINITY, BIGINT)
"""The end of what never ends."""


def instant(value: int) -> Literal:
    """An instant, or a length of time."""
    return Literal(value, BIGINT)


def plus(value: Expr, length: int | Expr) -> Expr:
    """A value so much later."""
    if isinstance(length, int):
        length = instant(length)
    return value if length == instant(0) else _number("+", value, length)


def minus(value: Expr, other: Expr) -> Expr:
    """The distance of two values."""
    return value if other == instant(0) else _number("-", value, other)


def times(count: Expr, length: int) -> Expr:
    """So many times a length."""
    return _number("*", count, instant(length))


def divided(length: Expr, step: int) -> Expr:
    """How often a step goes into a length, without what remains."""
    return _number("DIV", length, instant(step))


def remainder(value: Expr, step: int) -> Expr:
    """The remainder of a division, never negative."""
    return _number("%", plus(_number("%", value, instant(step)), step), instant(step))


def rounded_up(value: Expr, step: int, offset: int = 0) -> Expr:
    """The next of the points ``offset`` + multiples of ``step``."""
    return value if step == 1 else plus(value, remainder(_number("-", instant(offset), value), step))


def later(*values: Expr) -> Expr:
    """The largest of values that are not NULL."""
    return values[0] if len(values) == 1 else _number("GREATEST", *values)


def earlier(*values: Expr) -> Expr:
    """The least of values that are not NULL."""
    return values[0] if len(values) == 1 else _number("LEAST", *values)


def compared(left: Expr, comparison: str, right: Expr | int) -> Expr:
    """A comparison of two values."""
    if isinstance(right, int):
        right = instant(right)
    return Call(comparison, (left, right), BOOLEAN, left.nullable or right.nullable)


def unless_endless(end: Expr, finite: Expr) -> Expr:
    """The end of what never ends as it is, and any other end as something finite."""
    return Case(((compared(end, ">=", NEVER), NEVER),), finite, BIGINT)


def is_null(expr: Expr) -> Expr:
    """expr IS NULL."""
    return Call("IS NULL", (expr,), BOOLEAN, False)


def is_known(expr: Expr) -> Expr:
    """expr IS NOT NULL."""
    return Call("NOT", (is_null(expr),), BOOLEAN, False)


def microseconds(moment: Expr) -> Expr:
    """A timestamp, or a length of time, as microseconds."""
    return Call("UNIX_MICROS", (moment,), BIGINT, moment.nullable)


def first_column() -> Column:
    """The only column of nodes that hold instants."""
    return Column("c0", BIGINT)


def _number(function: str, *values: Expr) -> Expr:
    return Call(function, values, BIGINT, any(v.nullable for v in values))

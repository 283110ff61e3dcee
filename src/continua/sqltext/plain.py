"""Expressions that Spark and the engine certainly evaluate alike: such may be left to Spark."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from continua.algebra.expr import Call, Case, Cast, Column, Expr, InList, Literal, children, walk
from continua.functions.scalars import SCALARS
from continua.types import DataType

_CALLS = frozenset({
    "AND", "OR", "NOT", "IS NULL", "IS TRUE", "IS FALSE", "=", "<>", "<", "<=", ">", ">=", "<=>", "LIKE",
    "+", "-", "*", "%", *(name for name, function in SCALARS.items() if function.same_in_spark),
})  # fmt: skip
"""Logic, comparisons, arithmetic and choices that mean the same to both."""

_LARGEST_PRECISION = 38
"""Beyond it Spark cuts fractions of decimals."""


def is_plain(expr: Expr) -> bool:
    """Whether an expression is made of comparisons, logic, arithmetic and CASE only."""
    return all(map(_is_known, walk(expr)))


def _is_known(part: Expr) -> bool:
    match part:
        case Column():
            return True
        case Literal(value=value):
            return value is None or isinstance(value, bool | int | float | str | Decimal | date)
        case Cast(operand=operand, type=target):
            return _casts_alike(operand.type, target)
        case Call(function="/", arguments=(_, Literal(value=int() as divisor))):
            # decimals are divided in different ways, and by zero too
            return divisor > 0 and not any(p.type.name == "DECIMAL" for p in walk(part))
        case Call(function=function, type=kind):
            return function in _CALLS and _fits(kind) and not any(a.type.name == "INTERVAL" for a in children(part))
        case Case(type=kind):
            return _fits(kind)
        case InList():
            return True
        case _:
            return False


def _casts_alike(source: DataType, target: DataType) -> bool:
    """Whether values of one type become the same values of another; fractions and texts have ways of their own."""
    if source == target or source.name == "NULL":
        return True
    match target.name:
        case "STRING":
            return source.is_integer or source.name == "BOOLEAN"
        case "FLOAT" | "DOUBLE":
            return source.is_numeric and source.name != "DECIMAL"
        case "DECIMAL":
            return _fits(target) and (source.is_integer or source.name == "DECIMAL")
        case "DATE" | "TIMESTAMP":
            return source.is_temporal
        case _:
            return target.is_integer and source.is_integer


def _fits(kind: DataType) -> bool:
    return kind.name != "DECIMAL" or kind.precision < _LARGEST_PRECISION

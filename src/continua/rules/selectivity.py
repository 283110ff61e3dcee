"""What part of the rows a condition lets through, and what it costs to ask it."""

from __future__ import annotations

from collections.abc import Mapping

from continua.algebra.expr import (
    Call,
    Column,
    Expr,
    InList,
    Literal,
    Now,
    columns_of,
    conjuncts,
    has_subquery,
    walk,
)
from continua.algebra.identity import identity
from continua.functions.scalars import SCALARS, operator_of

DEFAULT_DISTINCT = 100.0
"""Different values of a column, where nothing is known."""
RANGE = 1 / 3
"""The part that <, <=, > and >= let through."""
NULLS = 0.05
"""The part of a column that is NULL, if it can be."""
PATTERN = 0.1
"""The part that LIKE lets through."""
_UNKNOWN = 0.5
"""The part that any other condition lets through."""
_COMPARISONS = ("=", "<=>", "<>", "<", "<=", ">", ">=")
_LOGIC = ("AND", "OR", "NOT", "IS NULL", "IS NOT NULL")
_ARITHMETIC = ("+", "-", "*", "/", "%")
_PATTERNS = ("LIKE", "ILIKE", "RLIKE", *(name for name, function in SCALARS.items() if function.is_pattern))


_NOTHING: Mapping[str, float] = {}


def selectivity(
    condition: Expr | None, distinct: Mapping[str, float], measured: Mapping[str, float] = _NOTHING
) -> float:
    """The part of the rows that satisfies a condition, by the numbers of different values of the columns.

    ``measured``: what is known better of conditions, by their identity.

    >>> from continua.types import BOOLEAN, INT
    >>> item, price = Column("item", INT, False), Column("price", INT, False)
    >>> selectivity(Call("=", (item, Literal(7, INT)), BOOLEAN), {"item": 50.0})
    0.02
    >>> round(selectivity(Call(">", (price, Literal(7, INT)), BOOLEAN), {}), 2)
    0.33
    """
    result = 1.0
    for part in conjuncts(condition):
        known = measured.get(identity(part)) if measured and not has_subquery(part) else None
        result *= min(1.0, max(0.0, _selectivity(part, distinct) if known is None else known))
    return result


def _selectivity(part: Expr, distinct: Mapping[str, float]) -> float:
    match part:
        case Literal(value=value):
            return 1.0 if value is True else 0.0
        case Call(function="AND"):
            return selectivity(part, distinct)
        case Call(function="OR", arguments=arguments):
            missed = 1.0
            for argument in arguments:
                missed *= 1 - selectivity(argument, distinct)
            return 1 - missed
        case Call(function="NOT", arguments=(inner,)):
            return 1 - selectivity(inner, distinct)
        case Call(function="IS NULL", arguments=(inner,)):
            return NULLS if inner.nullable else 0.0
        case Call(function="IS NOT NULL", arguments=(inner,)):
            return 1 - NULLS if inner.nullable else 1.0
        case Call(function="=" | "<=>", arguments=(a, b)):
            return 1 / max(values(a, distinct), values(b, distinct))
        case Call(function="<>", arguments=(a, b)):
            return 1 - 1 / max(values(a, distinct), values(b, distinct))
        case Call(function="<" | "<=" | ">" | ">="):
            return RANGE
        case InList(operand=operand, items=items):
            return len(items) / values(operand, distinct)
        case Call(function=name) if name in _PATTERNS:
            return PATTERN
        case _:
            return _UNKNOWN


def values(expr: Expr, distinct: Mapping[str, float]) -> float:
    """How many different values an expression has, at least one.

    >>> from continua.types import INT
    >>> values(Call("%", (Column("x", INT), Literal(7, INT)), INT), {"x": 50.0})
    7.0
    """
    match expr:
        case Literal() | Now():
            return 1.0
        case Column(name=name):
            return max(1.0, distinct.get(name, DEFAULT_DISTINCT))
        case Call(function=name, arguments=(operand, Literal(value=int(divisor)))) if operator_of(name) == "%":
            return min(values(operand, distinct), float(max(1, abs(divisor))))
        case Call() if expr.type.name == "BOOLEAN":
            return 2.0
        case _:
            result = 1.0
            for name in columns_of(expr):
                result *= max(1.0, distinct.get(name, DEFAULT_DISTINCT))
            return min(result, 1e12)


def price(expr: Expr) -> float:
    """What it takes to evaluate an expression for a row: one for a comparison, much more for the user's functions.

    >>> from continua.types import BOOLEAN, INT, STRING
    >>> price(Call(">", (Column("x", INT), Literal(7, INT)), BOOLEAN))
    1.0
    >>> price(Call("LIKE", (Column("s", STRING), Literal("a%", STRING)), BOOLEAN))
    5.0
    """
    return sum((_price(part) for part in walk(expr)), 0.0)


def _price(part: Expr) -> float:
    match part:
        case Column() | Literal() | Now():
            return 0.0
        case InList(items=items):
            return 1.0 + len(items) / 8
        case Call(function=name) if name in _PATTERNS:
            return 5.0
        case Call(function=name) if name in _COMPARISONS + _LOGIC + _ARITHMETIC:
            return 1.0
        case Call(function=name) if name in SCALARS:
            return SCALARS[name].price
        case Call():
            return 200.0
        case _:
            return 50.0 if has_subquery(part) else 1.0

"""Which expressions cannot fail: only such a condition may be moved to where rows are tested that never were before.

What is safe is also a function of values alone: of equal values (0.0 and -0.0 are) it makes equal ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from continua.algebra.expr import Call, Case, Cast, Column, Expr, InList, Literal, children
from continua.functions.scalars import SCALARS
from continua.types import DataType, as_decimal

_LOGIC = ("AND", "OR", "NOT", "IS NULL", "IS TRUE", "IS FALSE")
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")
_CHOICES = tuple(name for name, function in SCALARS.items() if function.never_fails)
_FLOATING = ("FLOAT", "DOUBLE")
_RANKS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_MOST_DIGITS = 38


def cannot_fail(expr: Expr) -> bool:
    """Whether the expression surely has a value for every row: no overflow, no cast that does not fit, no user code.

    NOW and subqueries count as unsafe: nothing that holds them is moved.
    """
    return all(map(cannot_fail, children(expr))) and _is_safe(expr)


def going_first(parts: Iterable[Expr], test: Callable[[Expr], bool]) -> tuple[list[Expr], list[Expr]]:
    """The conditions that pass a test and may be asked before the others, and the others.

    One that can fail does not overtake one that stays: that may keep the rows from it on which it fails.
    """
    first: list[Expr] = []
    rest: list[Expr] = []
    for part in parts:
        (first if test(part) and (not rest or cannot_fail(part)) else rest).append(part)
    return first, rest


def asked_together(parts: Iterable[Expr]) -> Iterator[list[Expr]]:
    """Conditions in their order, in groups: some that cannot fail, which may be asked in any order, or one that can."""
    for safe, group in groupby(parts, cannot_fail):
        some = list(group)
        yield from [some] if safe else ([part] for part in some)


def _is_safe(expr: Expr) -> bool:
    match expr:
        case Column() | Literal():
            return True
        case Call(function=function, arguments=arguments):
            return _is_safe_call(expr, function, arguments)
        case Cast(operand=operand, type=target):
            return _widens(operand.type, target)
        case Case(branches=branches, otherwise=otherwise):
            results = [r.type for _, r in branches] + ([otherwise.type] if otherwise is not None else [])
            return all(result == expr.type for result in results)
        case InList(operand=operand, items=items):
            types = {operand.type, *(i.type for i in items)}
            return all(_compares(a, b) for a in types for b in types)
        case _:
            return False


def _is_safe_call(call: Call, function: str, arguments: tuple[Expr, ...]) -> bool:
    types = [a.type for a in arguments]
    if function in _LOGIC:
        return True
    if function in _COMPARISONS:
        return _compares(*types)
    if function in _CHOICES:
        return all(t.is_integer for t in types) or all(t == types[0] for t in types)
    if function in ("LIKE", "ILIKE"):
        pattern = arguments[1]
        return isinstance(pattern, Literal) and isinstance(pattern.value, str) and not pattern.value.endswith("\\")
    if function == "%":
        divisor = arguments[1]
        return all(t.is_integer for t in types) and isinstance(divisor, Literal) and divisor.value not in (None, -1)
    if function in ("+", "-", "*") and len(types) > 1:
        return call.type.name == "DOUBLE" and all(t.is_numeric and t.name != "DECIMAL" for t in types)
    return False


def _compares(left: DataType, right: DataType) -> bool:
    """Whether values of these types always have a common form in which they are compared."""
    if left == right or "NULL" in (left.name, right.name) or (left.is_temporal and right.is_temporal):
        return True
    if not (left.is_numeric and right.is_numeric):
        return False
    if left.name in _FLOATING or right.name in _FLOATING:
        return True
    a, b = as_decimal(left), as_decimal(right)
    return max(a.precision - a.scale, b.precision - b.scale) + max(a.scale, b.scale) <= _MOST_DIGITS


def _widens(source: DataType, target: DataType) -> bool:
    if source == target or (source.name, target.name) in (("FLOAT", "DOUBLE"), ("DATE", "TIMESTAMP")):
        return True
    if source.is_integer and target.is_integer:
        return _RANKS.index(source.name) <= _RANKS.index(target.name)
    if source.is_integer and target.name in ("DOUBLE", "STRING"):
        return True
    exact = source.is_integer or source.name == "DECIMAL"
    if exact and target.name == "DECIMAL":
        a = as_decimal(source)
        return a.scale <= target.scale and a.precision - a.scale <= target.precision - target.scale
    return False

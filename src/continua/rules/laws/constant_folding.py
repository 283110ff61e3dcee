"""What is the same for every row is computed once: σ_(1 < 2 AND p)(R) = σ_p(R) (PIPES 2009 lemma 6.7).

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT price FROM Bid [NOW] WHERE price > 2 * 50 AND (1 < 2 OR item_id = 7)"))
Filter Bid.price > 2 * 50 AND (1 < 2 OR Bid.item_id = 7)
└─ Window [NOW]
   └─ Source Bid
becomes
Filter Bid.price > 100
└─ Window [NOW]
   └─ Source Bid
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from continua.algebra.base import Plan
from continua.algebra.expr import FALSE, TRUE, Call, Case, Cast, Expr, InList, Literal, transform
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import exactly, keeps_type, with_expressions
from continua.types import BOOLEAN, DataType

_UNKNOWN = Literal(None, BOOLEAN)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    return with_expressions(plan, folded)  # (2), (3)


def folded(expr: Expr) -> Expr:
    """The expression with its constant parts computed, where it is sure what they are."""
    return transform(expr, _step)


def _step(expr: Expr) -> Expr:
    match expr:
        case Call(function="AND", arguments=parts):
            return _logic(expr, parts, "AND", absorbing=FALSE, neutral=TRUE)
        case Call(function="OR", arguments=parts):
            return _logic(expr, parts, "OR", absorbing=TRUE, neutral=FALSE)
        case Call(function="NOT", arguments=(Literal(value=bool() | None as value),)):
            return _truth(None if value is None else not value)
        case Call(function="IS NULL", arguments=(Literal(value=value),)):
            return _truth(value is None)
        case Call(function="IS TRUE", arguments=(Literal(value=bool() | None as value),)):
            return _truth(value is True)
        case Call(function="IS FALSE", arguments=(Literal(value=bool() | None as value),)):
            return _truth(value is False)
        case Call(function=name, arguments=(Literal() as a, Literal() as b)):
            return _call(expr, name, a, b)
        case Case():
            return _case(expr)
        case InList(operand=Literal() as operand, items=items):
            return _membership(expr, operand, items)
        case Cast(operand=Literal(value=value, type=source), type=target):
            return _cast(expr, value, source, target)
        case _:
            return expr


def _truth(value: bool | None) -> Literal:
    return _UNKNOWN if value is None else TRUE if value else FALSE


def _logic(expr: Expr, parts: tuple[Expr, ...], word: str, absorbing: Expr, neutral: Expr) -> Expr:
    """AND and OR in three-valued logic; NULL beside something else is left as it is."""
    if absorbing in parts:
        return absorbing
    kept = [part for part in parts if part != neutral]
    if not kept:
        return neutral
    if all(isinstance(part, Literal) and part.value is None for part in kept):
        return _UNKNOWN
    if len(kept) == len(parts) or kept[0].type != BOOLEAN:  # (1)
        return expr
    result = kept[0]
    for part in kept[1:]:
        result = Call(word, (result, part), BOOLEAN, result.nullable or part.nullable)
    return result


def _call(expr: Call, name: str, a: Literal, b: Literal) -> Expr:
    if name in _COMPARISONS:
        if a.value is None or b.value is None:
            return _UNKNOWN
        return _truth(_COMPARISONS[name](a.value, b.value)) if _comparable(a, b) else expr  # (1)
    if name == "<=>" and (None in (a.value, b.value) or _comparable(a, b)):  # (1)
        return _truth(a.value == b.value)
    if name in _ARITHMETIC and _is_integer(a) and _is_integer(b):  # (1)
        result = Literal(_ARITHMETIC[name](_int(a), _int(b)), expr.type)
        return result if keeps_type(a) and keeps_type(b) and keeps_type(result) else expr  # (1)
    return expr


def _is_integer(expr: Literal) -> bool:
    return expr.type.is_integer and isinstance(expr.value, int)


def _int(expr: Literal) -> int:
    assert isinstance(expr.value, int)
    return expr.value


def _comparable(a: Literal, b: Literal) -> bool:
    """Exact numbers, or values of one type; no floating-point numbers."""
    exact = all(isinstance(v, int | Decimal) and not isinstance(v, bool) for v in (a.value, b.value))
    return exact or (a.type == b.type and isinstance(a.value, bool | str | date))


def _case(expr: Case) -> Expr:
    """Branches that are never taken are left out, and all that follows one that always is."""
    branches: list[tuple[Expr, Expr]] = []
    otherwise = expr.otherwise
    for condition, result in expr.branches:
        if isinstance(condition, Literal) and condition.value in (False, None):
            continue
        if condition == TRUE:
            otherwise = result
            break
        branches.append((condition, result))
    if len(branches) == len(expr.branches):
        return expr
    if branches:
        return exactly(replace(expr, branches=tuple(branches), otherwise=otherwise))
    if otherwise is None:
        return Literal(None, expr.type)
    return exactly(otherwise) if otherwise.type == expr.type else Cast(otherwise, expr.type)


def _membership(expr: InList, operand: Literal, items: tuple[Expr, ...]) -> Expr:
    values = [item for item in items if isinstance(item, Literal)]
    known = all(None in (v.value, operand.value) or _comparable(operand, v) for v in values)
    if len(values) < len(items) or not known:  # (1)
        return expr
    if operand.value is None:
        return _UNKNOWN
    if any(v.value is not None and v.value == operand.value for v in values):
        return TRUE
    return _UNKNOWN if any(v.value is None for v in values) else FALSE


def _cast(expr: Cast, value: object, source: DataType, target: DataType) -> Expr:
    result: Literal | None = None
    if value is None:
        result = Literal(None, target)
    elif isinstance(value, bool):  # (1)
        return expr
    elif source == target or (target.is_integer and source.is_integer):
        result = Literal(value, target)
    elif target.is_integer and isinstance(value, str) and _INTEGER.fullmatch(value):
        result = Literal(int(value), target)
    elif target.name == "STRING" and source.is_integer:
        result = Literal(str(value), target)
    elif target.name == "DOUBLE" and isinstance(value, int) and abs(value) < 1 << 53:
        result = Literal(float(value), target)
    return result if result is not None and keeps_type(result) else expr  # (1)


RULE = Rule(
    "constant_folding",
    "PIPES 2009 lemma 6.7: constants",
    (
        "1. The value is sure: comparisons of exact numbers and of text, sums and products that stay in their type, "
        "three-valued logic, branches of CASE, casts that fit. No division, no floating-point numbers.",
        "2. Nothing in the expression asks for NOW.",
        "3. No argument of an aggregate becomes a constant, and no order is touched: rows are put in order by them.",
    ),
    _rewrite,
    conventional=True,
)

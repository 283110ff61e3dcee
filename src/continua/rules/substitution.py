"""Expressions in rules: which columns they use, columns replaced by what they stand for, conditions put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date

from continua.algebra.base import Plan
from continua.algebra.expr import (
    AggregateCall,
    Call,
    Case,
    Cast,
    Column,
    Expr,
    InList,
    Literal,
    columns_of,
    conjunction,
    rebuild,
    walk,
)
from continua.algebra.monotonicity import uses_now
from continua.algebra.relational import Aggregate, Filter, Group, Join, Project

_INT, _BIGINT = 1 << 31, 1 << 63
_ARITHMETIC = ("+", "-", "*", "%")
_RANKS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_OTHER_OPERATORS = ("/", "DIV", "SUBSCRIPT", "FIELD", "TRY_CAST")


def is_plain(expr: Expr) -> bool:
    """Whether it costs nothing: a column or a constant."""
    return isinstance(expr, Column | Literal)


def is_rejecting(expr: Expr) -> bool:
    """Whether it is FALSE or NULL: a condition that no row meets."""
    return isinstance(expr, Literal) and expr.value in (False, None)


def uses_of(expressions: Iterable[Expr]) -> Counter[str]:
    """How often each column is used."""
    parts = (part for expr in expressions for part in walk(expr))
    return Counter(part.name for part in parts if isinstance(part, Column))


def uses_only(expr: Expr, names: Iterable[str]) -> bool:
    """Whether an expression uses columns, and only the named ones."""
    used = columns_of(expr)
    return bool(used) and used <= frozenset(names)


def substituted(expr: Expr, outputs: Mapping[str, Expr]) -> Expr:
    """The expression with columns replaced by what they stand for, each as a value of exactly its type."""
    if isinstance(expr, Column):
        return exactly(outputs[expr.name]) if expr.name in outputs else expr
    return rebuild(expr, lambda part: substituted(part, outputs))


def exactly(expr: Expr) -> Expr:
    """The expression as a part of another one: with a cast to its type where it would have another type there."""
    if expr.type.name in ("UNKNOWN", "INTERVAL") or keeps_type(expr):
        return expr
    return Cast(expr, expr.type)


def keeps_type(expr: Expr) -> bool:
    """Whether an expression has its type wherever it stands. A small BIGINT constant has not: to SQL it is an INT."""
    match expr:
        case Column() | Cast() | InList():
            return True
        case Literal(value=value, type=kind):
            return _literal_keeps_type(value, kind.name)
        case Call(function=function, arguments=arguments) if function in _ARITHMETIC:
            types = [a.type.name for a in arguments]
            known = all(map(keeps_type, arguments))
            if all(t in _RANKS for t in types):
                return known and expr.type.name == max(types, key=_RANKS.index)
            return known and set(types) == {"DOUBLE"}
        case Case(branches=branches, otherwise=otherwise):
            results = [r for _, r in branches] + ([otherwise] if otherwise is not None else [])
            return all(r.type == expr.type and keeps_type(r) for r in results)
        case Call(function=function, type=kind):
            return kind.name in ("BOOLEAN", "STRING") or (kind.is_numeric and function not in _OTHER_OPERATORS)
        case _:
            return expr.type.name == "BOOLEAN"


def _literal_keeps_type(value: object, kind: str) -> bool:
    match value:
        case None:
            return kind not in ("NULL", "UNKNOWN")
        case bool():
            return True
        case int():
            return abs(value) < _INT if kind == "INT" else kind == "BIGINT" and _INT < abs(value) < _BIGINT
        case float():
            return kind == "DOUBLE"
        case str():
            return kind == "STRING"
        case date():
            return True
        case _:
            return False


def combined(parts: Iterable[Expr]) -> Expr | None:
    """Conditions joined by AND, each once; None for none."""
    return conjunction(list(dict.fromkeys(parts)))


def filtered(plan: Plan, parts: Iterable[Expr]) -> Plan:
    """The rows that meet all conditions; the plan itself if there are none."""
    condition = combined(parts)
    return plan if condition is None else Filter(plan, condition)


def divided(parts: Iterable[Expr], test: Callable[[Expr], bool]) -> tuple[list[Expr], list[Expr]]:
    """The parts that pass a test, and the others."""
    listed = [(part, test(part)) for part in parts]
    return [part for part, passes in listed if passes], [part for part, passes in listed if not passes]


def with_expressions(plan: Plan, change: Callable[[Expr], Expr]) -> Plan:
    """The operator with its expressions changed, except those that ask for NOW and those that give an order."""
    return with_all_expressions(plan, lambda expr: expr if uses_now(expr) else change(expr))


def with_all_expressions(plan: Plan, change: Callable[[Expr], Expr]) -> Plan:
    """The operator with its expressions changed, except those that give an order."""
    match plan:
        case Filter(predicate=predicate):
            return replace(plan, predicate=change(predicate))
        case Project(outputs=outputs):
            return replace(plan, outputs=tuple((n, change(e)) for n, e in outputs))
        case Join(predicate=predicate, null_aware=pairs):
            condition = None if predicate is None else change(predicate)
            return replace(plan, predicate=condition, null_aware=tuple((change(a), change(b)) for a, b in pairs))
        case Aggregate(keys=keys, aggregates=aggregates):
            calls = tuple((n, _with_arguments(call, change)) for n, call in aggregates)
            return replace(plan, keys=tuple((n, change(e)) for n, e in keys), aggregates=calls)
        case Group(function=function):
            return replace(plan, function=change(function))
        case _:
            return plan


def _with_arguments(call: AggregateCall, change: Callable[[Expr], Expr]) -> AggregateCall:
    """The call with its arguments changed. None becomes a constant: an argument may also give values their order."""
    changed = [(argument, change(argument)) for argument in call.arguments]
    arguments = tuple(old if isinstance(new, Literal) else new for old, new in changed)
    return replace(call, arguments=arguments, where=None if call.where is None else change(call.where))

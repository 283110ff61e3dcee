"""Expressions as text: infix, with no more parentheses than precedence asks for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

from continua.algebra.aggregate_facts import counts_rows
from continua.algebra.base import Plan
from continua.algebra.expr import (
    AggregateCall,
    Call,
    Case,
    Cast,
    Column,
    Exists,
    Expr,
    InList,
    InSubquery,
    Literal,
    Now,
    Quantified,
    ScalarSubquery,
    SortKey,
    walk,
)
from continua.instants import TimeDomain, show_length, timestamp_text
from continua.types import DataType, Value

_OR, _AND, _NOT, _PREDICATE, _SUM, _PRODUCT, _UNARY, _ATOM = range(8)

_INFIX = {
    **dict.fromkeys(("=", "<>", "!=", "<", "<=", ">", ">=", "<=>", "LIKE", "ILIKE", "RLIKE"), _PREDICATE),
    **dict.fromkeys(("+", "-", "||"), _SUM),
    **dict.fromkeys(("*", "/", "%", "DIV"), _PRODUCT),
}
_POSTFIX = ("IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE")
_PLAIN_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def expression_text(expr: Expr, subqueries: Sequence[Plan] | None = None) -> str:
    """The expression as one would write it; a subquery stands as its number among ``subqueries``."""
    known = distinct_subqueries((expr,)) if subqueries is None else subqueries
    return _Writer(known).text(expr)


def physical_text(expr: Expr) -> str:
    """An expression without subqueries whose columns are called by texts, which stand in it as they are."""
    return _Writer((), str).text(expr)


def aggregate_text(call: AggregateCall, subqueries: Sequence[Plan]) -> str:
    """``SUM(DISTINCT x) FILTER (WHERE p)``."""
    writer = _Writer(subqueries)
    texts = [writer.text(argument) for argument in call.arguments]
    if call.by_time:
        texts[-2:] = [f"{texts[-2]} BY {texts[-1]}"]
    arguments = ", ".join(texts) or ("*" if counts_rows(call) else "")
    text = f"{call.function}({'DISTINCT ' if call.distinct else ''}{arguments})"
    return text if call.where is None else f"{text} FILTER (WHERE {writer.text(call.where)})"


def sort_text(key: SortKey, subqueries: Sequence[Plan]) -> str:
    """``x DESC``, with the place of NULLs where it is not Spark's default."""
    text = _Writer(subqueries).text(key.expr) + (" DESC" if key.descending else "")
    if key.nulls_first is key.descending:
        text += " NULLS FIRST" if key.nulls_first else " NULLS LAST"
    return text


def distinct_subqueries(expressions: Sequence[Expr]) -> tuple[Plan, ...]:
    """The plans of the subqueries in expressions, in order, each once."""
    found: list[Plan] = []
    for expr in expressions:
        for part in walk(expr):
            if isinstance(part, Exists | InSubquery | Quantified | ScalarSubquery) and part.plan not in found:
                found.append(part.plan)
    return tuple(found)


def name_text(name: str) -> str:
    """A name, in backticks where it is not a plain one."""
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"


@dataclass(frozen=True)
class _Writer:
    subqueries: Sequence[Plan]
    name: Callable[[str], str] = name_text

    def text(self, expr: Expr, least: int = _OR) -> str:
        """The expression, in parentheses if it binds more loosely than ``least``."""
        text, precedence = self._written(expr)
        return text if precedence >= least else f"({text})"

    def _written(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Column(name=name):
                return self.name(name), _ATOM
            case Literal(value=value, type=kind):
                text = literal_text(value, kind)
                return text, _UNARY if text.startswith("-") else _ATOM
            case Call():
                return self._call(expr)
            case Cast(operand=operand, type=target):
                return f"CAST({self.text(operand)} AS {target})", _ATOM
            case Case(branches=branches, otherwise=otherwise):
                parts = [f"WHEN {self.text(c)} THEN {self.text(r)}" for c, r in branches]
                if otherwise is not None:
                    parts.append(f"ELSE {self.text(otherwise)}")
                return f"CASE {' '.join(parts)} END", _ATOM
            case Now():
                return "NOW", _ATOM
            case InList() | InSubquery():
                return self._membership(expr, "IN"), _PREDICATE
            case Exists(plan=plan):
                return f"EXISTS({self._number(plan)})", _ATOM
            case Quantified(comparison=comparison, quantifier=quantifier, operand=operand, plan=plan):
                left = self.text(operand, _SUM)
                return f"{left} {comparison} {quantifier.value}({self._number(plan)})", _PREDICATE
            case ScalarSubquery(plan=plan):
                return f"({self._number(plan)})", _ATOM

    def _call(self, call: Call) -> tuple[str, int]:
        match call.function, call.arguments:
            case ("AND" | "OR") as word, (_, _, *_) as parts:
                precedence = _AND if word == "AND" else _OR
                return f" {word} ".join(self.text(p, precedence) for p in parts), precedence
            case "NOT", (InList() | InSubquery() as membership,):
                return self._membership(membership, "NOT IN"), _PREDICATE
            case "NOT", (Call(function="LIKE" | "ILIKE" | "RLIKE" as word, arguments=(a, b)),):
                return f"{self.text(a, _SUM)} NOT {word} {self.text(b, _SUM)}", _PREDICATE
            case "NOT", (Call(function="IS NULL" | "IS TRUE" | "IS FALSE" as word, arguments=(a,)),):
                return f"{self.text(a, _SUM)} {word.replace('IS', 'IS NOT', 1)}", _PREDICATE
            case "NOT", (operand,):
                return f"NOT {self.text(operand, _NOT)}", _NOT
            case word, (operand,) if word in _POSTFIX:
                return f"{self.text(operand, _SUM)} {word}", _PREDICATE
            case ("-" | "+") as sign, (operand,):
                return f"{sign}{self.text(operand, _ATOM)}", _UNARY
            case operator, (a, b) if operator in _INFIX:
                precedence = _INFIX[operator]
                first = precedence + 1 if precedence == _PREDICATE else precedence
                return f"{self.text(a, first)} {operator} {self.text(b, precedence + 1)}", precedence
            case "BETWEEN", (a, low, high):
                return f"{self.text(a, _SUM)} BETWEEN {self.text(low, _SUM)} AND {self.text(high, _SUM)}", _PREDICATE
            case "SUBSCRIPT", (a, index):
                return f"{self.text(a, _ATOM)}[{self.text(index)}]", _ATOM
            case "FIELD", (a, Literal(value=str() as field)):
                return f"{self.text(a, _ATOM)}.{name_text(field)}", _ATOM
            case "TRY_CAST", (a, Literal(type=target)):
                return f"TRY_CAST({self.text(a)} AS {target})", _ATOM
            case function, arguments:
                return f"{function}({', '.join(map(self.text, arguments))})", _ATOM

    def _membership(self, expr: InList | InSubquery, word: str) -> str:
        if isinstance(expr, InList):
            items = ", ".join(map(self.text, expr.items))
            return f"{self.text(expr.operand, _SUM)} {word} ({items})"
        operands = [self.text(o) for o in expr.operands]
        left = f"({', '.join(operands)})" if len(operands) > 1 else self.text(expr.operands[0], _SUM)
        return f"{left} {word} ({self._number(expr.plan)})"

    def _number(self, plan: Plan) -> str:
        return f"subquery {list(self.subqueries).index(plan) + 1}"


def literal_text(value: Value, kind: DataType) -> str:
    """A constant as SQL writes it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return quoted(value)
        case float() if not math.isfinite(value):
            return f"DOUBLE({quoted(str(value))})"
        case Decimal():
            return f"{value:f}"
        case int() | float():
            return str(value)
        case bytes():
            return f"X'{value.hex().upper()}'"
        case datetime():
            return f"TIMESTAMP '{timestamp_text(value)}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case timedelta():
            return f"INTERVAL {show_length(value // timedelta(microseconds=1), TimeDomain.MICROSECONDS)}"
        case tuple():
            return _nested_text(value, kind)
        case _:
            return repr(value)


def quoted(text: str) -> str:
    """A string literal; a quote inside is doubled."""
    return "'" + text.replace("'", "''") + "'"


def _nested_text(value: tuple[Value, ...], kind: DataType) -> str:
    match kind.name:
        case "MAP" if kind.key and kind.element:
            types = (kind.key, kind.element)
            pairs = (pair for pair in value if isinstance(pair, tuple))
            return f"MAP({', '.join(literal_text(v, t) for pair in pairs for v, t in zip(pair, types, strict=True))})"
        case "STRUCT":
            types_of = dict(kind.fields)
            pairs = (pair for pair in value if isinstance(pair, tuple))
            fields = (f"{quoted(n)}, {literal_text(v, types_of[n])}" for n, v in pairs)
            return f"NAMED_STRUCT({', '.join(fields)})"
        case _:
            return f"ARRAY({', '.join(literal_text(v, kind.element or kind) for v in value)})"

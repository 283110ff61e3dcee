"""Expressions as SQL: Spark's text, and sqlglot's own translation of it into DuckDB's."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache

import sqlglot
from sqlglot import exp

from continua.algebra.expr import Call, Case, Cast, Column, Expr, InList, Literal, Now, walk
from continua.errors import EvaluationError
from continua.functions.scalars import SCALARS, limited
from continua.limits import MOST_NESTED, MOST_SQL, too_complex
from continua.recursion import room_to_recurse
from continua.types import INTERVAL, STRING, DataType

UNIT = "`#unit`"
"""The column of a table that has no columns."""

_INFIX = {"+", "-", "*", "/", "=", "<>", "<", "<=", ">", ">=", "<=>", "LIKE", "ILIKE", "RLIKE"}
_TRY_CAST = "CONTINUA_TRY_CAST"
_TRUNCATED = "CONTINUA_TRUNC"
_FRACTIONAL = ("DECIMAL", "FLOAT", "DOUBLE")


class ExpressionWriter:
    """Writes scalar expressions without subqueries."""

    def expr(self, expr: Expr) -> str:
        """A scalar expression."""
        text = self._text(expr)
        if len(text) > MOST_SQL:
            raise EvaluationError(too_complex("characters of SQL for an expression", MOST_SQL, None))
        return text

    def _text(self, expr: Expr) -> str:
        match expr:
            case Column(name=name):
                return quoted(name)
            case Literal():
                return literal(expr)
            case Now():
                return "GETVARIABLE('now')"
            case Cast(operand=operand, type=target) if target.is_integer and operand.type.name in _FRACTIONAL:
                # Spark cuts fractions off, DuckDB rounds
                return f"CAST({_TRUNCATED}({self.expr(operand)}) AS {type_text(target)})"
            case Cast(operand=operand, type=target) if target.is_integer and operand.type == STRING:
                value = self.expr(operand)
                fails = f"ERROR(CONCAT({value}, ' is not an integer'))"
                return (
                    f"CASE WHEN {_digits(value)} OR {value} IS NULL "
                    f"THEN CAST({value} AS {type_text(target)}) ELSE {fails} END"
                )
            case Cast(operand=operand, type=target):
                return f"CAST({self.expr(operand)} AS {type_text(target)})"
            case Case(branches=branches, otherwise=otherwise):
                parts = [f"WHEN {self.expr(c)} THEN {self.expr(r)}" for c, r in branches]
                default = "" if otherwise is None else f" ELSE {self.expr(otherwise)}"
                return f"CASE {' '.join(parts)}{default} END"
            case InList(operand=operand, items=items):
                return f"({self.expr(operand)} IN ({', '.join(map(self.expr, items))}))"
            case Call():
                return self._call(expr)
            case _:
                return self.subquery(expr)

    def subquery(self, expr: Expr) -> str:
        """A subquery in an expression: only who can write plans can write it."""
        raise TypeError(f"{type(expr).__name__} stands in an expression")

    def _call(self, call: Call) -> str:
        parts = _operands(call) if call.function in ("AND", "OR") else call.arguments
        arguments = [self.expr(a) for a in parts]
        match call.function:
            case "AND" | "OR" as word:
                return f"({f' {word} '.join(arguments)})"
            case "NOT":
                return f"(NOT {arguments[0]})"
            case "-" if len(arguments) == 1:
                return f"(- {arguments[0]})"
            case "IS NULL" | "IS TRUE" | "IS FALSE" as test:
                return f"({arguments[0]} {test})"
            case "/" if call.type.name == "DECIMAL":
                return f"CAST({arguments[0]} / {arguments[1]} AS {type_text(call.type)})"
            case "LIKE" | "ILIKE" as like:
                return f"({arguments[0]} {like} {arguments[1]} ESCAPE '\\\\')"
            case infix if infix in _INFIX:
                return f"({arguments[0]} {infix} {arguments[1]})"
            case "TRY_CAST" if call.type.is_integer and call.arguments[0].type == STRING:
                cast = f"{_TRY_CAST}({arguments[0]}, CAST(NULL AS {type_text(call.type)}))"
                return f"CASE WHEN {_digits(arguments[0])} THEN {cast} END"
            case "TRY_CAST":
                return f"{_TRY_CAST}({arguments[0]}, CAST(NULL AS {type_text(call.type)}))"
            case "DIV" if not all(a.type.is_integer for a in call.arguments):
                quotient = f"({arguments[0]} / NULLIF({arguments[1]}, 0))"
                whole = f"CASE WHEN {quotient} < 0 THEN CEIL({quotient}) ELSE FLOOR({quotient}) END"
                return f"CAST({whole} AS BIGINT)"
            case "%" if call.type == INTERVAL:
                # what remains behind the last multiple since 1970
                instant, length = (f"EPOCH_US({argument})" for argument in arguments)
                divisor = f"NULLIF({length}, 0)"
                return f"TO_MICROSECONDS(({instant} % {divisor} + {length}) % {divisor})"
            case "DIV" | "%" as division:
                # by zero it is NULL, as / is
                return f"({arguments[0]} {division} NULLIF({arguments[1]}, 0))"
            case "SUBSCRIPT" if call.arguments[0].type.name == "ARRAY":
                # Spark counts from 0, DuckDB from 1 and, below that, from the end
                return f"CASE WHEN {arguments[1]} >= 0 THEN LIST_EXTRACT({arguments[0]}, {arguments[1]} + 1) END"
            case "SUBSCRIPT":
                return f"{arguments[0]}[{arguments[1]}]"
            case "FIELD":
                field = call.arguments[1]
                assert isinstance(field, Literal)
                return f"STRUCT_EXTRACT({arguments[0]}, '{field.value}')"
            case name if (declared := SCALARS.get(name)) is not None and declared.sql is not None:
                return declared.sql(arguments)
            case name:
                text = f"{name}({', '.join(arguments)})"
                return f"CAST({text} AS {type_text(call.type)})" if call.type.is_numeric else text


def _operands(call: Call) -> list[Expr]:
    """All that one AND, or OR, joins: parentheses a thousand deep are more than a parser takes."""
    found: list[Expr] = []
    ahead: list[Expr] = [call]
    while ahead:
        part = ahead.pop()
        if isinstance(part, Call) and part.function == call.function:
            ahead.extend(reversed(part.arguments))
        else:
            found.append(part)
    return found


@lru_cache(maxsize=1024)
def in_duckdb(text: str) -> str:
    """A query in Spark's SQL as DuckDB understands it."""
    try:
        with room_to_recurse():
            return _in_duckdb(text)
    except RecursionError:
        raise EvaluationError(too_complex("levels of nesting", MOST_NESTED, None)) from None


def _in_duckdb(text: str) -> str:
    tree = sqlglot.parse_one(text, read="spark")
    # A CAST that does not fit is an error, as in Spark 4; sqlglot reads Spark's as one that gives NULL.
    for node in list(tree.find_all(exp.TryCast)):
        if type(node) is exp.TryCast:
            node.replace(exp.Cast(this=node.this, to=node.args["to"]))
    for call in list(tree.find_all(exp.Anonymous)):
        if str(call.name).upper() == _TRUNCATED:
            call.set("this", "TRUNC")
        elif str(call.name).upper() == _TRY_CAST:
            value, model = call.expressions
            call.replace(exp.TryCast(this=value, to=model.args["to"]))
    return tree.sql("duckdb", copy=False)


def quoted(name: str) -> str:
    """A name as Spark's SQL takes it."""
    return "`" + name.replace("`", "``") + "`"


def _digits(value: str) -> str:
    """Whether text is an integer to Spark; DuckDB would also take 2.7 and round it."""
    return f"REGEXP_FULL_MATCH(TRIM({value}), '[+-]?[0-9]+')"


def typed(expr: Expr, text: str) -> str:
    """The expression as a value of exactly its type, so that DuckDB's own result types do not show."""
    if isinstance(expr, Column) or expr.type.name in ("UNKNOWN", "INTERVAL"):
        return text
    if expr.type == STRING and any(isinstance(part, Call) and _lengthens(part.function) for part in walk(expr)):
        text = limited(text, f"STRLEN({text})")
    return f"CAST({text} AS {type_text(expr.type)})" if expr.type.name != "NULL" else "CAST(NULL AS INT)"


def _lengthens(function: str) -> bool:
    """Whether a function makes texts longer and leaves it to others to limit them."""
    return function in SCALARS and SCALARS[function].lengthens


def type_text(data_type: DataType) -> str:
    """A type in Spark's SQL; timestamps are without zone, since all of them are UTC."""
    match data_type.name:
        case "TIMESTAMP":
            return "TIMESTAMP_NTZ"
        case "NULL" | "UNKNOWN":
            return "INT"
        case "ARRAY" if data_type.element:
            return f"ARRAY<{type_text(data_type.element)}>"
        case "MAP" if data_type.key and data_type.element:
            return f"MAP<{type_text(data_type.key)}, {type_text(data_type.element)}>"
        case "STRUCT":
            return "STRUCT<" + ", ".join(f"{n}: {type_text(t)}" for n, t in data_type.fields) + ">"
        case _:
            return str(data_type)


def literal(expr: Literal) -> str:
    """A constant."""
    match expr.value:
        case None:
            return f"CAST(NULL AS {type_text(expr.type)})" if expr.type.name not in ("NULL", "UNKNOWN") else "NULL"
        case bool():
            return "TRUE" if expr.value else "FALSE"
        case int() | Decimal():
            text = str(expr.value)
            return f"({text})" if text.startswith("-") else text
        case float():
            return f"CAST('{expr.value!r}' AS DOUBLE)"
        case str():
            escaped = expr.value.replace("\\", "\\\\").replace("'", "\\'")
            return f"'{escaped}'"
        case datetime():
            return f"CAST('{expr.value.isoformat(sep=' ')}' AS TIMESTAMP_NTZ)"
        case date():
            return f"CAST('{expr.value.isoformat()}' AS DATE)"
        case timedelta():
            return f"INTERVAL '{expr.value // timedelta(microseconds=1)}' MICROSECOND"
        case _:
            raise TypeError(f"a constant of type {expr.type}")

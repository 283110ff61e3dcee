"""Queries over one table that Spark and the engine's own expressions certainly answer alike."""

from __future__ import annotations

from itertools import pairwise

import sqlglot
from sqlglot import exp

_PARTS: tuple[type[exp.Expr], ...] = (
    exp.Select, exp.From, exp.Where, exp.Subquery, exp.TableAlias, exp.Table, exp.Alias, exp.Column, exp.Identifier,
    exp.Paren, exp.Literal, exp.Null, exp.Boolean, exp.DataType, exp.DataTypeParam, exp.Cast, exp.TryCast,
    exp.And, exp.Or, exp.Not, exp.Is, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.In,
    exp.Like, exp.Escape, exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Mod, exp.Div, exp.Case, exp.If, exp.Coalesce,
    exp.Nullif, exp.Greatest, exp.Least, exp.Abs,
)  # fmt: skip
"""What an expression may be made of."""

_LARGEST_PRECISION = 38
"""Beyond it Spark cuts fractions of decimals."""


def is_plain(sql: str) -> bool:
    """Whether a query is made of comparisons, logic, arithmetic and CASE only."""
    return all(map(_is_known, sqlglot.parse_one(sql, read="spark").walk()))


def _is_known(part: exp.Expr) -> bool:
    match part:
        case exp.Div(expression=exp.Literal(is_string=False, this=divisor)):
            return str(divisor).isdigit() and int(str(divisor)) > 0 and not _has_fraction(part)
        case exp.Div():
            return False
        case exp.Cast(to=exp.DataType(this=exp.DataType.Type.DECIMAL, expressions=[precision, *_])):
            return int(precision.name) < _LARGEST_PRECISION
        case _:
            return type(part) in _PARTS


def _has_fraction(part: exp.Expr) -> bool:
    """Whether decimals take part: Spark and DuckDB divide them in different ways."""
    return any(not n.is_string and "." in str(n.this) for n in part.find_all(exp.Literal)) or any(
        n.this == exp.DataType.Type.DECIMAL for n in part.find_all(exp.DataType)
    )


def over(sql: str, table: str) -> str:
    """A query over ``input`` as one over another table."""
    for before, token in pairwise(sqlglot.tokenize(sql, read="spark")):
        if before.text.upper() == "FROM" and token.text == "input":
            return f"{sql[: token.start]}{table}{sql[token.end + 1 :]}"
    raise AssertionError("no input")

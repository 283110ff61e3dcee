"""Queries that hold no state, as Spark's own SQL: such a query needs no exchange and no Python.

Only what Spark and the engine's expressions certainly agree on is taken: comparisons, logic, arithmetic and CASE over
plain types. All else runs at level 0 like everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from continua.instants import INFINITY
from continua.physical.nodes import END, START, WEIGHT, Evaluate, Node, Sink, Source, Union, Validity
from continua.windows.spec import TimeWindow

_SAME_TIMES = f"`{START}` AS `{START}`, `{END}` AS `{END}`, `{WEIGHT}`"
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


@dataclass(frozen=True, slots=True)
class Native:
    """A query in Spark's SQL over the physical columns of its sources."""

    text: Callable[[Callable[[str], str]], str]
    """Its text, given what each source is called."""
    sources: tuple[Source, ...]
    momentary: bool
    """Whether every row lasts for one instant, as its source's do."""


def native_query(sink: Sink) -> Native | None:
    """A query in Spark's SQL, if it is of the kind that can be."""
    below = sink.inputs[0]
    nodes = list(_nodes(below))
    if not all(map(_is_plain, nodes)):
        return None
    momentary = all(
        _SAME_TIMES in n.sql and n.sql.count(f" AS `{START}`") == n.sql.count(_SAME_TIMES)
        for n in nodes
        if isinstance(n, Evaluate)
    ) and not any(isinstance(n, Validity) for n in nodes)
    sources = {n.name: n for n in nodes if isinstance(n, Source)}
    return Native(lambda called: _text(below, called), tuple(sources.values()), momentary)


def spark_type(of: pa.DataType) -> str | None:
    """A plain type as Spark calls it; None for one that is left to the engine's own expressions."""
    names = {
        pa.int8(): "TINYINT",
        pa.int16(): "SMALLINT",
        pa.int32(): "INT",
        pa.int64(): "BIGINT",
        pa.float64(): "DOUBLE",
        pa.bool_(): "BOOLEAN",
        pa.string(): "STRING",
        pa.date32(): "DATE",
        pa.timestamp("us"): "TIMESTAMP_NTZ",
    }
    return names.get(of)


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for below in node.inputs:
        yield from _nodes(below)


def _is_plain(node: Node) -> bool:
    match node:
        case Source():
            return not node.name.startswith("#") and all(spark_type(t) is not None for t in node.schema.types)
        case Union():
            return True
        case Validity(spec=TimeWindow(slide=None)):
            return True
        case Evaluate(sql=sql):
            return all(map(_is_known, sqlglot.parse_one(sql, read="spark").walk()))
        case _:
            return False


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


def _text(node: Node, called: Callable[[str], str]) -> str:
    match node:
        case Source(name=name):
            return f"SELECT * FROM {called(name)}"
        case Union(inputs=inputs):
            return " UNION ALL ".join(f"({_text(n, called)})" for n in inputs)
        case Validity(spec=TimeWindow(size=size, lag=lag)):
            start = f"`{START}` + {lag}"
            end = str(INFINITY) if size >= INFINITY else f"{start} + {size}"
            columns = [f"`{name}`" for name in node.schema.names]
            times = f"{start} AS `{START}`, CAST({end} AS BIGINT) AS `{END}`, `{WEIGHT}`"
            return f"SELECT {', '.join([*columns, times])} FROM ({_text(node.inputs[0], called)})"
        case Evaluate(sql=sql):
            return _over(sql, f"({_text(node.inputs[0], called)})")
        case _:
            raise TypeError(type(node).__name__)


def _over(sql: str, table: str) -> str:
    """A query over ``input`` as one over another table."""
    for before, token in pairwise(sqlglot.tokenize(sql, read="spark")):
        if before.token_type is TokenType.FROM and token.token_type is TokenType.VAR and token.text == "input":
            return f"{sql[: token.start]}{table}{sql[token.end + 1 :]}"
    raise AssertionError("no input")

"""Steps as SQL: the one place where the trees of physical operators become text, when they are about to run."""

from __future__ import annotations

from collections.abc import Sequence

from continua.algebra.expr import Expr
from continua.physical.steps import END, START, WEIGHT, Step
from continua.recursion import room_to_recurse
from continua.sqltext.expression_sql import ExpressionWriter, in_duckdb, quoted, typed

_WRITER = ExpressionWriter()


def duckdb_sql(steps: Sequence[Step]) -> str:
    """Steps as a query over the table ``input``, in DuckDB's SQL; each is a query over the one before it."""
    with room_to_recurse():
        text = "input"
        for number, step in enumerate(steps):
            text = _select(step, text if number == 0 else f"({text}) AS r")
        return in_duckdb(text)


def condition_sql(conditions: Sequence[Expr]) -> str:
    """Conditions that are asked together, in DuckDB's SQL."""
    with room_to_recurse():
        return in_duckdb(" AND ".join(f"({_WRITER.expr(condition)})" for condition in conditions))


def picking_sql(places: Sequence[int], condition: str) -> str:
    """A query over the table ``input`` for some columns of the rows that meet a condition, which is DuckDB's SQL."""
    items = [f'"c{place}" AS "c{number}"' for number, place in enumerate(places)]
    items += [f'"{name}"' for name in (START, END, WEIGHT)]
    return f"SELECT {', '.join(items)} FROM input WHERE {condition}"


def latest_sql(value: Expr) -> str:
    """The largest value of an expression over the table ``input``, if that has rows, at the latest of their starts."""
    start = f"MAX({quoted(START)})"
    items = [f"CAST(MAX({_WRITER.expr(value)}) AS BIGINT) AS {quoted('c0')}", f"{start} AS {quoted(START)}"]
    items += [f"{start} + 1 AS {quoted(END)}", f"CAST(1 AS BIGINT) AS {quoted(WEIGHT)}"]
    with room_to_recurse():
        return in_duckdb(f"SELECT {', '.join(items)} FROM input HAVING COUNT(*) > 0")


def _select(step: Step, source: str) -> str:
    outputs = [(f"c{place}", expr) for place, expr in enumerate(step.columns)]
    outputs += [(START, step.start), (END, step.end)]
    items = [f"{typed(expr, _WRITER.expr(expr))} AS {quoted(name)}" for name, expr in outputs]
    where = f" WHERE {' AND '.join(map(_WRITER.expr, step.where))}" if step.where else ""
    return f"SELECT {', '.join(items)}, {quoted(WEIGHT)} FROM {source}{where}"

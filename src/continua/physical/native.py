"""Queries that hold no state, as Spark's own SQL: such a query needs no exchange and no Python.

Only what Spark and the engine's expressions certainly agree on is taken: comparisons, logic, arithmetic and CASE over
plain types. All else runs at level 0 like everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from continua.instants import INFINITY
from continua.physical.nodes import END, START, WEIGHT, Evaluate, Node, Sink, Source, Union, Validity
from continua.physical.sql import spark_sql
from continua.sqltext.plain import is_plain
from continua.windows.spec import TimeWindow


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
    momentary = all(n.keeps_times for n in nodes if isinstance(n, Evaluate))
    momentary = momentary and not any(isinstance(n, Validity) for n in nodes)
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
        case Evaluate(steps=steps):
            return all(is_plain(expr) for step in steps for expr in step.expressions)
        case _:
            return False


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
        case Evaluate(steps=steps):
            return spark_sql(steps, f"({_text(node.inputs[0], called)})")
        case _:
            raise TypeError(type(node).__name__)

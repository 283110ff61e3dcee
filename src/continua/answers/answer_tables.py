"""Answers and contents of queries as Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from continua.algebra.base import Kind
from continua.algebra.instant_rows import is_written_as_intervals
from continua.answers.from_results import answers_from
from continua.answers.plain_answers import free_name, instant_column, plain_answers
from continua.answers.query import Query
from continua.sqltext.duckdb_types import arrow_type, to_arrow
from continua.windows.occurrences import Row


def written_as(query: Query) -> Kind:
    """As what answers are written: elements that last are told by where they begin and end, as changes are."""
    lasts = query.kind is Kind.STREAM and is_written_as_intervals(query.bound.plan, query.chronon)
    return Kind.RELATION if lasts else query.kind


def content_table(query: Query, rows: Sequence[Row]) -> pa.Table:
    """The content of a query's relation as a table."""
    return pa.table(
        {
            name: pa.array([to_arrow(row[i], of) for row in rows], arrow_type(of))
            for i, (name, of) in enumerate(query.types.items())
        }
    )


def empty_answers(query: Query) -> pa.Table:
    """The answers of a query that has none yet."""
    columns = {"t": instant_column(np.array([], np.int64), query.domain)}
    if written_as(query) is not Kind.STREAM:
        columns["op"] = pa.array([], pa.string())
    for name, of in query.types.items():
        columns[free_name(name, columns)] = pa.array([], arrow_type(of))
    return pa.table(columns)


def answers_table(query: Query, results: pa.Table) -> pa.Table:
    """An epoch's answers as a table, in the order of time; the result rows are elements or net changes."""
    if query.kind is Kind.TAGGED:
        return _tagged_table(query, results)
    return plain_answers(results, written_as(query), query.domain, query.columns)


def _tagged_table(query: Query, results: pa.Table) -> pa.Table:
    found = answers_from(query, results)
    columns = {
        "t": instant_column(np.array([a.instant for a in found], np.int64), query.domain),
        "op": pa.array([a.op for a in found], pa.string()),
    }
    rows = [dict(zip(a.columns, a.row, strict=True)) for a in found]
    for name, of in query.types.items():
        columns[free_name(name, columns)] = pa.array([to_arrow(row.get(name), of) for row in rows], arrow_type(of))
    return pa.table(columns)

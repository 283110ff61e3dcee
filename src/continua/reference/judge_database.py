"""DuckDB as the judge of plain SQL: typed tables in, bags of rows out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache

import duckdb
import pyarrow as pa

from continua.algebra.schema import Schema
from continua.catalog import AggregateInfo, FunctionInfo
from continua.errors import Diagnostic, EvaluationError
from continua.sqltext.connections import connection
from continua.sqltext.duckdb_types import arrow_type, from_duckdb, to_arrow
from continua.sqltext.expression_sql import UNIT
from continua.types import Value
from continua.windows.occurrences import Row


@cache
def _shared() -> duckdb.DuckDBPyConnection:
    return connection()


class Database:
    """A connection of its own: to one instance that all share, or to a fresh one where functions are registered."""

    def __init__(self, functions: Iterable[FunctionInfo | AggregateInfo] = ()) -> None:
        functions = list(functions)
        self._connection = connection(functions) if functions else _shared().cursor()

    def load(self, table: str, schema: Schema, rows: Iterable[Row]) -> None:
        """Makes ``rows`` the content of a table."""
        data = list(rows)
        if not len(schema):
            names, columns = [UNIT.strip("`")], [pa.array([1] * len(data), pa.int32())]
        else:
            names = list(schema.names)
            columns = [
                pa.array([to_arrow(row[i], f.type) for row in data], arrow_type(f.type)) for i, f in enumerate(schema)
            ]
        self._connection.register(table, pa.Table.from_arrays(columns, names=names))

    def set_now(self, value: Value) -> None:
        """Makes ``value`` the instant that queries see as NOW."""
        self._connection.execute("SET VARIABLE now = ?", [value])

    def rows(self, sql: str, schema: Schema) -> Counter[Row]:
        """The answer of a query, as a bag."""
        try:
            fetched = self._connection.execute(sql).fetchall()
        except duckdb.Error as error:
            raise evaluation_error(str(error)) from None
        types = schema.types
        if not types:
            return Counter({(): len(fetched)}) if fetched else Counter()
        return Counter(tuple(from_duckdb(v, t) for v, t in zip(row, types, strict=True)) for row in fetched)


def evaluation_error(message: str) -> EvaluationError:
    """A query that failed on its data."""
    first = message.strip().splitlines()[0] if message.strip() else "unknown"
    return EvaluationError(Diagnostic("EVALUATION_FAILED", f"the query fails on its data: {first}"))

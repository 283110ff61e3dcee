"""Expressions over Arrow tables: DuckDB evaluates filters and projections, a table at a time."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import duckdb
import pyarrow as pa

from continua.catalog import AggregateInfo, FunctionInfo
from continua.errors import Diagnostic, EvaluationError
from continua.sqltext.database import connection


def evaluator_with(functions: Iterable[FunctionInfo | AggregateInfo]) -> Evaluator:
    """An evaluator that knows functions; those that need none share one."""
    known = tuple(functions)
    return Evaluator(known) if known else _plain()


@cache
def _plain() -> Evaluator:
    return Evaluator()


class Evaluator:
    """Runs queries over one table, ``input``."""

    def __init__(self, functions: Iterable[FunctionInfo | AggregateInfo] = ()) -> None:
        self._database = connection(functions)

    def run(self, sql: str, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """The rows of a query, with columns of exactly the types of a schema."""
        self._database.register("input", table)
        try:
            found = self._database.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            first = str(error).strip().splitlines()[0]
            message = f"the query fails on its data: {first}"
            raise EvaluationError(Diagnostic("EVALUATION_FAILED", message)) from None
        finally:
            self._database.unregister("input")
        return found if found.schema.equals(schema) else found.cast(schema)

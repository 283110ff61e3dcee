"""Expressions over Arrow tables: DuckDB evaluates filters and projections, a table at a time."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import duckdb
import pyarrow as pa

from continua.catalog import AggregateInfo, FunctionInfo
from continua.errors import Diagnostic, EvaluationError
from continua.physical.nodes import END, START, WEIGHT
from continua.sqltext.connections import connection


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
        self._input: pa.Table | None = None
        """What ``input`` is: many queries ask the same table one after the other."""

    def run(self, sql: str, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """The rows of a query, with columns of exactly the types of a schema."""
        try:
            found = self._rows(sql, table)
        except duckdb.Error as error:
            raise self._first_failure(sql, table, error) from None
        return found if found.schema.equals(schema) else found.cast(schema)

    def _rows(self, sql: str, table: pa.Table) -> pa.Table:
        if table is not self._input:
            self._database.register("input", table)
            self._input = table
        return self._database.sql(sql).to_arrow_table()

    def forget(self) -> None:
        """Lets go of the table that was asked last."""
        if self._input is not None:
            self._database.unregister("input")
            self._input = None

    def _first_failure(self, sql: str, table: pa.Table, error: duckdb.Error) -> EvaluationError:
        """Why a query fails on the first row, in the order of time, that it fails on; and when."""
        known: dict[str, object] = {}
        if START in table.column_names and table.num_rows:
            ordered = table.sort_by(START)
            fine, failing = 0, ordered.num_rows
            while failing - fine > 1:
                middle = (fine + failing) // 2
                try:
                    self._rows(sql, ordered.slice(0, middle))
                    fine = middle
                except duckdb.Error as earlier:
                    failing, error = middle, earlier
            first = ordered.slice(failing - 1, 1)
            known["instant"] = first.column(START)[0].as_py()
            known["row"] = [
                first.column(name)[0].as_py() for name in first.column_names if name not in (START, END, WEIGHT)
            ]
        message = f"the query fails on its data: {str(error).strip().splitlines()[0]}"
        return EvaluationError(Diagnostic("EVALUATION_FAILED", message, parameters=known))

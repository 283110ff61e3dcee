"""Expressions over Arrow tables: DuckDB evaluates filters and projections, a table at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import cache

import duckdb
import pyarrow as pa

from continua.catalog import AggregateInfo, FunctionInfo
from continua.errors import Diagnostic, EvaluationError
from continua.physical.nodes import END, START, WEIGHT
from continua.sqltext.connections import connection
from continua.stages import stage


def evaluator_with(functions: Iterable[FunctionInfo | AggregateInfo]) -> Evaluator:
    """An evaluator that knows functions; those that need none share one."""
    known = tuple(functions)
    return Evaluator(known) if known else _plain()


@cache
def _plain() -> Evaluator:
    return Evaluator()


class _Database:
    """A connection, and what ``input`` is in it: many queries ask the same table one after the other."""

    def __init__(self, opened: duckdb.DuckDBPyConnection) -> None:
        self._connection = opened
        self._input: pa.Table | None = None

    def rows(self, sql: str, table: pa.Table) -> pa.Table:
        """What a query gives for a table."""
        if table is not self._input:
            self._connection.register("input", table)
            self._input = table
        return self._connection.sql(sql).to_arrow_table()

    def forget(self) -> None:
        """Lets go of the table."""
        if self._input is not None:
            self._connection.unregister("input")
            self._input = None


class Evaluator:
    """Runs queries over one table, ``input``; each thread has a database of its own for that."""

    def __init__(self, functions: Iterable[FunctionInfo | AggregateInfo] = ()) -> None:
        self._functions = tuple(functions)
        self._databases: dict[int, _Database] = {}
        """By thread. What is local to a thread goes where its process is forked, and a database must not go there: the
        threads that it works with are not in that process."""

    @property
    def _asked(self) -> _Database:
        mine = threading.current_thread().ident or 0
        if mine not in self._databases:
            for gone in self._databases.keys() - {thread.ident for thread in threading.enumerate()}:
                self._databases.pop(gone, None)
            self._databases[mine] = _Database(connection(self._functions))
        return self._databases[mine]

    @stage("evaluate")
    def run(self, sql: str, table: pa.Table, schema: pa.Schema) -> pa.Table:
        """The rows of a query, with columns of exactly the types of a schema."""
        try:
            found = self._rows(sql, table)
        except duckdb.Error as error:
            raise self._first_failure(sql, table, error) from None
        return found if found.schema.equals(schema) else found.cast(schema)

    def _rows(self, sql: str, table: pa.Table) -> pa.Table:
        return self._asked.rows(sql, table)

    def forget(self) -> None:
        """Lets go of the table that was asked last."""
        self._asked.forget()

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

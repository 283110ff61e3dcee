"""Rows of tables and queries of PostgreSQL as they are now, and texts of rows as columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from continua.kernels.jit import Int64s
from continua.sources.postgres.database import identifier
from continua.sources.postgres.declared import DeclaredTable
from continua.sources.postgres.shape import check_types, types_of_query
from continua.sources.postgres.texts import column_of_texts
from continua.sources.source_spec import Malformed
from continua.sources.splits import Piece
from continua.sqltext.duckdb_types import arrow_type

_AT_ONCE = 1 << 14

Row = Sequence[str | None]


def columns_of(table: DeclaredTable, rows: Sequence[Row]) -> tuple[pa.Table, Int64s, list[Malformed]]:
    """Texts of rows as columns, the numbers of those that are rows, and what the others are."""
    wrong: dict[int, Malformed] = {}
    columns: list[pa.Array] = []
    for number, field in enumerate(table.columns):

        def note(row: int, reason: str, number: int = number) -> None:
            of = table.columns[number]
            text = json.dumps(list(rows[row]), ensure_ascii=False)
            wrong.setdefault(
                row, Malformed(table.shown, row, reason, text, rows[row][number], str(of.type), column=of.name)
            )

        columns.append(column_of_texts([row[number] for row in rows], field.type, note))
    found = pa.table(columns, schema=pa.schema([(f"c{n}", arrow_type(f.type)) for n, f in enumerate(table.columns)]))
    kept = np.setdiff1d(np.arange(len(rows)), np.fromiter(wrong, np.int64, len(wrong)))
    return found if not wrong else found.take(pa.array(kept)), kept, [wrong[row] for row in sorted(wrong)]


def rows_now(connection: Any, table: DeclaredTable, names: Sequence[str]) -> tuple[pa.Table, Int64s, list[Malformed]]:
    """All rows of a table or query as a transaction sees them, some at a time."""
    parts: list[pa.Table] = []
    places: list[Int64s] = []
    wrong: list[Malformed] = []
    waiting: list[Row] = []
    done = 0

    def convert() -> None:
        nonlocal done
        columns, kept, malformed = columns_of(table, waiting)
        parts.append(columns)
        places.append(kept + done)
        wrong.extend(replace(m, line=m.line + done) for m in malformed)
        done += len(waiting)
        waiting.clear()

    listed = ", ".join(map(identifier, names))
    with connection.cursor().copy(f"COPY (SELECT {listed} FROM {table.from_}) TO STDOUT".encode()) as rows:
        for row in rows.rows():
            waiting.append(row)
            if len(waiting) >= _AT_ONCE:
                convert()
    convert()
    return pa.concat_tables(parts), np.concatenate(places), wrong


def read_now(table: DeclaredTable) -> Piece:
    """All that a table or a query gives now."""

    def read(connection: Any) -> Piece:
        names = check_types(table, types_of_query(connection, table))
        columns, kept, wrong = rows_now(connection, table, names)
        return Piece(columns, kept, tuple(wrong), offsets=kept)

    return table.database.patiently(f"{table.source} cannot be read", read)

"""Rows of values written to files of every format that is read in splits."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from continua.algebra.schema import Field
from continua.instants import show_timestamp
from continua.sqltext.duckdb_types import arrow_type, to_arrow
from continua.types import DataType, Value
from continua.windows.occurrences import Row

FORMATS = ("csv", "jsonl", "parquet")
NULL = "\\N"
OPTIONS: dict[str, tuple[tuple[str, object], ...]] = {"csv": (("header", False), ("null", NULL))}
"""How the files are to be read."""
_GROUP = 3
"""So many rows a group of a Parquet file has."""


def write_rows(path: Path, columns: Sequence[Field], rows: Sequence[Row]) -> None:
    """Writes rows in the format that the name of the file ends with."""
    match path.suffix:
        case ".csv":
            _write_csv(path, columns, rows)
        case ".jsonl":
            names = [c.name for c in columns]
            lines = [json.dumps(dict(zip(names, _plain_row(columns, row), strict=True))) for row in rows]
            path.write_text("".join(f"{line}\n" for line in lines))
        case _:
            _write_parquet(path, columns, rows)


def _write_csv(path: Path, columns: Sequence[Field], rows: Sequence[Row]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in rows:
            writer.writerow([_field(value) for value in _plain_row(columns, row)])


def _field(value: object) -> str:
    """A value that JSON has, as the field of a record."""
    match value:
        case None:
            return NULL
        case str():
            return value
        case float():
            return repr(value)
        case _:
            return json.dumps(value)


def _write_parquet(path: Path, columns: Sequence[Field], rows: Sequence[Row]) -> None:
    cells = [
        pa.array([to_arrow(row[i], column.type) for row in rows], arrow_type(column.type))
        for i, column in enumerate(columns)
    ]
    pq.write_table(pa.table(cells, [c.name for c in columns]), path, row_group_size=_GROUP)


def _plain_row(columns: Sequence[Field], row: Row) -> list[object]:
    return [_plain(value, column.type) for value, column in zip(row, columns, strict=True)]


def _plain(value: Value, of: DataType) -> object:
    """A value as JSON has it: what JSON has no value for is a text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if value - value == 0 else repr(value)
        case Decimal():
            return str(value)
        case bytes():
            return value.decode()
        case datetime():
            return show_timestamp(value)
        case date():
            return value.isoformat()
        case tuple() if of.name == "ARRAY" and of.element:
            return [_plain(v, of.element) for v in value]
        case tuple() if of.name == "STRUCT":
            return {n: _plain(v, t) for (n, t), v in zip(of.fields, value, strict=True)}
        case tuple() if of.name == "MAP" and of.element:
            return {str(k): _plain(v, of.element) for k, v in value}
        case _:
            raise TypeError(f"{type(value).__name__} cannot be written as {of}")

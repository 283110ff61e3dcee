"""Answers as files: parquet, ORC, CSV and JSON."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

from continua.answers.encoding.record_texts import csv_file, json_file
from continua.sqltext.duckdb_types import from_duckdb, to_arrow, type_of
from continua.types import DataType, Value

COMPRESSIONS: dict[str, tuple[str, ...]] = {
    "parquet": ("none", "snappy", "gzip", "brotli", "lz4", "zstd"),
    "orc": ("none", "snappy", "zlib", "lz4", "zstd"),
    "csv": (),
    "json": (),
}
"""Every format of files, with the ways to compress it."""
_LENGTHS = {"parquet": pa.duration("us"), "orc": pa.int64()}
"""As what a format holds lengths of time: ORC has no type for them, and gets their microseconds."""


def write_format(path: Path, answers: pa.Table, form: str, compression: str | None) -> None:
    """Writes a table as a file."""
    match form:
        case "parquet":
            chosen = {} if compression is None else {"compression": compression}
            pyarrow.parquet.write_table(storable(answers, form), path, **chosen)
        case "orc":
            chosen = {} if compression in (None, "none") else {"compression": compression}
            # a file that cannot be written would end the whole process: memory always can
            whole = pa.BufferOutputStream()
            pyarrow.orc.write_table(storable(answers, form), whole, **chosen)
            path.write_bytes(whole.getvalue())
        case "csv" | "json":
            with path.open("w", encoding="utf-8", newline="") as file:
                file.writelines(csv_file(answers) if form == "csv" else json_file(answers))
        case _:
            raise ValueError(f"no files of format {form} are written")


def storable(answers: pa.Table, form: str) -> pa.Table:
    """The table with lengths of time as the format has them."""
    for place, column in enumerate(answers.columns):
        wanted = _stored_type(column.type, _LENGTHS[form])
        if wanted != column.type:
            of = type_of(column.type)
            values = [_stored(from_duckdb(v, of), of, form) for v in column.to_pylist()]
            answers = answers.set_column(place, answers.column_names[place], pa.array(values, wanted))
    return answers


def _stored_type(kind: pa.DataType, length: pa.DataType) -> pa.DataType:
    if pa.types.is_interval(kind):
        return length
    if pa.types.is_map(kind):
        return pa.map_(_stored_type(kind.key_type, length), _stored_type(kind.item_type, length))
    if pa.types.is_list(kind):
        return pa.list_(_stored_type(kind.value_type, length))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _stored_type(field.type, length)) for field in kind])
    return kind


def _stored(value: Value, of: DataType, form: str) -> object:
    match value:
        case timedelta():
            return value // timedelta(microseconds=1) if form == "orc" else value
        case tuple() if of.name == "STRUCT":
            return {n: _stored(v, kind, form) for (n, kind), v in zip(of.fields, value, strict=True)}
        case tuple() if of.name == "MAP" and of.key and of.element:
            return [(_stored(k, of.key, form), _stored(v, of.element, form)) for k, v in _pairs(value)]
        case tuple() if of.element:
            return [_stored(v, of.element, form) for v in value]
        case _:
            return to_arrow(value, of)


def _pairs(value: tuple[Value, ...]) -> list[tuple[Value, Value]]:
    return [part for part in value if isinstance(part, tuple)]

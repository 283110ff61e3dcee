"""Answers as files: parquet, ORC, CSV and JSON."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

from continua.answers.encoding.record_texts import csv_file, json_file
from continua.sqltext.duckdb_types import from_duckdb, to_arrow, type_of
from continua.stages import stage
from continua.types import DataType, Value

COMPRESSIONS: dict[str, tuple[str, ...]] = {
    "parquet": ("none", "snappy", "gzip", "brotli", "lz4", "zstd"),
    "orc": ("none", "snappy", "zlib", "lz4", "zstd"),
    "csv": (),
    "json": (),
}
"""Every format of files, with the ways to compress it."""
CODED = ("parquet",)
"""Formats that hold texts which occur again and again by their numbers in a dictionary, and take them so."""
_LENGTHS = {"parquet": pa.duration("us"), "orc": pa.int64()}
"""As what a format holds lengths of time: ORC has no type for them, and gets their microseconds."""


_AT_ONCE = 1 << 17
"""Answers are written when there are so many: a part of a file, and the memory that it needs, is not small."""


class AnswerFile:
    """A file of answers, written part by part."""

    def __init__(self, path: Path, form: str, compression: str | None) -> None:
        self._waiting: list[pa.Table] = []
        self._rows = 0
        self._encoder = _encoder(path, form, compression)

    def add(self, answers: pa.Table) -> None:
        """Adds answers behind those that are there."""
        self._waiting.append(answers)
        self._rows += answers.num_rows
        if self._rows >= _AT_ONCE:
            self._write()

    @stage("encode")
    def _write(self) -> None:
        whole = self._waiting[0] if len(self._waiting) == 1 else pa.concat_tables(self._waiting)
        self._waiting, self._rows = [], 0
        self._encoder.write(whole)

    def close(self) -> None:
        """Writes what is left."""
        if self._waiting:
            self._write()
        with stage("encode"):
            self._encoder.close()

    def abandon(self) -> None:
        """Ends without what is left: the file is not used."""
        with suppress(Exception):
            self._encoder.close()


def write_format(path: Path, answers: pa.Table, form: str, compression: str | None) -> None:
    """Writes a table as a file."""
    file = AnswerFile(path, form, compression)
    try:
        file.add(answers)
        file.close()
    except BaseException:
        file.abandon()
        raise


class _Encoder(Protocol):
    """Writes tables of one schema to a file."""

    def write(self, answers: pa.Table) -> None: ...

    def close(self) -> None: ...


def _encoder(path: Path, form: str, compression: str | None) -> _Encoder:
    match form:
        case "parquet":
            return _Parquet(path, compression)
        case "orc":
            return _Orc(path, compression)
        case "csv" | "json":
            return _Lines(path, form)
        case _:
            raise ValueError(f"no files of format {form} are written")


class _Parquet:
    def __init__(self, path: Path, compression: str | None) -> None:
        self._file = path.open("wb")
        self._options = {} if compression is None else {"compression": compression}
        self._writer: pyarrow.parquet.ParquetWriter | None = None

    def write(self, answers: pa.Table) -> None:
        stored = storable(answers, "parquet")
        plain = not any(pa.types.is_nested(t) or pa.types.is_duration(t) for t in stored.schema.types)
        if not plain:
            stored = _decoded(stored)
        if self._writer is None:
            options = {**self._options, **(_encodings(stored.schema) if plain else {})}
            self._writer = pyarrow.parquet.ParquetWriter(self._file, stored.schema, **options)
        self._writer.write_table(stored)

    def close(self) -> None:
        with self._file:
            if self._writer is not None:
                self._writer.close()


def _encodings(schema: pa.Schema) -> dict[str, object]:
    """How plain columns are held: numbers by what they differ from the one before, others by a dictionary.

    That takes half of the time, and less room: instants rise, and sums and counts change little. The file itself tells
    the types of such columns; that operations came with a dictionary is of no use to a reader.
    """
    by_difference = [f.name for f in schema if pa.types.is_integer(f.type) or pa.types.is_timestamp(f.type)]
    return {
        "column_encoding": dict.fromkeys(by_difference, "DELTA_BINARY_PACKED"),
        "use_dictionary": [f.name for f in schema if f.name not in by_difference],
        "store_schema": False,
    }


class _Orc:
    """All answers at once, from memory: a file of ORC that cannot be written would end the whole process."""

    def __init__(self, path: Path, compression: str | None) -> None:
        self._path = path
        self._options = {} if compression in (None, "none") else {"compression": compression}
        self._parts: list[pa.Table] = []

    def write(self, answers: pa.Table) -> None:
        self._parts.append(storable(answers, "orc"))

    def close(self) -> None:
        whole = pa.BufferOutputStream()
        pyarrow.orc.write_table(pa.concat_tables(self._parts), whole, **self._options)
        self._path.write_bytes(whole.getvalue())


class _Lines:
    def __init__(self, path: Path, form: str) -> None:
        self._file = path.open("wb")
        self._form = form
        self._begun = False

    def write(self, answers: pa.Table) -> None:
        lines = csv_file(answers) if self._form == "csv" else json_file(answers)
        if self._form == "csv" and self._begun:
            next(lines)  # the header stands there already
        self._begun = True
        self._file.writelines(lines)

    def close(self) -> None:
        self._file.close()


def storable(answers: pa.Table, form: str) -> pa.Table:
    """The table with lengths of time as the format has them."""
    for place, column in enumerate(answers.columns):
        wanted = _stored_type(column.type, _LENGTHS[form])
        if wanted != column.type:
            of = type_of(column.type)
            values = [_stored(from_duckdb(v, of), of, form) for v in column.to_pylist()]
            answers = answers.set_column(place, answers.column_names[place], pa.array(values, wanted))
    return answers


def _decoded(answers: pa.Table) -> pa.Table:
    """The table without dictionaries."""
    types = (t.value_type if pa.types.is_dictionary(t) else t for t in answers.schema.types)
    return answers.cast(pa.schema(zip(answers.column_names, types, strict=True)))


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

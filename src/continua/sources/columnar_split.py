"""Splits of columnar files, Parquet and ORC: columns by name, values through Arrow."""

from __future__ import annotations

import io
import json
import zlib
from dataclasses import dataclass
from typing import BinaryIO, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq

from continua.errors import did_you_mean, listing
from continua.sources.convert import lookup
from continua.sources.shown_values import show_value
from continua.sources.source_spec import Malformed, SourceSpec, missing_column
from continua.sources.splits import Extent, Piece, Split
from continua.sources.stored_files import opened
from continua.sources.text_bytes import as_columns
from continua.sources.values import Failures, column_of_cells, narrowed, within_calendar
from continua.sqltext.duckdb_types import arrow_type
from continua.types import DataType

_END = 1 << 16
_UNREADABLE = (pa.ArrowException, OSError, ValueError)
TITLES = {"parquet": "Parquet", "orc": "ORC"}


class ColumnarFile(Protocol):
    """A file of groups of rows."""

    names: list[str]
    rows: list[int]
    """How many rows each group has."""

    def group(self, number: int, columns: list[str]) -> pa.Table:
        """Some columns of a group."""
        ...


class _Parquet:
    def __init__(self, file: BinaryIO) -> None:
        self._file = pq.ParquetFile(file)
        self.names = self._file.schema_arrow.names
        metadata = self._file.metadata
        self.rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]

    def group(self, number: int, columns: list[str]) -> pa.Table:
        return self._file.read_row_group(number, columns=columns, use_threads=False)


class _Orc:
    def __init__(self, file: BinaryIO) -> None:
        self._file = pyarrow.orc.ORCFile(file)
        self.names = self._file.schema.names
        first = self.names[:1]
        self.rows = [self._file.read_stripe(i, columns=first).num_rows for i in range(self._file.nstripes)]

    def group(self, number: int, columns: list[str]) -> pa.Table:
        return pa.Table.from_batches([self._file.read_stripe(number, columns=columns)])


def checksum_of_ends(file: BinaryIO) -> int:
    """The checksum of a columnar file's beginning and end, which has the places and sizes of all its parts."""
    found = zlib.crc32(file.read(_END))
    file.seek(max(file.seek(0, io.SEEK_END) - _END, 0))
    found = zlib.crc32(file.read(_END), found)
    file.seek(0)
    return found


def open_columnar(format_: str, file: BinaryIO) -> ColumnarFile:
    """A columnar file; an error of Arrow's where it is none."""
    return _Parquet(file) if format_ == "parquet" else _Orc(file)


@dataclass(frozen=True, slots=True)
class _Unheld:
    """A cell that Python has no value for (a far year, text that is not UTF-8), and so fits no type."""

    reason: str

    def __repr__(self) -> str:
        return f"<{self.reason}>"


def read_columnar(spec: SourceSpec, split: Split) -> Piece:
    """The rows of a split; a file that is none of its kind is malformed at line 0. A line is the number of a row."""
    with opened(split.path) as handle:
        return _read(handle, spec, split)


def _read(handle: BinaryIO, spec: SourceSpec, split: Split) -> Piece:
    title = TITLES[spec.format]
    checksum = checksum_of_ends(handle) if split.checked else 0
    try:
        file = open_columnar(spec.format, handle)
    except _UNREADABLE as error:
        wrong = Malformed(split.shown, -1, f"not a {title} file: {error}", "", "", f"a {title} file")
        extent = Extent(entry=split.begin, exit=split.end, ended=True, checksum=checksum)
        return Piece(as_columns([], spec), np.empty(0, np.int64), (wrong,), extent)
    names = own_names(file.names, spec, split.shown)
    first, entry = _group_at(file, split)
    tables: list[pa.Table] = []
    lines: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []
    problems: list[Malformed] = []
    passed = 0
    left = split.rows
    begin = entry
    for number in range(first, min(split.end, len(file.rows))):
        try:
            group = file.group(number, list(dict.fromkeys(names)))
        except _UNREADABLE as error:
            problems.append(Malformed(split.shown, passed, f"damaged from here on: {error}", "", "", f"a {title} file"))
            passed += sum(file.rows[number:]) - begin
            break
        taken = group.slice(begin, left) if left is not None else group.slice(begin)
        table, kept, refused = columns_of(taken, names, spec, split.shown, passed)
        tables.append(table)
        lines.append(kept + passed)
        problems += refused
        passed += taken.num_rows
        begin = 0
        if left is not None:
            left -= taken.num_rows
            if left <= 0:
                break
    columns = pa.concat_tables(tables) if tables else as_columns([], spec)
    numbers = np.concatenate(lines) if lines else np.empty(0, np.int64)
    start = sum(file.rows[: split.begin]) + entry if split.entry is None else split.entry
    ended = start + passed >= sum(file.rows)
    extent = Extent(passed, start, start + passed, ended, checksum=checksum)
    return Piece(columns, numbers, tuple(problems), extent, numbers + start if spec.placed else None)


def _group_at(file: ColumnarFile, split: Split) -> tuple[int, int]:
    """The group where reading begins, and how many of its rows were read before."""
    if split.entry is None:
        return split.begin, 0
    before = split.entry
    for number, rows in enumerate(file.rows):
        if before < rows:
            return number, before
        before -= rows
    return len(file.rows), 0


def columns_of(
    group: pa.Table, names: list[str], spec: SourceSpec, file: str, line: int
) -> tuple[pa.Table, np.ndarray[tuple[int], np.dtype[np.int64]], list[Malformed]]:
    """The declared columns of a table, which rows of it they have, and the rows that are none.

    ``names`` are those of the table's columns, ``line`` is that of its first row.
    """
    failures = Failures()
    columns: list[pa.Array] = []
    cells: dict[int, list[object]] = {}
    for number, (name, (_, of)) in enumerate(zip(names, spec.columns, strict=True)):
        column = group.column(name).combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)
        held = _held(column, of)
        if held is None:
            cells[number] = _cells(column)
            held = column_of_cells(cells[number], of, number, failures)
        columns.append(held)
    table = as_columns(columns, spec)
    kept = np.arange(group.num_rows)
    wrong: list[Malformed] = []
    for row, (number, value, reason) in sorted(failures.reasons.items()):
        name, of = spec.columns[number]
        fields = [_cells(group.column(n).slice(row, 1).combine_chunks())[0] for n in names]
        text = json.dumps({n: _shown(f) for n, f in zip(names, fields, strict=True)}, ensure_ascii=False)
        wrong.append(Malformed(file, line + row, reason, text, value, str(of), column=name))
    if failures.reasons:
        kept = np.setdiff1d(kept, np.fromiter(failures.reasons, np.int64))
        table = table.take(pa.array(kept))
    return table, kept, wrong


def _shown(value: object) -> str | None:
    return show_value(value)


def own_names(present: list[str], spec: SourceSpec, file: str) -> list[str]:
    """The file's own spelling of each declared column."""
    names = []
    for column, _ in spec.columns:
        name = lookup({name: name for name in present}, column)
        if name is None:
            hint = did_you_mean(column, present) or f"the file has {listing(present) or 'no columns'}"
            raise missing_column(spec, column, file, hint)
        names.append(name)
    return names


def _held(column: pa.Array, of: DataType) -> pa.Array | None:
    """A column as values of a type to which its own widens; None where values must be looked at one by one."""
    try:
        column.validate(full=True)
        return _widened(column, of)
    except (pa.ArrowException, ValueError, OverflowError):
        return None


def _widened(column: pa.Array, of: DataType) -> pa.Array | None:
    own, wanted = column.type, arrow_type(of)
    match of.name:
        case "BOOLEAN" if pa.types.is_boolean(own):
            return column
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT" if pa.types.is_integer(own):
            return column.cast(wanted)
        case "FLOAT" | "DOUBLE" if pa.types.is_float32(own) or pa.types.is_float64(own) or pa.types.is_integer(own):
            return column if own == wanted else narrowed(column.cast(pa.float64()), wanted)
        case "DECIMAL" if pa.types.is_decimal(own) or pa.types.is_integer(own):
            found = (column if pa.types.is_decimal(own) else column.cast(pa.decimal128(38, 0))).cast(wanted)
            found.validate(full=True)
            return found
        case "STRING" if pa.types.is_string(own) or pa.types.is_large_string(own):
            return column.cast(wanted)
        case "BINARY" if own in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
            return column.cast(wanted)
        case "DATE" if pa.types.is_date32(own):
            return within_calendar(column)
        case "TIMESTAMP" if pa.types.is_timestamp(own):
            return within_calendar(column.cast(plain_type(own), safe=False).cast(wanted))
        case _:
            return None


def _cells(column: pa.Array) -> list[object]:
    """The Python values of a column, what Python cannot hold as :class:`_Unheld`."""
    wanted = plain_type(column.type)
    plain = column if wanted == column.type else column.cast(wanted, safe=False)
    try:
        cells: list[object] = plain.to_pylist()
    except (ValueError, OverflowError):
        cells = [_cell(scalar) for scalar in plain]
    return cells


def _cell(scalar: pa.Scalar) -> object:
    try:
        value: object = scalar.as_py()
    except (ValueError, OverflowError) as error:
        return _Unheld(str(error))
    return value


def plain_type(of: pa.DataType) -> pa.DataType:
    """The type with timestamps in UTC and no finer than a microsecond, which is as fine as instants are.

    The coarser units stay: multiplying a far timestamp could overflow, dividing cannot.
    """
    if pa.types.is_timestamp(of):
        return pa.timestamp("us" if of.unit == "ns" else of.unit)
    if pa.types.is_struct(of):
        return pa.struct([field.with_type(plain_type(field.type)) for field in of])
    if pa.types.is_map(of):
        return pa.map_(plain_type(of.key_type), plain_type(of.item_type))
    if pa.types.is_large_list(of):
        return pa.large_list(plain_type(of.value_type))
    if pa.types.is_list(of):
        return pa.list_(plain_type(of.value_type))
    if pa.types.is_fixed_size_list(of):
        return pa.list_(plain_type(of.value_type), of.list_size)
    return of

"""Files as columns: what the reading row by row would give, much faster, or a doubt.

Arrow's parsers are more lenient than the rules of sources, so a file is first looked at as bytes: where it is of a
shape that both understand alike, Arrow reads it, and every conversion is one that cannot differ.
"""

from __future__ import annotations

import codecs
import re
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.json as pc_json
import pyarrow.parquet as pq

from continua.errors import ContinuaError
from continua.runtime.sources.csv_files import csv_layout
from continua.runtime.sources.options import check_options, csv_options
from continua.runtime.sources.parquet_files import own_names, plain_type
from continua.runtime.sources.paths import SourceFile, find_files
from continua.runtime.sources.spec import SourceSpec
from continua.runtime.sources.texts_to_values import DoubtError, by_chunk, in_calendar, narrowed, sure, values_of
from continua.sqltext.values import arrow_type
from continua.types import DataType

_BLOCK = 1 << 22
_LONGEST_FIELD = 131_072
"""What Python's csv takes at most."""
_LARGE_EXPONENT = re.compile(rb"[0-9.][eE][+-]?[0-9]{4}")
_DOUBTS = (DoubtError, ContinuaError, pa.ArrowException, OSError, ValueError, KeyError, OverflowError)


def read_columns(spec: SourceSpec, base: Path) -> pa.Table | None:
    """The rows of a source in the order of its files, a column a declared one; None where there is any doubt."""
    try:
        check_options(spec)
        tables = [_read(file, spec) for file in find_files(spec, base)]
        return pa.concat_tables(tables)
    except _DOUBTS:
        return None


def _read(file: SourceFile, spec: SourceSpec) -> pa.Table:
    sure(file.path.is_file())  # a pipe can be read only once
    match spec.format:
        case "csv":
            columns = _csv(file, spec)
        case "jsonl":
            columns = _jsonl(file, spec)
        case _:
            columns = _parquet(file, spec)
    schema = pa.schema([(f"c{i}", arrow_type(of)) for i, (_, of) in enumerate(spec.columns)])
    for column in columns:
        if pa.types.is_decimal(column.type):
            column.validate(full=True)  # not every conversion looks at the number of digits
    return pa.Table.from_arrays(columns, schema=schema)


def _text(path: Path) -> bytes:
    """A text file that is UTF-8 and has no NUL and no line end but LF and CR LF."""
    data = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    sure(data and b"\0" not in data)
    sure(data.count(b"\r") == data.count(b"\r\n"))
    if not data.isascii():
        data.decode()
    return data


def _csv(file: SourceFile, spec: SourceSpec) -> list[pa.ChunkedArray]:
    options = csv_options(spec)
    data = _text(file.path)
    layout = csv_layout(file.path, file.shown, spec, options)
    # A single field that is blank is a row for Arrow and none for Python.
    if layout is None or layout.width < 2:
        raise DoubtError
    quotes = _well_quoted(data, options.delimiter)
    names = [f"f{i}" for i in range(layout.width)]
    table = pc_csv.read_csv(
        pa.BufferReader(data),
        pc_csv.ReadOptions(column_names=names, block_size=_BLOCK),
        pc_csv.ParseOptions(delimiter=options.delimiter, newlines_in_values=quotes),
        pc_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), null_values=[], check_utf8=False),
    )
    if layout.header:
        table = table.slice(1)
    for column in table.columns:
        sure((pc.max(pc.binary_length(column)).as_py() or 0) < _LONGEST_FIELD)

    def read(place: int, of: DataType) -> pa.ChunkedArray:
        def values(texts: pa.Array) -> pa.Array:
            nulls = pc.equal(texts, options.null)
            return values_of(pc.if_else(nulls, pa.scalar(None, pa.string()), texts), of)

        return by_chunk(table.column(place), values, arrow_type(of))

    return [read(place, of) for place, (_, of) in zip(layout.positions, spec.columns, strict=True)]


def _well_quoted(data: bytes, delimiter: str) -> bool:
    """Whether there are quotes: they must open where a field begins and close where it ends, or be doubled."""
    if b'"' not in data:
        return False
    line = np.frombuffer(b"\n" + data + b"\n", np.uint8)
    quotes = np.flatnonzero(line == ord('"'))
    sure(quotes.size % 2 == 0)
    ends = [ord(delimiter), ord("\n"), ord('"')]
    sure(np.isin(line[quotes[0::2] - 1], ends).all())
    sure(np.isin(line[quotes[1::2] + 1], [*ends, ord("\r")]).all())
    return True


def _jsonl(file: SourceFile, spec: SourceSpec) -> list[pa.ChunkedArray]:
    data = _text(file.path).rstrip(b"\r\n")
    lines = data.count(b"\n")
    # Arrow takes objects that share a line or take several: here each has a line, and each line is one.
    sure(data.startswith(b"{") and data.endswith(b"}"))
    sure(data.count(b"}\n{") + data.count(b"}\r\n{") == lines)
    schema = pa.schema([(name, _json_type(of)) for name, of in spec.columns])
    table = pc_json.read_json(
        pa.BufferReader(data),
        pc_json.ReadOptions(block_size=_BLOCK),
        pc_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer"),
    )
    sure(table.num_rows == lines + 1)
    declared = {name.casefold() for name, _ in spec.columns}
    for name in table.column_names[len(spec.columns) :]:
        sure(name.casefold() not in declared and not pa.types.is_nested(table.schema.field(name).type))
    _check_numbers(table, data)
    return [_json_column(table.column(i), of) for i, (_, of) in enumerate(spec.columns)]


def _json_type(of: DataType) -> pa.DataType:
    """As what Arrow reads the values of a type."""
    match of.name:
        case "BOOLEAN" | "TINYINT" | "SMALLINT" | "INT" | "BIGINT" | "DECIMAL" | "STRING":
            return arrow_type(of)
        case "FLOAT" | "DOUBLE":
            return pa.float64()
        case "BINARY" | "DATE" | "TIMESTAMP":
            return pa.string()
        case _:
            raise DoubtError


def _json_column(column: pa.ChunkedArray, of: DataType) -> pa.ChunkedArray:
    wanted = arrow_type(of)
    match of.name:
        case "FLOAT":
            return by_chunk(column, partial(narrowed, to=wanted), wanted)
        case "BINARY" | "DATE" | "TIMESTAMP":
            return by_chunk(column, partial(values_of, to=of), wanted)
        case _:
            return column


def _check_numbers(table: pa.Table, data: bytes) -> None:
    """Numbers are finite and no zero is negative or one that was too small; decimals are written as such."""
    zero = False
    for column in table.columns:
        if pa.types.is_decimal(column.type):
            sure(not _has_exponents(data))
        if not pa.types.is_floating(column.type):
            continue
        numbers = column.drop_null().to_numpy()
        sure(np.isfinite(numbers).all())
        zeros = numbers == 0.0
        sure(not np.signbit(numbers[zeros]).any())
        zero |= bool(zeros.any())
    sure(not zero or not _has_exponents(data) or _LARGE_EXPONENT.search(data) is None)


def _has_exponents(data: bytes) -> bool:
    """Whether an e follows a digit or a point anywhere."""
    text = np.frombuffer(data, np.uint8)
    before = text[np.flatnonzero((text | 0x20) == ord("e")) - 1]
    return bool(np.isin(before, list(b".0123456789")).any())


def _parquet(file: SourceFile, spec: SourceSpec) -> list[pa.ChunkedArray]:
    with file.path.open("rb") as handle:
        parquet = pq.ParquetFile(handle)
        present = parquet.schema_arrow.names
        sure(len(set(present)) == len(present))
        names = own_names(present, spec, file.shown)
        table = parquet.read(columns=list(dict.fromkeys(names)))
    table.validate(full=True)
    return [
        by_chunk(table.column(name), partial(_held, of=of), arrow_type(of))
        for name, (_, of) in zip(names, spec.columns, strict=True)
    ]


def _held(column: pa.Array, of: DataType) -> pa.Array:
    """A column of a Parquet file as values of a type to which its own widens."""
    own, wanted = column.type, arrow_type(of)
    match of.name:
        case "BOOLEAN":
            sure(pa.types.is_boolean(own))
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT":
            sure(pa.types.is_integer(own))
        case "FLOAT" | "DOUBLE":
            sure(pa.types.is_float32(own) or pa.types.is_float64(own) or pa.types.is_integer(own))
            return column if own == wanted else narrowed(column.cast(pa.float64()), wanted)
        case "DECIMAL":
            sure(pa.types.is_decimal(own) or pa.types.is_integer(own))
            column = column if pa.types.is_decimal(own) else column.cast(pa.decimal128(38, 0))
        case "STRING":
            sure(pa.types.is_string(own) or pa.types.is_large_string(own))
        case "BINARY":
            sure(own in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()))
        case "DATE":
            sure(pa.types.is_date32(own))
            return in_calendar(column)
        case "TIMESTAMP":
            sure(pa.types.is_timestamp(own))
            return in_calendar(column.cast(plain_type(own), safe=False).cast(wanted))
        case _:
            raise DoubtError
    return column.cast(wanted)

"""Splits of JSON Lines files: an object on each line, fields by name."""

from __future__ import annotations

import codecs
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.json as pa_json

from continua.kernels.jit import Int64s
from continua.sources.convert import lookup, parse_json
from continua.sources.source_spec import Malformed, SourceSpec
from continua.sources.splits import Piece, Split
from continua.sources.text_bytes import Text, as_columns, flaw, is_utf8, open_text, readable
from continua.sources.values import Failures, column_of_cells, column_of_strings, narrowed
from continua.sqltext.duckdb_types import arrow_type
from continua.types import DataType

_BLOCK = 1 << 22
_LARGE_EXPONENT = re.compile(rb"[0-9.][eE][+-]?[0-9]{4}")
_LINE = re.compile(rb"\r\n|\r|\n")


class DoubtError(Exception):
    """Something that only the reading line by line can judge."""


def read_jsonl(spec: SourceSpec, split: Split, here: Text | None = None) -> Piece:
    """The rows of a split; a field that is not there is NULL. ``here``: its text, where it is in no file."""
    text = here or open_text(split)
    begin, stop = line_bounds(text, split)
    data = text.data[begin:stop]
    marked = split.begins_file and data.startswith(codecs.BOM_UTF8)
    content = data.removeprefix(codecs.BOM_UTF8) if marked else data
    try:
        table = _by_columns(content, spec)
        found, passed = Piece(table, np.arange(table.num_rows)), content.count(b"\n") + (not content.endswith(b"\n"))
    except (DoubtError, pa.ArrowException, ValueError, KeyError, OverflowError):
        found, passed = _line_by_line(content, spec, split)
    offsets = text.base + begin + line_starts(data)[found.lines] if spec.placed else None
    return replace(found, extent=text.extent(passed, begin, stop), offsets=offsets)


def line_bounds(text: Text, split: Split, blank: bool = False) -> tuple[int, int]:
    """The stretch of the text that is read: the lines of the split, or the first ones behind its entry.

    ``blank``: whether lines of nothing but spaces count.
    """
    begin = text.entry(split.entry)
    if split.rows is None:
        stop = text.stop
        while len(text.data) < stop and not text.last:
            text.read_on()
        return begin, max(min(stop, len(text.data)), begin)
    while True:
        place, count, ended = begin, 0, False
        for end in _LINE.finditer(text.data, begin):
            if end.end() == len(text.data) and not text.last:
                break
            count += blank or bool(text.data[place : end.start()].strip())
            place = end.end()
            if count == split.rows:
                ended = True
                break
        if ended:
            return begin, place
        if text.last:
            return begin, len(text.data)
        text.read_on()


def _line_by_line(data: bytes, spec: SourceSpec, split: Split) -> tuple[Piece, int]:
    """The rows of lines that have to be looked at one by one, and how many lines there are."""
    lines: list[int] = []
    texts: list[str] = []
    cells: list[list[object]] = [[] for _ in spec.columns]
    wrong: list[Malformed] = []
    passed = 0
    for number, raw in enumerate(lines_of(data)):
        passed = number + 1
        line = raw.decode("utf-8", "surrogateescape")
        if not line.strip():
            continue
        try:
            fields = _object(line)
        except ValueError as error:
            text = readable(line)
            wrong.append(Malformed(split.shown, number, str(error), text, text, "a JSON object"))
            continue
        lines.append(number)
        texts.append(line)
        for column, (name, _) in zip(cells, spec.columns, strict=True):
            column.append(lookup(fields, name))
    failures = Failures()
    columns = [
        column_of_cells(c, of, i, failures) for i, (c, (_, of)) in enumerate(zip(cells, spec.columns, strict=True))
    ]
    for row, (place, value, reason) in failures.reasons.items():
        name, of = spec.columns[place]
        wrong.append(Malformed(split.shown, lines[row], reason, readable(texts[row]), value, str(of), column=name))
    table = as_columns(columns, spec)
    numbers: Int64s = np.array(lines, np.int64)
    if failures.reasons:
        kept = np.setdiff1d(np.arange(numbers.size), np.fromiter(failures.reasons, np.int64))
        table, numbers = table.take(pa.array(kept)), numbers[kept]
    return Piece(table, numbers, tuple(sorted(wrong, key=lambda m: m.line))), passed


def lines_of(data: bytes) -> list[bytes]:
    """The lines of a text, without their ends."""
    lines = _LINE.split(data)
    return lines[:-1] if lines and not lines[-1] else lines


def line_starts(data: bytes) -> Int64s:
    """Where the lines of a text begin."""
    if b"\r" in data:
        ends = np.array([found.end() for found in _LINE.finditer(data)], np.int64)
    else:
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
    return np.concatenate([np.zeros(1, np.int64), ends])


def _object(line: str) -> dict[str, object]:
    reason = flaw(line)
    if reason is not None:
        raise ValueError(reason)
    parsed = parse_json(line)
    if not isinstance(parsed, dict):
        raise ValueError("not a JSON object")
    return parsed


def _sure(holds: object) -> None:
    """Raises DoubtError unless something holds; NULL is neither."""
    if not holds:
        raise DoubtError


def _by_columns(data: bytes, spec: SourceSpec) -> pa.Table:
    """The rows as Arrow reads them, where that surely is what reading line by line gives."""
    _sure(data and b"\0" not in data and is_utf8(data))
    _sure(data.count(b"\r") == data.count(b"\r\n"))
    data = data[: len(data) - 1] if data.endswith(b"\n") else data
    data = data[: len(data) - 1] if data.endswith(b"\r") else data
    lines = data.count(b"\n")
    # Arrow takes objects that share a line or take several: here each has a line, and each line is one.
    _sure(data.startswith(b"{") and data.endswith(b"}"))
    _sure(data.count(b"}\n{") + data.count(b"}\r\n{") == lines)
    schema = pa.schema([(name, _json_type(of)) for name, of in spec.columns])
    table = pa_json.read_json(
        pa.BufferReader(data),
        pa_json.ReadOptions(block_size=max(_BLOCK, len(data) + 1), use_threads=False),
        pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer"),
    )
    _sure(table.num_rows == lines + 1)
    declared = {name.casefold() for name, _ in spec.columns}
    for name in table.column_names[len(spec.columns) :]:
        _sure(name.casefold() not in declared and not pa.types.is_nested(table.schema.field(name).type))
    _check_numbers(table, data)
    columns = [_json_column(table.column(i).combine_chunks(), of) for i, (_, of) in enumerate(spec.columns)]
    for column in columns:
        if pa.types.is_decimal(column.type):
            column.validate(full=True)  # not every conversion looks at the number of digits
    return as_columns(columns, spec)


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


def _json_column(column: pa.Array, of: DataType) -> pa.Array:
    match of.name:
        case "FLOAT":
            return narrowed(column, arrow_type(of))
        case "BINARY" | "DATE" | "TIMESTAMP":
            failures = Failures()
            found = column_of_strings(column, of, failures)
            _sure(not failures.reasons)
            return found
        case _:
            return column


def _check_numbers(table: pa.Table, data: bytes) -> None:
    """Numbers are finite and no zero is negative or one that was too small; decimals are written as such."""
    zero = False
    for column in table.columns:
        if pa.types.is_decimal(column.type):
            _sure(not _has_exponents(data))
        if not pa.types.is_floating(column.type):
            continue
        numbers = column.drop_null().to_numpy()
        _sure(np.isfinite(numbers).all())
        zeros = numbers == 0.0
        _sure(not np.signbit(numbers[zeros]).any())
        zero |= bool(zeros.any())
    _sure(not zero or not _has_exponents(data) or _LARGE_EXPONENT.search(data) is None)


def _has_exponents(data: bytes) -> bool:
    """Whether an e follows a digit or a point anywhere."""
    text = np.frombuffer(data, np.uint8)
    before = text[np.flatnonzero((text | 0x20) == ord("e")) - 1]
    return bool(np.isin(before, list(b".0123456789")).any())

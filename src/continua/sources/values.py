"""From columns as files hold them to columns of the declared types.

What is spelled plainly is converted by columns; every other value is looked at by itself, by the one rule of
:mod:`continua.sources.convert`. So a value that is odd costs its own time, and one that is wrong its own row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute

from continua.kernels.jit import Bytes, Int64s
from continua.kernels.text import text_values as kernels
from continua.sources.convert import converter
from continua.sqltext.duckdb_types import arrow_type, to_arrow
from continua.stages import stage
from continua.types import DataType, Value

_POWERS = np.array([float(10**n) for n in range(23)])
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_DIGITS = 18
_QUOTE = ord('"')


@dataclass
class Failures:
    """The values of one stretch of rows that do not fit: by row the first of them."""

    reasons: dict[int, tuple[int, object, str]] = field(default_factory=dict)
    """By row: the column, the value, and why it is none."""

    def add(self, row: int, column: int, value: object, reason: str) -> None:
        """Notes a value unless one of an earlier column is known."""
        if row not in self.reasons or self.reasons[row][0] > column:
            self.reasons[row] = (column, value, reason)


@dataclass(frozen=True)
class Fields:
    """The texts of one column: stretches of bytes, the end as ``~end`` where quotes are doubled."""

    text: Bytes
    first: Int64s
    end: Int64s

    def cell(self, row: int) -> str:
        """One of them as text."""
        end = int(self.end[row])
        doubled = end < 0
        raw = self.text[int(self.first[row]) : ~end if doubled else end].tobytes().decode("utf-8", "surrogateescape")
        return raw.replace('""', '"') if doubled else raw


@stage("convert")
def column_of_texts(fields: Fields, null: str | None, of: DataType, number: int, failures: Failures) -> pa.Array:
    """The values of texts; the text ``null`` is NULL. Texts that fit no value are noted, and are NULL here."""
    count = fields.first.size
    marks = np.zeros(count, np.uint8)
    if null is not None:
        if '"' in null:
            return _slow(fields, null, of, number, failures, range(count), None)
        kernels.nulls(fields.text, fields.first, fields.end, np.frombuffer(null.encode(), np.uint8), marks)
        if not null and of.name in ("STRING", "BINARY"):
            marks[_empty_quotes(fields, marks)] = kernels.VALUE
    parts = (fields.text, fields.first, fields.end)
    match of.name:
        case "STRING" | "BINARY":
            return _texts(fields, marks, arrow_type(of))
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT":
            whole = np.empty(count, np.int64)
            odd = kernels.integers(*parts, _BITS[of.name], marks, whole)
            made = pa.array(whole.astype(f"int{_BITS[of.name]}"), mask=_mask(marks))
        case "FLOAT" | "DOUBLE":
            numbers = np.empty(count, np.float64)
            odd = kernels.doubles(*parts, _POWERS, marks, numbers)
            if odd:
                _exact(fields, marks, numbers)
            with np.errstate(over="ignore"):
                narrow = numbers.astype(np.float32 if of.name == "FLOAT" else np.float64)
            marks[np.isinf(narrow)] = kernels.ODD
            odd = int((marks == kernels.ODD).sum())
            made = pa.array(narrow, mask=_mask(marks))
        case "DECIMAL":
            whole = np.empty(count, np.int64)
            odd = kernels.decimals(*parts, min(of.precision, _DIGITS), of.scale, marks, whole)
            made = _decimals(whole, marks, arrow_type(of))
        case "BOOLEAN":
            truth = np.empty(count, np.uint8)
            odd = kernels.booleans(*parts, marks, truth)
            made = pa.array(truth.astype(np.bool_), mask=_mask(marks))
        case "DATE":
            whole = np.empty(count, np.int64)
            odd = kernels.dates(*parts, marks, whole)
            made = pa.array(whole.astype(np.int32), mask=_mask(marks)).view(pa.date32())
        case "TIMESTAMP":
            whole = np.empty(count, np.int64)
            odd = kernels.timestamps(*parts, marks, whole)
            made = pa.array(whole, mask=_mask(marks)).view(pa.timestamp("us"))
        case _:
            marks[marks == kernels.VALUE] = kernels.ODD
            odd, made = count, pa.nulls(count, arrow_type(of))
    if not odd:
        return made
    rows = np.flatnonzero(marks == kernels.ODD).tolist()
    return _slow(fields, null, of, number, failures, rows, made)


def _empty_quotes(fields: Fields, marks: Bytes) -> Int64s:
    """The rows whose field is a pair of quotes: that is a text without characters, and not NULL."""
    rows = np.flatnonzero(marks == kernels.EMPTY)
    before = fields.first[rows] - 1
    quoted: Int64s = rows[(before >= 0) & (fields.text[before] == _QUOTE)]
    return quoted


def _slow(
    fields: Fields,
    null: str | None,
    of: DataType,
    number: int,
    failures: Failures,
    rows: Iterable[int],
    made: pa.Array | None,
) -> pa.Array:
    """The column with some of its texts looked at one by one."""
    cells: dict[int, object] = {}
    for row in rows:
        text = fields.cell(row)
        cells[row] = None if text == null else text
    return _mended(made, cells, of, number, failures)


def _mended(made: pa.Array | None, cells: dict[int, object], of: DataType, number: int, failures: Failures) -> pa.Array:
    """A column with some of its values converted one by one."""
    read = converter(of)
    found: dict[int, Value] = {}
    for row, cell in cells.items():
        try:
            found[row] = read(cell)
        except ValueError as error:
            failures.add(row, number, cell, str(error))
            found[row] = None
    return _with(made, found, of)


def _with(made: pa.Array | None, values: dict[int, Value], of: DataType) -> pa.Array:
    """A column with some of its values replaced."""
    wanted = arrow_type(of)
    if made is None:
        return pa.array([to_arrow(values[i], of) for i in range(len(values))], wanted)
    if not values:
        return made
    rows = np.fromiter(values, np.int64, len(values))
    mended = pa.array([to_arrow(v, of) for v in values.values()], wanted)
    places = np.arange(len(made))
    places[rows] = len(made) + np.arange(rows.size)
    return pa.concat_arrays([made, mended]).take(pa.array(places))


def column_of_cells(cells: list[object], of: DataType, number: int, failures: Failures) -> pa.Array:
    """Values as JSON or Arrow has them, each converted by itself where that is not the same for all."""
    plain = _plain_column(cells, of)
    if plain is not None:
        return plain
    return _mended(None, dict(enumerate(cells)), of, number, failures)


_PLAIN: dict[str, type] = {
    "BOOLEAN": bool,
    "TINYINT": int,
    "SMALLINT": int,
    "INT": int,
    "BIGINT": int,
    "DOUBLE": float,
    "STRING": str,
    "BINARY": bytes,
    "DATE": date,
    "TIMESTAMP": datetime,
}
"""The types of Python whose values are those of a type as they are."""


def _plain_column(cells: list[object], of: DataType) -> pa.Array | None:
    """Values that surely are of a type as they are, all at once; None where there may be others."""
    kind = _PLAIN.get(of.name)
    if kind is None or not set(map(type, cells)) <= {kind, type(None)}:
        return None
    try:
        if kind is not datetime:
            return pa.array(cells, arrow_type(of))
        if not all(cell is None or cell.tzinfo is UTC for cell in cells):  # type: ignore[attr-defined]
            return None
        return pa.array(cells, pa.timestamp("us", "UTC")).view(arrow_type(of))
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return None


def _mask(marks: Bytes) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
    missing = marks != kernels.VALUE
    return missing if bool(missing.any()) else None


def _exact(fields: Fields, marks: Bytes, numbers: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    """Decimals of many digits, which Python reads exactly."""
    for row in np.flatnonzero(marks == kernels.EXACT).tolist():
        numbers[row] = float(fields.text[int(fields.first[row]) : int(fields.end[row])].tobytes())
        marks[row] = kernels.VALUE


def _decimals(whole: Int64s, marks: Bytes, wanted: pa.DataType) -> pa.Array:
    """Numbers times ten to the scale as decimals: each takes two words, the lower first."""
    words = np.empty(2 * whole.size, np.int64)
    words[0::2], words[1::2] = whole, whole >> 63
    plain = pa.Array.from_buffers(wanted, whole.size, [None, pa.py_buffer(words)])
    mask = _mask(marks)
    if mask is None:
        return plain
    return pa.compute.if_else(pa.array(mask), pa.scalar(None, wanted), plain)


def _texts(fields: Fields, marks: Bytes, wanted: pa.DataType) -> pa.Array:
    count = fields.first.size
    offsets = np.empty(count + 1, np.int64)
    kernels.text_sizes(fields.first, fields.end, marks, offsets)
    content = np.empty(int(offsets[-1]), np.uint8)
    kernels.texts(fields.text, fields.first, fields.end, marks, offsets, content)
    mask = _mask(marks)
    valid = None if mask is None else pa.py_buffer(np.packbits(~mask, bitorder="little"))
    buffers = [valid, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(content)]
    return pa.Array.from_buffers(wanted, count, buffers)


_YEAR_1, _YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000
"""The first instant that Python's calendar has, and the first that it has not."""
_DAY = 86_400_000_000


def narrowed(numbers: pa.Array, to: pa.DataType) -> pa.Array:
    """Doubles as numbers of a type, none of which is infinite. Raises ValueError where one is."""
    found = numbers.cast(to)
    if pa.compute.any(pa.compute.is_inf(found)).as_py():
        raise ValueError("an infinite number")
    return found


def within_calendar(moments: pa.Array) -> pa.Array:
    """Dates or timestamps, all of which Python's calendar has. Raises ValueError where it has not."""
    step = _DAY if pa.types.is_date32(moments.type) else 1
    ends = pa.compute.min_max(moments.view(pa.int32() if step == _DAY else pa.int64()))
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if low is not None and (low * step < _YEAR_1 or high * step >= _YEAR_10000):
        raise ValueError("a far date")
    return moments


def column_of_strings(column: pa.Array, of: DataType, failures: Failures) -> pa.Array:
    """The values that the strings of a column stand for."""
    column = column.slice(0)
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    data = column.buffers()[2]
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    present = column.is_valid().to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(present)
    bounds = offsets.astype(np.int64)
    fields = Fields(text, bounds[:-1][rows], bounds[1:][rows])
    found = column_of_texts(fields, None, of, 0, failures)
    if rows.size == len(column):
        return found
    places = np.full(len(column), -1, np.int64)
    places[rows] = np.arange(rows.size)
    return found.take(pa.array(places, mask=places < 0))

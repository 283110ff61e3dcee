"""Columns as texts: what :mod:`continua.answers.encoding.value_texts` writes of each value, written for many at a time.

Arrow writes what it writes alike. Of everything else each distinct value is written once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from continua.answers.encoding.value_texts import csv_text, instant_text, json_text, plain_text
from continua.instants import INFINITY, TimeDomain
from continua.kernels.jit import Int64s
from continua.sqltext.duckdb_types import from_duckdb, type_of
from continua.types import DataType, Value

_BITS = {pa.float64(): pa.int64(), pa.float32(): pa.int32()}
_DAY = 86_400_000_000
_YEAR_1, _YEAR_10000 = -719_162 * _DAY, 2_932_897 * _DAY
"""The microseconds between which a year has four digits."""
_DATE = len("2024-02-29")
"""Where the blank stands between a date and a time of day that Arrow has written."""
_EXACT_SCALE = 6
"""Up to this scale Arrow writes decimals without an exponent."""


@dataclass(frozen=True)
class _Form:
    """A format: how it writes a value that is not NULL, and which texts it does not write just as they are."""

    write: Callable[[Value, DataType], str]
    quote: str
    """What stands around everything that is no number, no boolean and not nested."""
    special: str | None
    """A pattern of all the texts, and perhaps of others, that need more than that; None where there are none."""


_JSON = _Form(json_text, '"', r'[\x00-\x1f"\\]')
_CSV = _Form(csv_text, "", r'^$|[,"\n\r]|^[^!-~]|[^!-~]$')
_PLAIN = _Form(plain_text, "", None)


def json_texts(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The values of a column as JSON."""
    return _texts(column, _JSON).fill_null("null")


def csv_texts(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The values of a column as fields of CSV."""
    return _texts(column, _CSV).fill_null("")


def plain_texts(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The values of a column as text without quotes; NULL stays NULL."""
    return _texts(column, _PLAIN)


def instant_texts(instants: Int64s, domain: TimeDomain) -> pa.Array:
    """Instants as text without quotes; the end of what never ends is NULL."""
    values = pa.array(instants, mask=instants >= INFINITY)
    return values.cast(pa.string()) if domain is TimeDomain.TICKS else _moments(values)


def instant_jsons(instants: Int64s, domain: TimeDomain) -> pa.Array:
    """Instants as JSON."""
    texts = instant_texts(instants, domain)
    return (texts if domain is TimeDomain.TICKS else joined('"', texts, '"')).fill_null("null")


def joined(*pieces: str | pa.Array) -> pa.Array:
    """Texts put together, line by line; a piece that is one text is in every line. NULL makes all of its line NULL."""
    return pc.binary_join_element_wise(*pieces, "")


def _texts(column: pa.ChunkedArray | pa.Array, form: _Form) -> pa.Array:
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_null(kind):
        return values.cast(pa.string())
    if pa.types.is_boolean(kind):
        return pc.if_else(values, "true", "false")
    if pa.types.is_decimal(kind) and 0 <= kind.scale <= _EXACT_SCALE:
        return values.cast(pa.string())
    if pa.types.is_timestamp(kind):
        return joined(form.quote, _moments(values.cast(pa.timestamp("us", kind.tz)).view(pa.int64())), form.quote)
    if pa.types.is_date32(kind):
        return joined(form.quote, _days(values.view(pa.int32())), form.quote)
    if pa.types.is_string(kind):
        return _strings(values, form)
    of = type_of(kind)
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        found = (from_duckdb(v, of) for v in values.to_pylist())
        return pa.array([None if v is None else form.write(v, of) for v in found], pa.string())
    # By their bits: Arrow takes no two NaNs for the same.
    encoded = (values.view(_BITS[kind]) if kind in _BITS else values).dictionary_encode()
    distinct = encoded.dictionary.view(kind) if kind in _BITS else encoded.dictionary
    return pa.array([form.write(v, of) for v in distinct.to_pylist()], pa.string()).take(encoded.indices)


def _strings(values: pa.Array, form: _Form) -> pa.Array:
    """Most texts are written just as they are."""
    plain = joined(form.quote, values, form.quote) if form.quote else values
    if form.special is None:
        return plain
    special = pc.match_substring_regex(values, form.special).fill_null(False)
    if not pc.any(special).as_py():
        return plain
    encoded, of = values.filter(special).dictionary_encode(), type_of(values.type)
    written = pa.array([form.write(v, of) for v in encoded.dictionary.to_pylist()], pa.string())
    return pc.replace_with_mask(plain, special, written.take(encoded.indices))


def _moments(values: pa.Array) -> pa.Array:
    """Microseconds since 1970 as timestamps in ISO 8601; one that occurs again and again is written once."""
    encoded = values.dictionary_encode()
    if 2 * len(encoded.dictionary) > len(values):
        return _moment_texts(values)
    return _moment_texts(encoded.dictionary).take(encoded.indices)


def _moment_texts(values: pa.Array) -> pa.Array:
    """The same of any, each by itself; zeros at the end of a fraction are left out."""
    ends = pc.min_max(values)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if low is not None and not _YEAR_1 <= low <= high < _YEAR_10000:
        return _distinct(values, lambda t: instant_text(t, TimeDomain.MICROSECONDS) or "")
    texts = values.cast(pa.timestamp("us")).cast(pa.string())
    short = pc.ascii_rtrim(pc.ascii_rtrim(texts, "0"), ".")
    return joined(pc.binary_replace_slice(short, _DATE, _DATE + 1, "T"), "Z")


def _days(values: pa.Array) -> pa.Array:
    """Days since 1970 as dates."""
    ends = pc.min_max(values)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if low is not None and not _YEAR_1 <= low * _DAY <= high * _DAY < _YEAR_10000:
        return _distinct(values, lambda d: (instant_text(d * _DAY, TimeDomain.MICROSECONDS) or "").partition("T")[0])
    return values.view(pa.date32()).cast(pa.string())


def _distinct(values: pa.Array, write: Callable[[int], str]) -> pa.Array:
    encoded = values.dictionary_encode()
    return pa.array([write(v) for v in encoded.dictionary.to_pylist()], pa.string()).take(encoded.indices)


def text_of(lines: pa.Array) -> str:
    """Lines as one text."""
    return str(bytes_of(lines), "utf-8")


def bytes_of(lines: pa.Array) -> memoryview:
    """The same in UTF-8, where it is: the bytes of lines lie one behind the other."""
    _, offsets, data = lines.buffers()
    if data is None:
        return memoryview(b"")
    places = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(data)[int(places[0]) : int(places[-1])]

"""Columns of texts as columns of values: only spellings that mean the same here and in :mod:`convert`.

Whatever else a text may be (a sign, a space, a time zone), the row by row reading knows; here it is a doubt.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from continua.sqltext.values import arrow_type
from continua.types import DataType

_DIGITS = b"0123456789"
_YEAR_1, _YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000
"""The first instant that Python's calendar has, and the first that it has not."""
_DAY = 86_400_000_000
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_TIMESTAMP = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?(Z|[+]00:00)?)?$"
_TRUE, _FALSE = pa.array(["true", "t", "yes", "1"]), pa.array(["false", "f", "no", "0"])


class DoubtError(Exception):
    """Something that only the reading row by row can judge."""


def sure(holds: object) -> None:
    """Raises DoubtError unless something holds; NULL is neither."""
    if not holds:
        raise DoubtError


def by_chunk(column: pa.ChunkedArray, change: Callable[[pa.Array], pa.Array], to: pa.DataType) -> pa.ChunkedArray:
    """A column changed chunk by chunk."""
    return pa.chunked_array([change(chunk) for chunk in column.chunks], to)


def values_of(texts: pa.Array, to: DataType) -> pa.Array:
    """The values that texts stand for. Raises DoubtError, or what Arrow raises, where that is not sure."""
    wanted = arrow_type(to)
    match to.name:
        case "STRING" | "BINARY":
            return texts.cast(wanted)
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT":
            return _spelled(texts, _DIGITS + b"-").cast(wanted)
        case "FLOAT" | "DOUBLE":
            return narrowed(_spelled(texts, _DIGITS + b"+-.eE").cast(pa.float64()), wanted)
        case "DECIMAL":
            return _spelled(texts, _DIGITS + b"-.").cast(wanted)
        case "BOOLEAN":
            return _truth(texts)
        case "DATE":
            sure(_all(pc.match_substring_regex(texts, _DATE)))
            return in_calendar(texts.cast(wanted))
        case "TIMESTAMP":
            sure(_all(pc.match_substring_regex(texts, _TIMESTAMP)))
            return in_calendar(pc.replace_substring_regex(texts, r"(Z|[+]00:00)$", "").cast(wanted))
        case _:
            raise DoubtError


def narrowed(numbers: pa.Array, to: pa.DataType) -> pa.Array:
    """Doubles as numbers of a type, none of which is infinite."""
    found = numbers.cast(to)
    sure(not pc.any(pc.is_inf(found)).as_py())
    return found


def in_calendar(moments: pa.Array) -> pa.Array:
    """Dates or timestamps, all of which Python's calendar has."""
    step = _DAY if pa.types.is_date32(moments.type) else 1
    ends = pc.min_max(moments.view(pa.int32() if step == _DAY else pa.int64()))
    low, high = ends["min"].as_py(), ends["max"].as_py()
    sure(low is None or (low * step >= _YEAR_1 and high * step < _YEAR_10000))
    return moments


def _truth(texts: pa.Array) -> pa.Array:
    lower = pc.ascii_lower(texts)
    true, false = pc.is_in(lower, _TRUE), pc.is_in(lower, _FALSE)
    sure(_all(pc.or_(pc.or_(true, false), pc.is_null(texts))))
    return pc.if_else(pc.is_valid(texts), true, pa.scalar(None, pa.bool_()))


def _spelled(texts: pa.Array, allowed: bytes) -> pa.Array:
    """Texts of nothing but these characters, without the spaces around them."""
    if _only(texts, allowed):
        return texts
    sure(_only(texts, allowed + b" "))
    return pc.ascii_trim(texts, " ")


def _only(texts: pa.Array, allowed: bytes) -> bool:
    known = np.zeros(256, np.bool_)
    known[np.frombuffer(allowed, np.uint8)] = True
    data = texts.buffers()[2]
    if data is None or not len(texts):
        return True
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    used = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]
    return bool(known[used].all())


def _all(holds: pa.Array) -> bool:
    """Whether something holds for all values that are not NULL."""
    return pc.all(holds).as_py() is not False

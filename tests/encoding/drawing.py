"""Random types and values of them."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from hypothesis import strategies as st

from continua.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    DataType,
    Value,
    array,
    decimal,
    map_of,
    struct,
)

PLAIN = [BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, INTERVAL]
_BITS = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}
_SPECIAL = st.sampled_from(["", " ", "null", "NULL", "NaN", ',"\n', "\r\n", "\\", "a\x00", "\x1f", "\u2028", "ü "])
moments = st.datetimes().map(lambda moment: moment.replace(fold=0))
_decimals = st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: decimal(p, s)))
_simple = st.sampled_from(PLAIN) | _decimals
types = st.recursive(
    _simple,
    lambda inner: (
        inner.map(array)
        | st.lists(inner, min_size=1, max_size=3).map(lambda of: struct(*((f"f{i}", t) for i, t in enumerate(of))))
        | st.tuples(_simple, inner).map(lambda pair: map_of(*pair))
    ),
    max_leaves=4,
)


def values(of: DataType) -> st.SearchStrategy[Value]:
    """Values of a type, and NULL."""
    return st.none() | _values(of)


def _values(of: DataType) -> st.SearchStrategy[Value]:
    match of.name:
        case "BOOLEAN":
            return st.booleans()
        case "FLOAT":
            return st.floats(width=32).map(_one_nan)
        case "DOUBLE":
            return st.floats().map(_one_nan)
        case "DECIMAL":
            most = 10**of.precision - 1
            return st.integers(-most, most).map(lambda n: _scaled(n, of.scale))
        case "STRING":
            return _SPECIAL | st.text(max_size=8)
        case "BINARY":
            return st.binary(max_size=8)
        case "DATE":
            return st.dates(date.min, date.max)
        case "TIMESTAMP":
            return moments
        case "INTERVAL":
            return st.timedeltas(timedelta(days=-100_000), timedelta(days=100_000))
        case "ARRAY" if of.element:
            return st.lists(values(of.element), max_size=3).map(tuple)
        case "STRUCT":
            return st.tuples(*(values(kind) for _, kind in of.fields))
        case "MAP" if of.key and of.element:
            pair = st.tuples(_values(of.key), values(of.element))
            return st.lists(pair, max_size=3, unique_by=lambda p: repr(p[0])).map(tuple)
        case _:
            end = 1 << _BITS[of.name]
            return st.integers(-end, end - 1)


def _one_nan(number: float) -> float:
    """NaN without a sign, as rows have it."""
    return float("nan") if number != number else number + 0.0  # and one zero: where rows have state there is no other


def _scaled(number: int, scale: int) -> Value:
    digits = tuple(map(int, str(abs(number))))
    return Decimal((int(number < 0), digits, -scale))

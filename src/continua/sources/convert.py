"""From what a file holds (text, JSON values, Arrow's Python values) to the values of the language.

One rule for all formats: a text is read as a literal of the type, any other value must already be of a type
that widens to it. Nothing is guessed and nothing overflows in silence; what does not fit is a ValueError
whose message is the reason.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Mapping
from datetime import date, datetime
from datetime import time as clock_time
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import TypeAlias, TypeVar
from uuid import UUID

from continua.instants import parse_timestamp
from continua.sources.shown_values import shorten
from continua.types import DataType, Value

Converter: TypeAlias = Callable[[object], Value]

_T = TypeVar("_T")

_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NON_FINITE = re.compile(r"[+-]?(inf|infinity|nan)", re.IGNORECASE)
_TRUTH = dict.fromkeys(("true", "t", "yes", "1"), True) | dict.fromkeys(("false", "f", "no", "0"), False)
_EXACT = Context(prec=80, rounding=ROUND_HALF_UP)


def convert(value: object, to: DataType) -> Value:
    """The value of a type that a text, a JSON value or an Arrow value stands for. Raises ValueError."""
    return converter(to)(value)


@lru_cache(maxsize=1024)
def converter(to: DataType) -> Converter:
    """The conversion to a type, with all that depends on the type alone worked out once."""
    inner = _converter(to)
    return lambda value: None if value is None else inner(value)


def parse_json(text: str) -> object:
    """A JSON text with its fractions as Decimal, so that no digit is lost. Raises ValueError."""
    try:
        parsed: object = json.loads(text, parse_float=Decimal)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos + 1}") from None
    except (ValueError, ArithmeticError):
        raise ValueError("not JSON: a number has too many digits") from None
    except RecursionError:
        raise ValueError("not JSON: nested too deeply") from None
    return parsed


def lookup(fields: Mapping[str, _T], name: str) -> _T | None:
    """The field of a name: spelled so, else the first that differs only in case, else None."""
    if name in fields:
        return fields[name]
    folded = name.casefold()
    return next((value for key, value in fields.items() if key.casefold() == folded), None)


def _converter(to: DataType) -> Converter:
    match to.name:
        case "BOOLEAN":
            return _boolean
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT":
            return _integer(to)
        case "FLOAT":
            return _single
        case "DOUBLE":
            return lambda value: _double(value, "DOUBLE")
        case "DECIMAL":
            return _decimal(to)
        case "STRING":
            return _string
        case "BINARY":
            return _binary
        case "DATE":
            return _date
        case "TIMESTAMP":
            return _timestamp
        case "ARRAY" if to.element is not None:
            return _array(to, converter(to.element))
        case "STRUCT":
            return _struct(to)
        case "MAP" if to.key is not None and to.element is not None:
            return _map(to, converter(to.key), converter(to.element))
        case _:
            return lambda _: _fail(f"a file cannot hold values of type {to}")


def _fail(reason: str) -> Value:
    raise ValueError(reason)


def _invalid(value: object, to: DataType | str) -> ValueError:
    return ValueError(f"{shorten(value)} is not a valid {to}")


def _out_of_range(value: object, to: DataType | str) -> ValueError:
    return ValueError(f"{shorten(value)} is out of the range of {to}")


def _boolean(value: object) -> Value:
    truth = _TRUTH.get(value.strip().casefold()) if isinstance(value, str) else value
    if not isinstance(truth, bool):
        raise _invalid(value, "BOOLEAN")
    return truth


def _integer(to: DataType) -> Converter:
    limit = 1 << (_BITS[to.name] - 1)

    def read(value: object) -> Value:
        number = value
        if isinstance(value, str):
            text = value.strip()
            if not _INTEGER.fullmatch(text):
                raise _invalid(value, to)
            # int() refuses texts of thousands of digits with a message of its own.
            number = int(text) if len(text.lstrip("+-0")) <= 19 else limit
        elif not isinstance(value, int) or isinstance(value, bool):
            raise _invalid(value, to)
        if not isinstance(number, int) or not -limit <= number < limit:
            raise _out_of_range(value, to)
        return number

    return read


def _double(value: object, to: str) -> float:
    if isinstance(value, str):
        text = value.strip()
        if _NON_FINITE.fullmatch(text):
            return float(text)
        if not _DECIMAL.fullmatch(text):
            raise _invalid(value, to)
        number = float(text)
    elif isinstance(value, float):
        return value
    elif isinstance(value, int | Decimal) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            raise _out_of_range(value, to) from None
    else:
        raise _invalid(value, to)
    if math.isinf(number):
        raise _out_of_range(value, to)
    return number


def _single(value: object) -> Value:
    number = _double(value, "FLOAT")
    try:
        (rounded,) = struct.unpack("<f", struct.pack("<f", number))
    except OverflowError:
        raise _out_of_range(value, "FLOAT") from None
    return float(rounded)


def _decimal(to: DataType) -> Converter:
    digits = to.precision - to.scale
    step = Decimal(1).scaleb(-to.scale)

    def read(value: object) -> Value:
        number = _exact(value, to)
        if number and number.adjusted() >= digits:
            raise _out_of_range(value, to)
        rounded = number.quantize(step, context=_EXACT)
        if rounded and rounded.adjusted() >= digits:
            raise _out_of_range(value, to)
        return rounded if rounded else rounded.copy_abs()

    return read


def _exact(value: object, to: DataType) -> Decimal:
    if isinstance(value, str):
        if not _DECIMAL.fullmatch(value.strip()):
            raise _invalid(value, to)
        try:
            return Decimal(value.strip())
        except ArithmeticError:
            raise _out_of_range(value, to) from None
    if isinstance(value, float) and math.isfinite(value):
        return Decimal(repr(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, Decimal) and value.is_finite():
        return value
    raise _invalid(value, to)


def _string(value: object) -> Value:
    if isinstance(value, UUID | clock_time):
        value = str(value)
    if not isinstance(value, str):
        raise _invalid(value, "STRING")
    _utf8(value, "STRING")
    return value


def _binary(value: object) -> Value:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise _invalid(value, "BINARY")
    return _utf8(value, "BINARY")


def _utf8(text: str, to: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can spell but no file can hold
        raise _invalid(text, to) from None


def _date(value: object) -> Value:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value.strip())
        except ValueError:
            raise _invalid(value, "DATE") from None
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    raise _invalid(value, "DATE")


def _timestamp(value: object) -> Value:
    try:
        if isinstance(value, str):
            return parse_timestamp(value)
        if isinstance(value, datetime) and value.tzinfo is None:
            return value
        if isinstance(value, date):  # also a datetime with a zone: both print as ISO 8601
            return parse_timestamp(value.isoformat())
    except (ValueError, OverflowError):
        pass
    raise _invalid(value, "TIMESTAMP")


def _part(read: Converter, value: object, label: str) -> Value:
    try:
        return read(value)
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None


def _array(to: DataType, element: Converter) -> Converter:
    def read(value: object) -> Value:
        items = parse_json(value) if isinstance(value, str) else value
        if not isinstance(items, list | tuple):
            raise _invalid(value, to)
        return tuple(_part(element, item, f"element {i}") for i, item in enumerate(items, start=1))

    return read


def _struct(to: DataType) -> Converter:
    fields = tuple((name, converter(of)) for name, of in to.fields)

    def read(value: object) -> Value:
        given = parse_json(value) if isinstance(value, str) else value
        if isinstance(given, tuple) and len(given) == len(fields):
            # the values of all fields, in their order
            return tuple(_part(of, item, f"field {name}") for (name, of), item in zip(fields, given, strict=True))
        if not isinstance(given, dict):
            raise _invalid(value, to)
        return tuple(_part(of, lookup(given, name), f"field {name}") for name, of in fields)

    return read


def _map(to: DataType, key: Converter, element: Converter) -> Converter:
    def read(value: object) -> Value:
        given = parse_json(value) if isinstance(value, str) else value
        if isinstance(given, dict):
            pairs = list(given.items())
        elif isinstance(given, list | tuple) and all(isinstance(p, tuple) and len(p) == 2 for p in given):
            pairs = list(given)
        else:
            raise _invalid(value, to)
        read_pairs = tuple((_part(key, k, "key"), _part(element, v, f"value of {k}")) for k, v in pairs)
        keys = {k for k, _ in read_pairs}
        if None in keys or len(keys) < len(read_pairs):
            raise ValueError(f"{shorten(value)} has a NULL key or the same key twice")
        return read_pairs

    return read

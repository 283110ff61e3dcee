"""Values as PostgreSQL's clients know them: the numbers of types, and their forms as text and as bytes."""

from __future__ import annotations

import json
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

BOOL, BYTEA, INT8, INT2, INT4, TEXT, FLOAT4, FLOAT8 = 16, 17, 20, 21, 23, 25, 700, 701
DATE, TIMESTAMP, TIMESTAMPTZ, NUMERIC = 1082, 1114, 1184, 1700
NAMES = {
    BOOL: "boolean",
    BYTEA: "bytea",
    INT8: "bigint",
    INT2: "smallint",
    INT4: "integer",
    TEXT: "text",
    FLOAT4: "real",
    FLOAT8: "double precision",
    DATE: "date",
    TIMESTAMP: "timestamp without time zone",
    TIMESTAMPTZ: "timestamp with time zone",
    NUMERIC: "numeric",
}
SIZES = {BOOL: 1, INT8: 8, INT2: 2, INT4: 4, FLOAT4: 4, FLOAT8: 8, DATE: 4, TIMESTAMP: 8, TIMESTAMPTZ: 8}
_EPOCH = datetime(2000, 1, 1)
_DIGITS = 4
_NUMBERS = {INT2: ">h", INT4: ">i", INT8: ">q", FLOAT4: ">f", FLOAT8: ">d"}
_MICROSECOND = timedelta(microseconds=1)


def type_of(kind: pa.DataType) -> int:
    """The number of a type; what PostgreSQL has no simple type for is text."""
    types = pa.types
    simple = [
        (types.is_boolean, BOOL),
        (types.is_int8, INT2),
        (types.is_int16, INT2),
        (types.is_int32, INT4),
        (types.is_integer, INT8),
        (types.is_float32, FLOAT4),
        (types.is_floating, FLOAT8),
        (types.is_decimal, NUMERIC),
        (types.is_date, DATE),
        (types.is_binary, BYTEA),
        (types.is_large_binary, BYTEA),
    ]
    if types.is_timestamp(kind):
        return TIMESTAMP if kind.tz is None else TIMESTAMPTZ
    return next((number for fits, number in simple if fits(kind)), TEXT)


def as_text(value: Any, of: int) -> bytes:
    """A value as text."""
    match value:
        case bool():
            return b"t" if value else b"f"
        case bytes():
            return b"\\x" + value.hex().encode()
        case float():
            return repr(value).replace("inf", "Infinity").replace("nan", "NaN").encode()
        case datetime():
            zone = "+00" if of == TIMESTAMPTZ else ""
            return (value.replace(tzinfo=None).isoformat(" ") + zone).encode()
        case dict() | list():
            return json.dumps(value, default=str, ensure_ascii=False).encode()
        case _:
            return str(value).encode()


def as_bytes(value: Any, of: int) -> bytes:
    """A value in the binary form of its type."""
    match of:
        case 16:
            return b"\x01" if value else b"\x00"
        case 17:
            return bytes(value)
        case 20 | 21 | 23 | 700 | 701:
            return struct.pack(_NUMBERS[of], value)
        case 1082:
            return struct.pack(">i", (value - _EPOCH.date()).days)
        case 1114 | 1184:
            return struct.pack(">q", (value.replace(tzinfo=None) - _EPOCH) // _MICROSECOND)
        case 1700:
            return _numeric(Decimal(value))
        case _:
            return as_text(value, of)


def _numeric(value: Decimal) -> bytes:
    """Digits of base 10,000, with the weight of the first one."""
    if not value.is_finite():
        return struct.pack(">HhHH", 0, 0, 0xC000, 0)
    sign, digits, exponent = value.as_tuple()
    scale = max(-int(exponent), 0)
    text = "".join(map(str, digits)) + "0" * max(int(exponent), 0)
    whole, part = (text[:-scale] or "", text[-scale:].rjust(scale, "0")) if scale else (text, "")
    whole = whole.rjust(-(-len(whole) // _DIGITS) * _DIGITS, "0")
    part = part.ljust(-(-len(part) // _DIGITS) * _DIGITS, "0")
    groups = [int((whole + part)[i : i + _DIGITS]) for i in range(0, len(whole + part), _DIGITS)]
    weight = len(whole) // _DIGITS - 1
    while groups and groups[0] == 0:
        groups, weight = groups[1:], weight - 1
    while groups and groups[-1] == 0:
        groups.pop()
    head = struct.pack(">HhHH", len(groups), weight if groups else 0, 0x4000 if sign else 0, scale)
    return head + b"".join(struct.pack(">H", group) for group in groups)


def parameter(content: bytes | None, of: int, binary: bool) -> Any:
    """The value of a parameter. One in binary form must be of a type that is known here."""
    if content is None:
        return None
    if binary:
        return _from_bytes(content, of)
    text = content.decode()
    match of:
        case 16:
            return text.lower() in ("t", "true", "1", "on", "yes")
        case 17:
            return bytes.fromhex(text.removeprefix("\\x"))
        case 20 | 21 | 23:
            return int(text)
        case 700 | 701:
            return float(text)
        case 1700:
            return Decimal(text)
        case 1082:
            return date.fromisoformat(text)
        case 1114:
            return datetime.fromisoformat(text)
        case 1184:
            return datetime.fromisoformat(text).astimezone(UTC)
        case _:
            return text


def _from_bytes(content: bytes, of: int) -> Any:
    match of:
        case 16:
            return content != b"\x00"
        case 17:
            return content
        case 20 | 21 | 23 | 700 | 701:
            return struct.unpack(_NUMBERS[of], content)[0]
        case 1082:
            return _EPOCH.date() + timedelta(days=struct.unpack(">i", content)[0])
        case 1114 | 1184:
            return _EPOCH + timedelta(microseconds=struct.unpack(">q", content)[0])
        case 0 | 25 | 1043 | 19:
            return content.decode()
        case _:
            raise ValueError(f"a parameter of the type {of} is not understood in binary form")

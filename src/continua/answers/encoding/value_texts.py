"""Values as JSON, as fields of CSV and as plain text, by their types. No digit of a number is lost."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal

from continua.instants import INFINITY, TimeDomain, show_instant, show_timestamp
from continua.types import STRING, DataType, Value

_SPECIAL = (",", '"', "\n", "\r")
_CYCLE_YEARS = 400
_CYCLE = 146_097 * 86_400_000_000
"""The calendar repeats after 400 years, which are so many microseconds."""


def json_text(value: Value, of: DataType) -> str:
    """A value as JSON: numbers exactly, NaN and infinities as strings, structs and maps as objects."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value + 0.0)  # there is one zero: rows that an operator has held have no other
        case Decimal():
            return _decimal_text(value, of)
        case tuple():
            return _nested(value, of)
        case _:
            return quoted(plain_text(value, of))


def json_object(members: Iterable[tuple[str, str]]) -> str:
    """An object of members whose values are JSON already."""
    return "{" + ", ".join(f"{quoted(name)}: {text}" for name, text in members) + "}"


def quoted(text: str) -> str:
    """A JSON string."""
    return json.dumps(text, ensure_ascii=False)


def csv_text(value: Value, of: DataType) -> str:
    """A value as a field of CSV: NULL is nothing at all, and the empty text a pair of quotes."""
    return "" if value is None else csv_field(plain_text(value, of))


def csv_field(text: str) -> str:
    """A text as a field of CSV."""
    if not text or any(c in text for c in _SPECIAL) or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def plain_text(value: Value, of: DataType) -> str:
    """A value that is not NULL as text without quotes: what CSV and tables show."""
    match value:
        case str():
            return value
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case datetime():
            return show_timestamp(value)
        case date():
            return value.isoformat()
        case timedelta():
            return duration_text(value)
        case _:
            return json_text(value, of)


def duration_text(length: timedelta) -> str:
    """An ISO 8601 duration, in days and parts of a day."""
    seconds, fraction = divmod(abs(length) // timedelta(microseconds=1), 1_000_000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    exact = f"{second}.{fraction:06}".rstrip("0").rstrip(".")
    clock = "".join(f"{n}{unit}" for n, unit in ((hour, "H"), (minute, "M"), (exact, "S")) if n not in (0, "0"))
    text = (f"{days}D" if days else "") + (f"T{clock}" if clock else "")
    return f"{'-' if length < timedelta() else ''}P{text or 'T0S'}"


def instant_text(instant: int, domain: TimeDomain) -> str | None:
    """An instant as text; None for the end of what never ends. Years beyond 9999 have ISO 8601's plus sign."""
    if instant >= INFINITY:
        return None
    try:
        return str(show_instant(instant, domain))
    except OverflowError:
        cycles = instant // _CYCLE
        shown = str(show_instant(instant - cycles * _CYCLE, domain))
        return f"{int(shown[:4]) + cycles * _CYCLE_YEARS:+}{shown[4:]}"


def instant_json(instant: int, domain: TimeDomain) -> str:
    """An instant as JSON: a number of ticks, or a timestamp; null for the end of what never ends."""
    text = instant_text(instant, domain)
    if text is None:
        return "null"
    return text if domain is TimeDomain.TICKS else quoted(text)


def _decimal_text(value: Decimal, of: DataType) -> str:
    """With as many digits behind the point as the type has, and more only where the value has them."""
    text = format(value, "f")
    missing = of.scale - len(text.partition(".")[2])
    if of.name != "DECIMAL" or missing <= 0:
        return text
    return text + ("" if "." in text else ".") + "0" * missing


def _nested(value: tuple[Value, ...], of: DataType) -> str:
    match of.name:
        case "STRUCT":
            return json_object(
                (name, json_text(part, kind)) for (name, kind), part in zip(of.fields, value, strict=True)
            )
        case "MAP" if of.key and of.element:
            pairs = [part for part in value if isinstance(part, tuple)]
            return json_object((plain_text(key, of.key), json_text(part, of.element)) for key, part in pairs)
        case _:
            return "[" + ", ".join(json_text(part, of.element or STRING) for part in value) + "]"

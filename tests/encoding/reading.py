"""A reader of what Continua writes, by nothing but the documented conventions."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal

from continua.types import DataType, Value

_DURATION = re.compile(r"(-?)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?)?")
_NO_TEXT = ("NaN", "Infinity", "-Infinity")


def from_json(text: str) -> object:
    """JSON with all the digits of its numbers."""
    return json.loads(text, parse_float=Decimal)


def value_of(found: object, of: DataType) -> Value:
    """A value of a type from what JSON holds."""
    match of.name:
        case _ if found is None:
            return None
        case "ARRAY" if of.element and isinstance(found, list):
            return tuple(value_of(part, of.element) for part in found)
        case "STRUCT" if isinstance(found, dict):
            assert list(found) == [name for name, _ in of.fields]
            return tuple(value_of(found[name], kind) for name, kind in of.fields)
        case "MAP" if of.key and of.element and isinstance(found, dict):
            return tuple((value_of_text(key, of.key), value_of(part, of.element)) for key, part in found.items())
        case "FLOAT" | "DOUBLE":
            assert not isinstance(found, str) or found in _NO_TEXT
            return float(str(found))
        case "DECIMAL":
            assert isinstance(found, int | Decimal)
            return Decimal(found)
        case _ if isinstance(found, str):
            return _from_text(found, of)
        case _:
            assert of.is_integer or of.name == "BOOLEAN"
            return found


def value_of_text(text: str | None, of: DataType) -> Value:
    """A value of a type from a field of CSV, of which None is empty, or from the key of a map."""
    if text is None:
        return None
    if of.name in ("STRING", "BINARY", "DATE", "TIMESTAMP", "INTERVAL"):
        return _from_text(text, of)
    return value_of(text if text in _NO_TEXT else from_json(text), of)


def _from_text(text: str, of: DataType) -> Value:
    match of.name:
        case "BINARY":
            return base64.b64decode(text, validate=True)
        case "DATE":
            return date.fromisoformat(text)
        case "TIMESTAMP":
            assert text.endswith("Z")
            return datetime.fromisoformat(text.removesuffix("Z"))
        case "INTERVAL":
            found = _DURATION.fullmatch(text)
            assert found
            sign, days, hours, minutes, seconds, fraction = found.groups(default="0")
            length = timedelta(days=int(days), hours=int(hours), minutes=int(minutes), seconds=int(seconds))
            length += timedelta(microseconds=int(fraction.ljust(6, "0")))
            return -length if sign == "-" else length
        case _:
            assert of.name == "STRING"
            return text


def csv_records(text: str) -> Iterator[list[str | None]]:
    """The records of a CSV file; a field with nothing in it is None, one with a pair of quotes is empty."""
    record: list[str | None] = []
    place = 0
    while place < len(text):
        if text[place] == '"':
            end = place + 1
            while text[end] != '"' or text[end + 1] == '"':
                end += 2 if text[end] == '"' else 1
            record.append(text[place + 1 : end].replace('""', '"'))
            place = end + 1
        else:
            found = re.compile("[^,\n]*").match(text, place)
            assert found
            record.append(found[0] or None)
            place = found.end()
        if text[place] == "\n":
            yield record
            record = []
        place += 1
    assert not record


def same(left: Value, right: Value) -> bool:
    """Whether two values cannot be told apart: not even the two zeros, or decimals of different scale."""
    return repr(left) == repr(right)

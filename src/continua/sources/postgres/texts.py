"""Values as PostgreSQL writes them, as values of the language: exactly, or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache

import pyarrow as pa

from continua.sources.convert import converter
from continua.sqltext.duckdb_types import arrow_type, to_arrow
from continua.types import DataType, Value

_WHOLE = ("smallint", "integer", "bigint")
_FITTING: dict[str, tuple[str, ...]] = {
    "BOOLEAN": ("boolean",),
    "TINYINT": _WHOLE[:1],
    "SMALLINT": _WHOLE[:1],
    "INT": _WHOLE[:2],
    "BIGINT": _WHOLE,
    "FLOAT": ("real",),
    "DOUBLE": ("real", "double precision"),
    "DECIMAL": (*_WHOLE, "numeric"),
    "BINARY": ("bytea",),
    "DATE": ("date",),
    "TIMESTAMP": ("timestamp with time zone", "timestamp without time zone"),
}
"""The types of PostgreSQL that a column of a type may have; a STRING is the text of any but these of bytes."""
_PARTS = re.compile(r"\([^)]*\)")
_ZONE = re.compile(r"[+-]\d\d(:\d\d)*$")


def fitting(of: DataType) -> tuple[str, ...]:
    """The types that a column of PostgreSQL may have whose values are those of a type; for texts there are others."""
    if of.name == "STRING":
        return ("text", "character varying", "uuid", "jsonb")
    if of.name == "ARRAY" and of.element is not None:
        return tuple(f"{t}[]" for t in fitting(of.element))
    return _FITTING.get(of.name, ())


def fits(of: DataType, given: str) -> bool:
    """Whether the values of a type of PostgreSQL, spelled as ``format_type`` does, can be those of a type."""
    plain = _PARTS.sub("", given)
    if of.name == "STRING":
        return plain != "bytea"
    if of.name == "ARRAY" and of.element is not None:
        return plain.endswith("[]") and fits(of.element, plain[:-2])
    return plain in _FITTING.get(of.name, ())


def column_of_texts(texts: Sequence[str | None], of: DataType, wrong: Callable[[int, str], None]) -> pa.Array:
    """The values that texts stand for; what fits no value is told to ``wrong``, and NULL here."""
    read = _reader(of)
    found: list[object] = []
    for row, text in enumerate(texts):
        value: object = None
        if text is not None:
            try:
                value = to_arrow(read(text), of)
            except ValueError as error:
                wrong(row, str(error))
        found.append(value)
    return pa.array(found, arrow_type(of))


@lru_cache(maxsize=256)
def _reader(of: DataType) -> Callable[[str], Value]:
    known = converter(of)
    match of.name:
        case "STRING":
            return lambda text: text
        case "BINARY":
            return lambda text: bytes.fromhex(text.removeprefix("\\x"))
        case "ARRAY" if of.element is not None:
            inside = _reader(of.element)
            return lambda text: _array(text, inside)
        case "FLOAT" | "DOUBLE":
            return float
        case "DECIMAL":
            return lambda text: _decimal(text, of, known)
        case "TIMESTAMP":
            return _moment
        case _:
            return known


def _decimal(text: str, of: DataType, known: Callable[[object], Value]) -> Value:
    """A number with all of its digits: one that would have to be rounded does not fit."""
    value = known(text)
    if isinstance(value, Decimal) and value != Decimal(text):
        raise ValueError(f"{text} has more digits than a {of}")
    return value


def _moment(text: str) -> Value:
    """A time by UTC, which is the zone of connections."""
    zone = _ZONE.search(text)
    return converter(DataType("TIMESTAMP"))(text[: zone.start()] + "Z" if zone else text + "Z")


def _array(text: str, inside: Callable[[str], Value]) -> Value:
    """An array by its text: {1,NULL,"a, b"}."""
    if not text.startswith("{"):
        raise ValueError(f"{text} is an array that does not begin with 1")
    found, rest = _list(text, 1, inside)
    if rest != len(text):
        raise ValueError(f"{text} is no array")
    return found


def _list(text: str, place: int, inside: Callable[[str], Value]) -> tuple[tuple[Value, ...], int]:
    found: list[Value] = []
    if text[place] == "}":
        return (), place + 1
    while True:
        if text[place] == "{":
            raise ValueError(f"{text} is an array of arrays")
        quoted = text[place] == '"'
        item, place = _quoted(text, place + 1) if quoted else _bare(text, place)
        found.append(None if item == "NULL" and not quoted else inside(item))
        place += 1
        if text[place - 1] == "}":
            return tuple(found), place


def _bare(text: str, place: int) -> tuple[str, int]:
    end = next(n for n in range(place, len(text)) if text[n] in ",}")
    return text[place:end], end


def _quoted(text: str, place: int) -> tuple[str, int]:
    parts: list[str] = []
    while text[place] != '"':
        place += text[place] == "\\"
        parts.append(text[place])
        place += 1
    return "".join(parts), place + 1


def transposed(rows: Sequence[Sequence[str | None]], width: int) -> Iterator[list[str | None]]:
    """Rows of texts as columns, also where there are no rows."""
    for number in range(width):
        yield [row[number] for row in rows]

"""Debezium's envelope: what a record says of how a row of a database has changed.

It has the row ``before`` and ``after``, the operation ``op``, and when that was: ``source`` tells the time at which the
database was changed, the envelope itself the one at which the connector saw it. The converter of Kafka Connect may wrap
it together with its schema.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache

from continua.sources.kafka.decoded_values import FieldRow, Fields, decoder_of, piece_of, read_each
from continua.sources.kafka.topic import OF_CHANGES, Topic
from continua.sources.source_spec import SourceSpec
from continua.sources.splits import Piece
from continua.types import DATE, TIMESTAMP

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1)
_IN_A_SECOND = {
    "org.apache.kafka.connect.data.Timestamp": 1000,
    "io.debezium.time.Timestamp": 1000,
    "io.debezium.time.MicroTimestamp": 1_000_000,
    "io.debezium.time.NanoTimestamp": 1_000_000_000,
}
"""How many units of a time are in a second."""
_DAYS = ("org.apache.kafka.connect.data.Date", "io.debezium.time.Date")
_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_ANY_SCALE = "io.debezium.data.VariableScaleDecimal"


@dataclass(frozen=True, slots=True)
class _Change:
    """A row that a record inserts, updates or removes."""

    tag: str
    fields: Fields


def changes_of(topic: Topic, shown: str, values: Sequence[bytes | None]) -> Piece:
    """The changes that records are, as the columns of ``topic.values``; a line is the number of a value.

    A record without a value follows one that has told a removal, and says nothing more.
    """
    told = {part: name for part, name in topic.parts if part in OF_CHANGES}
    spec, rows = topic.values, list[FieldRow]()

    def use(number: int, fields: Fields) -> None:
        schema, envelope = _unwrapped(fields)
        changes = _changes(envelope, schema, topic.by_pairs)
        times = {
            told[part]: _time(place, topic, part)
            for part, place in (("source_time", envelope.get("source")), ("envelope_time", envelope))
            if part in told
        }
        for change in changes:
            own = _in_units(change.fields, spec, topic.time_unit) if schema is None else change.fields
            rows.append(FieldRow(number, {**own, **times, told["tag"]: change.tag}))

    present = [number for number, value in enumerate(values) if value is not None]
    found = read_each(
        decoder_of(topic.schemas, topic.form), shown, [values[n] for n in present], "debezium",
        lambda n, fields: use(present[n], fields),
    )  # fmt: skip
    return piece_of(spec, shown, values, rows, [replace(m, line=present[m.line]) for m in found])


def _unwrapped(fields: Fields) -> tuple[Fields | None, Fields]:
    """The schema of an envelope, if it comes with one, and the envelope."""
    schema, payload = fields.get("schema"), fields.get("payload")
    if fields.keys() <= {"schema", "payload"} and isinstance(payload, dict):
        return (schema if isinstance(schema, dict) else None), payload
    return None, fields


def _changes(envelope: Fields, schema: Fields | None, by_pairs: bool) -> list[_Change]:
    operation = envelope.get("op")
    match operation:
        case "c" | "r":
            return [_Change("+", _row(envelope, schema, "after"))]
        case "d":
            return [_Change("-", _row(envelope, schema, "before"))]
        case "u" if by_pairs:
            return [_Change("-", _row(envelope, schema, "before")), _Change("+", _row(envelope, schema, "after"))]
        case "u":
            return [_Change("u", _row(envelope, schema, "after"))]
        case "t":
            raise ValueError("the table was truncated, and which rows that has removed is not told")
        case None:
            raise ValueError("no envelope of Debezium: it has no op")
        case _:
            raise ValueError(f"no change of a row: its op is {operation!r}")


def _row(envelope: Fields, schema: Fields | None, name: str) -> Fields:
    found = envelope.get(name)
    if not isinstance(found, dict):
        hint = " (the table needs REPLICA IDENTITY FULL)" if name == "before" else ""
        raise ValueError(f"it does not tell the row {name} the change{hint}")
    if schema is None:
        return found
    return _by_schema(found, _field(schema, name))


def _field(schema: Fields, name: str) -> Fields:
    """The schema of a field of a struct."""
    fields = schema.get("fields")
    for field in fields if isinstance(fields, list) else ():
        if isinstance(field, dict) and field.get("field") == name:
            return field
    return {}


def _by_schema(row: Fields, schema: Fields) -> Fields:
    return {name: _value(value, _field(schema, name)) for name, value in row.items()}


def _value(value: object, schema: Fields) -> object:
    """A value as what its schema says that it is."""
    if value is None:
        return None
    name, kind = str(schema.get("name")), schema.get("type")
    if isinstance(value, int) and name in _IN_A_SECOND:
        return _moment(value, _IN_A_SECOND[name])
    if isinstance(value, int) and name in _DAYS:
        return _FIRST_DAY + timedelta(days=value)
    if isinstance(value, dict) and name == _ANY_SCALE:
        return _decimal(str(value.get("value")), int(str(value.get("scale"))))
    if isinstance(value, str) and name == _DECIMAL:
        parameters = schema.get("parameters")
        return _decimal(value, int(str(parameters["scale"])) if isinstance(parameters, dict) else 0)
    if isinstance(value, str) and kind == "bytes":
        return base64.b64decode(value)
    inner = schema.get("items") if kind == "array" else schema.get("values") if kind == "map" else None
    if isinstance(value, list) and isinstance(inner, dict):
        return [_value(item, inner) for item in value]
    if isinstance(value, dict) and isinstance(inner, dict):
        return {key: _value(item, inner) for key, item in value.items()}
    if isinstance(value, dict) and kind == "struct":
        return _by_schema(value, schema)
    return value


def _decimal(text: str, scale: int) -> Decimal:
    """A number that is told by its digits as bytes."""
    return Decimal(int.from_bytes(base64.b64decode(text), "big", signed=True)).scaleb(-scale)


def _moment(value: int, in_a_second: int) -> datetime:
    """A moment that is told by how many units have passed since 1970. Raises ValueError where no calendar has it."""
    try:
        return _EPOCH + timedelta(microseconds=value * 1_000_000 // in_a_second)
    except OverflowError:
        raise ValueError(f"{value} is no time that a calendar has") from None


@lru_cache(maxsize=64)
def _counted(spec: SourceSpec) -> tuple[tuple[str, bool], ...]:
    """The columns that are times, by their names without case; whether they are dates."""
    return tuple((name.casefold(), of == DATE) for name, of in spec.columns if of in (DATE, TIMESTAMP))


def _in_units(row: Fields, spec: SourceSpec, in_a_second: int | None) -> Fields:
    """A row that comes without its schema: its days are numbers, and its times are, in a unit that has to be said."""
    known = dict(_counted(spec))
    found = dict(row)
    for name, value in row.items():
        is_date = known.get(name.casefold())
        if is_date is None or not isinstance(value, int) or isinstance(value, bool):
            continue
        if is_date:
            found[name] = _FIRST_DAY + timedelta(days=value)
        elif in_a_second is None:
            raise ValueError(f"{name} is a number, and without a schema time_unit must say what it counts")
        else:
            found[name] = _moment(value, in_a_second)
    return found


def _time(place: object, topic: Topic, part: str) -> object:
    """A time that an envelope tells, in microseconds if it does."""
    if not isinstance(place, dict):
        raise ValueError("no envelope of Debezium: it has no source")
    millis, micros = place.get("ts_ms"), place.get("ts_us")
    name = next(name for p, name in topic.parts if p == part)
    if dict(topic.values.columns)[name] == TIMESTAMP:
        if isinstance(micros, int):
            return _moment(micros, 1_000_000)
        return _moment(millis, 1000) if isinstance(millis, int) else None
    return millis

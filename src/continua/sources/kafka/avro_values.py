"""Values in Avro, by the schema of who wrote them and, if a file has one, that of who reads them."""

from __future__ import annotations

import json
from functools import lru_cache
from io import BytesIO
from typing import Any

from continua.sources.kafka.packages import package
from continua.sources.kafka.registry import Reference, Registered, Registry
from continua.sources.kafka.schemas import Decode, Schemas, parted

_LOGICAL = {
    "io.debezium.time.Date": ("int", "date"),
    "io.debezium.time.Timestamp": ("long", "timestamp-millis"),
    "io.debezium.time.MicroTimestamp": ("long", "timestamp-micros"),
}
"""What Kafka Connect notes of numbers that are times, and what that is in Avro."""


def avro_decoder(schemas: Schemas) -> Decode:
    """What reads values; a record becomes a dictionary."""
    package("fastavro")
    reader = None if schemas.file is None else _parsed_text(schemas.file.text, {})
    registry = schemas.registry
    if registry is None:
        return lambda value: _read(value, reader, None)

    def by_registry(value: bytes) -> object:
        number, content = parted(value)
        return _read(content, _parsed(registry, number), reader)

    return by_registry


def _read(content: bytes, writer: Any, reader: Any) -> object:
    import fastavro

    stream = BytesIO(content)
    try:
        found: object = fastavro.schemaless_reader(stream, writer, reader)
    except Exception as error:  # what foreign bytes lead to, is of no one kind
        raise ValueError(f"not in Avro by its schema: {_reason(error)}") from None
    left = len(content) - stream.tell()
    if left:
        raise ValueError(f"not in Avro by its schema: {left} more bytes are behind it")
    return found


def _reason(error: Exception) -> str:
    return str(error) or ("it ends too early" if isinstance(error, EOFError) else type(error).__name__)


@lru_cache(maxsize=1024)
def _parsed(registry: Registry, number: int) -> Any:
    found = registry.by_id(number)
    if found.kind != "AVRO":
        raise ValueError(f"schema {number} of the registry is one of {found.kind.capitalize()}, not of Avro")
    return _parsed_text(found.text, _named(registry, found, {}))


def _named(registry: Registry, schema: Registered, known: dict[str, Any]) -> dict[str, Any]:
    """The types by name of the schemas that one refers to, and of those that they refer to."""
    for reference in schema.references:
        _add(registry, reference, known)
    return known


def _add(registry: Registry, reference: Reference, known: dict[str, Any]) -> None:
    if reference.name not in known:
        found = registry.by_reference(reference)
        _parsed_text(found.text, _named(registry, found, known))


def _parsed_text(text: str, named: dict[str, Any]) -> Any:
    """A schema that values can be read by; the types that it names are known afterwards."""
    import fastavro

    try:
        return fastavro.parse_schema(_with_times(json.loads(text)), named)
    except Exception as error:  # likewise
        raise ValueError(f"not a schema of Avro: {_reason(error)}") from None


def _with_times(schema: Any) -> Any:
    """A schema with Avro's names of times where Kafka Connect has its own."""
    if isinstance(schema, list):
        return [_with_times(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _with_times(value) if key in _INSIDE else value for key, value in schema.items()}
    kind, logical = _LOGICAL.get(str(schema.get("connect.name")), (None, None))
    if kind is not None and schema.get("type") == kind:
        found.setdefault("logicalType", logical)
    return found


_INSIDE = ("type", "fields", "items", "values")

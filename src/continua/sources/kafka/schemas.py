"""Schemas of values that do not tell their own: where they are found, and what reads values by them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache

from continua.errors import SourceError
from continua.sources.format_options import SCHEMA, bad_option
from continua.sources.kafka.registry import Registry, UnknownSchemaError
from continua.sources.source_spec import SchemaFile, SourceSpec

WITH_SCHEMA = ("avro", "protobuf")
"""The formats of values that are read by a schema."""
Decode = Callable[[bytes], object]
"""Reads a value. Raises ValueError where it is none, which says why."""
_MAGIC = 0
_HEADER = 5
"""A byte that is 0, and four with the number of the schema."""


@dataclass(frozen=True, slots=True)
class Schemas:
    """Where the schemas of a topic are."""

    registry: Registry | None = None
    file: SchemaFile | None = None
    """By what values are read; beside a registry it is what a reader of Avro expects."""
    message: str | None = None
    """Which message of Protobuf values are, where there are several."""

    def decoder(self, form: str) -> Decode:
        """What reads values of a format."""
        return _decoder(self, form)


def schemas_of(spec: SourceSpec, forms: Collection[str], timeout: int) -> Schemas:
    """What options say of schemas. Raises SourceError where it does not suffice."""
    options = {name.casefold(): value for name, value in spec.options}
    needed = [form for form in forms if form in WITH_SCHEMA]
    for option in ("registry", SCHEMA, "registry_user", "registry_password", "message"):
        if option in options and not (needed or (option.startswith("registry") and "json" in forms)):
            raise bad_option(spec, option, options[option], "something where the format is avro or protobuf")
    url, file, message = options.get("registry"), options.get(SCHEMA), options.get("message")
    if "registry" in options and not (isinstance(url, str) and url.startswith(("http://", "https://"))):
        raise bad_option(spec, "registry", url, "where a registry is: 'http://host:8081'")
    for option in ("registry_user", "registry_password"):
        if option in options and url is None:
            raise bad_option(spec, option, options[option], "something where there is a registry")
    if message is not None and (not isinstance(message, str) or "protobuf" not in needed):
        raise bad_option(spec, "message", message, "the name of a message where the format is protobuf")
    if needed and url is None and file is None:
        raise bad_option(spec, "registry", None, f"where the schemas are; without one, {SCHEMA} names a file with it")
    registry = None
    if isinstance(url, str):
        registry = Registry(url, options.get("registry_user"), options.get("registry_password"), timeout)
    found = Schemas(registry, file if isinstance(file, SchemaFile) else None, message)
    if found.file is not None:
        for form in needed:
            _check(spec, found, form)
    return found


def _check(spec: SourceSpec, schemas: Schemas, form: str) -> None:
    """Refuses a file that is no schema before anything is read."""
    try:
        schemas.decoder(form)
    except ValueError as error:
        name = "" if schemas.file is None else schemas.file.name
        raise bad_option(spec, SCHEMA, name, f"a file with a schema of {form}: {error}") from None


@lru_cache(maxsize=64)
def _decoder(schemas: Schemas, form: str) -> Decode:
    match form:
        case "avro":
            from continua.sources.kafka.avro_values import avro_decoder

            return avro_decoder(schemas)
        case _:
            from continua.sources.kafka.protobuf_values import protobuf_decoder

            return protobuf_decoder(schemas)


def parted(value: bytes) -> tuple[int, bytes]:
    """The number of the schema that a value names, and what is behind it. Raises ValueError where it names none."""
    if len(value) < _HEADER or value[0] != _MAGIC:
        raise ValueError("it does not begin with the number of a schema (a byte that is 0, and four)")
    return int.from_bytes(value[1:_HEADER], "big"), value[_HEADER:]


def decoded(decode: Decode, value: bytes) -> object:
    """A value that is read. Raises ValueError where it is none: what a library says of foreign bytes is one reason."""
    try:
        return decode(value)
    except (SourceError, ValueError):
        raise
    except UnknownSchemaError as error:
        raise ValueError(str(error)) from None

"""Values in Protobuf, by the messages of a schema."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, date
from functools import lru_cache
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from continua.sources.kafka.packages import package
from continua.sources.kafka.registry import Registered, Registry
from continua.sources.kafka.schemas import Decode, Schemas, parted

_MAIN = "main.proto"
_WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
_MORE = 0x80
"""A byte of a number that is not its last one."""


def protobuf_decoder(schemas: Schemas) -> Decode:
    """What reads values; a message becomes a dictionary."""
    package("google.protobuf")
    package("grpc_tools")
    registry, file, wanted = schemas.registry, schemas.file, schemas.message
    own = None if file is None else _messages({_MAIN: file.text})
    if registry is None:
        assert own is not None
        kind = _chosen(own, wanted)
        return lambda value: _read(kind, value)

    def by_registry(value: bytes) -> object:
        number, content = parted(value)
        places, content = _message_indexes(content)
        return _read(_of(_registered(registry, number), places), content)

    return by_registry


class _Messages:
    """The messages of a file, in their order."""

    def __init__(self, pool: Any, file: Any) -> None:
        self.pool, self.file = pool, file
        self.top = [file.message_types_by_name[m.name] for m in _described(file).message_type]


def _described(file: Any) -> Any:
    from google.protobuf import descriptor_pb2

    found = descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(found)
    return found


def _chosen(messages: _Messages, name: str | None) -> Any:
    """The class of the message of a name; without a name of the first one."""
    if name is None:
        if not messages.top:
            raise ValueError("it has no message")
        return _class_of(messages.top[0])
    for descriptor in messages.top:
        if name in (descriptor.name, descriptor.full_name):
            return _class_of(descriptor)
    try:
        return _class_of(messages.pool.FindMessageTypeByName(name))
    except KeyError:
        raise ValueError(f"it has no message {name}") from None


def _of(messages: _Messages, places: Sequence[int]) -> Any:
    """The class of the message at some places: among those of the file, within that one, and so on."""
    try:
        found = messages.top[places[0]]
        for place in places[1:]:
            found = found.nested_types_by_name[_nested(found)[place]]
    except IndexError:
        raise ValueError(f"its schema has no message at {', '.join(map(str, places))}") from None
    return _class_of(found)


def _nested(descriptor: Any) -> list[str]:
    """The names of the messages within one, in their order."""
    from google.protobuf import descriptor_pb2

    found = descriptor_pb2.DescriptorProto()
    descriptor.CopyToProto(found)
    return [m.name for m in found.nested_type]


def _class_of(descriptor: Any) -> Any:
    from google.protobuf import message_factory

    return message_factory.GetMessageClass(descriptor)


def _message_indexes(content: bytes) -> tuple[list[int], bytes]:
    """Which message of its schema a value is, and the message: a single 0 stands for the first one."""
    count, place = _number(content, 0)
    if count == 0:
        return [0], content[place:]
    if not 0 < count <= len(content):
        raise ValueError("it does not tell which message of its schema it is")
    found: list[int] = []
    for _ in range(count):
        index, place = _number(content, place)
        if index < 0:
            raise ValueError("it does not tell which message of its schema it is")
        found.append(index)
    return found, content[place:]


def _number(content: bytes, place: int) -> tuple[int, int]:
    """A whole number in zigzag form, and the place behind it."""
    raw = shift = 0
    while place < len(content) and shift < 64:
        byte = content[place]
        raw |= (byte & ~_MORE) << shift
        place, shift = place + 1, shift + 7
        if not byte & _MORE:
            return raw >> 1 ^ -(raw & 1), place
    raise ValueError("it does not tell which message of its schema it is")


def _read(kind: Any, content: bytes) -> object:
    from google.protobuf.message import DecodeError

    message = kind()
    try:
        message.ParseFromString(content)
    except DecodeError as error:
        raise ValueError(f"not the message {kind.DESCRIPTOR.full_name} in Protobuf: {error}") from None
    return _plain(message)


def _plain(message: Any) -> object:
    """A message as plain values: fields that tell whether they are set, and are not, are None."""
    kind = message.DESCRIPTOR.full_name
    if kind in _WRAPPERS:
        return message.value
    if kind == "google.protobuf.Timestamp":
        return message.ToDatetime(UTC)
    if kind == "google.type.Date":
        return date(message.year, message.month, message.day)
    found: dict[str, object] = {}
    for field in message.DESCRIPTOR.fields:
        if field.is_repeated:
            found[field.name] = _several(field, getattr(message, field.name))
        elif field.has_presence and not message.HasField(field.name):
            # what a schema of proto2 says is there by default
            found[field.name] = field.default_value if field.has_default_value else None
        else:
            found[field.name] = _one(field, getattr(message, field.name))
    return found


def _several(field: Any, values: Any) -> object:
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        of = entry.fields_by_name["value"]
        items: Mapping[object, object] = values
        return {_key(key): _one(of, value) for key, value in items.items()}
    return [_one(field, value) for value in values]


def _key(key: object) -> object:
    return str(key).lower() if isinstance(key, bool) else key


def _one(field: Any, value: Any) -> object:
    if field.message_type is not None:
        return _plain(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return str(value) if known is None else known.name
    return value


@lru_cache(maxsize=1024)
def _registered(registry: Registry, number: int) -> _Messages:
    found = registry.by_id(number)
    if found.kind != "PROTOBUF":
        raise ValueError(f"schema {number} of the registry is one of {found.kind.capitalize()}, not of Protobuf")
    texts = {_MAIN: found.text}
    _add_references(registry, found, texts)
    return _messages(texts)


def _add_references(registry: Registry, schema: Registered, texts: dict[str, str]) -> None:
    for reference in schema.references:
        if reference.name not in texts:
            found = registry.by_reference(reference)
            texts[reference.name] = found.text
            _add_references(registry, found, texts)


def _messages(texts: Mapping[str, str]) -> _Messages:
    """The messages of the main one of some files, which the compiler of Protobuf makes of their texts."""
    from google.protobuf import descriptor_pb2, descriptor_pool

    with TemporaryDirectory(prefix="continua-proto-") as folder:
        for name, text in texts.items():
            relative = PurePosixPath(name)
            if relative.is_absolute() or ".." in relative.parts:
                raise ValueError(f"not a schema of Protobuf: {name} is no name of a file")
            path = Path(folder) / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        made = Path(folder) / "descriptors"
        # it writes what is wrong to standard error by itself: in a process of its own that can be told
        options = [f"--proto_path={folder}", f"--descriptor_set_out={made}", "--include_imports", _MAIN]
        command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={_known_protos()}", *options]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        if ended.returncode:
            told = (ended.stderr.strip().splitlines() or ["the compiler says nothing"])[0]
            raise ValueError(f"not a schema of Protobuf: {told.removeprefix(f'{_MAIN}:')}")
        described = descriptor_pb2.FileDescriptorSet.FromString(made.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in described.file:
        pool.Add(file)
    return _Messages(pool, pool.FindFileByName(_MAIN))


def _known_protos() -> Path:
    """The folder with the schemas that come with Protobuf."""
    return Path(str(package("grpc_tools").__file__)).parent / "_proto"

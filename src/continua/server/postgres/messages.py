"""The messages of the protocol."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from continua.server.postgres.values import SIZES

SSL, GSS, CANCEL, VERSION = 80877103, 80877104, 80877102, 3
LONGEST = 16 << 20
_START = 10_000


@dataclass(frozen=True, slots=True)
class Field:
    """A column of an answer."""

    name: str
    type: int


def message(kind: bytes, content: bytes = b"") -> bytes:
    """A message with its length."""
    return kind + struct.pack(">i", len(content) + 4) + content


def text(value: str) -> bytes:
    """A text, which ends in a zero."""
    return value.replace("\0", "").encode() + b"\0"


def ready(state: bytes) -> bytes:
    """That the next statement may come."""
    return message(b"Z", state)


def described(fields: Sequence[Field], formats: Sequence[int] = ()) -> bytes:
    """The columns of what comes."""
    parts = [struct.pack(">h", len(fields))]
    for place, field in enumerate(fields):
        form = format_of(formats, place)
        parts.append(text(field.name) + struct.pack(">ihihih", 0, 0, field.type, SIZES.get(field.type, -1), -1, form))
    return message(b"T", b"".join(parts))


def format_of(formats: Sequence[int], place: int) -> int:
    """The form of a column: one for all, or one for each."""
    return formats[place] if len(formats) > 1 else formats[0] if formats else 0


def row(values: Iterable[bytes | None]) -> bytes:
    """A row."""
    found = [struct.pack(">i", -1) if v is None else struct.pack(">i", len(v)) + v for v in values]
    return message(b"D", struct.pack(">h", len(found)) + b"".join(found))


def failed(code: str, problem: str, hint: str | None = None, fatal: bool = False) -> bytes:
    """What is wrong."""
    severity = "FATAL" if fatal else "ERROR"
    parts = [b"S" + text(severity), b"V" + text(severity), b"C" + text(code), b"M" + text(problem)]
    return message(b"E", b"".join([*parts, *([b"H" + text(hint)] if hint else []), b"\0"]))


async def read_start(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The first message, which has no kind."""
    length, code = struct.unpack(">ii", await reader.readexactly(8))
    if not 8 <= length <= _START:
        raise ValueError("a first message of that length is none of this protocol")
    return code, await reader.readexactly(length - 8)


async def read(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Another message: its kind and its content."""
    kind = await reader.readexactly(1)
    (length,) = struct.unpack(">i", await reader.readexactly(4))
    if not 4 <= length <= LONGEST:
        raise ValueError(f"a message has at most {LONGEST:,} bytes")
    return kind, await reader.readexactly(length - 4)


class Cursor:
    """Reads the parts of a message one after the other."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def text(self) -> str:
        """A text, which ends in a zero."""
        end = self._content.index(b"\0", self._at)
        found, self._at = self._content[self._at : end], end + 1
        return found.decode()

    def number(self, form: str = ">h") -> int:
        """A number."""
        size = struct.calcsize(form)
        (found,) = struct.unpack(form, self.bytes(size))
        return int(found)

    def numbers(self, form: str = ">h") -> list[int]:
        """How many numbers there are, and these."""
        return [self.number(form) for _ in range(self.number())]

    def bytes(self, size: int) -> bytes:
        """So many bytes."""
        found, self._at = self._content[self._at : self._at + size], self._at + size
        if len(found) != size:
            raise ValueError("a message is shorter than it says")
        return found

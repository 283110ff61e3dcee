"""The messages of the plugin pgoutput, protocol version 1: transactions with what they change, table by table."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

_2000 = round(datetime(2000, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000


class Unchanged(Enum):
    """What stands for a value that is stored apart (TOAST) and that an update leaves as it is."""

    UNCHANGED = "unchanged"


Texts = tuple[str | Unchanged | None, ...]
"""The values of a row, as PostgreSQL writes them."""


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction begins; all that it changes stands between this and its commit."""

    commit_lsn: int
    instant: int
    """When it was committed, in microseconds."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A transaction has ended; what follows begins at ``end_lsn``."""

    end_lsn: int


@dataclass(frozen=True, slots=True)
class PublishedColumn:
    """A column as messages have it."""

    name: str
    of: int
    modifier: int


@dataclass(frozen=True, slots=True)
class Described:
    """What a table is like from here on."""

    number: int
    schema: str
    table: str
    columns: tuple[PublishedColumn, ...]


@dataclass(frozen=True, slots=True)
class Inserted:
    """A row that comes."""

    number: int
    new: Texts


@dataclass(frozen=True, slots=True)
class Updated:
    """A row that becomes another. Without ``old`` its identity stays; ``key_only``: only that is known of it."""

    number: int
    new: Texts
    old: Texts | None
    key_only: bool


@dataclass(frozen=True, slots=True)
class Deleted:
    """A row that goes."""

    number: int
    old: Texts
    key_only: bool


@dataclass(frozen=True, slots=True)
class Truncated:
    """Tables of which nothing is left."""

    numbers: tuple[int, ...]


Message = Begin | Commit | Described | Inserted | Updated | Deleted | Truncated


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 1

    def numbers(self, form: str) -> tuple[int, ...]:
        found = struct.unpack_from(f">{form}", self._data, self._place)
        self._place += struct.calcsize(f">{form}")
        return found

    def letter(self) -> str:
        self._place += 1
        return chr(self._data[self._place - 1])

    def text(self) -> str:
        end = self._data.index(b"\0", self._place)
        found = self._data[self._place : end].decode()
        self._place = end + 1
        return found

    def row(self) -> Texts:
        (count,) = self.numbers("H")
        return tuple(self._value() for _ in range(count))

    def _value(self) -> str | Unchanged | None:
        match self.letter():
            case "n":
                return None
            case "u":
                return Unchanged.UNCHANGED
            case _:
                (length,) = self.numbers("i")
                self._place += length
                return self._data[self._place - length : self._place].decode()


def understood(data: bytes) -> Message | None:
    """What a message says; None for one that is of no concern, such as that of a type."""
    found = _Bytes(data)
    match chr(data[0]):
        case "B":
            lsn, since, _ = found.numbers("QqI")
            return Begin(lsn, since + _2000)
        case "C":
            _, _, end, _ = found.numbers("BQQq")
            return Commit(end)
        case "R":
            (number,) = found.numbers("I")
            schema, table = found.text(), found.text()
            _, count = found.numbers("BH")
            return Described(number, schema, table, tuple(_column(found) for _ in range(count)))
        case "I":
            (number,) = found.numbers("I")
            found.letter()
            return Inserted(number, found.row())
        case "U":
            (number,) = found.numbers("I")
            kind, old = found.letter(), None
            if kind != "N":
                old = found.row()
                found.letter()
            return Updated(number, found.row(), old, kind == "K")
        case "D":
            (number,) = found.numbers("I")
            kind = found.letter()
            return Deleted(number, found.row(), kind == "K")
        case "T":
            count, _ = found.numbers("IB")
            return Truncated(found.numbers(f"{count}I"))
        case _:
            return None


def _column(found: _Bytes) -> PublishedColumn:
    found.numbers("B")
    name = found.text()
    of, modifier = found.numbers("Ii")
    return PublishedColumn(name, of, modifier)

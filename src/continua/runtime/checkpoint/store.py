"""Stores: where everything goes that outlives a task. They know names and whole contents, and nothing of either.

A name is a path with slashes. What is put is there whole or not at all. A store in memory is for runs of one process
that leave nothing behind; those in folders and in buckets are for all others. What a driver writes is named by a
number, mostly that of an epoch, and by its term (:mod:`succession`), so that no two drivers ever write to one name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol
from uuid import uuid4
from weakref import WeakValueDictionary

from continua.objects.urls import BucketUrl, Place, place_of
from continua.runtime.checkpoint.files import Folder
from continua.runtime.checkpoint.seals import (
    Identity,
    Sealed,
    Stored,
    misplaced,
    missing,
    seal,
    stale,
    unsealed,
)

_MEMORY = "memory:"
_NUMBERED = re.compile(r"(\d+)-(\d+)")


@dataclass(frozen=True, slots=True)
class Address:
    """By what tasks find a store, and in whose name they write there."""

    url: str
    run: str = ""
    term: int = 0


class Numbered(NamedTuple):
    """The name of a content: a number, and the term in which it was written."""

    number: int
    term: int

    def __str__(self) -> str:
        return f"{self.number}-{self.term}"

    @staticmethod
    def of(name: str) -> Numbered | None:
        """What a name says, if it is one of these."""
        found = _NUMBERED.fullmatch(name)
        return None if found is None else Numbered(int(found[1]), int(found[2]))


class Medium(Protocol):
    """What holds the bytes of a store under their names."""

    @property
    def place(self) -> Place:
        """Where it is."""
        ...

    @property
    def address(self) -> str:
        """By what it is found again."""
        ...

    def write(self, name: str, parts: Iterable[bytes], durable: bool) -> None:
        """Puts bytes there, all or nothing."""
        ...

    def create(self, name: str, parts: Iterable[bytes], durable: bool) -> bool:
        """The same, unless something is there under that name: whether it is this."""
        ...

    def read(self, name: str) -> bytes:
        """The bytes under a name; CheckpointError if there are none."""
        ...

    def part(self, name: str, start: int, length: int) -> bytes:
        """Some of them."""
        ...

    def version(self, name: str) -> str:
        """What is another once there are other bytes; CheckpointError if there are none."""
        ...

    def has(self, name: str) -> bool:
        """Whether there are any under a name."""
        ...

    def sizes(self, folder: str) -> dict[str, int]:
        """All names in a folder and the folders in it, in order, and how many bytes each has."""
        ...

    def delete(self, names: Iterable[str]) -> None:
        """Removes what is under names; where nothing is, that is as good."""
        ...

    def tidy(self, folders: Iterable[str]) -> None:
        """Removes what a crash has left of what was being put, in folders and beside them."""
        ...


class Store(Protocol):
    """Named contents."""

    @property
    def address(self) -> Address:
        """By what tasks find it."""
        ...

    @property
    def url(self) -> str:
        """Where it is."""
        ...

    def put(self, name: str, content: bytes, durable: bool = False) -> Stored:
        """Keeps a content under a name, ``durable``: after the power has failed too."""
        ...

    def create(self, name: str, content: bytes, durable: bool = False) -> Stored | None:
        """The same, unless there is another one of that name: None then."""
        ...

    def get(self, name: str, digest: str | None = None) -> bytes:
        """A content; CheckpointError if it is not there, or not what was put: the one with that digest, if any."""
        ...

    def part(self, name: str, start: int, length: int) -> bytes:
        """Some bytes of a content, as they are now."""
        ...

    def version(self, name: str) -> str:
        """What is another once a name has another content; CheckpointError if it has none."""
        ...

    def has(self, name: str) -> bool:
        """Whether there is a content of a name."""
        ...

    def numbers(self, folder: str) -> list[Numbered]:
        """The names in a folder that are a number and a term, in order."""
        ...

    def names(self, folder: str) -> list[str]:
        """All names in a folder and the folders in it."""
        ...

    def delete(self, *names: str) -> None:
        """Forgets contents; one that is not there is as good."""
        ...

    def tidy(self, folders: Iterable[str]) -> None:
        """Removes what a crash has left of contents that were being put, in folders and beside them."""
        ...


class SealedStore:
    """Contents in a folder or a bucket, each sealed with its name and the run that it is of."""

    def __init__(self, medium: Medium, run: str, term: int = 0) -> None:
        self.medium = medium
        self.address = Address(medium.address, run, term)

    @property
    def place(self) -> Place:
        """The folder, or the prefix in a bucket."""
        return self.medium.place

    @property
    def url(self) -> str:
        """The same as a text."""
        return str(self.medium.place)

    def begin_term(self, term: int) -> None:
        """From now on what is written is of that term."""
        self.address = replace(self.address, term=term)

    def put(self, name: str, content: bytes, durable: bool = False) -> Stored:
        """Writes a content and its seal."""
        behind, stored = seal(content, self._identity(name))
        self.medium.write(name, (content, behind), durable)
        return stored

    def create(self, name: str, content: bytes, durable: bool = False) -> Stored | None:
        """The same, if it is the first."""
        behind, stored = seal(content, self._identity(name))
        return stored if self.medium.create(name, (content, behind), durable) else None

    def _identity(self, name: str) -> Identity:
        return Identity(name, self.address.run, self.address.term)

    def sealed(self, name: str, digest: str | None = None) -> Sealed:
        """A content with its seal."""
        path = f"{self.url}/{name}"
        found = unsealed(self.medium.read(name), path)
        if (found.identity.name, found.identity.run) != (name, self.address.run):
            raise misplaced(path, found.identity, self.address.run)
        if digest is not None and digest != found.digest:
            raise stale(path)
        return found

    def get(self, name: str, digest: str | None = None) -> bytes:
        """A content, if its seal is right."""
        return self.sealed(name, digest).content

    def part(self, name: str, start: int, length: int) -> bytes:
        """Some bytes of a content."""
        return self.medium.part(name, start, length)

    def version(self, name: str) -> str:
        """As the medium tells."""
        return self.medium.version(name)

    def has(self, name: str) -> bool:
        """Whether there is anything of that name."""
        return self.medium.has(name)

    def numbers(self, folder: str) -> list[Numbered]:
        """The numbers and terms that are names."""
        return _numbered(folder, self.names(folder))

    def names(self, folder: str) -> list[str]:
        """All names below."""
        return list(self.medium.sizes(folder))

    def delete(self, *names: str) -> None:
        """Removes contents."""
        if names:
            self.medium.delete(names)

    def tidy(self, folders: Iterable[str]) -> None:
        """Removes what was never finished."""
        self.medium.tidy(folders)


class MemoryStore:
    """Contents in the memory of this process, as long as somebody holds the store."""

    def __init__(self) -> None:
        self._folders: dict[str, dict[str, tuple[int, bytes]]] = {}
        self._puts = 0
        self.address = Address(f"{_MEMORY}{uuid4().hex}")
        _memories[self.url] = self

    @property
    def url(self) -> str:
        """What tells it from others in this process."""
        return self.address.url

    def put(self, name: str, content: bytes, durable: bool = False) -> Stored:  # noqa: ARG002
        """Keeps the bytes."""
        self._puts += 1
        folder, _, last = name.rpartition("/")
        self._folders.setdefault(folder, {})[last] = self._puts, content
        return Stored(len(content), "")

    def create(self, name: str, content: bytes, durable: bool = False) -> Stored | None:
        """Keeps the bytes, if they are the first."""
        return None if self.has(name) else self.put(name, content, durable)

    def get(self, name: str, digest: str | None = None) -> bytes:  # noqa: ARG002
        """The bytes: nobody else can have changed them."""
        return self._found(name)[1]

    def part(self, name: str, start: int, length: int) -> bytes:
        """Some of the bytes."""
        return self._found(name)[1][start : start + length]

    def version(self, name: str) -> str:
        """The number of the put."""
        return str(self._found(name)[0])

    def _found(self, name: str) -> tuple[int, bytes]:
        folder, _, last = name.rpartition("/")
        try:
            return self._folders[folder][last]
        except KeyError:
            raise missing(name) from None

    def has(self, name: str) -> bool:
        """Whether it was put."""
        folder, _, last = name.rpartition("/")
        return last in self._folders.get(folder, {})

    def numbers(self, folder: str) -> list[Numbered]:
        """The names that are a number and a term."""
        return sorted(found for last in self._folders.get(folder, {}) if (found := Numbered.of(last)) is not None)

    def names(self, folder: str) -> list[str]:
        """The names that begin with that of the folder."""
        inside = [f for f in self._folders if f == folder or f.startswith(f"{folder}/")]
        return sorted(f"{f}/{last}" for f in inside for last in self._folders[f])

    def delete(self, *names: str) -> None:
        """Forgets the bytes."""
        for name in names:
            folder, _, last = name.rpartition("/")
            self._folders.get(folder, {}).pop(last, None)

    def tidy(self, folders: Iterable[str]) -> None:
        """There is never anything partial."""


_memories: WeakValueDictionary[str, MemoryStore] = WeakValueDictionary()


def _numbered(folder: str, names: Iterable[str]) -> list[Numbered]:
    """Of names below a folder, those directly in it that are a number and a term."""
    start = f"{folder}/"
    found = (Numbered.of(name.removeprefix(start)) for name in names if name.startswith(start))
    return sorted(number for number in found if number is not None)


def newest(names: Iterable[Numbered]) -> Mapping[int, Numbered]:
    """Of each number the name of the latest term."""
    return {found.number: found for found in sorted(names)}


def medium_at(place: Place) -> Medium:
    """What holds the bytes of a place."""
    if isinstance(place, BucketUrl):
        from continua.runtime.checkpoint.objects import Objects

        return Objects(place)
    return Folder(place)


def store_at(address: Address) -> Store:
    """The store that an address stands for."""
    if address.url.startswith(_MEMORY):
        return _memories[address.url]
    return SealedStore(medium_at(place_of(address.url)), address.run, address.term)

"""Stores: where everything goes that outlives a task. They know names and whole contents, and nothing of either.

A name is a path with slashes. What is put is there whole or not at all. A store in memory is for runs of one process
that leave nothing behind; one of files is for all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import uuid4
from weakref import WeakValueDictionary

from continua.runtime.checkpoint.files import (
    Identity,
    Stored,
    misplaced,
    missing,
    numbered,
    read_file,
    read_part,
    remove_file,
    remove_partial,
    stale,
    write_file,
)

_MEMORY = "memory:"


@dataclass(frozen=True, slots=True)
class Address:
    """By what tasks find a store, and in whose name they write there."""

    url: str
    run: str = ""
    term: int = 0


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

    def get(self, name: str, digest: str | None = None) -> bytes:
        """A content; CheckpointError if it is not there, or not what was put: the one with that digest, if any."""
        ...

    def part(self, name: str, start: int, length: int) -> bytes:
        """Some bytes of a content, as they are now."""
        ...

    def version(self, name: str) -> tuple[int, ...]:
        """What is another once a name has another content; CheckpointError if it has none."""
        ...

    def has(self, name: str) -> bool:
        """Whether there is a content of a name."""
        ...

    def numbers(self, folder: str) -> list[int]:
        """The numbers that are names in a folder, in order."""
        ...

    def names(self, folder: str) -> list[str]:
        """All names in a folder and the folders in it."""
        ...

    def delete(self, name: str) -> None:
        """Forgets a content; one that is not there is as good."""
        ...

    def tidy(self, folders: tuple[str, ...]) -> None:
        """Removes what a crash has left of contents that were being put, in folders and beside them."""
        ...


class FileStore:
    """Contents as files in a folder, each sealed with its name and the run that it is of."""

    def __init__(self, root: Path, run: str, term: int = 0) -> None:
        self.root = root
        self.address = Address(str(root), run, term)

    @property
    def url(self) -> str:
        """The folder."""
        return self.address.url

    def put(self, name: str, content: bytes, durable: bool = False) -> Stored:
        """Writes a file."""
        return write_file(self.root / name, content, Identity(name, self.address.run, self.address.term), durable)

    def get(self, name: str, digest: str | None = None) -> bytes:
        """Reads a file."""
        path = self.root / name
        found = read_file(path)
        if (found.identity.name, found.identity.run) != (name, self.address.run):
            raise misplaced(path, found.identity, self.address.run)
        if digest is not None and digest != found.digest:
            raise stale(path)
        return found.content

    def part(self, name: str, start: int, length: int) -> bytes:
        """Reads some bytes of a file."""
        return read_part(self.root / name, start, length)

    def version(self, name: str) -> tuple[int, ...]:
        """By the file's number, its time and its size."""
        path = self.root / name
        try:
            status = path.stat()
        except OSError:
            raise missing(path) from None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return (self.root / name).exists()

    def numbers(self, folder: str) -> list[int]:
        """The files whose names are numbers."""
        return numbered(self.root / folder)

    def names(self, folder: str) -> list[str]:
        """The files in a folder and below, but those that were never finished."""
        found = (self.root / folder).rglob("*")
        return sorted(str(p.relative_to(self.root)) for p in found if p.is_file() and not p.name.startswith("."))

    def delete(self, name: str) -> None:
        """Removes a file."""
        remove_file(self.root / name)

    def tidy(self, folders: tuple[str, ...]) -> None:
        """Removes partial files."""
        for name in folders:
            remove_partial(self.root / name)
        remove_partial(self.root, deep=False)


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

    def get(self, name: str, digest: str | None = None) -> bytes:  # noqa: ARG002
        """The bytes: nobody else can have changed them."""
        return self._found(name)[1]

    def part(self, name: str, start: int, length: int) -> bytes:
        """Some of the bytes."""
        return self._found(name)[1][start : start + length]

    def version(self, name: str) -> tuple[int, ...]:
        """The number of the put."""
        return (self._found(name)[0],)

    def _found(self, name: str) -> tuple[int, bytes]:
        folder, _, last = name.rpartition("/")
        try:
            return self._folders[folder][last]
        except KeyError:
            raise missing(Path(name)) from None

    def has(self, name: str) -> bool:
        """Whether it was put."""
        folder, _, last = name.rpartition("/")
        return last in self._folders.get(folder, {})

    def numbers(self, folder: str) -> list[int]:
        """The names that are numbers."""
        return sorted(int(last) for last in self._folders.get(folder, {}) if last.isdigit())

    def names(self, folder: str) -> list[str]:
        """The names that begin with that of the folder."""
        inside = [f for f in self._folders if f == folder or f.startswith(f"{folder}/")]
        return sorted(f"{f}/{last}" for f in inside for last in self._folders[f])

    def delete(self, name: str) -> None:
        """Forgets the bytes."""
        folder, _, last = name.rpartition("/")
        self._folders.get(folder, {}).pop(last, None)

    def tidy(self, folders: tuple[str, ...]) -> None:
        """There is never anything partial."""


_memories: WeakValueDictionary[str, MemoryStore] = WeakValueDictionary()


def store_at(address: Address) -> Store:
    """The store that an address stands for."""
    if address.url.startswith(_MEMORY):
        return _memories[address.url]
    return FileStore(Path(address.url), address.run, address.term)

"""Files that are there whole or not at all: written under another name, then renamed or, to be the first, linked.

A file that is written to last is on the disk when the call returns, its name and the folders it is in too: it is there
after the power has failed. Other files outlive the process, but not the machine.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from continua.runtime.checkpoint.seals import damaged, missing, unreadable
from continua.runtime.machines import writing_to

_LONGEST = 200
"""Longer texts are not names of files."""
_PARTIAL = re.compile(r"\..+\.[0-9a-f]{32}")

hook: Callable[[str, Path], None] | None = None
"""Called with each step (write, rename, done; remove) and what is written: tests make it fail there."""


class Folder:
    """Contents as files in a folder."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.address = str(place)

    def write(self, name: str, parts: Iterable[bytes], durable: bool) -> None:
        """Writes a file atomically, ``durable``: on the disk itself."""
        path = self.place / name
        with _partial(path, parts, durable) as partial:
            try:
                partial.replace(path)
            except IsADirectoryError:
                partial.unlink()
                raise damaged(path) from None

    def create(self, name: str, parts: Iterable[bytes], durable: bool) -> bool:
        """The same, unless there is a file of that name: whether it is this one."""
        path = self.place / name
        try:
            with _partial(path, parts, durable) as partial:
                try:
                    os.link(partial, path)
                finally:
                    partial.unlink()
        except FileExistsError:
            return False
        return True

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        path = self.place / name
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise missing(path) from None
        except OSError as error:
            raise unreadable(path, error.strerror) from None

    def part(self, name: str, start: int, length: int) -> bytes:
        """Some bytes of a file; whoever asks knows what they should be."""
        path = self.place / name
        try:
            with path.open("rb") as file:
                file.seek(start)
                return file.read(length)
        except FileNotFoundError:
            raise missing(path) from None
        except OSError:
            raise damaged(path) from None

    def version(self, name: str) -> str:
        """By the file's number, its time and its size."""
        path = self.place / name
        try:
            status = path.stat()
        except OSError:
            raise missing(path) from None
        return f"{status.st_ino} {status.st_mtime_ns} {status.st_size}"

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        return (self.place / name).exists()

    def sizes(self, folder: str) -> dict[str, int]:
        """The files in a folder and below with their sizes, but those that were never finished."""
        found = (self.place / folder).rglob("*")
        listed = sorted(p for p in found if p.is_file() and not p.name.startswith("."))
        return {p.relative_to(self.place).as_posix(): p.stat().st_size for p in listed}

    def delete(self, names: Iterable[str]) -> None:
        """Removes files; those that are not there are as good."""
        for name in names:
            path = self.place / name
            step("remove", path)
            try:
                path.unlink(missing_ok=True)
            except IsADirectoryError:
                raise damaged(path) from None

    def tidy(self, folders: Iterable[str]) -> None:
        """Removes partial files."""
        for name in folders:
            remove_partial(self.place / name)
        remove_partial(self.place, deep=False)


@contextmanager
def _partial(path: Path, parts: Iterable[bytes], durable: bool) -> Iterator[Path]:
    """A file under another name, which is to get its own before this ends."""
    make_folder(path.parent, durable)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    step("write", path)
    with writing_to(path), partial.open("wb") as file:
        for part in parts:
            file.write(part)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    step("rename", path)
    yield partial
    if durable:
        sync(path.parent)
    step("done", path)


def make_folder(folder: Path, durable: bool = False) -> None:
    """Makes a folder and those that it is in, where they are not there."""
    if folder.is_dir():
        return
    if durable and folder.parent != folder:
        make_folder(folder.parent, durable)
    folder.mkdir(parents=True, exist_ok=True)
    if durable:
        sync(folder.parent)


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        with writing_to(path):
            os.fsync(opened)
    finally:
        os.close(opened)


def safe_name(text: str) -> str:
    """A name for a file that stands for a text, whatever that is."""
    safe = quote(text, safe="").replace(".", "%2E")
    return safe if len(safe) <= _LONGEST else sha256(text.encode()).hexdigest()


def remove_partial(folder: Path, deep: bool = True) -> None:
    """Removes, in a folder and, if ``deep``, those in it, what writes that never ended have left."""
    for path in folder.rglob(".*") if deep else folder.glob(".*"):
        if _PARTIAL.fullmatch(path.name):
            path.unlink(missing_ok=True)


def step(what: str, path: Path) -> None:
    """Something is about to be done to what is kept, or was done."""
    if hook is not None:
        hook(what, path)

"""Files that are there whole or not at all: written under another name, then renamed, with a seal at the end.

The seal says what the file is: its name, whose it is, and a digest over both and the content. So a file that is
damaged, was put in the place of another or is one of another run is noticed when it is read.

A file that is written to last is on the disk when the call returns, its name and the folders it is in too: it is there
after the power has failed. Other files outlive the process, but not the machine.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from continua.errors import CheckpointError, Diagnostic
from continua.runtime.machines import writing_to

_MAGIC = b"CTNUSEAL"
_DIGEST = 16
_LENGTH = 4
_TAIL = _LENGTH + _DIGEST + len(_MAGIC)
_LONGEST = 200
"""Longer texts are not names of files."""
_PARTIAL = re.compile(r"\..+\.[0-9a-f]{32}")

hook: Callable[[str, Path], None] | None = None
"""Called with each step (write, rename, done; remove) and the file's path: tests make it fail there."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a file is: its name in its store, of which run it is, and in which term of that run it was written."""

    name: str
    run: str = ""
    term: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """What was written: how many bytes, and the digest over what it is and what it holds."""

    size: int
    digest: str


def write_file(path: Path, content: bytes, identity: Identity, durable: bool = False) -> Stored:
    """Writes a file atomically, ``durable``: on the disk itself."""
    make_folder(path.parent, durable)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    seal, digest = _seal(content, identity)
    _step("write", path)
    with writing_to(path), partial.open("wb") as file:
        file.write(content)
        file.write(seal)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    _step("rename", path)
    try:
        partial.replace(path)
    except IsADirectoryError:
        partial.unlink()
        raise damaged(path) from None
    if durable:
        sync(path.parent)
    _step("done", path)
    return Stored(len(content) + len(seal), digest.hex())


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


@dataclass(frozen=True, slots=True)
class Sealed:
    """A file that is as it was written."""

    content: bytes
    identity: Identity
    digest: str


def read_file(path: Path) -> Sealed:
    """A file that was written so; an error if it is not what was written."""
    try:
        whole = path.read_bytes()
    except FileNotFoundError:
        raise missing(path) from None
    except OSError as error:
        raise _failed("FILE_UNREADABLE", path, f"cannot be read: {error.strerror}") from None
    if len(whole) < _TAIL or whole[-len(_MAGIC) :] != _MAGIC:
        raise damaged(path)
    length = int.from_bytes(whole[-_TAIL : -_TAIL + _LENGTH], "little")
    end = len(whole) - _TAIL - length
    digest = whole[-_TAIL + _LENGTH : -len(_MAGIC)]
    if end < 0 or _digest(whole[:end], whole[end:-_TAIL]) != digest:
        raise damaged(path)
    with understood(path):
        return Sealed(whole[:end], Identity(**json.loads(whole[end:-_TAIL])), digest.hex())


def read_part(path: Path, start: int, length: int) -> bytes:
    """Some bytes of a file; whoever asks knows what they should be."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(length)
    except FileNotFoundError:
        raise missing(path) from None
    except OSError:
        raise damaged(path) from None


def missing(path: Path) -> CheckpointError:
    """A file that should be there is not."""
    return _failed("FILE_MISSING", path, "is missing")


def damaged(path: Path) -> CheckpointError:
    """A file is not what was written."""
    return _failed("FILE_CORRUPT", path, "is damaged: its checksum is wrong")


def misplaced(path: Path, found: Identity, run: str) -> CheckpointError:
    """A file is one that was written under another name, or by another run."""
    if found.run != run:
        return _failed("FILE_MISPLACED", path, "is a file of another run")
    return _failed("FILE_MISPLACED", path, f"is not the file of this name: it was written as {found.name}")


def stale(path: Path) -> CheckpointError:
    """A file is whole, and not the one that the checkpoint speaks of."""
    return _failed("FILE_STALE", path, "is not the version that the checkpoint speaks of")


@contextmanager
def understood(path: Path | str) -> Iterator[None]:
    """What cannot be understood of a file, though its seal is right, is damage as well: somebody has forged it."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        raise damaged(Path(path)) from None


def safe_name(text: str) -> str:
    """A name for a file that stands for a text, whatever that is."""
    safe = quote(text, safe="").replace(".", "%2E")
    return safe if len(safe) <= _LONGEST else sha256(text.encode()).hexdigest()


def remove_file(path: Path) -> None:
    """Removes a file; one that is not there is as good."""
    _step("remove", path)
    try:
        path.unlink(missing_ok=True)
    except IsADirectoryError:
        raise damaged(path) from None


def numbered(folder: Path) -> list[int]:
    """The numbers that are names of files in a folder, in order."""
    return sorted(int(f.name) for f in folder.iterdir() if f.name.isdigit()) if folder.exists() else []


def remove_partial(folder: Path, deep: bool = True) -> None:
    """Removes, in a folder and, if ``deep``, those in it, what writes that never ended have left."""
    for path in folder.rglob(".*") if deep else folder.glob(".*"):
        if _PARTIAL.fullmatch(path.name):
            path.unlink(missing_ok=True)


def _seal(content: bytes, identity: Identity) -> tuple[bytes, bytes]:
    """What stands behind a content, and the digest in it."""
    told = json.dumps(asdict(identity)).encode()
    digest = _digest(content, told)
    return told + len(told).to_bytes(_LENGTH, "little") + digest + _MAGIC, digest


def _digest(content: bytes | memoryview, told: bytes) -> bytes:
    found = sha256(content)
    found.update(told)
    return found.digest()[:_DIGEST]


def _failed(condition: str, path: Path, what: str) -> CheckpointError:
    return CheckpointError(Diagnostic(condition, f"{path} {what}", parameters={"path": str(path)}))


def _step(what: str, path: Path) -> None:
    if hook is not None:
        hook(what, path)

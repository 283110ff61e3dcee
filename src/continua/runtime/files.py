"""Files that are there whole or not at all: written under another name, then renamed, with a checksum at the end.

A file that is written to last is on the disk when the call returns, its name and the folders it is in too: it is there
after the power has failed. Other files outlive the process, but not the machine.
"""

from __future__ import annotations

import os
import re
import uuid
import zlib
from collections.abc import Callable
from pathlib import Path

from continua.errors import CheckpointError, Diagnostic

_MAGIC = b"CTNU"
_TAIL = len(_MAGIC) + 8 + 4
_PARTIAL = re.compile(r"\..+\.[0-9a-f]{32}")

hook: Callable[[str, Path], None] | None = None
"""Called with each step (write, rename, done; remove) and the file's path: tests make it fail there."""


def write_file(path: Path, content: bytes, lasting: bool = False) -> int:
    """Writes a file atomically, ``lasting``: on the disk itself; its checksum is the last thing in it.

    Returns its size.
    """
    make_folder(path.parent, lasting)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    _step("write", path)
    with partial.open("wb") as file:
        file.write(content)
        file.write(_tail(content))
        if lasting:
            file.flush()
            os.fsync(file.fileno())
    _step("rename", path)
    partial.replace(path)
    if lasting:
        sync(path.parent)
    _step("done", path)
    return len(content) + _TAIL


def make_folder(folder: Path, lasting: bool = False) -> None:
    """Makes a folder and those that it is in, where they are not there."""
    if folder.is_dir():
        return
    if lasting and folder.parent != folder:
        make_folder(folder.parent, lasting)
    folder.mkdir(parents=True, exist_ok=True)
    if lasting:
        sync(folder.parent)


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def read_file(path: Path) -> bytes:
    """The content of a file that was written so; an error if it is not what was written."""
    try:
        whole = path.read_bytes()
    except FileNotFoundError:
        raise missing(path) from None
    except OSError as error:
        raise _failed("FILE_UNREADABLE", path, f"cannot be read: {error.strerror}") from None
    content, tail = whole[:-_TAIL], whole[-_TAIL:]
    if len(whole) < _TAIL or tail != _tail(content):
        raise damaged(path)
    return content


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


def remove_file(path: Path) -> None:
    """Removes a file; one that is not there is as good."""
    _step("remove", path)
    path.unlink(missing_ok=True)


def numbered(folder: Path) -> list[int]:
    """The numbers that are names of files in a folder, in order."""
    return sorted(int(f.name) for f in folder.iterdir() if f.name.isdigit()) if folder.exists() else []


def remove_partial(folder: Path, deep: bool = True) -> None:
    """Removes, in a folder and, if ``deep``, those in it, what writes that never ended have left."""
    for path in folder.rglob(".*") if deep else folder.glob(".*"):
        if _PARTIAL.fullmatch(path.name):
            path.unlink(missing_ok=True)


def _tail(content: bytes) -> bytes:
    return _MAGIC + len(content).to_bytes(8, "little") + zlib.crc32(content).to_bytes(4, "little")


def _failed(condition: str, path: Path, what: str) -> CheckpointError:
    return CheckpointError(Diagnostic(condition, f"{path} {what}", parameters={"path": str(path)}))


def _step(what: str, path: Path) -> None:
    if hook is not None:
        hook(what, path)

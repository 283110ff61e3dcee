"""Files that are there whole or not at all: written under another name, then renamed, with a checksum at the end."""

from __future__ import annotations

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


def write_file(path: Path, content: bytes) -> int:
    """Writes a file atomically; its checksum is the last thing in it. Returns its size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    _step("write", path)
    with partial.open("wb") as file:
        file.write(content)
        file.write(_tail(content))
    _step("rename", path)
    partial.replace(path)
    _step("done", path)
    return len(content) + _TAIL


def read_file(path: Path) -> bytes:
    """The content of a file that was written so; an error if it is not what was written."""
    try:
        whole = path.read_bytes()
    except FileNotFoundError:
        raise _failed("FILE_MISSING", path, "is missing") from None
    except OSError as error:
        raise _failed("FILE_UNREADABLE", path, f"cannot be read: {error.strerror}") from None
    content, tail = whole[:-_TAIL], whole[-_TAIL:]
    if len(whole) < _TAIL or tail != _tail(content):
        raise _failed("FILE_CORRUPT", path, "is damaged: its checksum is wrong")
    return content


def remove_file(path: Path) -> None:
    """Removes a file; one that is not there is as good."""
    _step("remove", path)
    path.unlink(missing_ok=True)


def numbered(folder: Path) -> list[int]:
    """The numbers that are names of files in a folder, in order."""
    return sorted(int(f.name) for f in folder.iterdir() if f.name.isdigit()) if folder.exists() else []


def remove_partial(folder: Path) -> None:
    """Removes, in a folder and those in it, what writes that never ended have left."""
    for path in folder.rglob(".*"):
        if _PARTIAL.fullmatch(path.name):
            path.unlink(missing_ok=True)


def _tail(content: bytes) -> bytes:
    return _MAGIC + len(content).to_bytes(8, "little") + zlib.crc32(content).to_bytes(4, "little")


def _failed(condition: str, path: Path, what: str) -> CheckpointError:
    return CheckpointError(Diagnostic(condition, f"{path} {what}", parameters={"path": str(path)}))


def _step(what: str, path: Path) -> None:
    if hook is not None:
        hook(what, path)

"""Files that are there whole or not at all: written under another name, then renamed, with a checksum at the end."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Callable
from pathlib import Path

from continua.errors import CheckpointError, Diagnostic

_MAGIC = b"CTNU"
_TAIL = len(_MAGIC) + 8 + 4

hook: Callable[[str, Path], None] | None = None
"""Called before and after each step of a write: tests make it fail there."""


def write_file(path: Path, content: bytes) -> int:
    """Writes a file atomically; its checksum is the last thing in it. Returns its size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    _step("write", path)
    with partial.open("wb") as file:
        file.write(content)
        file.write(_MAGIC + len(content).to_bytes(8, "little") + zlib.crc32(content).to_bytes(4, "little"))
    _step("rename", path)
    partial.replace(path)
    _step("done", path)
    return len(content) + _TAIL


def read_file(path: Path) -> bytes:
    """The content of a file that was written so; an error if it is not what was written."""
    try:
        whole = path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(
            Diagnostic("FILE_MISSING", f"{path} is missing", parameters={"path": str(path)})
        ) from None
    content, tail = whole[:-_TAIL], whole[-_TAIL:]
    expected = _MAGIC + len(content).to_bytes(8, "little") + zlib.crc32(content).to_bytes(4, "little")
    if len(whole) < _TAIL or tail != expected:
        raise CheckpointError(
            Diagnostic(
                "FILE_CORRUPT",
                f"{path} is damaged: its checksum is wrong",
                parameters={"path": str(path)},
            )
        )
    return content


def _step(what: str, path: Path) -> None:
    if hook is not None:
        hook(what, path)

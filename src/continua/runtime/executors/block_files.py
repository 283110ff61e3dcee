"""Blocks in files, for tasks of one machine: only where a block lies moves from one to another.

A task writes its large blocks one behind the other into one file, and whoever takes a block maps it into memory. The
files of an epoch are removed when it is done.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from continua.runtime.machines import writing_to
from continua.runtime.row_blocks import Block, FileStretch, pack_into

LEAST = 1 << 15
"""Blocks of fewer bytes are moved themselves."""
_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class BlockFolder:
    """Where tasks leave blocks for each other, and of how many bytes those are at least."""

    path: Path
    least: int


@contextmanager
def block_folder(scratch: str) -> Iterator[BlockFolder]:
    """A folder for the files of an epoch, as long as it is at work."""
    folder = Path(scratch) / "blocks"
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield BlockFolder(folder, LEAST)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def in_files(folder: BlockFolder | None, blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks of a task, the large ones in a file of a folder, if there is one."""
    path: Path | None = None
    file: pa.NativeFile | None = None
    try:
        for block in blocks:
            if folder is None or not isinstance(block.content, pa.Table) or block.size < folder.least:
                yield block
                continue
            path = path or folder.path / uuid.uuid4().hex
            with writing_to(path):
                file = file or pa.OSFile(str(path), "wb")
                begin = file.tell()
                pack_into(file, block.content)
                size = file.tell() - begin
                file.write(b"\0" * (-size % _ALIGNMENT))
            yield replace(block, content=FileStretch(str(path), begin, size))
    finally:
        if file is not None:
            file.close()

"""Arenas: named arrays that grow, in one file that is mapped into memory.

An arena holds all state of one partition of one stage. Opening it costs one mapping, whatever its size, and an epoch
touches only the pages that it changes: the cost follows the delta, not the state. Without a file an arena is plain
memory.
"""

from __future__ import annotations

import json
import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ALIGNMENT = 64
_FIRST_CHUNK = 1 << 16

ROOMY = 8
"""The growth of arrays that nobody will ever pack: room that is not touched costs nothing, and copies are few."""


@dataclass(slots=True)
class _Region:
    offset: int
    length: int
    dtype: str


class Arena:
    """Named arrays. An array keeps its content when it grows; new places are zero."""

    def __init__(self, path: Path | None = None, growth: int = 2) -> None:
        """``growth``: how many times as long an array is once it has to grow."""
        self._path = path
        self._growth = growth
        self._regions: dict[str, _Region] = {}
        self._arrays: dict[str, NDArray[Any]] = {}
        self._chunks: list[tuple[int, int, memoryview]] = []
        self._used = 0
        self._wasted = 0
        if path is not None and path.exists():
            self._open(path)

    @property
    def size(self) -> int:
        """How many bytes the arrays take."""
        return self._used - self._wasted

    @property
    def names(self) -> list[str]:
        """The arrays that exist."""
        return sorted(self._regions)

    def array(self, name: str, length: int, dtype: type = np.int64) -> NDArray[Any]:
        """The array of that name, at least that long. It may move when it grows: ask again after growing it."""
        known = self._arrays.get(name)
        if known is not None and known.size >= length:
            return known
        wanted = length if known is None else max(length, self._growth * known.size)
        fresh = self._allocate(name, max(wanted, 8), np.dtype(dtype))
        if known is not None:
            fresh[: known.size] = known
            self._wasted += known.nbytes
        self._arrays[name] = fresh
        return fresh

    def drop(self, name: str) -> None:
        """Removes the array of that name, if there is one."""
        if name in self._regions:
            self._wasted += self._arrays.pop(name).nbytes
            del self._regions[name]

    def _allocate(self, name: str, length: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        size = length * dtype.itemsize
        offset = -(-self._used // _ALIGNMENT) * _ALIGNMENT
        chunk = next((c for c in self._chunks if c[0] <= offset and offset + size <= c[1]), None)
        if chunk is None:
            chunk = self._extend(offset, size)
            offset = max(offset, chunk[0])
        self._used = offset + size
        start = offset - chunk[0]
        self._regions[name] = _Region(offset, length, dtype.str)
        fresh: NDArray[Any] = np.frombuffer(chunk[2][start : start + size], dtype=dtype)
        return fresh

    def _extend(self, offset: int, size: int) -> tuple[int, int, memoryview]:
        """A new chunk behind all others, as large as all of them together."""
        begin = -(-offset // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        length = max(size, begin, _FIRST_CHUNK)
        length = -(-length // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        if self._path is None:
            view = memoryview(_private(length))
        else:
            with self._path.open("r+b" if self._path.exists() else "w+b") as file:
                _reserve(file.fileno(), begin, length)
                view = memoryview(mmap.mmap(file.fileno(), length, offset=begin))
        chunk = (begin, begin + length, view)
        self._chunks.append(chunk)
        return chunk

    # Keeping an arena between epochs.

    def moved(self, path: Path) -> None:
        """Its file has another name now; what is mapped stays mapped."""
        self._path = path

    def save(self) -> None:
        """Writes down where the arrays are, so that the file can be opened again."""
        if self._path is None:
            return
        if not self._path.exists():
            self._path.touch()
        regions = {n: [r.offset, r.length, r.dtype] for n, r in self._regions.items()}
        text = json.dumps({"used": self._used, "wasted": self._wasted, "regions": regions})
        _directory(self._path).write_text(text)

    def _open(self, path: Path) -> None:
        known = json.loads(_directory(path).read_text())
        self._used, self._wasted = known["used"], known["wasted"]
        size = path.stat().st_size
        if not size:
            return
        with path.open("r+b") as file:
            view = memoryview(mmap.mmap(file.fileno(), size))
        self._chunks = [(0, size, view)]
        self._place(known["regions"], view)

    def _place(self, regions: dict[str, list[Any]], view: memoryview) -> None:
        for name, (offset, length, dtype) in regions.items():
            size = length * np.dtype(dtype).itemsize
            self._regions[name] = _Region(offset, length, dtype)
            self._arrays[name] = np.frombuffer(view[offset : offset + size], dtype=dtype)

    # Snapshots.

    def pack(self) -> bytes:
        """All arrays as one string of bytes, without the room that was given up."""
        regions: dict[str, list[Any]] = {}
        parts: list[bytes] = []
        offset = 0
        for name, array in self._arrays.items():
            content = array.tobytes()
            regions[name] = [offset, array.size, array.dtype.str]
            padding = -len(content) % _ALIGNMENT
            parts += [content, b"\0" * padding]
            offset += len(content) + padding
        header = json.dumps({"used": offset, "wasted": 0, "regions": regions}).encode()
        return b"".join([len(header).to_bytes(8, "little"), header, *parts])

    @classmethod
    def unpack(cls, content: bytes | memoryview, path: Path | None = None) -> Arena:
        """The arena that was packed, in a new file or in memory."""
        view = memoryview(content)
        length = int.from_bytes(view[:8], "little")
        header = json.loads(bytes(view[8 : 8 + length]))
        body = view[8 + length :]
        if path is None:
            arena = cls()
            place = memoryview(bytearray(body))
            arena._chunks = [(0, len(place), place)]
            arena._used = header["used"]
            arena._place(header["regions"], place)
            return arena
        path.write_bytes(body)
        _directory(path).write_text(json.dumps(header))
        return cls(path)

    @property
    def garbage(self) -> int:
        """How many bytes of the file were given up by arrays that grew."""
        return self._wasted


def _private(length: int) -> mmap.mmap:
    """Memory of this process alone, where the system has a name for that: such pages are had for less."""
    if hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return mmap.mmap(-1, length)


def _reserve(file: int, begin: int, length: int) -> None:
    """Makes a file longer. The disk has room for it afterwards: a mapped page without any would end the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, begin, length)
    else:
        os.ftruncate(file, begin + length)


def _directory(path: Path) -> Path:
    return path.with_name(path.name + ".json")

"""What a snapshot of an arena consists of: a table of contents, and segments that snapshots share.

An array is cut into chunks of one size. A segment holds some of them, one behind the other, and the table of a snapshot
says of every chunk in which segment it is and where. So a snapshot writes what has changed since another one, and
refers to the segments of that for the rest; whoever has an arena from before reads what is different there. What has
changed is told by digests. Chunks of zeros, such as the room that arrays have to grow, are in no segment.

Where chunks of a segment have been replaced, it is kept for those that are left: once they are less than half of it, or
there are many segments, they are written again, and the segment is needed no more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from continua.kernels.store.arena import Arena

CHUNK = 1 << 15
_MOST_SEGMENTS = 16
_NOWHERE = -1
_LENGTH = 8
_PLACE = np.dtype([("segment", "<i4"), ("offset", "<i8"), ("digest", "<u8", (2,))])
"""Of a chunk: the place of its segment in the table, where it begins in there, and its digest."""
Places: TypeAlias = NDArray[Any]
_Raw: TypeAlias = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment: the epoch that wrote it, its digest, and how many bytes it holds."""

    number: int
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Table:
    """The contents of a snapshot."""

    arrays: Mapping[str, tuple[str, int]]
    """The type and the length of each array."""
    places: Mapping[str, Places]
    """For each array where its chunks are."""
    segments: tuple[Segment, ...]

    def packed(self) -> bytes:
        """The table as bytes."""
        segments = [[s.number, s.digest, s.size] for s in self.segments]
        head = json.dumps({"arrays": self.arrays, "segments": segments}).encode()
        return b"".join([len(head).to_bytes(_LENGTH, "little"), head, *(p.tobytes() for p in self.places.values())])

    @staticmethod
    def of(content: bytes) -> Table:
        """The table that bytes stand for."""
        at = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
        told = json.loads(content[_LENGTH:at])
        arrays: dict[str, tuple[str, int]] = {name: (kind, length) for name, (kind, length) in told["arrays"].items()}
        places = {}
        for name, (kind, length) in arrays.items():
            count = -(-length * np.dtype(kind).itemsize // CHUNK)
            places[name] = np.frombuffer(content, _PLACE, count, at)
            at += places[name].nbytes
        return Table(arrays, places, tuple(Segment(*segment) for segment in told["segments"]))


@dataclass(frozen=True, slots=True)
class Draft:
    """A snapshot that can be written: its table without its own segment, and what that has to hold."""

    table: Table
    content: tuple[memoryview, ...]

    @property
    def size(self) -> int:
        """How many bytes it writes."""
        return sum(chunk.nbytes for chunk in self.content)

    def after(self, own: Segment) -> Table:
        """The table once its segment is written."""
        return Table(self.table.arrays, self.table.places, (*self.table.segments, own))


def drafted(arena: Arena, base: Table | None) -> Draft:
    """A snapshot of an arena that shares with another one what is the same."""
    arrays = {name: arena.array(name, 0) for name in arena.names}
    told = {name: (array.dtype.str, int(array.size)) for name, array in arrays.items()}
    raw = {name: array.view(np.uint8) for name, array in arrays.items()}
    places = {name: _digests(content) for name, content in raw.items()}
    shared: tuple[Segment, ...] = ()
    if base is not None:
        for name, mine in places.items():
            if base.arrays.get(name, ("",))[0] == told[name][0]:
                _share(mine, base.places[name])
        shared = _kept_segments(base.segments, places, raw)
    content: list[memoryview] = []
    offset = 0
    for name, mine in places.items():
        for number in np.flatnonzero((mine["segment"] == _NOWHERE) & mine["digest"].any(axis=1)):
            chunk = raw[name][number * CHUNK : (number + 1) * CHUNK]
            mine[number]["segment"], mine[number]["offset"] = len(shared), offset
            content.append(chunk.data)
            offset += chunk.nbytes
    return Draft(Table(told, places, shared), tuple(content))


def loaded(table: Table, path: Path | None, before: Arena | None, fetched: Callable[[Segment], bytes]) -> Arena:
    """The arena of a snapshot, in a new file or in memory; ``before``: one that has some of its chunks already."""
    arena = Arena(path)
    known = set() if before is None else set(before.names)
    missing: list[list[tuple[_Raw, int]]] = [[] for _ in table.segments]
    for name, (kind, length) in table.arrays.items():
        target = arena.array(name, length, np.dtype(kind).type).view(np.uint8)
        near = before.array(name, 0).view(np.uint8) if before is not None and name in known else target[:0]
        for number, place in enumerate(table.places[name]):
            if place["segment"] == _NOWHERE:
                continue
            mine = target[number * CHUNK : (number + 1) * CHUNK]
            old = near[number * CHUNK : number * CHUNK + mine.size]
            if old.size == mine.size and (_digest(old) == place["digest"]).all():
                mine[:] = old
            else:
                missing[place["segment"]].append((mine, int(place["offset"])))
    for segment, wanted in zip(table.segments, missing, strict=True):
        if not wanted:
            continue
        content = np.frombuffer(fetched(segment), np.uint8)
        for mine, offset in wanted:
            mine[:] = content[offset : offset + mine.size]
    return arena


def _digest(chunk: _Raw) -> NDArray[np.uint64]:
    return np.frombuffer(sha256(chunk.data).digest(), "<u8", 2)


def _digests(content: _Raw) -> Places:
    """The chunks of an array, nowhere yet; those of zeros have no digest."""
    found = np.zeros(-(-content.size // CHUNK), _PLACE)
    found["segment"] = _NOWHERE
    for number in range(found.size):
        chunk = content[number * CHUNK : (number + 1) * CHUNK]
        if chunk.any():
            found[number]["digest"] = _digest(chunk)
    return found


def _share(mine: Places, theirs: Places) -> None:
    """Chunks that are the same are where they were."""
    both = min(mine.size, theirs.size)
    same = np.flatnonzero((mine["digest"][:both] == theirs["digest"][:both]).all(axis=1))
    for field in ("segment", "offset"):
        mine[field][same] = theirs[field][same]


def _kept_segments(
    segments: tuple[Segment, ...], places: Mapping[str, Places], raw: Mapping[str, _Raw]
) -> tuple[Segment, ...]:
    """The segments that stay of use; the chunks that others have are to be written again."""
    live = np.zeros(len(segments), np.int64)
    for name, mine in places.items():
        sizes = np.full(mine.size, CHUNK)
        sizes[-1:] = raw[name].size - CHUNK * (mine.size - 1)
        somewhere = mine["segment"] != _NOWHERE
        np.add.at(live, mine["segment"][somewhere], sizes[somewhere])
    useful = [n for n, segment in enumerate(segments) if 2 * live[n] >= segment.size]
    if len(useful) >= _MOST_SEGMENTS:
        useful = sorted(sorted(useful, key=lambda n: -live[n])[: _MOST_SEGMENTS // 2])
    moved = np.full(len(segments) + 1, _NOWHERE, np.int32)
    moved[useful] = np.arange(len(useful))
    for mine in places.values():
        # the last number stands for those that are nowhere
        mine["segment"] = moved[mine["segment"]]
    return tuple(segments[n] for n in useful)

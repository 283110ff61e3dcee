"""Interners: byte strings to numbers (ids), exactly.

Two strings are equal exactly when their ids are. All state is in arrays of an arena, so that an interner goes on where
the arena was left. Open addressing with linear probing; equality is decided on the bytes, the hash only says where to
look. Ids that nothing uses any more are found by marking those in use, and are used again.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from continua.kernels.jit import Bytes, Int64s, compiled
from continua.kernels.store.arena import Arena
from continua.kernels.store.open_addressing import put_in, take_out

_TOP, _LIVE, _FREE, _USED, _DEAD, _SURVIVED = 0, 1, 2, 3, 4, 5
_FIRST_PLACES = 1 << 10
_FIRST_BYTES = 1 << 13
_GARBAGE = 4096
_GONE = -1
_MOST_BYTES = (1 << 31) - 1


class Interner:
    """Numbers for byte strings. An id is stable from ``intern`` to a ``collect`` that does not find it in use."""

    def __init__(self, arena: Arena, name: str) -> None:
        self._arena = arena
        self._name = name
        self._meta = arena.array(f"{name}.meta", 8)
        self._data: Bytes = arena.array(f"{name}.data", _FIRST_BYTES, np.uint8)
        self._table: Int64s = arena.array(f"{name}.table", _FIRST_PLACES)
        self._reserve_ids()

    def _reserve_ids(self) -> None:
        """Room for as many ids as the table may hold: half of its places."""
        arena, name, room = self._arena, self._name, self._table.size // 2
        self._hashes: Int64s = arena.array(f"{name}.hashes", room)
        self._start: Int64s = arena.array(f"{name}.start", room)
        self._length: Int64s = arena.array(f"{name}.length", room)
        self._free: Int64s = arena.array(f"{name}.free", room)

    @property
    def count(self) -> int:
        """How many strings there are."""
        return int(self._meta[_LIVE])

    @property
    def should_collect(self) -> bool:
        """Whether so many strings came since the last collection that another one pays."""
        return self.count > 2 * int(self._meta[_SURVIVED]) + _GARBAGE

    def intern(self, values: pa.Array) -> Int64s:
        """The id of each value of a (large) binary or string array without NULLs; new values get one."""
        if values.null_count:
            raise ValueError("NULL has no id")
        offsets, data = binary_buffers(values)
        ids = np.empty(len(values), np.int64)
        done = 0
        while True:
            done = _intern(
                offsets, data, done, ids,
                self._table, self._hashes, self._start, self._length, self._data, self._free, self._meta,
            )  # fmt: skip
            if done == ids.size:
                return ids
            self._grow(int(offsets[done + 1] - offsets[done]))

    def lookup(self, ids: Int64s, large: bool = False) -> pa.Array:
        """The strings of ids as a binary array, or as a large one. Fails on an id that is not in use."""
        ids = np.ascontiguousarray(ids, np.int64)
        starts = np.empty(ids.size, np.int64)
        offsets = np.zeros(ids.size + 1, np.int64)
        if not _measure(ids, self._start, self._length, self._meta, starts, offsets):
            raise KeyError("an id is not in use")
        if not large and offsets[-1] > _MOST_BYTES:
            raise OverflowError("more than 2 GiB in one binary array")
        data = np.empty(int(offsets[-1]), np.uint8)
        gather_ranges(self._data, starts, offsets, data)
        return binary_array(pa.large_binary() if large else pa.binary(), offsets, data)

    def strings(self) -> tuple[Int64s, Int64s, Bytes]:
        """Start and length per id, and the bytes. They hold until the next ``intern`` or ``collect``."""
        return self._start, self._length, self._data

    def collect(self, live: Iterable[Int64s]) -> None:
        """Frees the ids that are in none of the arrays, so all that are in use must be there.

        A NULL's word is 0 and so may keep the string of id 0; numbers that are no ids do no harm.
        """
        marks = np.zeros(int(self._meta[_TOP]), np.uint8)
        for ids in live:
            _mark(np.ascontiguousarray(ids, np.int64).ravel(), marks)
        _sweep(marks, self._table, self._hashes, self._length, self._free, self._meta)
        meta = self._meta
        meta[_SURVIVED] = meta[_LIVE]
        if 2 * meta[_DEAD] > meta[_USED]:
            self._compact()

    def _compact(self) -> None:
        """Moves the bytes in use to the front."""
        kept = np.flatnonzero(self._length[: self._meta[_TOP]] != _GONE)
        kept = kept[np.argsort(self._start[kept], kind="stable")]
        self._meta[_USED] = _move_down(kept, self._start, self._length, self._data)
        self._meta[_DEAD] = 0

    def _grow(self, size: int) -> None:
        """Makes room for one more string of that size."""
        used = int(self._meta[_USED])
        self._data = self._arena.array(f"{self._name}.data", used + size, np.uint8)
        if self.count < self._table.size // 2:
            return
        entries = self._table[self._table > 0]
        self._table = self._arena.array(f"{self._name}.table", 2 * self._table.size)
        self._table[:] = 0
        put_in(entries, self._hashes, self._table)
        self._reserve_ids()


def binary_buffers(values: pa.Array) -> tuple[Int64s, Bytes]:
    """Where the values of a (large) binary or string array begin and end, and the bytes."""
    kind = values.type
    if pa.types.is_large_binary(kind) or pa.types.is_large_string(kind):
        width: type[np.int32] | type[np.int64] = np.int64
    elif pa.types.is_binary(kind) or pa.types.is_string(kind):
        width = np.int32
    else:
        raise TypeError(f"{kind} is not binary")
    _, places, content = values.buffers()
    data = np.empty(0, np.uint8) if content is None else np.frombuffer(content, np.uint8)
    data.flags.writeable = False
    if not len(values):
        return np.zeros(1, np.int64), data
    begin = values.offset * np.dtype(width).itemsize
    offsets = np.frombuffer(places, width, count=len(values) + 1, offset=begin).astype(np.int64)
    return offsets, data


def binary_array(kind: pa.DataType, offsets: Int64s, data: Bytes, validity: pa.Buffer | None = None) -> pa.Array:
    """An array of a (large) binary or string type, from where its values begin and end, and the bytes."""
    large = pa.types.is_large_binary(kind) or pa.types.is_large_string(kind)
    places = offsets if large else offsets.astype(np.int32)
    return pa.Array.from_buffers(kind, offsets.size - 1, [validity, pa.py_buffer(places), pa.py_buffer(data)])


@compiled
def compare_strings(a: int, b: int, start: Int64s, length: Int64s, data: Bytes) -> int:
    """-1, 0 or 1: how the strings of two ids compare, byte by byte."""
    if a == b:
        return 0
    p, q = start[a], start[b]
    for k in range(min(length[a], length[b])):
        if data[p + k] != data[q + k]:
            return -1 if data[p + k] < data[q + k] else 1
    if length[a] == length[b]:
        return 0
    return -1 if length[a] < length[b] else 1


@compiled
def gather_ranges(data: Bytes, starts: Int64s, offsets: Int64s, out: Bytes) -> None:
    """Puts ranges of bytes one behind the other: the one that starts at ``starts[i]`` goes to ``offsets[i]``."""
    for i in range(starts.size):
        source, target = starts[i], offsets[i]
        for k in range(offsets[i + 1] - target):
            out[target + k] = data[source + k]


@compiled
def append_ranges(part: Bytes, offsets: Int64s, cursors: Int64s, out: Bytes) -> None:
    """Copies range i of ``part`` to cursor i, which moves behind it."""
    for i in range(cursors.size):
        source, target, size = offsets[i], cursors[i], offsets[i + 1] - offsets[i]
        for k in range(size):
            out[target + k] = part[source + k]
        cursors[i] = target + size


@compiled
def distinct_ids(ids: Int64s, top: int) -> tuple[Int64s, Int64s]:
    """The distinct ids, all below ``top``, and where each id is among them. Negative ids are left out."""
    known = np.zeros(top, np.int64)
    distinct = np.empty(min(top, ids.size), np.int64)
    places = np.zeros(ids.size, np.int64)
    count = 0
    for i in range(ids.size):
        one = ids[i]
        if one < 0:
            continue
        if known[one] == 0:
            distinct[count] = one
            count += 1
            known[one] = count
        places[i] = known[one] - 1
    return distinct[:count], places


@compiled
def hash_bytes(data: Bytes, begin: int, end: int) -> int:
    h = np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(end - begin)
    place = begin
    while place < end:
        word = np.uint64(0)
        for k in range(min(8, end - place)):
            word |= np.uint64(data[place + k]) << np.uint64(8 * k)
        h = (h ^ word) * np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
        place += 8
    h *= np.uint64(0xC4CEB9FE1A85EC53)
    h ^= h >> np.uint64(29)
    return np.int64(h)  # type: ignore[return-value]


@compiled
def _equal(source: Bytes, begin: int, data: Bytes, start: int, size: int) -> bool:
    for k in range(size):  # noqa: SIM110
        if source[begin + k] != data[start + k]:
            return False
    return True


@compiled
def _intern(
    offsets: Int64s, source: Bytes, first: int, ids: Int64s,
    table: Int64s, hashes: Int64s, start: Int64s, length: Int64s, data: Bytes, free: Int64s, meta: Int64s,
) -> int:  # fmt: skip
    """Interns from ``first`` on; stops where there is no room and says where."""
    mask = table.size - 1
    for i in range(first, ids.size):
        begin = offsets[i]
        size = offsets[i + 1] - begin
        h = hash_bytes(source, begin, begin + size)
        p = h & mask
        while table[p] != 0:
            known = table[p] - 1
            if hashes[known] == h and length[known] == size and _equal(source, begin, data, start[known], size):
                break
            p = (p + 1) & mask
        if table[p] == 0:
            if meta[_LIVE] >= table.size // 2 or meta[_USED] + size > data.size:
                return i
            table[p] = 1 + _add(source, begin, size, start, length, data, free, meta)
            hashes[table[p] - 1] = h
        ids[i] = table[p] - 1
    return ids.size


@compiled
def _add(
    source: Bytes, begin: int, size: int, start: Int64s, length: Int64s, data: Bytes, free: Int64s, meta: Int64s
) -> int:
    if meta[_FREE] > 0:
        meta[_FREE] -= 1
        fresh = free[meta[_FREE]]
    else:
        fresh = meta[_TOP]
        meta[_TOP] += 1
    meta[_LIVE] += 1
    place = meta[_USED]
    start[fresh] = place
    length[fresh] = size
    for k in range(size):
        data[place + k] = source[begin + k]
    meta[_USED] += size
    return int(fresh)


@compiled
def _measure(ids: Int64s, start: Int64s, length: Int64s, meta: Int64s, starts: Int64s, offsets: Int64s) -> bool:
    for i in range(ids.size):
        one = ids[i]
        if one < 0 or one >= meta[_TOP] or length[one] == _GONE:
            return False
        starts[i] = start[one]
        offsets[i + 1] = offsets[i] + length[one]
    return True


@compiled
def _mark(ids: Int64s, marks: Bytes) -> None:
    for one in ids:
        if 0 <= one < marks.size:
            marks[one] = 1


@compiled
def _sweep(marks: Bytes, table: Int64s, hashes: Int64s, length: Int64s, free: Int64s, meta: Int64s) -> None:
    """Frees all ids without a mark."""
    for one in range(marks.size):
        if marks[one] or length[one] == _GONE:
            continue
        take_out(one, hashes, table)
        meta[_DEAD] += length[one]
        length[one] = _GONE
        free[meta[_FREE]] = one
        meta[_FREE] += 1
        meta[_LIVE] -= 1


@compiled
def _move_down(kept: Int64s, start: Int64s, length: Int64s, data: Bytes) -> int:
    """Moves strings, given in the order of their places, to the front; says where they end."""
    end = 0
    for one in kept:
        source = start[one]
        start[one] = end
        for k in range(length[one]):
            data[end + k] = data[source + k]
        end += length[one]
    return end

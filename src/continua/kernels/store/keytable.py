"""Key tables: rows of words to dense numbers (slots), exactly.

Open addressing with linear probing. A slot is given up when its key has no state left, and used again. Equality is
decided on the words; the hash only says where to look.
"""

from __future__ import annotations

import numpy as np

from continua.kernels.jit import Int64s, compiled
from continua.kernels.store.arena import Arena
from continua.kernels.store.open_addressing import put_in, take_out

_TOP, _LIVE, _FREE = 0, 1, 2
_FIRST = 1 << 10


class KeyTable:
    """Maps keys of ``width`` words to slots below ``capacity``."""

    def __init__(self, arena: Arena, name: str, width: int) -> None:
        self._arena = arena
        self._name = name
        self.width = width
        self._meta = arena.array(f"{name}.meta", 8)
        self._load()
        if self._table.size < _FIRST:
            self._grow(_FIRST)

    def _load(self) -> None:
        size, name = self._arena, self._name
        self._table = size.array(f"{name}.table", 8)
        self._keys = size.array(f"{name}.keys", 8)
        self._hashes = size.array(f"{name}.hashes", 8)
        self._free = size.array(f"{name}.free", 8)

    @property
    def capacity(self) -> int:
        """Slots are below this number; arrays with a place per slot are at least that long."""
        return int(self._hashes.size)

    @property
    def live(self) -> int:
        """How many keys there are."""
        return int(self._meta[_LIVE])

    @property
    def top(self) -> int:
        """All slots ever used are below this number."""
        return int(self._meta[_TOP])

    def upsert(self, words: Int64s) -> Int64s:
        """The slot of each key (a column of ``words``); new keys get one."""
        count = words.shape[1]
        slots = np.empty(count, np.int64)
        done = 0
        while True:
            done = _upsert(words, done, self._keys, self._hashes, self._table, self._free, self._meta, slots)
            if done == count:
                return slots
            self._grow(2 * self._table.size)

    def find(self, words: Int64s) -> Int64s:
        """The slot of each key, -1 for a key that is not there."""
        slots = np.empty(words.shape[1], np.int64)
        _find(words, self._keys, self._hashes, self._table, slots)
        return slots

    def words(self, slots: Int64s) -> Int64s:
        """The keys of slots."""
        result = np.empty((self.width, slots.size), np.int64)
        _gather(self._keys, slots, result)
        return result

    def release(self, slots: Int64s) -> None:
        """Gives slots up; each must be in use, and stand there once."""
        _release(slots, self._hashes, self._table, self._free, self._meta)

    def in_use(self) -> Int64s:
        """The slots in use."""
        return self._table[self._table > 0] - 1

    def _grow(self, size: int) -> None:
        arena, name = self._arena, self._name
        old = self._table[self._table > 0].copy()
        self._table = arena.array(f"{name}.table", size)
        self._table[:] = 0
        room = self._table.size // 2
        self._keys = arena.array(f"{name}.keys", room * max(self.width, 1))
        self._hashes = arena.array(f"{name}.hashes", room)
        self._free = arena.array(f"{name}.free", room)
        put_in(old, self._hashes, self._table)


@compiled
def hash_words(words: Int64s, place: int) -> int:
    """A hash of one column of words."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for j in range(words.shape[0]):
        h ^= np.uint64(words[j, place])
        h *= np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
    h *= np.uint64(0xC4CEB9FE1A85EC53)
    h ^= h >> np.uint64(29)
    return np.int64(h)  # type: ignore[return-value]


@compiled
def hash_all(words: Int64s) -> Int64s:
    """A hash of every column of words: which partition a row belongs to."""
    result = np.empty(words.shape[1], np.int64)
    for i in range(words.shape[1]):
        result[i] = hash_words(words, i)
    return result


@compiled
def _equal(words: Int64s, place: int, keys: Int64s, slot: int) -> bool:
    width = words.shape[0]
    for j in range(width):  # noqa: SIM110
        if words[j, place] != keys[slot * width + j]:
            return False
    return True


@compiled
def _upsert(
    words: Int64s, first: int, keys: Int64s, hashes: Int64s, table: Int64s, free: Int64s, meta: Int64s, slots: Int64s
) -> int:
    mask = table.size - 1
    width = words.shape[0]
    limit = hashes.size
    for i in range(first, words.shape[1]):
        h = hash_words(words, i)
        p = h & mask
        while True:
            entry = table[p]
            if entry == 0:
                if meta[1] >= table.size // 2:
                    return i
                if meta[2] > 0:
                    meta[2] -= 1
                    slot = free[meta[2]]
                else:
                    if meta[0] >= limit:
                        return i
                    slot = meta[0]
                    meta[0] += 1
                meta[1] += 1
                hashes[slot] = h
                for j in range(width):
                    keys[slot * width + j] = words[j, i]
                table[p] = slot + 1
                slots[i] = slot
                break
            if hashes[entry - 1] == h and _equal(words, i, keys, entry - 1):
                slots[i] = entry - 1
                break
            p = (p + 1) & mask
    return int(words.shape[1])


@compiled
def _find(words: Int64s, keys: Int64s, hashes: Int64s, table: Int64s, slots: Int64s) -> None:
    mask = table.size - 1
    for i in range(words.shape[1]):
        h = hash_words(words, i)
        p = h & mask
        slots[i] = -1
        while table[p] != 0:
            slot = table[p] - 1
            if hashes[slot] == h and _equal(words, i, keys, slot):
                slots[i] = slot
                break
            p = (p + 1) & mask


@compiled
def _gather(keys: Int64s, slots: Int64s, result: Int64s) -> None:
    width = result.shape[0]
    for i in range(slots.size):
        for j in range(width):
            result[j, i] = keys[slots[i] * width + j]


@compiled
def _release(slots: Int64s, hashes: Int64s, table: Int64s, free: Int64s, meta: Int64s) -> None:
    """Takes keys out of the table; their slots can be used again."""
    for slot in slots:
        take_out(slot, hashes, table)
        free[meta[2]] = slot
        meta[2] += 1
        meta[1] -= 1

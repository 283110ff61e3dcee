"""Rings of records: for each slot the latest rows, in the order in which they came.

Rings grow by doubling; the room of one that is given up is used again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from continua.kernels.jit import Int64s, compiled
from continua.kernels.store.arena import Arena

BASE, CAPACITY, FIRST, NEXT = 0, 1, 2, 3
"""Of a ring: where it lies, for how many records, and the positions [first, next) that it holds."""
USED, PENDING = 4, 5
"""Whether a ring is in use, and a number of its owner: while it is not 0 the ring is not given up."""
OWN, HEAD = 6, 12
"""From which number on the head of a ring is its owner's, and how many numbers it has."""
WHEN, PLACE, WORDS = 0, 1, 2
"""Of a record: an instant, a number for its owner, and the words of the row."""
TOP, LIVE, NEEDED, FREE = 0, 1, 2, 8
"""Of all rings: how much room is taken, how many records there are, how much room was not found, what is free again."""
_SMALLEST = 4


class Rings:
    """A ring of records per slot. Rings grow by doubling; the room of one that is given up is used again."""

    def __init__(self, arena: Arena, name: str, width: int) -> None:
        self._arena = arena
        self._name = name
        self.size = WORDS + width
        """How many numbers a record has."""
        self.meta: Int64s = arena.array(f"{name}.meta", FREE + 64)
        self.heads: Int64s = arena.array(f"{name}.heads", HEAD)
        self.pool: Int64s = arena.array(f"{name}.pool", self.size * _SMALLEST)

    @property
    def live(self) -> int:
        """How many records there are."""
        return int(self.meta[LIVE])

    def reserve(self, slots: int) -> None:
        """Room for the heads of slots."""
        self.heads = self._arena.array(f"{self._name}.heads", slots * HEAD)

    def enlarge(self) -> None:
        """Room for the records that a push did not find."""
        room = int(self.meta[TOP] + self.meta[NEEDED])
        self.pool = self._arena.array(f"{self._name}.pool", room * self.size)

    def push_all(self, slots: Int64s, when: Int64s, words: Int64s) -> None:
        """Puts a record at the end of a ring for each row."""
        done = 0
        while True:
            done = _push_all(slots, when, words, done, self.heads, self.pool, self.meta)
            if done == slots.size:
                return
            self.enlarge()

    def drop(self, slot: int, position: int) -> None:
        """Drops the records of a ring before a position."""
        head = self.heads[slot * HEAD : (slot + 1) * HEAD]
        if position > head[FIRST]:
            self.meta[LIVE] -= position - head[FIRST]
            head[FIRST] = position

    def gather(self, slots: Int64s, columns: Sequence[int]) -> list[Int64s]:
        """The values of some words in all records of slots."""
        places = places_of(slots, self.heads, self.live)
        return [self.pool[places * self.size + (WORDS + column)] for column in columns]

    def release(self, slots: Int64s, until: int) -> Int64s:
        """Drops the records of slots up to an instant; gives up the rings that are then empty, and says which."""
        return _drop_expired(slots, until, self.heads, self.pool, self.meta, self.size)


@compiled
def _class_of(capacity: int) -> int:
    number = 0
    while capacity > _SMALLEST:
        capacity >>= 1
        number += 1
    return number


@compiled
def has_room(slot: int, heads: Int64s, pool: Int64s, meta: Int64s, size: int) -> bool:
    """Whether one more record can be pushed; if not, ``enlarge`` knows how much room is missing."""
    head, capacity = slot * HEAD, heads[slot * HEAD + CAPACITY]
    if heads[head + NEXT] - heads[head + FIRST] < capacity:
        return True
    meta[NEEDED] = max(2 * capacity, _SMALLEST)
    free = meta[FREE + _class_of(meta[NEEDED])] > 0
    return bool(free or (meta[TOP] + meta[NEEDED]) * size <= pool.size)


@compiled
def _give_up(head: int, heads: Int64s, pool: Int64s, meta: Int64s, size: int) -> None:
    """Puts the room of a ring in the list of its size."""
    capacity = heads[head + CAPACITY]
    if capacity > 0:
        place = FREE + _class_of(capacity)
        pool[heads[head + BASE] * size] = meta[place]
        meta[place] = heads[head + BASE] + 1
        heads[head + CAPACITY] = 0


@compiled
def _double(head: int, heads: Int64s, pool: Int64s, meta: Int64s, size: int) -> None:
    """Moves a ring to twice the room; there is enough."""
    capacity = heads[head + CAPACITY]
    wanted = max(2 * capacity, _SMALLEST)
    place = FREE + _class_of(wanted)
    if meta[place] > 0:
        base = meta[place] - 1
        meta[place] = pool[base * size]
    else:
        base = meta[TOP]
        meta[TOP] += wanted
    for p in range(heads[head + FIRST], heads[head + NEXT]):
        source = (heads[head + BASE] + (p & (capacity - 1))) * size
        target = (base + (p & (wanted - 1))) * size
        for j in range(size):
            pool[target + j] = pool[source + j]
    _give_up(head, heads, pool, meta, size)
    heads[head + BASE] = base
    heads[head + CAPACITY] = wanted


@compiled
def push(head: int, when: int, words: Int64s, row: int, heads: Int64s, pool: Int64s, meta: Int64s, size: int) -> None:
    """Puts a record at the end of a ring; there is room."""
    if heads[head + NEXT] - heads[head + FIRST] == heads[head + CAPACITY]:
        _double(head, heads, pool, meta, size)
    p = heads[head + NEXT]
    place = (heads[head + BASE] + (p & (heads[head + CAPACITY] - 1))) * size
    pool[place + WHEN] = when
    pool[place + PLACE] = -1
    for j in range(words.shape[0]):
        pool[place + WORDS + j] = words[j, row]
    heads[head + NEXT] = p + 1
    meta[LIVE] += 1


@compiled
def _push_all(slots: Int64s, when: Int64s, words: Int64s, first: int, heads: Int64s, pool: Int64s, meta: Int64s) -> int:
    """Pushes from row ``first`` on; stops where there is no room and says where."""
    size = WORDS + words.shape[0]
    for i in range(first, slots.size):
        if not has_room(slots[i], heads, pool, meta, size):
            return i
        push(slots[i] * HEAD, when[i], words, i, heads, pool, meta, size)
    return int(slots.size)


@compiled
def places_of(slots: Int64s, heads: Int64s, count: int) -> Int64s:
    """Where the records of slots are in the pool."""
    places = np.empty(count, np.int64)
    out = 0
    for slot in slots:
        head = slot * HEAD
        for p in range(heads[head + FIRST], heads[head + NEXT]):
            places[out] = heads[head + BASE] + (p & (heads[head + CAPACITY] - 1))
            out += 1
    return places[:out]


@compiled
def _drop_expired(slots: Int64s, until: int, heads: Int64s, pool: Int64s, meta: Int64s, size: int) -> Int64s:
    """Drops the records of slots that are too old; gives up the rings with nothing left, and says which."""
    empty = np.empty(slots.size, np.int64)
    count = 0
    for slot in slots:
        head = slot * HEAD
        while heads[head + FIRST] < heads[head + NEXT]:
            p = heads[head + FIRST]
            place = (heads[head + BASE] + (p & (heads[head + CAPACITY] - 1))) * size
            if pool[place + WHEN] > until:
                break
            heads[head + FIRST] = p + 1
            meta[LIVE] -= 1
        if heads[head + FIRST] == heads[head + NEXT] and heads[head + PENDING] == 0 and heads[head + USED] > 0:
            _give_up(head, heads, pool, meta, size)
            heads[head : head + HEAD] = 0
            empty[count] = slot
            count += 1
    return empty[:count]

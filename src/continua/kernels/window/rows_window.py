"""Windows over the last rows of each partition.

An element enters when its group of rows is complete, or at once where the window does not slide over rows, and leaves
when so many newer ones have come, or by its age. A slide over time and a lag only move instants: elements wait for the
point at which they count, and are taken in then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from continua.kernels.jit import Int64s, compiled
from continua.kernels.store.arena import Arena
from continua.kernels.store.hold import Hold
from continua.kernels.store.keytable import KeyTable
from continua.kernels.store.timequeue import TimeQueue
from continua.kernels.words.batch import INFINITY, Batch

BASE, CAPACITY, FIRST, NEXT = 0, 1, 2, 3
"""Of a ring: where it lies, for how many records, and the positions [first, next) that it holds."""
HEAD = 10
"""How many numbers there are per ring; those from 4 on are its owner's."""
WHEN, PLACE, WORDS = 0, 1, 2
"""Of a record: an instant, a number for its owner, and the words of the row."""
_SHOWN, _OFFSET, _USED = 4, 5, 6
_TOP, _LIVE, _NEEDED, _WRITTEN, _FREE = 0, 1, 2, 3, 8
_SMALLEST = 4


class Rings:
    """A ring of records per slot. Rings grow by doubling; the room of one that is given up is used again."""

    def __init__(self, arena: Arena, name: str, width: int) -> None:
        self._arena = arena
        self._name = name
        self.size = WORDS + width
        """How many numbers a record has."""
        self.meta: Int64s = arena.array(f"{name}.meta", _FREE + 64)
        self.heads: Int64s = arena.array(f"{name}.heads", HEAD)
        self.pool: Int64s = arena.array(f"{name}.pool", self.size * _SMALLEST)

    @property
    def live(self) -> int:
        """How many records there are."""
        return int(self.meta[_LIVE])

    def reserve(self, slots: int) -> None:
        """Room for the heads of slots."""
        self.heads = self._arena.array(f"{self._name}.heads", slots * HEAD)

    def enlarge(self) -> None:
        """Room for the records that a push did not find."""
        room = int(self.meta[_TOP] + self.meta[_NEEDED])
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
            self.meta[_LIVE] -= position - head[FIRST]
            head[FIRST] = position

    def gather(self, slots: Int64s, columns: Sequence[int]) -> list[Int64s]:
        """The values of some words in all records of slots."""
        places = places_of(slots, self.heads, self.live)
        return [self.pool[places * self.size + (WORDS + column)] for column in columns]


class PartitionedWindow:
    """What windows over positions remember: elements that wait for their time, and a ring for each partition."""

    def __init__(self, arena: Arena, name: str, key_width: int, width: int) -> None:
        self._key_width = key_width
        self._held = Hold(arena, f"{name}.held", key_width + width)
        self._keys = KeyTable(arena, f"{name}.keys", key_width)
        self._rings = Rings(arena, f"{name}.rings", width)

    @property
    def state_rows(self) -> int:
        """How many rows are remembered."""
        return self._rings.live + self._held.state_rows

    def _hold(self, keys: Int64s, batch: Batch, until: int) -> tuple[Int64s, Batch]:
        """The elements that start by ``until``, new and waiting, and their keys."""
        due = self._held.epoch(replace(batch, words=np.vstack([keys, batch.words])), until)
        return due.words[: self._key_width], replace(due, words=due.words[self._key_width :])

    def _slots(self, keys: Int64s) -> Int64s:
        """The ring of each key."""
        slots = self._keys.upsert(np.ascontiguousarray(keys))
        self._rings.reserve(self._keys.capacity)
        return slots

    def interned(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of some words in all rows that are remembered."""
        waiting = self._held.interned([self._key_width + column for column in columns])
        known = self._rings.gather(self._keys.in_use(), columns)
        return [np.concatenate(both) for both in zip(waiting, known, strict=True)]

    def interned_keys(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of some words in all keys that are remembered."""
        if not self._key_width:
            return [np.empty(0, np.int64) for _ in columns]
        waiting, known = self._held.interned(columns), self._keys.words(self._keys.in_use())
        return [np.concatenate([one, known[c]]) for one, c in zip(waiting, columns, strict=True)]


class RowsWindowSweep(PartitionedWindow):
    """The last ``rows`` elements of each partition, none older than ``size``, moving every so many rows or instants."""

    def __init__(
        self, arena: Arena, name: str, key_width: int, width: int,
        rows: int, size: int, slide_rows: int | None, slide_time: int | None, lag: int,
    ) -> None:  # fmt: skip
        super().__init__(arena, name, key_width, width)
        self._rows, self._size, self._group = rows, size, slide_rows or 1
        self._slide_time, self._lag = slide_time or 1, lag
        self._ages = size < INFINITY
        self._expiring = TimeQueue(arena, f"{name}.expiring", 1)

    def epoch(self, keys: Int64s, batch: Batch, after: int, until: int) -> Batch:  # noqa: ARG002
        """What enters and leaves up to ``until``; the elements come in the order of their positions."""
        keys, batch = self._due(keys, batch, until)
        if self._rows >= INFINITY and self._group == 1:
            return batch.take(batch.start < batch.end) if self._ages else batch
        keys, batch = copies(keys, batch)
        slots = self._slots(keys)
        result = self._sweep(slots, np.ascontiguousarray(batch.words), batch)
        self._forget(slots, batch.end, until)
        return result

    def _due(self, keys: Int64s, batch: Batch, until: int) -> tuple[Int64s, Batch]:
        """The elements that count by ``until`` and their keys; ``start`` is when, ``end`` when they are too old."""
        old = later(batch.start, self._size)
        if self._slide_time == 1 and self._lag == 0:
            return keys, replace(batch, end=old)
        start = later(_ceil(batch.start, self._slide_time), self._lag)
        old = later(_ceil(old, self._slide_time), self._lag) if self._ages else old
        return self._hold(keys, replace(batch, start=start, end=old), until)

    def _sweep(self, slots: Int64s, words: Int64s, batch: Batch) -> Batch:
        rings, done, count = self._rings, 0, 0
        group = min(self._group, self._rows)
        out = _room(batch.width, 2 * len(batch) + 2 * group)
        base = int(rings.meta[_WRITTEN])
        while True:
            done, count = _sweep(
                slots, words, batch.start, batch.end, done, self._rows, self._group,
                rings.heads, rings.pool, rings.meta,
                base, count, out.words, out.start, out.end, out.weight,
            )  # fmt: skip
            if done == slots.size:
                break
            if count + 2 * group > len(out):
                out = _enlarged(out, count)
            else:
                rings.enlarge()
        rings.meta[_WRITTEN] = base + count
        kept = np.flatnonzero(out.weight[:count])
        if kept.size < count:
            return out.take(kept)
        return Batch(np.ascontiguousarray(out.words[:, :count]), out.start[:count], out.end[:count], out.weight[:count])

    def _forget(self, slots: Int64s, end: Int64s, until: int) -> None:
        """Drops what is too old, and keys of which nothing is left."""
        if self._ages:
            self._expiring.push(end, slots.reshape(1, -1))
            _, expired = self._expiring.pop(until)
            slots = np.concatenate([slots, expired[0]])
        elif self._rows < INFINITY:
            return
        rings = self._rings
        empty = _drop_expired(np.unique(slots), until, rings.heads, rings.pool, rings.meta, rings.size)
        self._keys.release(empty)


def copies(keys: Int64s, batch: Batch) -> tuple[Int64s, Batch]:
    """Every copy of an element as a row of its own."""
    if (batch.weight == 1).all():
        return keys, batch
    places = np.repeat(np.arange(len(batch)), batch.weight)
    one = batch.take(places)
    return keys[:, places], replace(one, weight=np.ones(len(one), np.int64))


def later(instant: Int64s, length: int) -> Int64s:
    """Instants moved by a length, not beyond infinity."""
    if length >= INFINITY:
        return np.full(instant.size, INFINITY)
    return np.where(instant > INFINITY - length, INFINITY, instant + length)


def _ceil(instant: Int64s, step: int) -> Int64s:
    gap = -instant % step
    return np.where(instant > INFINITY - gap, INFINITY, instant + gap)


def _room(width: int, count: int) -> Batch:
    return Batch(np.empty((width, count), np.int64), *(np.empty(count, np.int64) for _ in range(3)))


def _enlarged(out: Batch, count: int) -> Batch:
    wider = _room(out.width, 2 * len(out))
    wider.words[:, :count] = out.words[:, :count]
    for old, new in ((out.start, wider.start), (out.end, wider.end), (out.weight, wider.weight)):
        new[:count] = old[:count]
    return wider


@compiled
def _class_of(capacity: int) -> int:
    number = 0
    while capacity > _SMALLEST:
        capacity >>= 1
        number += 1
    return number


@compiled
def _has_room(slot: int, heads: Int64s, pool: Int64s, meta: Int64s, size: int) -> bool:
    """Whether one more record can be pushed; if not, ``enlarge`` knows how much room is missing."""
    head, capacity = slot * HEAD, heads[slot * HEAD + CAPACITY]
    if heads[head + NEXT] - heads[head + FIRST] < capacity:
        return True
    meta[_NEEDED] = max(2 * capacity, _SMALLEST)
    free = meta[_FREE + _class_of(meta[_NEEDED])] > 0
    return bool(free or (meta[_TOP] + meta[_NEEDED]) * size <= pool.size)


@compiled
def _give_up(head: int, heads: Int64s, pool: Int64s, meta: Int64s, size: int) -> None:
    """Puts the room of a ring in the list of its size."""
    capacity = heads[head + CAPACITY]
    if capacity > 0:
        place = _FREE + _class_of(capacity)
        pool[heads[head + BASE] * size] = meta[place]
        meta[place] = heads[head + BASE] + 1
        heads[head + CAPACITY] = 0


@compiled
def _double(head: int, heads: Int64s, pool: Int64s, meta: Int64s, size: int) -> None:
    """Moves a ring to twice the room; there is enough."""
    capacity = heads[head + CAPACITY]
    wanted = max(2 * capacity, _SMALLEST)
    place = _FREE + _class_of(wanted)
    if meta[place] > 0:
        base = meta[place] - 1
        meta[place] = pool[base * size]
    else:
        base = meta[_TOP]
        meta[_TOP] += wanted
    for p in range(heads[head + FIRST], heads[head + NEXT]):
        source = (heads[head + BASE] + (p & (capacity - 1))) * size
        target = (base + (p & (wanted - 1))) * size
        for j in range(size):
            pool[target + j] = pool[source + j]
    _give_up(head, heads, pool, meta, size)
    heads[head + BASE] = base
    heads[head + CAPACITY] = wanted


@compiled
def _push(head: int, when: int, words: Int64s, row: int, heads: Int64s, pool: Int64s, meta: Int64s, size: int) -> None:
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
    meta[_LIVE] += 1


@compiled
def _push_all(slots: Int64s, when: Int64s, words: Int64s, first: int, heads: Int64s, pool: Int64s, meta: Int64s) -> int:
    """Pushes from row ``first`` on; stops where there is no room and says where."""
    size = WORDS + words.shape[0]
    for i in range(first, slots.size):
        if not _has_room(slots[i], heads, pool, meta, size):
            return i
        _push(slots[i] * HEAD, when[i], words, i, heads, pool, meta, size)
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
def _sweep(
    slots: Int64s, words: Int64s, start: Int64s, end: Int64s, first: int, rows: int, group: int,
    heads: Int64s, pool: Int64s, meta: Int64s,
    base: int, count: int, out_words: Int64s, out_start: Int64s, out_end: Int64s, out_weight: Int64s,
) -> tuple[int, int]:  # fmt: skip
    """Takes in elements from ``first`` on; stops where room is missing. Says where, and how many rows are written.

    A record's ``WHEN`` is the end by age, its ``PLACE`` the number of the row that shows it, from ``base`` on in this
    epoch. The positions up to ``_SHOWN`` are in the window, those behind it wait for their group.
    """
    width = words.shape[0]
    size = WORDS + width
    room = 2 * min(group, rows)
    for i in range(first, slots.size):
        if count + room > out_start.size or not _has_room(slots[i], heads, pool, meta, size):
            return i, count
        head = slots[i] * HEAD
        t = start[i]
        offset = heads[head + _OFFSET]
        complete = offset == group - 1
        heads[head + _OFFSET] = 0 if complete else offset + 1
        heads[head + _USED] = 1
        kept = offset >= group - rows
        least = heads[head + NEXT] + 1 - rows if complete and rows < INFINITY else -1
        # What leaves: by its age without a word, for a newer one by taking it back or closing the row that shows it.
        while heads[head + FIRST] < heads[head + NEXT]:
            p = heads[head + FIRST]
            place = (heads[head + BASE] + (p & (heads[head + CAPACITY] - 1))) * size
            age = pool[place + WHEN]
            if age > t and p >= least:
                break
            if age > t and p < heads[head + _SHOWN]:
                written = pool[place + PLACE] - base
                if written < 0:
                    for j in range(width):
                        out_words[j, count] = pool[place + WORDS + j]
                    out_start[count], out_end[count], out_weight[count] = t, age, -1
                    count += 1
                elif out_start[written] < t:
                    out_end[written] = t
                else:
                    out_weight[written] = 0
            heads[head + FIRST] = p + 1
            meta[_LIVE] -= 1
        if kept:
            _push(head, end[i], words, i, heads, pool, meta, size)
        if not complete:
            continue
        for p in range(max(heads[head + FIRST], heads[head + _SHOWN]), heads[head + NEXT]):
            place = (heads[head + BASE] + (p & (heads[head + CAPACITY] - 1))) * size
            age = pool[place + WHEN]
            if age <= t:
                continue
            for j in range(width):
                out_words[j, count] = pool[place + WORDS + j]
            out_start[count], out_end[count], out_weight[count] = t, age, 1
            pool[place + PLACE] = base + count
            count += 1
        heads[head + _SHOWN] = heads[head + NEXT]
        if rows >= INFINITY:
            meta[_LIVE] -= heads[head + NEXT] - heads[head + FIRST]
            heads[head + FIRST] = heads[head + NEXT]
    return int(slots.size), count


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
            meta[_LIVE] -= 1
        if heads[head + FIRST] == heads[head + NEXT] and heads[head + _OFFSET] == 0 and heads[head + _USED] > 0:
            _give_up(head, heads, pool, meta, size)
            heads[head : head + HEAD] = 0
            empty[count] = slot
            count += 1
    return empty[:count]

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
from continua.kernels.store.rings import (
    BASE,
    CAPACITY,
    FIRST,
    HEAD,
    LIVE,
    NEXT,
    OWN,
    PENDING,
    PLACE,
    USED,
    WHEN,
    WORDS,
    Rings,
    has_room,
    push,
)
from continua.kernels.store.timequeue import TimeQueue
from continua.kernels.words.batch import INFINITY, Batch

_SHOWN = OWN
"""Up to which position the elements of a ring are in the window."""
_WRITTEN = 3
"""Of all rings: how many rows were written so far."""


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
        rows: int, size: int, slide_rows: int | None, slide_time: int | None, lag: int, origin: int = 0,
        full: bool = False, at_once: bool = False,
    ) -> None:  # fmt: skip
        """``origin`` is a point of the slide over time; a ``full`` window is empty until there are so many rows.

        ``at_once``: what leaves for a newer element is taken back then, so that rows are changes in the order of time;
        otherwise the row that shows it gets its end, if it is of this epoch.
        """
        super().__init__(arena, name, key_width, width)
        self._rows, self._size, self._group = rows, size, slide_rows or 1
        self._slide_time, self._origin, self._lag = slide_time or 1, origin, lag
        self._least = rows if full else 1
        self._most = 2 * min(self._group, rows) + (rows if full else 0)
        """So many rows come out at most for one element."""
        self._ages = size < INFINITY
        self._at_once = at_once and not self._ages
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
        start = later(self._ceil(batch.start), self._lag)
        old = later(self._ceil(old), self._lag) if self._ages else old
        return self._hold(keys, replace(batch, start=start, end=old), until)

    def _ceil(self, instant: Int64s) -> Int64s:
        gap = (self._origin - instant) % self._slide_time
        return np.where(instant > INFINITY - gap, INFINITY, instant + gap)

    def _sweep(self, slots: Int64s, words: Int64s, batch: Batch) -> Batch:
        rings, done, count = self._rings, 0, 0
        out = _room(batch.width, 2 * len(batch) + self._most)
        base = int(rings.meta[_WRITTEN])
        while True:
            done, count = _sweep(
                slots, words, batch.start, batch.end, done, self._rows, self._group, self._least, self._most,
                self._at_once, rings.heads, rings.pool, rings.meta,
                base, count, out.words, out.start, out.end, out.weight,
            )  # fmt: skip
            if done == slots.size:
                break
            if count + self._most > len(out):
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
        self._keys.release(self._rings.release(np.unique(slots), until))


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


def _room(width: int, count: int) -> Batch:
    return Batch(np.empty((width, count), np.int64), *(np.empty(count, np.int64) for _ in range(3)))


def _enlarged(out: Batch, count: int) -> Batch:
    wider = _room(out.width, 2 * len(out))
    wider.words[:, :count] = out.words[:, :count]
    for old, new in ((out.start, wider.start), (out.end, wider.end), (out.weight, wider.weight)):
        new[:count] = old[:count]
    return wider


@compiled
def _sweep(
    slots: Int64s, words: Int64s, start: Int64s, end: Int64s, first: int, rows: int, group: int, least_rows: int,
    most: int, at_once: bool,
    heads: Int64s, pool: Int64s, meta: Int64s,
    base: int, count: int, out_words: Int64s, out_start: Int64s, out_end: Int64s, out_weight: Int64s,
) -> tuple[int, int]:  # fmt: skip
    """Takes in elements from ``first`` on; stops where room is missing. Says where, and how many rows are written.

    A record's ``WHEN`` is the end by age, its ``PLACE`` the number of the row that shows it, from ``base`` on in this
    epoch. The positions up to ``_SHOWN`` are in the window, those behind it wait for their group, or until there are
    ``least_rows``. At most ``most`` rows are written for one element. ``at_once``: no row gets an end later.
    """
    width = words.shape[0]
    size = WORDS + width
    for i in range(first, slots.size):
        if count + most > out_start.size or not has_room(slots[i], heads, pool, meta, size):
            return i, count
        head = slots[i] * HEAD
        t = start[i]
        offset = heads[head + PENDING]
        complete = offset == group - 1
        heads[head + PENDING] = 0 if complete else offset + 1
        heads[head + USED] = 1
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
                if at_once or written < 0:
                    for j in range(width):
                        out_words[j, count] = pool[place + WORDS + j]
                    out_start[count], out_end[count], out_weight[count] = t, age, -1
                    count += 1
                elif out_start[written] < t:
                    out_end[written] = t
                else:
                    out_weight[written] = 0
            heads[head + FIRST] = p + 1
            meta[LIVE] -= 1
        if kept:
            push(head, end[i], words, i, heads, pool, meta, size)
        if not complete or heads[head + NEXT] < least_rows:
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
            meta[LIVE] -= heads[head + NEXT] - heads[head + FIRST]
            heads[head + FIRST] = heads[head + NEXT]
    return int(slots.size), count

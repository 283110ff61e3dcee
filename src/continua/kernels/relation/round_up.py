"""Event-based synchronization: changes wait for the next point and happen there.

Both ends of a row's interval are rounded up to the next synchronization point. What waits is kept as one net weight for
each payload; ends that are known but still to come wait for their instants first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from continua.kernels.jit import Int64s, compiled
from continua.kernels.store.arena import Arena
from continua.kernels.store.keytable import KeyTable
from continua.kernels.store.timequeue import TimeQueue
from continua.kernels.words.batch import INFINITY, Batch

_COUNT = 0


class RoundUp:
    """Rows that change only at the points of a synchronization stream."""

    def __init__(self, arena: Arena, name: str, width: int) -> None:
        self._arena, self._name, self._width = arena, name, width
        self._ends = TimeQueue(arena, f"{name}.ends", 1 + width)
        self._keys = KeyTable(arena, f"{name}.keys", width)
        self._meta: Int64s = arena.array(f"{name}.meta", 8)
        self._reserve()

    def _reserve(self) -> None:
        """Room for all slots: their weights, the list of those in use, and where each stands in it."""
        arena, name, room = self._arena, self._name, self._keys.capacity
        self._weights: Int64s = arena.array(f"{name}.weights", room)
        self._listed: Int64s = arena.array(f"{name}.listed", room)
        self._places: Int64s = arena.array(f"{name}.places", room)

    @property
    def state_rows(self) -> int:
        """How many changes wait."""
        return int(self._meta[_COUNT]) + len(self._ends)

    def epoch(self, batch: Batch, points: Int64s, after: int, until: int) -> Batch:  # noqa: ARG002
        """How the rounded rows change at the points of the epoch, which are in order."""
        time, words, weight = self._changes(batch, until)
        last = int(points[-1]) if points.size else -INFINITY
        later = time > last
        result = Batch.empty(self._width)
        if points.size:
            waited, net = self._release()
            point = points[np.searchsorted(points, time[~later])]
            result = _netted(
                np.concatenate([np.full(net.size, points[0]), point]),
                np.concatenate([waited, words[:, ~later]], axis=1),
                np.concatenate([net, weight[~later]]),
            )
        self._wait(words[:, later], weight[later])
        return result

    def _changes(self, batch: Batch, until: int) -> tuple[Int64s, Int64s, Int64s]:
        """Instants, words and weights of the changes up to ``until``; ends behind it wait."""
        old_time, old = self._ends.pop(until)
        behind = (batch.end > until) & (batch.end < INFINITY)
        kept = batch.take(behind)
        self._ends.push(kept.end, np.vstack([-kept.weight, kept.words]))
        ended = batch.take(batch.end <= until)
        return (
            np.concatenate([old_time, batch.start, ended.end]),
            np.concatenate([old[1:], batch.words, ended.words], axis=1),
            np.concatenate([old[0], batch.weight, -ended.weight]),
        )

    def _wait(self, words: Int64s, weight: Int64s) -> None:
        """Adds to the weights that wait; a payload whose weight comes to nothing is forgotten."""
        slots = self._keys.upsert(np.ascontiguousarray(words))
        self._reserve()
        np.add.at(self._weights, slots, weight)
        touched = np.unique(slots)
        count = int(self._meta[_COUNT])
        fresh = touched[self._places[touched] == 0]
        self._listed[count : count + fresh.size] = fresh
        self._places[fresh] = np.arange(count + 1, count + fresh.size + 1)
        gone = touched[self._weights[touched] == 0]
        self._meta[_COUNT] = _unlist(gone, self._listed, self._places, count + fresh.size)
        self._keys.release(gone)

    def _release(self) -> tuple[Int64s, Int64s]:
        """All payloads that wait and their weights; nothing waits after this."""
        slots = self._listed[: self._meta[_COUNT]].copy()
        words, net = self._keys.words(slots), self._weights[slots]
        self._weights[slots] = 0
        self._places[slots] = 0
        self._meta[_COUNT] = 0
        self._keys.release(slots)
        return words, net

    def interned(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of some words in all rows that wait."""
        ends = self._ends.records()
        waiting = self._keys.words(self._listed[: self._meta[_COUNT]])
        return [np.concatenate([ends[1 + column], waiting[column]]) for column in columns]


def _netted(point: Int64s, words: Int64s, weight: Int64s) -> Batch:
    """Changes at points as rows, in the order of the points."""
    payloads = KeyTable(Arena(), "payloads", words.shape[0])
    slot = payloads.upsert(np.ascontiguousarray(words))
    order = np.lexsort([point, slot])
    rows = _segments(slot[order], point[order], weight[order])
    return Batch(payloads.words(rows[0]), rows[1], rows[2], rows[3]).sorted()


@compiled
def _segments(slot: Int64s, point: Int64s, weight: Int64s) -> Int64s:
    """Slots, starts, ends and weights: from each change of a slot to the next one, the weight so far."""
    rows = np.empty((4, slot.size), np.int64)
    count, i = 0, 0
    while i < slot.size:
        one, begin, so_far = slot[i], point[i], 0
        while i < slot.size and slot[i] == one:
            t, change = point[i], 0
            while i < slot.size and slot[i] == one and point[i] == t:
                change += weight[i]
                i += 1
            if change == 0:
                continue
            if so_far != 0:
                rows[0, count], rows[1, count], rows[2, count], rows[3, count] = one, begin, t, so_far
                count += 1
            begin = t
            so_far += change
        if so_far != 0:
            rows[0, count], rows[1, count], rows[2, count], rows[3, count] = one, begin, INFINITY, so_far
            count += 1
    return rows[:, :count].copy()


@compiled
def _unlist(slots: Int64s, listed: Int64s, places: Int64s, count: int) -> int:
    """Takes slots out of a list; the last ones of the list move to their places."""
    for slot in slots:
        last = listed[count - 1]
        listed[places[slot] - 1] = last
        places[last] = places[slot]
        places[slot] = 0
        count -= 1
    return count

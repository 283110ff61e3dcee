"""Timelines: intervals turned into events in the order of time.

A row that counts ``weight`` times in [start, end) is an event of +weight at its start and one of -weight at its end.
Ends that lie behind the epoch wait in a queue. A sweep over the events of an epoch, with what it knows of each key,
is all that aggregation, duplicate elimination, the set operations and the relation-to-stream operators need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from continua.kernels.jit import Int64s, compiled
from continua.kernels.store.arena import Arena
from continua.kernels.store.timequeue import TimeQueue
from continua.kernels.words.batch import INFINITY


@dataclass(slots=True)
class Events:
    """Changes of weight in the order of time: at ``time`` the key ``slot`` gets ``weight`` more rows with ``words``."""

    time: Int64s
    slot: Int64s
    weight: Int64s
    words: Int64s

    def __len__(self) -> int:
        return int(self.time.size)


class Timeline:
    """The events of an epoch, from the rows that start in it and the ends that were waiting."""

    def __init__(self, arena: Arena, name: str, width: int) -> None:
        self.width = width
        self.pending = TimeQueue(arena, f"{name}.ends", 2 + width)

    def events(self, slot: Int64s, words: Int64s, start: Int64s, end: Int64s, weight: Int64s, until: int) -> Events:
        """The events up to ``until``; all rows start by then, and ends behind it wait."""
        later = (end > until) & (end < INFINITY)
        if later.any():
            kept = np.vstack([slot[later], weight[later], words[:, later]])
            fresh = end[later]
        else:
            kept, fresh = np.empty((2 + self.width, 0), np.int64), np.empty(0, np.int64)
        old_time, old = self.pending.pop(until)
        self.pending.push(fresh, kept)
        starts = _order(start)
        inside = np.flatnonzero(end <= until)
        ends = inside[_order(end[inside])]
        count = starts.size + ends.size + old_time.size
        result = Events(
            np.empty(count, np.int64),
            np.empty(count, np.int64),
            np.empty(count, np.int64),
            np.empty((self.width, count), np.int64),
        )
        _merge(
            starts, ends, slot, words, start, end, weight, old_time, old,
            result.time, result.slot, result.weight, result.words,
        )  # fmt: skip
        return result


def _order(time: Int64s) -> Int64s:
    if time.size < 2 or bool((time[1:] >= time[:-1]).all()):
        return np.arange(time.size)
    return np.argsort(time, kind="stable")


@compiled
def _merge(
    starts: Int64s, ends: Int64s, slot: Int64s, words: Int64s, start: Int64s, end: Int64s, weight: Int64s,
    old_time: Int64s, old: Int64s,
    out_time: Int64s, out_slot: Int64s, out_weight: Int64s, out_words: Int64s,
) -> None:  # fmt: skip
    """Merges old ends, new ends and starts; at one instant in this order."""
    width = words.shape[0]
    a, b, c = 0, 0, 0
    for out in range(out_time.size):
        t_old = old_time[a] if a < old_time.size else INFINITY
        t_end = end[ends[b]] if b < ends.size else INFINITY
        t_start = start[starts[c]] if c < starts.size else INFINITY
        if t_old <= t_end and t_old <= t_start and a < old_time.size:
            out_time[out] = t_old
            out_slot[out] = old[0, a]
            out_weight[out] = -old[1, a]
            for j in range(width):
                out_words[j, out] = old[2 + j, a]
            a += 1
        elif t_end <= t_start and b < ends.size:
            row = ends[b]
            out_time[out] = t_end
            out_slot[out] = slot[row]
            out_weight[out] = -weight[row]
            for j in range(width):
                out_words[j, out] = words[j, row]
            b += 1
        else:
            row = starts[c]
            out_time[out] = t_start
            out_slot[out] = slot[row]
            out_weight[out] = weight[row]
            for j in range(width):
                out_words[j, out] = words[j, row]
            c += 1

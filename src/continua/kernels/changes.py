"""Changes: how the number of a payload's rows differs from one instant to the next.

The relation-to-stream operators and the consolidation of a stream are read off these differences. Starts and ends of
an instant are summed, so that only ends that lie ahead need be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from continua.kernels.arena import Arena
from continua.kernels.batch import INFINITY, Batch
from continua.kernels.jit import Int64s, compiled
from continua.kernels.keytable import KeyTable
from continua.kernels.sweeparea import check_epoch
from continua.kernels.timeline import Events, Timeline


class Kind(Enum):
    """Which changes are written: insertions, deletions, or all as rows that do not end."""

    ISTREAM = "istream"
    DSTREAM = "dstream"
    NET = "net"


class Changes:
    """ISTREAM, DSTREAM and consolidation, over rows of ``width`` words."""

    def __init__(self, arena: Arena, name: str, width: int, kind: Kind, chronon: int = 1) -> None:
        self.kind = kind
        self.width = width
        self.chronon = chronon
        self._timeline = Timeline(arena, name, width)

    @property
    def state_rows(self) -> int:
        """How many ends wait."""
        return len(self._timeline.pending)

    def interned(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of words in all rows whose ends wait."""
        records = self._timeline.pending.records()
        return [records[2 + c] for c in columns]

    def epoch(self, batch: Batch, after: int, until: int) -> Batch:
        """The changes in (after, until], ordered by start."""
        check_epoch(batch, after, until)
        words = np.ascontiguousarray(batch.words)
        slots = np.zeros(len(batch), np.int64)
        events = self._timeline.events(slots, words, batch.start, batch.end, batch.weight, until)
        places, change = net_changes(events)
        if self.kind is not Kind.NET:
            change = -change if self.kind is Kind.DSTREAM else change
            places, change = places[change > 0], change[change > 0]
        start = events.time[places]
        end = np.full(places.size, INFINITY) if self.kind is Kind.NET else start + self.chronon
        return Batch(events.words[:, places], start, end, change)


def net_changes(events: Events) -> tuple[Int64s, Int64s]:
    """The sum of each payload's events at each instant, where it is not 0: one of the events, and the sum."""
    keys = KeyTable(Arena(), "payloads", events.words.shape[0])
    slots = keys.upsert(events.words)
    places, change = np.empty(len(events), np.int64), np.empty(len(events), np.int64)
    count = _net(events.time, slots, events.weight, np.zeros(keys.top, np.int64), places, change)
    return places[:count], change[:count]


@compiled
def _net(time: Int64s, slots: Int64s, weight: Int64s, sums: Int64s, places: Int64s, change: Int64s) -> int:
    count = 0
    first = 0
    while first < time.size:
        last = first
        while last < time.size and time[last] == time[first]:
            sums[slots[last]] += weight[last]
            last += 1
        for i in range(first, last):
            if sums[slots[i]] != 0:
                places[count] = i
                change[count] = sums[slots[i]]
                count += 1
                sums[slots[i]] = 0
        first = last
    return count

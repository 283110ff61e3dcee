"""Changes: how the number of a payload's rows differs from one instant to the next.

The relation-to-stream operators and the consolidation of a stream are read off these differences. Starts and ends of
an instant are summed, so that only ends that lie ahead need be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from continua.kernels.jit import Int64s, compiled
from continua.kernels.relation.timeline import Events, Timeline
from continua.kernels.store.arena import Arena
from continua.kernels.store.keytable import hash_words
from continua.kernels.store.sweeparea import check_epoch
from continua.kernels.words.batch import INFINITY, Batch


class Kind(Enum):
    """Which changes are written: insertions, deletions, or all as rows that do not end."""

    ISTREAM = "istream"
    DSTREAM = "dstream"
    NET = "net"


class Changes:
    """ISTREAM, DSTREAM and consolidation, over rows of ``width`` words."""

    def __init__(
        self, arena: Arena, name: str, width: int, kind: Kind, chronon: int = 1, are_net: bool = False
    ) -> None:
        """``are_net``: of rows that never end, no two of an instant have the same payload."""
        self.kind = kind
        self.width = width
        self.chronon = chronon
        self._are_net = are_net
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
        events = self._events(batch, until)
        if self._are_net and events.words is batch.words:
            places, change = np.arange(len(events)), events.weight
        else:
            places, change = net_changes(events)
        if self.kind is not Kind.NET:
            change = -change if self.kind is Kind.DSTREAM else change
            places, change = places[change > 0], change[change > 0]
        whole = places.size == len(events)
        start = events.time if whole else events.time[places]
        end = np.full(places.size, INFINITY) if self.kind is Kind.NET else start + self.chronon
        return Batch(events.words if whole else events.words[:, places], start, end, change)

    def _events(self, batch: Batch, until: int) -> Events:
        """The events of an epoch; rows that come in the order of time and never end are events already."""
        words = np.ascontiguousarray(batch.words)
        ordered = not len(batch) or bool((batch.start[1:] >= batch.start[:-1]).all())
        if ordered and not len(self._timeline.pending) and bool((batch.end == INFINITY).all()):
            return Events(batch.start, batch.start, batch.weight, words)
        slots = np.zeros(len(batch), np.int64)
        return self._timeline.events(slots, words, batch.start, batch.end, batch.weight, until)


def net_changes(events: Events) -> tuple[Int64s, Int64s]:
    """The sum of each payload's events at each instant, where it is not 0: the first of the events, and the sum.

    Only events of one instant are compared with each other, so that little memory is touched however many there are.
    """
    count = len(events)
    size = 2
    while size < 2 * _most_at_once(events.time):
        size *= 2
    places, change, sums = (np.empty(count, np.int64) for _ in range(3))
    table, marks = np.empty(size, np.int64), np.zeros(size, np.int64)
    found = _net(events.time, np.ascontiguousarray(events.words), events.weight, table, marks, sums, places, change)
    return places[:found], change[:found]


@compiled
def _most_at_once(time: Int64s) -> int:
    most, first = 0, 0
    for i in range(time.size):
        if time[i] != time[first]:
            first = i
        most = max(most, i - first + 1)
    return most


@compiled
def _same(words: Int64s, one: int, other: int) -> bool:
    for j in range(words.shape[0]):  # noqa: SIM110
        if words[j, one] != words[j, other]:
            return False
    return True


@compiled
def _net(
    time: Int64s, words: Int64s, weight: Int64s, table: Int64s, marks: Int64s, sums: Int64s,
    places: Int64s, change: Int64s,
) -> int:  # fmt: skip
    """``table`` has, by hash, the first event of each payload of an instant; ``marks`` says of which instant it is."""
    mask = table.size - 1
    count, first, number = 0, 0, 0
    while first < time.size:
        last = first + 1
        while last < time.size and time[last] == time[first]:
            last += 1
        number += 1
        for i in range(first, last):
            sums[i] = weight[i]
            if last - first == 1:
                break
            p = hash_words(words, i) & mask
            while marks[p] == number and not _same(words, table[p], i):
                p = (p + 1) & mask
            if marks[p] == number:
                sums[table[p]] += weight[i]
                sums[i] = 0
            else:
                marks[p] = number
                table[p] = i
        for i in range(first, last):
            if sums[i] != 0:
                places[count] = i
                change[count] = sums[i]
                count += 1
        first = last
    return count

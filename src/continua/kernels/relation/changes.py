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
from continua.kernels.words.batch import INFINITY, Batch
from continua.kernels.words.pieces import check_epoch, in_pieces


class ChangeKind(Enum):
    """Which changes are written: insertions, deletions, or all as rows that do not end."""

    ISTREAM = "istream"
    DSTREAM = "dstream"
    NET = "net"


class Changes:
    """ISTREAM, DSTREAM and consolidation, over rows of ``width`` words."""

    def __init__(
        self, arena: Arena, name: str, width: int, kind: ChangeKind, chronon: int = 1, are_net: bool = False
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
        if self._are_net and self._are_changes(batch):
            events = Events(batch.start, batch.start, batch.weight, batch.words)
            change = self._signed(batch.weight)
            kept = change > 0
            all_kept = self.kind is ChangeKind.NET or bool(kept.all())
            return self._rows(events, change) if all_kept else self._rows(_taken(events, kept), change[kept])
        written = _Written(self.width, 2 * len(batch) + len(self._timeline.pending))
        for piece, edge in in_pieces(batch, until):
            events = self._events(piece, edge)
            places, change = net_changes(events)
            change = self._signed(change)
            if self.kind is not ChangeKind.NET:
                places, change = places[change > 0], change[change > 0]
            written.add(events, places, change)
        return self._rows(written.events, written.events.weight)

    def _signed(self, change: Int64s) -> Int64s:
        return -change if self.kind is ChangeKind.DSTREAM else change

    def _rows(self, events: Events, change: Int64s) -> Batch:
        end = np.full(len(events), INFINITY) if self.kind is ChangeKind.NET else events.time + self.chronon
        return Batch(events.words, events.time, end, change)

    def _are_changes(self, batch: Batch) -> bool:
        """Whether rows are events already: they come in the order of time and never end."""
        ordered = not len(batch) or bool((batch.start[1:] >= batch.start[:-1]).all())
        return ordered and not len(self._timeline.pending) and bool((batch.end == INFINITY).all())

    def _events(self, batch: Batch, until: int) -> Events:
        """The events of a piece, whose rows are in order."""
        if self._are_changes(batch):
            return Events(batch.start, batch.start, batch.weight, batch.words)
        slots = np.zeros(len(batch), np.int64)
        return self._timeline.events(slots, batch.words, batch.start, batch.end, batch.weight, until)


class _Written:
    """What the pieces of an epoch have written, one behind the other."""

    def __init__(self, width: int, room: int) -> None:
        self._count = 0
        self._time, self._weight = np.empty(room, np.int64), np.empty(room, np.int64)
        self._words = np.empty((width, room), np.int64)

    def add(self, events: Events, places: Int64s, change: Int64s) -> None:
        """Events at some places, with their net changes."""
        mine = slice(self._count, self._count + places.size)
        self._time[mine] = events.time[places]
        self._weight[mine] = change
        for line, words in zip(self._words, events.words, strict=True):
            line[mine] = words[places]
        self._count += places.size

    @property
    def events(self) -> Events:
        """All of it."""
        mine = slice(0, self._count)
        return Events(self._time[mine], self._time[mine], self._weight[mine], self._words[:, mine])


def _taken(events: Events, kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Events:
    time = events.time[kept]
    return Events(time, time, events.weight[kept], events.words[:, kept])


def net_changes(events: Events) -> tuple[Int64s, Int64s]:
    """The sum of each payload's events at each instant, where it is not 0: the first of the events, and the sum.

    At one instant what is less comes before what is more. Only events of one instant are compared with each other, so
    that little memory is touched however many there are.
    """
    count = len(events)
    size = 2
    most = _most_at_once(events.time)
    while size < 2 * most:
        size *= 2
    places, change = (np.empty(count, np.int64) for _ in range(2))
    sums = np.empty(most, np.int64)
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
            sums[i - first] = weight[i]
            if last - first == 1:
                break
            p = hash_words(words, i) & mask
            while marks[p] == number and not _same(words, table[p], i):
                p = (p + 1) & mask
            if marks[p] == number:
                sums[table[p] - first] += weight[i]
                sums[i - first] = 0
            else:
                marks[p] = number
                table[p] = i
        for sign in (-1, 1):
            for i in range(first, last):
                if sums[i - first] * sign > 0:
                    places[count] = i
                    change[count] = sums[i - first]
                    count += 1
        first = last
    return count

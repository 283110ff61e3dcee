"""Row stores: the live rows of one side of a join, under the slots of their keys.

The rows of a slot are a linked list; a queue of ends says which rows expire. If the side retracts, rows with the same
words and the same end are kept as one row, whose weight is their sum, and which goes when that is 0: the store never
holds more than the live rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from continua.kernels.jit import Int64s, compiled
from continua.kernels.store.arena import Arena
from continua.kernels.store.keytable import KeyTable
from continua.kernels.store.timequeue import TimeQueue
from continua.kernels.words.batch import INFINITY, Batch

MOST_PAIRS = 1 << 18
"""How many pairs a probe gives at once."""
_FIRST_PAIRS = 1 << 12
"""For how many pairs there is room at first; twice as many whenever that was not enough."""

_TOP, _LIVE, _FREE = 0, 1, 2
SLOT, START, END, WEIGHT, NEXT, PREVIOUS, ENTRY, WORDS = 0, 1, 2, 3, 4, 5, 6, 7
"""A record: the slot (-1 for a row that is gone), the row, both neighbours and the entry among equal rows (0 for
none, else the number + 1), and the words."""


class RowStore:
    """Rows of ``width`` words; a ``SweepArea``."""

    def __init__(self, arena: Arena, name: str, width: int, retracts: bool) -> None:
        self._arena = arena
        self._name = name
        self.width = width
        self._stride = WORDS + width
        self._meta = arena.array(f"{name}.meta", 8)
        self._ends = TimeQueue(arena, f"{name}.ends", 1)
        self._equal = KeyTable(arena, f"{name}.equal", width + 1) if retracts else None
        self.head = arena.array(f"{name}.head", 8)
        self._reserve(0)

    def _reserve(self, more: int) -> None:
        rows = int(self._meta[_TOP]) + max(0, more - int(self._meta[_FREE]))
        self._free = self._arena.array(f"{self._name}.free", rows)
        self._records = self._arena.array(f"{self._name}.records", rows * self._stride)

    def __len__(self) -> int:
        return int(self._meta[_LIVE])

    def make_slots(self, capacity: int) -> None:
        """Makes room for slots below ``capacity``."""
        self.head = self._arena.array(f"{self._name}.head", capacity)

    # Taking rows in.

    def insert(self, slots: Int64s, batch: Batch) -> Int64s:
        """Takes rows in. The slots of rows that cancelled out."""
        return self.settle(self.link(slots, batch))

    def link(self, slots: Int64s, batch: Batch) -> Int64s:
        """Makes rows visible to probes, each for itself. Their numbers, which must be settled afterwards."""
        self._reserve(len(batch))
        rows = np.empty(len(batch), np.int64)
        _link(
            slots, np.ascontiguousarray(batch.words), batch.start, batch.end, batch.weight,
            self.head, self._records, self._free, self._meta, rows,
        )  # fmt: skip
        return rows

    def settle(self, rows: Int64s) -> Int64s:
        """Brings rows together with their equals, and lets their ends wait. The slots of rows that cancelled out."""
        lost = np.empty(0, np.int64)
        if self._equal is not None:
            lost, rows = self._consolidate(rows, self._equal)
        end = self._field(rows, END)
        finite = end < INFINITY
        if not finite.all():
            rows, end = rows[finite], end[finite]
        self._ends.push(end, rows[np.newaxis, :])
        if self._equal is not None and len(self._ends) > 2 * len(self) + 1024:
            self._forget_stale_ends()
        return lost

    def _consolidate(self, rows: Int64s, equal: KeyTable) -> tuple[Int64s, Int64s]:
        """The slots of rows that are gone, and the rows that stay."""
        entries = equal.upsert(np.vstack([self._words(rows), self._field(rows, END)[np.newaxis, :]]))
        owner = self._arena.array(f"{self._name}.owner", equal.capacity)
        lost, kept, given_up = (np.empty(2 * rows.size, np.int64) for _ in range(3))
        counts = np.zeros(3, np.int64)
        _merge_equal(
            rows, entries, owner, self.head, self._records, self._stride, self._free, self._meta,
            lost, kept, given_up, counts,
        )  # fmt: skip
        equal.release(given_up[: counts[2]])
        return lost[: counts[0]], kept[: counts[1]]

    def _forget_stale_ends(self) -> None:
        """Ends of rows that were cancelled are taken out of the queue."""
        time, rows = self._ends.pop(INFINITY)
        valid = (self._field(rows[0], SLOT) >= 0) & (self._field(rows[0], END) == time)
        pairs = np.unique(np.vstack([time[valid], rows[0][valid]]), axis=1)
        self._ends.push(pairs[0], pairs[1:])

    # Finding rows.

    def probe(self, slots: Int64s, time: Int64s, ties: bool) -> Iterator[tuple[Int64s, Int64s]]:
        """Pairs (place in ``slots``, row) where the row of that slot is valid at ``time`` and began before it.

        With ``ties`` a row that began at ``time`` is found too. No more than ``MOST_PAIRS`` pairs come at once.
        """
        cursor = np.array([0, -1], np.int64)
        room = min(MOST_PAIRS, max(_FIRST_PAIRS, 2 * slots.size))
        while cursor[0] < slots.size:
            places = np.empty(room, np.int64)
            rows = np.empty(room, np.int64)
            room = min(MOST_PAIRS, 2 * room)
            count = _probe(slots, time, ties, self.head, self._records, self._stride, cursor, places, rows)
            if count:
                yield places[:count], rows[:count]

    def fetch(self, rows: Int64s, words: Int64s, end: Int64s, weight: Int64s) -> None:
        """Writes the words, ends and weights of rows to arrays of the caller."""
        _fetch(rows, self._records, self._stride, words, end, weight)

    def empty(self, slots: Int64s) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which slots have no rows."""
        mask: np.ndarray[tuple[int], np.dtype[np.bool_]] = self.head[slots] == 0
        return mask

    def live_words(self, column: int) -> Int64s:
        """The values of a word in all rows that are held."""
        table = self._records[: int(self._meta[_TOP]) * self._stride].reshape(-1, self._stride)
        found: Int64s = table[table[:, SLOT] >= 0, WORDS + column]
        return found

    def _field(self, rows: Int64s, field: int) -> Int64s:
        result: Int64s = self._records[rows * self._stride + field]
        return result

    def _words(self, rows: Int64s) -> Int64s:
        words = np.empty((self.width, rows.size), np.int64)
        _fetch(rows, self._records, self._stride, words, np.empty(rows.size, np.int64), np.empty(rows.size, np.int64))
        return words

    # Dropping rows.

    def extract_expired(self, until: int) -> tuple[Int64s, Batch]:
        """Takes out the rows that end by an instant, in the order of their ends: their slots, and the rows."""
        rows, slots = self._drop_expired(until)
        result = Batch(self._words(rows), *(self._field(rows, f) for f in (START, END, WEIGHT)))
        return slots, result

    def purge(self, until: int) -> Int64s:
        """Drops the rows that end by an instant. Their slots."""
        return self._drop_expired(until)[1]

    def _drop_expired(self, until: int) -> tuple[Int64s, Int64s]:
        time, waiting = self._ends.pop(until)
        rows, slots, entries = (np.empty(time.size, np.int64) for _ in range(3))
        owner = self._arena.array(f"{self._name}.owner", 8)
        counts = np.zeros(2, np.int64)
        _drop(
            time, waiting[0], owner, self.head, self._records, self._stride, self._free, self._meta,
            rows, slots, entries, counts,
        )  # fmt: skip
        if self._equal is not None:
            self._equal.release(entries[: counts[1]])
        return rows[: counts[0]], slots[: counts[0]]


def slots_without_rows(lost: list[Int64s], left: RowStore, right: RowStore) -> Int64s:
    """Those of the slots, each once, that have no rows on either side."""
    slots = np.concatenate(lost)
    idle = np.empty(slots.size, np.int64)
    return idle[: _idle(slots, left.head, right.head, idle)]


@compiled
def _link(
    slots: Int64s, words: Int64s, start: Int64s, end: Int64s, weight: Int64s,
    head: Int64s, records: Int64s, free: Int64s, meta: Int64s, rows: Int64s,
) -> None:  # fmt: skip
    width = words.shape[0]
    stride = WORDS + width
    for i in range(slots.size):
        if meta[_FREE] > 0:
            meta[_FREE] -= 1
            row = free[meta[_FREE]]
        else:
            row = meta[_TOP]
            meta[_TOP] += 1
        at = row * stride
        behind = head[slots[i]]
        records[at + SLOT] = slots[i]
        records[at + START] = start[i]
        records[at + END] = end[i]
        records[at + WEIGHT] = weight[i]
        records[at + NEXT] = behind
        records[at + PREVIOUS] = 0
        records[at + ENTRY] = 0
        for j in range(width):
            records[at + WORDS + j] = words[j, i]
        if behind:
            records[(behind - 1) * stride + PREVIOUS] = row + 1
        head[slots[i]] = row + 1
        rows[i] = row
    meta[_LIVE] += slots.size


@compiled
def _unlink(row: int, head: Int64s, records: Int64s, stride: int, free: Int64s, meta: Int64s) -> None:
    """Takes a row out of its list. Its record stays readable until the number is used again."""
    at = row * stride
    before, behind = records[at + PREVIOUS], records[at + NEXT]
    if before:
        records[(before - 1) * stride + NEXT] = behind
    else:
        head[records[at + SLOT]] = behind
    if behind:
        records[(behind - 1) * stride + PREVIOUS] = before
    records[at + SLOT] = -1
    free[meta[_FREE]] = row
    meta[_FREE] += 1
    meta[_LIVE] -= 1


@compiled
def _merge_equal(
    rows: Int64s, entries: Int64s, owner: Int64s, head: Int64s, records: Int64s, stride: int, free: Int64s,
    meta: Int64s, lost: Int64s, kept: Int64s, given_up: Int64s, counts: Int64s,
) -> None:  # fmt: skip
    """Adds each row's weight to the first row of its entry; then drops the rows whose weight is 0.

    ``owner`` has the row + 1 of an entry. The counts are those of lost slots, kept rows and entries given up.
    """
    for i in range(rows.size):
        row, entry = rows[i], entries[i]
        if owner[entry] == 0:
            owner[entry] = row + 1
            records[row * stride + ENTRY] = entry + 1
        else:
            records[(owner[entry] - 1) * stride + WEIGHT] += records[row * stride + WEIGHT]
            _lose(row, head, records, stride, free, meta, lost, counts)
    for i in range(rows.size):
        entry = entries[i]
        row = owner[entry] - 1
        if row >= 0 and records[row * stride + WEIGHT] == 0:
            owner[entry] = 0
            given_up[counts[2]] = entry
            counts[2] += 1
            _lose(row, head, records, stride, free, meta, lost, counts)
        elif row == rows[i]:
            kept[counts[1]] = row
            counts[1] += 1


@compiled
def _lose(
    row: int, head: Int64s, records: Int64s, stride: int, free: Int64s, meta: Int64s, lost: Int64s, counts: Int64s
) -> None:
    lost[counts[0]] = records[row * stride + SLOT]
    counts[0] += 1
    _unlink(row, head, records, stride, free, meta)


@compiled
def _probe(
    slots: Int64s, time: Int64s, ties: bool, head: Int64s, records: Int64s, stride: int,
    cursor: Int64s, places: Int64s, rows: Int64s,
) -> int:  # fmt: skip
    """Writes pairs from the cursor (a place, and the next row + 1 or -1 for the first) on, while there is room."""
    count = 0
    latest = 0 if ties else 1
    place, row = cursor[0], cursor[1]
    while place < slots.size:
        if row < 0:
            row = head[slots[place]]
        now = time[place]
        while row > 0:
            at = (row - 1) * stride
            if records[at + END] > now and records[at + START] <= now - latest:
                if count == places.size:
                    cursor[0], cursor[1] = place, row
                    return count
                places[count] = place
                rows[count] = row - 1
                count += 1
            row = records[at + NEXT]
        row = -1
        place += 1
    cursor[0], cursor[1] = place, row
    return count


@compiled
def _fetch(rows: Int64s, records: Int64s, stride: int, words: Int64s, end: Int64s, weight: Int64s) -> None:
    for i in range(rows.size):
        at = rows[i] * stride
        end[i] = records[at + END]
        weight[i] = records[at + WEIGHT]
        for j in range(words.shape[0]):
            words[j, i] = records[at + WORDS + j]


@compiled
def _drop(
    time: Int64s, waiting: Int64s, owner: Int64s, head: Int64s, records: Int64s, stride: int, free: Int64s,
    meta: Int64s, rows: Int64s, slots: Int64s, entries: Int64s, counts: Int64s,
) -> None:  # fmt: skip
    """Drops the rows whose ends have come. An end is stale if its row is gone, or is another one with another end."""
    for i in range(waiting.size):
        at = waiting[i] * stride
        if records[at + SLOT] < 0 or records[at + END] != time[i]:
            continue
        rows[counts[0]] = waiting[i]
        slots[counts[0]] = records[at + SLOT]
        counts[0] += 1
        if records[at + ENTRY] > 0:
            entries[counts[1]] = records[at + ENTRY] - 1
            owner[records[at + ENTRY] - 1] = 0
            counts[1] += 1
        _unlink(waiting[i], head, records, stride, free, meta)


@compiled
def _idle(slots: Int64s, left: Int64s, right: Int64s, idle: Int64s) -> int:
    count = 0
    for slot in slots:
        if left[slot] == 0 and right[slot] == 0:
            left[slot] = -1
            idle[count] = slot
            count += 1
    for i in range(count):
        left[idle[i]] = 0
    return count

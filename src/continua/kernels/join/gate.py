"""Gates: semijoin and antijoin. A left row passes while its key counts on the right, or while it does not.

The right side is only a count for each key. When it gets positive or falls to 0 all live left rows of the key pass
from there on, or are taken back from there on. At an instant all right rows begin and end before left rows begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from continua.kernels.jit import Int64s, compiled
from continua.kernels.relation.multiplicity import FIRST, RESULT, SECOND, STRIDE, Counts
from continua.kernels.relation.timeline import Events
from continua.kernels.store.arena import Arena
from continua.kernels.store.keytable import KeyTable
from continua.kernels.store.rowstore import RowStore
from continua.kernels.words.batch import INFINITY, Batch
from continua.kernels.words.pieces import check_epoch, cut, in_order, part, pieces

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


class Mode(Enum):
    """Which rows a gate gives: those with a match, those without, or both apart."""

    SEMI = "semi"
    ANTI = "anti"
    BOTH = "both"


class SecondMatch(ValueError):  # noqa: N818
    """A left row has more than one match."""

    def __init__(self, time: int) -> None:
        super().__init__("a row has more than one match")
        self.time = time


class Gate:
    """Semijoin and antijoin of left rows of ``width`` words with the keys on the right.

    With ``limit_one`` it is an error that a live left row has more than one match at an instant.
    """

    def __init__(
        self, arena: Arena, name: str, key_width: int, width: int, left_retracts: bool, mode: Mode,
        limit_one: bool = False,
    ) -> None:  # fmt: skip
        self.mode = mode
        self.width = width
        self._limit_one = limit_one
        self._keys = KeyTable(arena, f"{name}.keys", key_width)
        self._counts = Counts(arena, f"{name}.counts")
        self._rows = RowStore(arena, f"{name}.left", width, left_retracts)

    @property
    def state_rows(self) -> int:
        """How many live left rows are held, and how many ends of right rows wait."""
        return len(self._rows) + len(self._counts)

    @property
    def state_keys(self) -> int:
        """How many keys have state."""
        return self._keys.live

    def interned(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of words in all left rows that are held."""
        return [self._rows.live_words(c) for c in columns]

    def interned_keys(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of key words in all keys that are held."""
        words = self._keys.words(self._keys.in_use())
        return [words[c] for c in columns]

    def epoch(
        self, left_keys: Int64s, left: Batch, right_keys: Int64s, right: Batch, after: int, until: int,
        left_never: Mask | None = None,
    ) -> Batch:  # fmt: skip
        """What starts in (after, until], for the modes SEMI and ANTI. Rows in ``left_never`` have no match."""
        if self.mode is Mode.BOTH:
            raise ValueError("a gate that gives both sides is asked with both()")
        semi, anti = self.both(left_keys, left, right_keys, right, after, until, left_never)
        return semi if self.mode is Mode.SEMI else anti

    def both(
        self, left_keys: Int64s, left: Batch, right_keys: Int64s, right: Batch, after: int, until: int,
        left_never: Mask | None = None,
    ) -> tuple[Batch, Batch]:  # fmt: skip
        """The semijoin and the antijoin; only what the mode asks for is filled."""
        check_epoch(left, after, until)
        check_epoch(right, after, until)
        semi: list[Batch] = []
        anti: list[Batch] = []
        if left_never is not None and left_never.any():
            if self.mode is not Mode.SEMI:
                anti.append(left.take(left_never))
            left_keys, left = left_keys[:, ~left_never], left.take(~left_never)
        left_keys, left = in_order(left_keys, left)
        right_keys, right = in_order(right_keys, right)
        for a, b, edge in pieces(left.start, right.start, until):
            self._piece(cut(left_keys, a), part(left, a), cut(right_keys, b), part(right, b), edge, semi, anti)
        return Batch.concat(semi, self.width), Batch.concat(anti, self.width)

    def _piece(
        self, left_keys: Int64s, left: Batch, right_keys: Int64s, right: Batch, until: int,
        semi: list[Batch], anti: list[Batch],
    ) -> None:  # fmt: skip
        left_slots, right_slots = self._keys.upsert(left_keys), self._keys.upsert(right_keys)
        capacity = self._keys.capacity
        self._rows.make_slots(capacity)
        events = self._events(left_slots, left, right_slots, right, until)
        inside = np.empty(len(left), np.bool_)
        time, slot, sign = self._transitions(events, left.start, left_slots, inside)
        rows = self._rows.link(left_slots, left)
        if self.mode is not Mode.ANTI:
            semi.append(left.take(inside))
        if self.mode is not Mode.SEMI:
            anti.append(left.take(~inside))
        for places, found in self._rows.probe(slot, time, False):
            self._write(time[places], sign[places], found, semi, anti)
        lost = [self._rows.settle(rows), self._rows.purge(until), events.slot >> 1]
        self._release(np.concatenate(lost), capacity)

    def _events(self, left_slots: Int64s, left: Batch, right_slots: Int64s, right: Batch, until: int) -> Events:
        """The changes of the counts on the right, and on the left if these matter."""
        places = FIRST + 2 * right_slots
        rows = Batch(np.empty((0, len(right)), np.int64), right.start, right.end, right.weight)
        if self._limit_one:
            places = np.concatenate([places, SECOND + 2 * left_slots])
            other = Batch(np.empty((0, len(left)), np.int64), left.start, left.end, left.weight)
            rows = Batch.concat([rows, other], 0)
        return self._counts.events(places, rows, self._keys.capacity, until)

    def _transitions(self, events: Events, start: Int64s, slots: Int64s, inside: Mask) -> tuple[Int64s, Int64s, Int64s]:
        """When which key gets its first match (1) or loses its last (-1); and which rows have one as they begin."""
        time, slot, sign = (np.empty(len(events), np.int64) for _ in range(3))
        lines = self._counts.lines(self._keys.capacity)
        count = _sweep(
            events.time, events.slot, events.weight, lines, self._limit_one, start, slots, inside, time, slot, sign
        )
        if count < 0:
            raise SecondMatch(int(time[0]))
        return time[:count], slot[:count], sign[:count]

    def _write(self, time: Int64s, sign: Int64s, rows: Int64s, semi: list[Batch], anti: list[Batch]) -> None:
        """Left rows begin to pass, or cease to."""
        words = np.empty((self.width, rows.size), np.int64)
        end, weight = np.empty(rows.size, np.int64), np.empty(rows.size, np.int64)
        self._rows.fetch(rows, words, end, weight)
        if self.mode is not Mode.ANTI:
            semi.append(Batch(words, time, end, weight * sign))
        if self.mode is not Mode.SEMI:
            anti.append(Batch(words, time, end, -weight * sign))

    def _release(self, slots: Int64s, capacity: int) -> None:
        """Gives up the keys without left rows and without counts."""
        self._keys.release(self._counts.idle(slots[self._rows.empty(slots)], capacity))


@compiled
def _sweep(
    time: Int64s, place: Int64s, weight: Int64s, lines: Int64s, limit_one: bool,
    left_start: Int64s, left_slot: Int64s, inside: Mask,
    out_time: Int64s, out_slot: Int64s, out_sign: Int64s,
) -> int:  # fmt: skip
    """Applies the events instant by instant. How many transitions there are, or -1 if there is a second match."""
    out = 0
    first = 0
    left = 0
    while first < time.size:
        now = time[first]
        left = _begin(left_start, left_slot, left, now, lines, inside)
        last = first
        while last < time.size and time[last] == now:
            lines[(place[last] >> 1) * STRIDE + (place[last] & 1)] += weight[last]
            last += 1
        for i in range(first, last):
            slot = place[i] >> 1
            line = slot * STRIDE
            if limit_one and lines[line + FIRST] > 1 and lines[line + SECOND] > 0:
                out_time[0] = now
                return -1
            fresh = 1 if lines[line + FIRST] > 0 else 0
            if fresh != lines[line + RESULT]:
                out_time[out], out_slot[out], out_sign[out] = now, slot, fresh - lines[line + RESULT]
                out += 1
                lines[line + RESULT] = fresh
        first = last
    _begin(left_start, left_slot, left, INFINITY, lines, inside)
    return out


@compiled
def _begin(start: Int64s, slot: Int64s, first: int, until: int, lines: Int64s, inside: Mask) -> int:
    """Notes for the rows that begin before an instant whether their key has a match. The first row that does not."""
    while first < start.size and start[first] < until:
        inside[first] = lines[slot[first] * STRIDE + FIRST] > 0
        first += 1
    return first

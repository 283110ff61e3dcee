"""Multiplicities: how often a payload counts, as a function of how often it counts in one or two inputs.

Duplicate elimination and all set operations are such functions. A sweep over the events of an epoch keeps both counts
of each payload and writes what is valid as segments (``output_segments.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from continua.kernels.jit import Int64s, compiled
from continua.kernels.relation.timeline import Events, Timeline
from continua.kernels.store.arena import Arena
from continua.kernels.store.keytable import KeyTable
from continua.kernels.words.batch import INFINITY, Batch
from continua.kernels.words.pieces import check_epoch, part, pieces

STRIDE = 8
"""How many words a slot has in the lines of ``Counts``."""
FIRST, SECOND, RESULT, PLACE, WAITING = 0, 1, 2, 3, 4
"""A line: both counts, what was made of them, where that was written in this epoch, and how many ends wait."""

_SUM, _DIFFERENCE, _INTERSECTION, _MAX, _STRICT = 0, 1, 2, 3, 4


class Rule(Enum):
    """What becomes of the counts n1 and n2: a function, and whether its result is cut to 1."""

    DISTINCT = "distinct", _SUM, True
    UNION_DISTINCT = "union distinct", _SUM, True
    DIFFERENCE = "difference", _DIFFERENCE, False
    DIFFERENCE_DISTINCT = "difference distinct", _STRICT, True
    INTERSECTION = "intersection", _INTERSECTION, False
    INTERSECTION_DISTINCT = "intersection distinct", _INTERSECTION, True
    MAX_UNION = "max union", _MAX, False
    MAX_UNION_DISTINCT = "max union distinct", _MAX, True
    STRICT_DIFFERENCE = "strict difference", _STRICT, False
    STRICT_DIFFERENCE_DISTINCT = "strict difference distinct", _STRICT, True

    @property
    def function(self) -> int:
        """The number of the function."""
        return int(self.value[1])

    @property
    def distinct(self) -> bool:
        """Whether the result is cut to 1."""
        return bool(self.value[2])


class Counts:
    """How often each slot counts on two sides, with the ends that wait. A place is 2 * slot + side."""

    def __init__(self, arena: Arena, name: str) -> None:
        self._arena = arena
        self._name = name
        self._timeline = Timeline(arena, name, 0)

    def __len__(self) -> int:
        return len(self._timeline.pending)

    def lines(self, capacity: int) -> Int64s:
        """A line of ``STRIDE`` words for each slot below ``capacity``."""
        return self._arena.array(f"{self._name}.lines", capacity * STRIDE)

    def events(self, places: Int64s, batch: Batch, capacity: int, until: int) -> Events:
        """The events up to ``until``, their slots being places. The lines know how many ends of a slot wait."""
        lines = self.lines(capacity)
        start, end, weight = batch.start, batch.end, batch.weight
        old_time, old = self._timeline.pending.pop(until)
        if old_time.size:
            _wait(lines, old[0], old_time, -INFINITY, -1)
            start = np.concatenate([old_time, start])
            end = np.concatenate([np.full(old_time.size, INFINITY), end])
            weight = np.concatenate([-old[1], weight])
            places = np.concatenate([old[0], places])
        _wait(lines, places, end, until, 1)
        return self._timeline.events(places, np.empty((0, places.size), np.int64), start, end, weight, until)

    def idle(self, slots: Int64s, capacity: int) -> Int64s:
        """Those of the slots, each once, that count nowhere and wait for nothing."""
        idle = np.empty(slots.size, np.int64)
        return idle[: _idle(slots, self.lines(capacity), idle)]


class Multiplicity:
    """Duplicate elimination and the set operations, over rows of ``width`` words."""

    def __init__(self, arena: Arena, name: str, width: int, rule: Rule, at_once: bool = False) -> None:
        """``at_once``: results are written as changes in the order of time, rather than as segments once they end."""
        self.rule = rule
        self._at_once = at_once
        self.width = width
        self._keys = KeyTable(arena, f"{name}.keys", width)
        self._counts = Counts(arena, f"{name}.counts")

    @property
    def state_rows(self) -> int:
        """How many payloads have counts, and how many ends wait."""
        return self._keys.live + len(self._counts)

    def interned(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of words in all payloads that are held."""
        words = self._keys.words(self._keys.in_use())
        return [words[c] for c in columns]

    def epoch(self, left: Batch, right: Batch | None, after: int, until: int) -> Batch:
        """What starts in (after, until], from the rows that do, ordered by start."""
        right = Batch.empty(self.width) if right is None else right
        check_epoch(left, after, until)
        check_epoch(right, after, until)
        left, right = left.sorted(), right.sorted()
        output = _Output([], [], [], 0)
        for a, b, edge in pieces(left.start, right.start, until):
            self._piece(part(left, a), part(right, b), edge, output)
        _forget(np.concatenate(output.slots), self._counts.lines(self._keys.capacity))
        return output.batch(self.width)

    def _piece(self, left: Batch, right: Batch, until: int, output: _Output) -> None:
        places = [2 * self._keys.upsert(left.words) + FIRST, 2 * self._keys.upsert(right.words) + SECOND]
        rows = Batch.concat([left, right], self.width)
        capacity = self._keys.capacity
        events = self._counts.events(np.concatenate(places), rows, capacity, until)
        written = len(events) if self._at_once else 2 * len(events)
        slot, start, end, weight = (np.empty(written, np.int64) for _ in range(4))
        closed, at = np.empty(len(events), np.int64), np.empty(len(events), np.int64)
        count, late = _sweep(
            self.rule.function, self.rule.distinct, self._at_once, events.time, events.slot, events.weight,
            self._counts.lines(capacity), output.count, slot, start, end, weight, closed, at,
        )  # fmt: skip
        words = self._keys.words(slot[:count])
        output.add(slot[:count], Batch(words, start[:count], end[:count], weight[:count]), closed[:late], at[:late])
        self._keys.release(self._counts.idle(events.slot >> 1, capacity))


@dataclass(slots=True)
class _Output:
    """What an epoch has written so far: segments with their slots, and the ends of segments of earlier pieces."""

    slots: list[Int64s]
    batches: list[Batch]
    ends: list[tuple[Int64s, Int64s]]
    count: int

    def add(self, slots: Int64s, batch: Batch, closed: Int64s, at: Int64s) -> None:
        """The segments of a piece, and where segments that are numbered through the epoch end."""
        self.slots.append(slots)
        self.batches.append(batch)
        self.ends.append((closed, at))
        self.count += len(batch)

    def batch(self, width: int) -> Batch:
        """All segments."""
        result = Batch.concat(self.batches, width)
        for closed, at in self.ends:
            result.end[closed] = at
        return result


@compiled
def _wait(lines: Int64s, places: Int64s, end: Int64s, until: int, change: int) -> None:
    """Notes for each finite end behind ``until`` that it waits, or does so no longer."""
    for i in range(places.size):
        if until < end[i] < INFINITY:
            lines[(places[i] >> 1) * STRIDE + WAITING] += change


@compiled
def _idle(slots: Int64s, lines: Int64s, idle: Int64s) -> int:
    count = 0
    for slot in slots:
        line = slot * STRIDE
        if (
            lines[line + FIRST] == 0
            and lines[line + SECOND] == 0
            and lines[line + RESULT] == 0
            and lines[line + WAITING] == 0
        ):
            lines[line + WAITING] = -1
            idle[count] = slot
            count += 1
    for i in range(count):
        lines[idle[i] * STRIDE + WAITING] = 0
    return count


@compiled
def _result(function: int, distinct: bool, n1: int, n2: int) -> int:
    if function == _SUM:
        n = n1 + n2
    elif function == _DIFFERENCE:
        n = max(n1 - n2, 0)
    elif function == _INTERSECTION:
        n = min(n1, n2)
    elif function == _MAX:
        n = max(n1, n2)
    else:
        n = n1 if n2 == 0 else 0
    return min(n, 1) if distinct else n


@compiled
def _tell(
    function: int, distinct: bool, place: Int64s, now: int, lines: Int64s, out: int,
    out_slot: Int64s, out_start: Int64s, out_end: Int64s, out_weight: Int64s,
) -> int:  # fmt: skip
    """Writes the changes of an instant from ``out`` on: one for a payload, what is less before what is more."""
    for sign in (-1, 1):
        for i in range(place.size):
            slot = place[i] >> 1
            line = slot * STRIDE
            fresh = _result(function, distinct, lines[line + FIRST], lines[line + SECOND])
            more = fresh - lines[line + RESULT]
            if more * sign > 0:
                out_slot[out], out_start[out], out_end[out], out_weight[out] = slot, now, INFINITY, more
                out += 1
                lines[line + RESULT] = fresh
    return out


@compiled
def _sweep(
    function: int, distinct: bool, at_once: bool,
    time: Int64s, place: Int64s, weight: Int64s, lines: Int64s, before: int,
    out_slot: Int64s, out_start: Int64s, out_end: Int64s, out_weight: Int64s, closed: Int64s, closed_at: Int64s,
) -> tuple[int, int]:  # fmt: skip
    """Applies the events instant by instant. A segment is written where it begins; its end is set when it is known.

    The segments of this epoch are numbered on from ``before``; the ends of those before it are listed apart. How many
    rows and how many such ends there are. ``at_once``: changes are written instead.
    """
    out = 0
    late = 0
    first = 0
    while first < time.size:
        now = time[first]
        last = first
        while last < time.size and time[last] == now:
            lines[(place[last] >> 1) * STRIDE + (place[last] & 1)] += weight[last]
            last += 1
        if at_once:
            out = _tell(
                function, distinct, place[first:last], now, lines, out, out_slot, out_start, out_end, out_weight
            )
            first = last
            continue
        for i in range(first, last):
            slot = place[i] >> 1
            line = slot * STRIDE
            fresh = _result(function, distinct, lines[line + FIRST], lines[line + SECOND])
            known = lines[line + RESULT]
            if fresh == known:
                continue
            number = lines[line + PLACE] - 1
            if number >= before:
                out_end[number - before] = now
            elif number >= 0:
                closed[late], closed_at[late] = number, now
                late += 1
            elif known != 0:
                out_slot[out], out_start[out], out_end[out], out_weight[out] = slot, now, INFINITY, -known
                out += 1
            lines[line + PLACE] = 0
            if fresh != 0:
                out_slot[out], out_start[out], out_end[out], out_weight[out] = slot, now, INFINITY, fresh
                out += 1
                lines[line + PLACE] = before + out
            lines[line + RESULT] = fresh
        first = last
    return out, late


@compiled
def _forget(slots: Int64s, lines: Int64s) -> None:
    """The epoch ends: what its segments were numbered is of no use any more."""
    for slot in slots:
        lines[slot * STRIDE + PLACE] = 0

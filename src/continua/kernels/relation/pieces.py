"""Pieces: net changes by which content ends at every multiple of a length and begins anew (PIPES 2005, 4.2.5).

At one instant this says nothing: what ends there begins there. Over time no row is told to last longer than the
length. State: the content, one row for each payload.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from continua.kernels.jit import Int64s
from continua.kernels.store.arena import Arena
from continua.kernels.store.hold import Hold
from continua.kernels.store.keytable import KeyTable
from continua.kernels.words.batch import INFINITY, Batch

Bools: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]
_BEFORE = -INFINITY
"""When what an epoch finds there began."""


class Pieces:
    """Cuts content of ``width`` words at the multiples of ``length``."""

    def __init__(self, arena: Arena, name: str, width: int, length: int, check: Callable[[int], None]) -> None:
        """``check`` fails where so many pieces are too many for one epoch."""
        self._length = length
        self._check = check
        self._content = Hold(arena, name, width)
        self._last = arena.array(f"{name}.last", 1)

    @property
    def state_rows(self) -> int:
        """How many payloads there are."""
        return self._content.state_rows

    def interned(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of some words in all of them."""
        return self._content.interned(columns)

    def epoch(self, batch: Batch, after: int, until: int, is_last: bool) -> Batch:
        """The changes with the cuts in (after, until]; when the input has ended, with those up to the last change."""
        if len(batch):
            self._last[0] = max(int(self._last[0]), int(batch.start.max()))
        edge = int(self._last[0]) if is_last else until
        held = self._content.epoch(Batch.empty(batch.width), until)
        if not len(held) and not len(batch):
            return batch
        known = Batch.concat([held, batch], batch.width)
        slots = KeyTable(Arena(), "payloads", batch.width).upsert(np.ascontiguousarray(known.words))
        time = np.concatenate([np.full(len(held), _BEFORE), batch.start])
        order = np.lexsort((time, slots))
        slots, time, known = slots[order], time[order], known.take(order)
        count = _running(slots, known.weight)
        goes_on = np.append(slots[1:] == slots[:-1], False)
        self._keep(known, count, ~goes_on & (count > 0), until, is_last)
        cuts = self._cuts(known, count, time, goes_on, after, edge)
        return Batch.concat([batch, cuts], batch.width).sorted()

    def _cuts(self, known: Batch, count: Int64s, time: Int64s, goes_on: Bools, after: int, edge: int) -> Batch:
        """Between two changes of a payload, and at those of its changes that are at a multiple of the length."""
        length = self._length
        ends = np.where(goes_on, np.append(time[1:], INFINITY), edge + 1)
        first = (np.maximum(time, after) // length + 1) * length
        last = (np.minimum(ends, edge + 1) - 1) // length * length
        many = np.where(count > 0, np.maximum((last - first) // length + 1, 0), 0)
        self._check(int(many.sum()))
        row = np.repeat(np.arange(count.size), many)
        step = np.arange(row.size) - np.repeat(np.cumsum(many) - many, many)
        before = np.where(np.append(False, goes_on[:-1]), np.append(0, count[:-1]), 0)
        stays = np.minimum(before, count)
        at = np.flatnonzero((time > after) & (time <= edge) & (time % length == 0) & (stays > 0))
        words = known.words[:, np.concatenate([row, at])]
        start = np.concatenate([first[row] + step * length, time[at]])
        weight = np.concatenate([count[row], stays[at]])
        end = np.full(start.size, INFINITY)
        return Batch.concat([Batch(words, start, end, -weight), Batch(words, start, end, weight)], known.width)

    def _keep(self, known: Batch, count: Int64s, kept: Bools, until: int, is_last: bool) -> None:
        """The content behind the epoch."""
        if not is_last:
            found = known.take(kept)
            rest = Batch(found.words, np.full(len(found), until + 1), np.full(len(found), INFINITY), count[kept])
            self._content.epoch(rest, _BEFORE)


def _running(slots: Int64s, weight: Int64s) -> Int64s:
    """By payload how many rows there are after each of its changes, which stand together."""
    total = np.cumsum(weight)
    first = np.flatnonzero(np.append(True, slots[1:] != slots[:-1]))
    base = total[first] - weight[first]
    return np.asarray(total - np.repeat(base, np.diff(np.append(first, slots.size))), np.int64)

"""Session windows of each partition: elements enter when they come, and leave together when a pause is too long.

When a session ends is known only afterwards. Its elements are written without an end, unless it ends in the same epoch;
they are kept, and taken back at its end. What is kept are therefore the sessions that are open.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from continua.kernels.jit import Int64s
from continua.kernels.store.arena import Arena
from continua.kernels.store.rings import FIRST, HEAD, NEXT, OWN, USED
from continua.kernels.store.timequeue import TimeQueue
from continua.kernels.window.rows_window import PartitionedWindow, copies, later
from continua.kernels.words.batch import INFINITY, Batch

Flags: TypeAlias = NDArray[np.bool_]
_LATEST = OWN
"""Of a ring: when the latest element of the open session came."""


class SessionSweep(PartitionedWindow):
    """The open session of each partition: an element keeps it open for ``size`` instants, its own included."""

    def __init__(self, arena: Arena, name: str, key_width: int, width: int, size: int) -> None:
        super().__init__(arena, name, key_width, width)
        self._size, self._width = size, width
        self._ending = TimeQueue(arena, f"{name}.ending", 1)

    def epoch(self, keys: Int64s, batch: Batch, after: int, until: int) -> Batch:  # noqa: ARG002
        """What enters and leaves up to ``until``; the elements come in the order of their positions."""
        keys, batch = copies(keys, batch)
        slots = self._slots(keys)
        order = np.argsort(slots, kind="stable")
        slots, words, came = slots[order], batch.words[:, order], batch.start[order]
        first = _changes(slots)
        continues = first & self._belongs(slots, came)
        stretches = first | (_steps(came) >= self._size)
        ends = self._ends(came, stretches)
        _, due = self._ending.pop(until)
        known = np.union1d(slots, due[0])
        self._heads[slots, USED] = 1
        left = self._leave(known, slots[continues], ends[continues], until)
        is_open = ends > until
        self._keep(slots[is_open], came[is_open], ends[is_open], np.ascontiguousarray(words[:, is_open]))
        self._keys.release(self._rings.release(known, -INFINITY))
        entered = Batch(words, came, np.where(is_open, INFINITY, ends), np.ones(came.size, np.int64))
        return Batch.concat([entered, left], self._width).sorted()

    @property
    def _heads(self) -> Int64s:
        return self._rings.heads[: self._rings.heads.size // HEAD * HEAD].reshape(-1, HEAD)

    def _belongs(self, slots: Int64s, came: Int64s) -> Flags:
        """Which elements belong to the session that was open in their partition, if they are the first that come."""
        heads = self._heads[slots]
        return (heads[:, NEXT] > heads[:, FIRST]) & (came - heads[:, _LATEST] < self._size)

    def _ends(self, came: Int64s, stretches: Flags) -> Int64s:
        """When the session of each element ends, as far as elements have come: those of a stretch end together."""
        starts = np.flatnonzero(stretches)
        lengths = np.diff(np.append(starts, came.size))
        return np.repeat(later(came[starts + lengths - 1], self._size), lengths)

    def _leave(self, known: Int64s, continued: Int64s, ends: Int64s, until: int) -> Batch:
        """Takes back the elements of earlier epochs whose sessions have ended; ``continued`` end at ``ends``."""
        heads = self._heads[known]
        end = later(heads[:, _LATEST], self._size)
        end[np.searchsorted(known, continued)] = ends
        over = (heads[:, NEXT] > heads[:, FIRST]) & (end <= until)
        when = np.repeat(end[over], heads[over, NEXT] - heads[over, FIRST])
        words = np.array(self._rings.gather(known[over], range(self._width)), np.int64).reshape(self._width, -1)
        self._rings.release(known[over], INFINITY)
        self._heads[known[over], USED] = 1
        return Batch(words, when, np.full(when.size, INFINITY), np.full(when.size, -1))

    def _keep(self, slots: Int64s, came: Int64s, ends: Int64s, words: Int64s) -> None:
        """Remembers elements whose sessions are open, and when these end unless others come."""
        self._rings.push_all(slots, np.full(slots.size, INFINITY), words)
        last = np.roll(_changes(slots), -1)
        self._heads[slots[last], _LATEST] = came[last]
        self._heads[slots[last], USED] = 1
        self._ending.push(ends[last], slots[last].reshape(1, -1))


def _changes(slots: Int64s) -> Flags:
    """Which slots are others than those before them."""
    return np.append(True, slots[1:] != slots[:-1])[: slots.size]


def _steps(came: Int64s) -> Int64s:
    """How much later each instant is than the one before."""
    return np.diff(came, prepend=came[:1])

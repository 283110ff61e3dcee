"""Holding back: rows wait until the epoch in which they start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from continua.kernels.arena import Arena
from continua.kernels.batch import Batch
from continua.kernels.jit import Int64s
from continua.kernels.timequeue import TimeQueue


class Hold:
    """Passes rows on in the order of their starts, each in the epoch that covers its start."""

    def __init__(self, arena: Arena, name: str, width: int) -> None:
        self._width = width
        self._waiting = TimeQueue(arena, f"{name}.waiting", width + 2)

    @property
    def state_rows(self) -> int:
        """How many rows wait."""
        return len(self._waiting)

    def epoch(self, batch: Batch, until: int) -> Batch:
        """The rows, new and waiting, that start by ``until``; at one start those that waited come first."""
        width = self._width
        time, records = self._waiting.pop(until)
        waited = Batch(records[:width], time, records[width], records[width + 1])
        later = batch.start > until
        if later.any():
            kept = batch.take(later)
            self._waiting.push(kept.start, np.vstack([kept.words, kept.end, kept.weight]))
            batch = batch.take(~later)
        return Batch.concat([waited, batch], width).sorted()

    def interned(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of some words in all rows that wait."""
        records = self._waiting.records()
        return [records[column] for column in columns]

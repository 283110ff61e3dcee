"""Holding back: rows wait until the epoch in which they start.

Rows of one instant are in the order of the partitions of their source, whichever came first, and those of one
partition in the order in which they came.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from continua.kernels.jit import Int64s
from continua.kernels.store.arena import Arena
from continua.kernels.store.timequeue import TimeQueue
from continua.kernels.words.batch import Batch


class Hold:
    """Passes rows on in the order of their starts, each in the epoch that covers its start."""

    def __init__(self, arena: Arena, name: str, width: int) -> None:
        self._width = width
        self._waiting = TimeQueue(arena, f"{name}.waiting", width + 3)

    @property
    def state_rows(self) -> int:
        """How many rows wait."""
        return len(self._waiting)

    def epoch(self, batch: Batch, until: int, origins: Int64s | None = None) -> Batch:
        """The rows, new and waiting, that start by ``until``; ``origins`` are the partitions of the new ones."""
        width = self._width
        origins = np.zeros(len(batch), np.int64) if origins is None else origins
        time, records = self._waiting.pop(until)
        waited = Batch(records[:width], time, records[width], records[width + 1])
        later = batch.start > until
        if later.any():
            kept = batch.take(later)
            self._waiting.push(kept.start, np.vstack([kept.words, kept.end, kept.weight, origins[later]]))
            batch, origins = batch.take(~later), origins[~later]
        due = Batch.concat([waited, batch], width)
        return _in_order(due, np.concatenate([records[width + 2], origins]))

    def interned(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of some words in all rows that wait."""
        records = self._waiting.records()
        return [records[column] for column in columns]


def _in_order(batch: Batch, origins: Int64s) -> Batch:
    """Rows by their starts, at one start by their origins; those that have both in common stay as they are."""
    if not origins.size or bool((origins == origins[0]).all()):
        return batch.sorted()
    return batch.take(np.lexsort((origins, batch.start)))

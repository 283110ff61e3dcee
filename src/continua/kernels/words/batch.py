"""Batches: rows of a physical stream as columns of 64-bit words.

A payload column takes one or two words; the last word of a row has a bit per NULL (a NULL's own words are 0), so that
rows are equal exactly when their words are. The payload counts ``weight`` times at every instant of [start, end).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from continua.kernels.jit import Int64s

INFINITY = (1 << 63) - 1
"""The end of an interval that is not known to end."""


@dataclass(slots=True)
class Batch:
    """Rows of a physical stream; ``words`` has a line per word and a column per row."""

    words: Int64s
    start: Int64s
    end: Int64s
    weight: Int64s

    def __len__(self) -> int:
        return int(self.start.size)

    @property
    def width(self) -> int:
        """How many words a row has."""
        return int(self.words.shape[0])

    @classmethod
    def empty(cls, width: int) -> Batch:
        """No rows."""
        none = np.empty(0, np.int64)
        return cls(np.empty((width, 0), np.int64), none, none, none)

    def take(self, places: Int64s | np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Batch:
        """The rows at those places, or where a mask is true."""
        return Batch(self.words[:, places], self.start[places], self.end[places], self.weight[places])

    def sorted(self) -> Batch:
        """The rows ordered by start; rows of one instant keep their order."""
        if len(self) < 2 or bool((self.start[1:] >= self.start[:-1]).all()):
            return self
        return self.take(np.argsort(self.start, kind="stable"))

    @classmethod
    def concat(cls, batches: Sequence[Batch], width: int) -> Batch:
        """The rows of all batches."""
        filled = [b for b in batches if len(b)]
        if not filled:
            return cls.empty(width)
        if len(filled) == 1:
            return filled[0]
        return cls(
            np.concatenate([b.words for b in filled], axis=1),
            np.concatenate([b.start for b in filled]),
            np.concatenate([b.end for b in filled]),
            np.concatenate([b.weight for b in filled]),
        )

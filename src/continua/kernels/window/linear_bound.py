"""Bounds of a sequence of windows that move linearly with the number of the window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from continua.kernels.jit import Int64s
from continua.kernels.words.batch import INFINITY


@dataclass(frozen=True, slots=True)
class Linear:
    """A bound that grows linearly with the window's number: ``max(slope * j + start, least)``."""

    slope: int
    start: int
    least: int | None = None

    def __call__(self, j: int) -> int:
        value = self.slope * j + self.start
        return value if self.least is None else max(value, self.least)

    def __str__(self) -> str:
        terms = [f"{self.slope}*j"] if self.slope else []
        if self.start or not terms:
            terms.append(str(self.start))
        text = " + ".join(terms)
        return text if self.least is None else f"GREATEST({text}, {self.least})"

    def next_change(self, j: int) -> int | None:
        """The first window after j with another bound; the slope is not negative."""
        if self.slope == 0:
            return None
        if self.least is None:
            return j + 1
        return max(j, (self.least - self.start) // self.slope) + 1

    def first_reaching(self, value: int) -> int:
        """The number of the first window whose bound is at least a value; the slope is positive."""
        return 0 if value <= self(0) else -((self.start - value) // self.slope)

    def all_first_reaching(self, values: Int64s) -> Int64s:
        """The same for many values; infinity where there is no such window."""
        if self.slope == 0:
            return np.where(values <= self(0), 0, INFINITY)
        return np.where(values <= self(0), 0, -((self.start - values) // self.slope))

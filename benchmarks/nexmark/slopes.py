"""Speed by slope: the time of three times as many events, less that of so many, is what the events alone take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.nexmark.processes import Usage

FACTOR = 3


@dataclass(frozen=True, slots=True)
class Slope:
    """The runs of one side: over so many events, and over three times as many."""

    events: int
    small: tuple[Usage, ...]
    large: tuple[Usage, ...]

    @property
    def each(self) -> list[float]:
        """Seconds per million events, a pair of runs each."""
        more = (FACTOR - 1) * self.events / 1_000_000
        return [(large.seconds - small.seconds) / more for small, large in zip(self.small, self.large, strict=True)]

    @property
    def seconds(self) -> float:
        """Seconds per million events: the median."""
        return median(self.each)

    @property
    def peak(self) -> float:
        """Bytes of memory: the median of the larger runs."""
        return median(usage.peak for usage in self.large)

    @property
    def shown(self) -> str:
        """The median, and from where to where the pairs of runs spread."""
        return f"{self.seconds:.2f} ({min(self.each):.2f} to {max(self.each):.2f})"


def ratio(numerator: Slope, denominator: Slope) -> float | None:
    """How many times as fast the second is; None where the runs are too short to tell."""
    if min(numerator.seconds, denominator.seconds) <= 0:
        return None
    return numerator.seconds / denominator.seconds


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Of those that are known; None if none is."""
    logs = [math.log(value) for value in values if value is not None]
    return math.exp(sum(logs) / len(logs)) if logs else None


def times(value: float | None) -> str:
    """A ratio as it is printed."""
    return "-" if value is None else f"{value:.2f} x"


def megabytes(value: float) -> str:
    """Bytes as they are printed."""
    return f"{value / 2**20:,.0f} MB"


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table whose first column is on the left and whose others are on the right."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for line in lines:
        cells = [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
        print("  ".join(cells).rstrip(), flush=True)

"""Speed by slope: the time of three times as many events, less that of so many, is what the events alone take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.processes import Usage

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
        return spread(self.each)


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """The median of some values, and from where to where they spread."""
    return f"{median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def ratio(numerator: Slope, denominator: Slope) -> float | None:
    """How many times as fast the second is; None where the runs are too short to tell."""
    if min(numerator.seconds, denominator.seconds) <= 0:
        return None
    return numerator.seconds / denominator.seconds


def ratios(numerator: Slope, denominator: Slope) -> list[float]:
    """The same, a pair of runs each, without those that are too short to tell."""
    return [n / d for n, d in zip(numerator.each, denominator.each, strict=True) if min(n, d) > 0]


def share(whole: Slope, part: Slope) -> str:
    """The speed of the second as a share of that of the first, and from where to where the pairs of runs spread."""
    value, each = ratio(whole, part), ratios(whole, part)
    return "-" if value is None or not each else f"{value:.0%} ({min(each):.0%} to {max(each):.0%})"


def verdict(value: float | None, target: float) -> str:
    """Whether a speed is below what it should reach, or the runs were too short to tell."""
    if value is None:
        return "too short to tell"
    return "" if value >= target else "missed"


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Of those that are known; None if none is."""
    logs = [math.log(value) for value in values if value is not None]
    return math.exp(sum(logs) / len(logs)) if logs else None


def times(value: float | None) -> str:
    """A ratio as it is printed."""
    return "-" if value is None else f"{value:.2f} x"


def per_second(slope: Slope) -> str:
    """Events per second: the median, and from where to where the pairs of runs spread, in thousands."""
    each = sorted((1_000 / seconds if seconds > 0 else math.inf) for seconds in slope.each)
    if math.inf in each:
        return "too short to tell"
    return f"{1_000 / slope.seconds:,.0f} k ({each[0]:,.0f} to {each[-1]:,.0f})"


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

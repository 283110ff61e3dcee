"""Aggregates of doubles as they are defined: the exact value, rounded once to a double."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

ExactValue: TypeAlias = Callable[[Sequence[float]], float | None]
"""The value of numbers, of which there is at least one."""


def total(numbers: Sequence[float]) -> float:
    """The sum."""
    if not all(map(math.isfinite, numbers)):
        return sum(numbers)
    return _rounded(sum(map(Fraction, numbers), Fraction()))


def mean(numbers: Sequence[float]) -> float:
    """The sum by the count; of numbers that are not all finite the sum says it all."""
    whole = total(numbers)
    return whole / len(numbers) if all(map(math.isfinite, numbers)) else whole


def spread(sample: bool, root: bool) -> ExactValue:
    """The variance, of a sample or of all, or the deviation, which is its root."""

    def value(numbers: Sequence[float]) -> float | None:
        count = len(numbers)
        if sample and count == 1:
            return None
        if not all(map(math.isfinite, numbers)):
            return math.nan
        whole = sum(map(Fraction, numbers), Fraction())
        squares = sum((Fraction(v) * Fraction(v) for v in numbers), Fraction())
        variance = _rounded((squares - whole * whole / count) / (count - sample))
        return math.sqrt(variance) if root else variance

    return value


def _rounded(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf

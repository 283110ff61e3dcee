"""Instants that recur: stretches of a period, such as the working hours of a week."""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from math import lcm

import numpy as np
from numpy.typing import NDArray

from continua.instants import INFINITY
from continua.windows.change_points import EVERY_INSTANT, Points

MOST_STRETCHES = 1 << 16
"""No period is divided into more stretches."""


@dataclass(frozen=True, slots=True)
class Periodic:
    """The instants whose place in a period lies in one of its stretches: half-open, in order, not touching."""

    period: int
    stretches: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, period: int, stretches: Iterable[tuple[int, int]]) -> Periodic:
        """The same of any stretches: those that touch become one, and the period is the shortest that will do."""
        merged: list[tuple[int, int]] = []
        for start, end in sorted((max(a, 0), min(b, period)) for a, b in stretches):
            if start >= end:
                continue
            if merged and start <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((start, end))
        return _shortest(period, merged)

    @classmethod
    def at(cls, points: Points) -> Periodic:
        """Regular points as stretches of one instant."""
        return cls.of(points.step, [(points.offset, points.offset + 1)])

    @property
    def points(self) -> Points | None:
        """The same as regular points, if they are."""
        if self.period == 1:
            return EVERY_INSTANT if self.stretches else None
        if len(self.stretches) == 1 and (single := self.stretches[0])[1] - single[0] == 1:
            return Points(self.period, single[0])
        return None

    def contains(self, instant: int) -> bool:
        """Whether it is one of these instants."""
        place = instant % self.period
        number = bisect_right(self.stretches, (place, self.period)) - 1
        return number >= 0 and place < self.stretches[number][1]

    def may_contain(self, instant: int) -> bool:
        """The same: these instants are known."""
        return self.contains(instant)

    def ceil(self, instant: int) -> int:
        """The first of them at or after an instant; infinity where there are none."""
        return int(self.ceils(np.array([instant], np.int64))[0])

    def ceils(self, instants: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for many."""
        if not self.stretches:
            return np.full_like(instants, INFINITY)
        starts, ends = np.array(self.stretches, np.int64).reshape(-1, 2).T
        place = instants % self.period
        number = np.searchsorted(ends, place, side="right")
        turned = number == len(ends)
        first = starts[np.where(turned, 0, number)] + np.where(turned, self.period, 0)
        found: NDArray[np.int64] = instants + np.maximum(first - place, 0)
        return found

    def floor(self, instant: int) -> int:
        """The last of them at or before an instant, if there are any."""
        place = instant % self.period
        number = bisect_right(self.stretches, (place, self.period)) - 1
        if number < 0:
            return instant - place - self.period + self.stretches[-1][1] - 1
        return instant - place + min(place, self.stretches[number][1] - 1)

    def among(self, chronon: int) -> Periodic | None:
        """Those of them that are multiples of a chronon, where instants are: as stretches of whole chronons.

        None where that has too many stretches.
        """
        whole = self.times(lcm(self.period, chronon))
        if whole is None:
            return None
        made = [(-(-a // chronon) * chronon, -(-b // chronon) * chronon) for a, b in whole.stretches]
        return Periodic.of(lcm(self.period, chronon), made)

    def regular(self, chronon: int) -> Points | None:
        """The same as regular points, if there is one instant of that length in every period."""
        if len(self.stretches) != 1:
            return None
        ((start, end),) = self.stretches
        return Points(self.period, start) if self.period > 1 and end - start <= chronon else self.points

    def times(self, period: int) -> Periodic | None:
        """The same instants by a multiple of the period; None where that has too many stretches."""
        if self.period == 1:  # all instants, or none
            return Periodic(period, tuple((0, period) for _ in self.stretches))
        turns = period // self.period
        if turns * len(self.stretches) > MOST_STRETCHES:
            return None
        shifts = range(0, period, self.period)
        return Periodic(period, tuple((a + s, b + s) for s in shifts for a, b in self.stretches))

    def inverted(self) -> Periodic:
        """All other instants."""
        edges = [0, *(edge for stretch in self.stretches for edge in stretch), self.period]
        return Periodic.of(self.period, zip(edges[::2], edges[1::2], strict=True))

    def or_else(self, other: Periodic) -> Periodic | None:
        """The instants of either; None where that has too many stretches."""
        period = lcm(self.period, other.period)
        one, two = self.times(period), other.times(period)
        return None if one is None or two is None else Periodic.of(period, one.stretches + two.stretches)

    def and_also(self, other: Periodic) -> Periodic | None:
        """The instants of both."""
        outside = self.inverted().or_else(other.inverted())
        return None if outside is None else outside.inverted()


def _shortest(period: int, stretches: list[tuple[int, int]]) -> Periodic:
    """The period divided by the largest number after which its stretches come again."""
    count = len(stretches)
    if not count or stretches == [(0, period)]:
        return Periodic(1, ((0, 1),)) if count else Periodic(1, ())
    for turns in range(count, 1, -1):
        if count % turns == 0 and period % turns == 0:
            few, part = count // turns, period // turns
            again = ((a + part, b + part) for a, b in stretches[:-few])
            if all(map(operator.eq, again, stretches[few:])) and stretches[few - 1][1] <= part:
                return Periodic(part, tuple(stretches[:few]))
    return Periodic(period, tuple(stretches))

"""Streams as the definitions of windows see them: which elements occur at which instants, in which order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from continua.instants import INFINITY, ceil_to, goes_on_for_ever, too_many
from continua.types import Value

Row: TypeAlias = tuple[Value, ...]

LIMIT = 500_000
"""So many instants, at most, are looked at one by one."""


@dataclass(frozen=True, slots=True)
class Element:
    """A row of a stream that occurs at every instant of [start, end): for most elements that is one instant."""

    row: Row
    start: int
    end: int
    position: int
    batch: int | None = None
    """With which elements of its instant it is together (Astral, definition 2)."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An element at one instant."""

    instant: int
    row: Row
    batch: int | None = None

    @property
    def identifier(self) -> tuple[int, int | None]:
        """That of its batch (Astral, definition 6)."""
        return self.instant, self.batch


@dataclass(frozen=True)
class Timeline:
    """A stream's elements in order, the query's start t0 and the chronon."""

    elements: Sequence[Element]
    start: int
    chronon: int

    @cached_property
    def starts(self) -> list[int]:
        """When each element starts."""
        return [e.start for e in self.elements]

    @cached_property
    def momentary(self) -> bool:
        """Whether every element occurs at one instant, and they are in order."""
        return all(e.end == e.start + self.chronon for e in self.elements) and self.starts == sorted(self.starts)

    @cached_property
    def end(self) -> int:
        """When all elements have ended."""
        return max((e.end for e in self.elements), default=self.start)

    def occurrences(self, first: int, last: int) -> list[Occurrence]:
        """What occurs from ``first`` to ``last``, both included, by instant and then by position."""
        first = max(first, self.start)
        if self.momentary:
            low, high = bisect_left(self.starts, first), bisect_right(self.starts, last)
            return [Occurrence(e.start, e.row, e.batch) for e in self.elements[low:high]]
        found: list[tuple[int, int, Element]] = []
        for e in self.elements:
            low = max(e.start, ceil_to(first, self.chronon, e.start))
            high = min(e.end - 1, last)
            if high - low > LIMIT * self.chronon:
                raise too_many(f"{(high - low) // self.chronon} instants of one element")
            found += [(t, e.position, e) for t in range(low, high + 1, self.chronon)]
        found.sort(key=lambda o: o[:2])
        return [Occurrence(t, e.row, e.batch) for t, _, e in found]

    def until(self, t: int) -> list[Occurrence]:
        """Everything up to an instant."""
        return self.occurrences(self.start, t)

    @cached_property
    def instants(self) -> list[int]:
        """The instants of everything that occurs."""
        return [o.instant for o in self.until(self.end - 1)]


def occurring(element: Element, stream: Timeline) -> list[int]:
    """The instants at which an element occurs, from the query's start on."""
    start, chronon = max(element.start, stream.start), stream.chronon
    if element.end >= INFINITY:
        raise goes_on_for_ever()
    if (element.end - start) // chronon > LIMIT:
        raise too_many(f"{(element.end - start) // chronon} instants of one element")
    return list(range(start, element.end, chronon))


def partitions(arrived: list[Occurrence], places: Sequence[int]) -> list[list[Occurrence]]:
    """The substreams of equal values at some places (CQL 6.1.3, Astral definition 11); one if there are no places."""
    if not places:
        return [arrived]
    groups: dict[tuple[Value, ...], list[Occurrence]] = {}
    for o in arrived:
        groups.setdefault(tuple(o.row[p] for p in places), []).append(o)
    return list(groups.values())


def positions(arrived: list[Occurrence], alpha: int, beta: int) -> list[Occurrence]:
    """The batches that hold positions alpha to beta, and of these the most recent beta - alpha + 1 elements."""
    beta = min(beta, len(arrived) - 1)
    if alpha > beta:
        return []
    last = beta
    while last + 1 < len(arrived) and arrived[last + 1].identifier == arrived[beta].identifier:
        last += 1
    return arrived[last - (beta - alpha) : last + 1]


Column = Callable[[str], int]
"""The place of a column in the rows of a stream."""

"""Windows over rows: the last so many elements, of each partition if there are any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from continua.instants import INFINITY, TimeDomain, ceil_to
from continua.windows.change_points import AtElements, AtEveryNth, AtMultiples, EventPoints, Points
from continua.windows.empty import EmptyWindow
from continua.windows.measures import Axis, Rate, require, require_lag, require_size
from continua.windows.occurrences import Column, Element, Occurrence, Timeline, occurring, partitions
from continua.windows.over_time import (
    age_lengths,
    aged,
    aged_points,
    points_of,
    slide_evaluations,
    slide_points,
    slower_slide,
    waiting,
)
from continua.windows.spec import WindowSpec
from continua.windows.spelling import ALIGNED, FULL, LAG, Clause, Spelling, Takes, Written
from continua.windows.state import State, everything, last_instants, some_rows
from continua.windows.wording import partition_text, range_text, rate_text


@dataclass(frozen=True, slots=True)
class RowsWindow(WindowSpec):
    """The last ``rows`` elements, of each partition if there are any (CQL 6.1.2, 6.1.3).

    ``size`` also bounds their age, in instants. A slide over rows moves the window every so many elements, a
    slide over time at every so many instants (Astral 6.1.5). A ``full`` window is empty until there are so many rows.
    """

    rows: int
    partition: tuple[str, ...] = ()
    size: int = INFINITY
    slide: Rate | None = None
    lag: int = 0
    full: bool = False
    to_start: bool = False
    """Whether a slide over time is aligned to the query's start."""

    spellings: ClassVar = (
        Spelling(
            (
                Clause("ROWS", Takes.ROWS),
                Clause("RANGE", Takes.RANGE, required=False),
                Clause("SLIDE", Takes.ROW_RATE, required=False),
            ),
            partitioned=True,
            options=(ALIGNED, LAG, FULL),
        ),
        Spelling(
            (
                Clause("RANGE", Takes.RANGE),
                Clause("ROWS", Takes.ROWS),
                Clause("SLIDE", Takes.TIME_RATE, required=False),
            ),
            partitioned=True,
            options=(ALIGNED, LAG, FULL),
        ),
    )

    def __post_init__(self) -> None:
        require(self.rows > 0, "WINDOW_ROWS", "a row window needs a positive number of rows", rows=self.rows)
        require_size(self.size)
        require_lag(self.lag)

    @classmethod
    def of(cls, written: Written) -> WindowSpec:
        """ROWS and a number, and RANGE if their age is bounded too."""
        partition, size, rows = written.partition, written.covered("RANGE"), written.rows("ROWS")
        if not size:
            return EmptyWindow()
        full = written.has("FULL")
        if full and (rows >= INFINITY or size < INFINITY):
            written.refuse("only a number of rows alone can be full", "ROWS 5 FULL", "ROWS RANGE FULL")
        return cls(rows, partition, size, written.rate("SLIDE"), written.length("LAG"), full, written.to_start)

    def starting_at(self, start: int, chronon: int) -> RowsWindow:
        """With the points of its slide."""
        if not self.to_start or self.slide is None:
            return self
        return replace(self, slide=replace(self.slide, origin=ceil_to(start, chronon)))

    def body(self, domain: TimeDomain | None) -> str:
        """ROWS and what belongs to it."""
        text = f"ROWS {'UNBOUNDED' if self.rows >= INFINITY else self.rows}"
        age = "" if self.size >= INFINITY else f" RANGE {range_text(self.size, domain)}"
        moves = rate_text("SLIDE", self.slide, self.lag, domain, self.to_start)
        return partition_text(self.partition) + text + age + moves + (" FULL" if self.full else "")

    @property
    def unbounded(self) -> bool:
        """Whether elements never leave."""
        return self.rows >= INFINITY and self.size >= INFINITY

    @property
    def _points(self) -> Rate | None:
        """The slide over time, if there is one."""
        return points_of(self.slide)

    def content(self, stream: Timeline, t: int, column: Column) -> list[Occurrence]:
        """The union of the windows over the parts of the stream."""
        parts = partitions(stream.until(t), [column(name) for name in self.partition])
        return [o for part in parts for o in self._last(part, t)]

    def _last(self, arrived: list[Occurrence], t: int) -> list[Occurrence]:
        """CQL 6.1.2: the N elements with the largest timestamps."""
        now = t - self.lag
        if self._points is not None:
            now = self._points.floor(now)
        arrived = [o for o in arrived if o.instant <= now]
        if self.slide is not None and self.slide.axis is Axis.ROWS:
            arrived = arrived[: len(arrived) // self.slide.amount * self.slide.amount]
        if self.full and len(arrived) < self.rows:
            return []
        last = arrived if self.rows >= INFINITY else arrived[-self.rows :]
        return last if self.size >= INFINITY else [o for o in last if o.instant > now - self.size]

    def element_points(self, element: Element, stream: Timeline) -> Iterable[int]:
        """When an element comes, and when it is too old."""
        return aged_points(occurring(element, stream), self.size, self._points, self.lag)

    def evaluated_at(self, stream: Timeline, last: int) -> set[int]:
        """The points of the slide; those of a slide over rows of partitions are any elements."""
        slide = None if isinstance(self.evaluations, AtElements) else self.slide
        return slide_evaluations(slide, self.lag, stream, last)

    @property
    def holds_everything(self) -> bool:
        """If it is unbounded, and neither slides nor is late."""
        return self.unbounded and self.slide is None and not self.lag

    @property
    def never_forgets(self) -> bool:
        """If it is unbounded."""
        return self.unbounded

    @property
    def runs_empty(self) -> bool:
        """If their age is bounded, and it does not wait for rows."""
        return self.size < INFINITY and (self.slide is None or self._points is not None)

    @property
    def time_based(self) -> bool:
        """If it is unbounded, and does not slide."""
        return self.unbounded and self.slide is None

    @property
    def ignores_order(self) -> bool:
        """If it does not count rows after all."""
        return self.rows >= INFINITY and (self.slide is None or self._points is not None)

    @property
    def one_per_partition(self) -> bool:
        """If it is of one row."""
        return self.rows == 1

    @property
    def lengths(self) -> tuple[int, ...]:
        """The age, its slide over time and its lag."""
        return age_lengths(self.size, self.slide, self.lag)

    def last_change(self, t: int) -> int:
        """When an element is too old, or comes if it never is."""
        return aged(t, self.size, self._points) + self.lag

    def points(self, stream: str) -> Points | EventPoints:
        """Those of its slide, late by its lag."""
        return slide_points(self.slide, self.lag, stream)

    @property
    def evaluations(self) -> AtMultiples | AtEveryNth | AtElements:
        """At the points of its slide; where each partition has its own, at any element."""
        if self._points is not None:
            return AtMultiples(self._points.amount, self.lag, self._points.origin)
        return AtElements() if self.slide is None or self.partition else AtEveryNth(self.slide.amount)

    def slower(self, step: int, offset: int) -> WindowSpec | None:
        """With a slide over time that goes with the points."""
        slide = slower_slide(self.slide, self.lag, step, offset)
        if slide is None or slide == self.slide:
            return None if slide is None else self
        return replace(self, slide=slide, to_start=False, text="")

    @property
    def undivided(self) -> WindowSpec:
        """If it is unbounded, that over the whole stream."""
        return replace(self, partition=(), text="") if self.unbounded and self.partition else self

    def holds(self, stream: str) -> State:
        """The last rows, or those of the last instants."""
        if self.rows < INFINITY:
            return some_rows(self.rows, stream, self.partition)
        return everything(stream) if self.size >= INFINITY else last_instants(self.size, stream)

    @property
    def counts_rows(self) -> bool:
        """If their number is limited."""
        return self.rows < INFINITY

    def remembers(self, stream: str) -> State | None:
        """The rows, since later ones drive them out; if they do not, those that wait for the next slide."""
        return None if self.rows < INFINITY else waiting(self.slide, self.lag, stream)

    def live_rows(self, rate: float, horizon: float, partitions: float) -> float:
        """The rows of each partition, if so many come."""
        return min(rate * min(self.size, horizon), self.rows * partitions)

"""Windows over time: the elements of the last so many instants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from continua.instants import INFINITY, TimeDomain, ceil_to, too_many
from continua.windows.change_points import EVERY_INSTANT, AtElements, AtEveryNth, AtMultiples, EventPoints, Points
from continua.windows.empty import EmptyWindow
from continua.windows.measures import Axis, Rate, require_lag, require_size
from continua.windows.occurrences import LIMIT, Column, Element, Occurrence, Timeline, occurring
from continua.windows.spec import Int64s, Intervals, WindowSpec
from continua.windows.spelling import ALIGNED, FULL, LAG, Clause, Spelling, Takes, Written
from continua.windows.state import NOTHING, State, everything, last_instants, some_rows
from continua.windows.wording import range_text, rate_text


@dataclass(frozen=True, slots=True)
class TimeWindow(WindowSpec):
    """The elements of the last ``size`` instants, the present one included (CQL 6.1.1, PIPES 2009 eq. 5).

    CQL's closed ``[RANGE T]`` has size T + 1, PIPES' ``WINDOW(RANGE T)`` size T, ``[NOW]`` size 1 and
    ``[RANGE UNBOUNDED]`` an infinite size. With a slide the content changes only at its points; with a lag the
    evaluation is late by that much. A ``full`` window has no initial phase: it is empty until ``opens``, the first
    instant at which all that it covers lies behind the query's start (Astral 6.1.1).
    """

    size: int
    slide: Rate | None = None
    lag: int = 0
    full: bool = False
    to_start: bool = False
    """Whether the slide is aligned to the query's start: to t0 + x in a full window of range x, which then begins
    with what came from t0 on."""
    opens: int | None = None

    spellings: ClassVar = (
        Spelling((Clause("NOW", Takes.NOTHING),)),
        Spelling(
            (
                Clause("RANGE", Takes.RANGE),
                Clause("SLIDE", Takes.TIME_RATE, required=False),
            ),
            partitioned=True,
            options=(ALIGNED, LAG, FULL),
        ),
    )

    def __post_init__(self) -> None:
        require_size(self.size)
        require_lag(self.lag)

    @classmethod
    def of(cls, written: Written) -> WindowSpec:
        """NOW, or a range. The union of one time window over all partitions is the window itself (CQL 6.1.3)."""
        if written.word == "NOW":
            return cls(written.chronon)
        slide = written.rate("SLIDE")
        if written.partition and slide is not None and slide.axis is Axis.ROWS:
            written.refuse(
                "a partitioned time window cannot slide by rows",
                "PARTITION BY ... ROWS n RANGE x SLIDE m does",
                "PARTITION BY RANGE SLIDE ROWS",
            )
        size = written.covered("RANGE")
        full = written.has("FULL")
        if full and size >= INFINITY:
            written.refuse("a window without a bound is never full", "RANGE 5 MINUTES FULL", "RANGE UNBOUNDED FULL")
        return cls(size, slide, written.length("LAG"), full, written.to_start) if size else EmptyWindow()

    def starting_at(self, start: int, chronon: int) -> TimeWindow:
        """With the points of its slide, and the instant from which it is full."""
        if not (self.full or self.to_start):
            return self
        start = ceil_to(start, chronon)
        filled = start + self.size - chronon if self.full else start
        slide = self.slide
        if slide is not None and self.to_start:
            slide = replace(slide, origin=filled)
        opens = filled if slide is None or slide.axis is Axis.ROWS else slide.ceil(filled)
        return replace(self, slide=slide, opens=opens if self.full and filled > start else None)

    def body(self, domain: TimeDomain | None) -> str:
        """NOW, or RANGE and what belongs to it."""
        if self == NOW:
            return "NOW"
        moves = rate_text("SLIDE", self.slide, self.lag, domain, self.to_start)
        return f"RANGE {range_text(self.size, domain)}{moves}{' FULL' if self.full else ''}"

    @property
    def unbounded(self) -> bool:
        """Whether elements never leave by their age."""
        return self.size >= INFINITY

    @property
    def _points(self) -> Rate | None:
        """The slide over time, if there is one."""
        return points_of(self.slide)

    @property
    def _by_rows(self) -> bool:
        return self.slide is not None and self.slide.axis is Axis.ROWS

    def content(self, stream: Timeline, t: int, column: Column) -> list[Occurrence]:  # noqa: ARG002
        """CQL 6.1.1: timestamps from now - T to now. With a slide, as it was at the last point of the slide."""
        now = t - self.lag
        if self.slide is not None and self.slide.axis is Axis.TIME:
            now = self.slide.floor(now)
        elif self.slide is not None:
            arrived = stream.until(now)
            complete = len(arrived) // self.slide.amount * self.slide.amount
            if complete == 0:
                return []
            now = arrived[complete - 1].instant
        if self.opens is not None and now < self.opens:
            return []
        first = stream.start if self.unbounded else now - self.size + stream.chronon
        return stream.occurrences(first, now)

    def element_points(self, element: Element, stream: Timeline) -> Iterable[int]:
        """When an element enters and leaves; one that lasts does so once if the window is now."""
        if self.size == stream.chronon and self.slide is None:
            edges = [max(element.start, stream.start)] + ([element.end] if element.end < INFINITY else [])
            return [t + self.lag for t in edges]
        return aged_points(self._occurring(element, stream), self.size, self._points, self.lag)

    def change_points(self, stream: Timeline) -> set[int]:
        """Where elements come and go, and where it is full for the first time."""
        found = WindowSpec.change_points(self, stream)
        return found if self.begins is None else found | {self.begins}

    def _occurring(self, element: Element, stream: Timeline) -> list[int]:
        """The instants of an element; of one that lasts longer than the window those at its ends: between them as much
        of it comes as leaves."""
        start = max(element.start, stream.start)
        if self.span is None or element.end - start <= 2 * self.span:
            return occurring(element, stream)
        first = replace(element, end=start + self.span)
        last = replace(element, start=element.end - self.span)
        return occurring(first, stream) + (occurring(last, stream) if element.end < INFINITY else [])

    def evaluated_at(self, stream: Timeline, last: int) -> set[int]:
        """The points of the slide over time, or the last element of every group of rows."""
        return slide_evaluations(self.slide, self.lag, stream, last)

    @property
    def knows_ends(self) -> bool:
        """Unless it moves with the rows."""
        return not self._by_rows

    def validity(self, t: int) -> tuple[int, int] | None:
        """From t + lag on, for its size; with a slide both ends wait for its next point, and may meet there."""
        first, last = t, INFINITY if self.unbounded else t + self.size
        if self._points is not None:
            first, last = self._points.ceil(first), last if self.unbounded else self._points.ceil(last)
        if self.opens is not None:
            first = max(first, self.opens)
        return (first + self.lag, last if self.unbounded else last + self.lag) if first < last else None

    def intervals(self, instants: Int64s) -> Intervals:
        """The same for many."""
        forever = np.full_like(instants, INFINITY) if self.unbounded else None
        if self._points is None and self.opens is None:
            start = instants + self.lag if self.lag else instants
            return start, start + self.size if forever is None else forever, None
        start, end = instants, instants + self.size if forever is None else forever
        if self._points is not None:
            start, end = _up(start, self._points), _up(end, self._points) if forever is None else forever
        if self.opens is not None:
            start = np.maximum(start, self.opens)
        start, end = start + self.lag, end + self.lag if forever is None else forever
        kept = start < end
        return start, end, None if bool(kept.all()) else kept

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
        """If it is bounded, and does not wait for rows."""
        return not self.unbounded and not self._by_rows

    @property
    def ignores_order(self) -> bool:
        """Always: elements of one instant have one fate."""
        return True

    @property
    def holds_all(self) -> bool:
        """If no element comes and goes between two points of its slide, or before it is full."""
        gap = 0 if self.slide is None else self.size + 1 if self._points is None else self._points.amount
        return gap <= self.size and not self.full

    @property
    def spans_one_instant(self) -> bool:
        """If it is as long as an instant."""
        return self.size == 1

    def is_now(self, chronon: int) -> bool:
        """If it is as long as a chronon, and neither slides nor is late."""
        return self == TimeWindow(chronon)

    def is_momentary(self, chronon: int) -> bool:
        """If it is as long as a chronon, and does not slide."""
        return self.size <= chronon and self.slide is None and self.opens is None

    @property
    def lengths(self) -> tuple[int, ...]:
        """Its size, its slide over time and its lag."""
        return age_lengths(self.size, self.slide, self.lag)

    @property
    def span(self) -> int | None:
        """Its size, unless it moves with the rows."""
        return None if self.unbounded or self._by_rows else self.size

    @property
    def lifetime(self) -> int | None:
        """Its size, and the wait for the next point of its slide."""
        return None if self.unbounded else self.size + (0 if self._points is None else self._points.amount)

    def last_change(self, t: int) -> int:
        """When an element leaves, or comes if it never leaves."""
        return aged(t, self.size, self._points) + self.lag

    @property
    def begins(self) -> int | None:
        """When it is full for the first time, if it is to be full."""
        return None if self.opens is None else self.opens + self.lag

    def points(self, stream: str) -> Points | EventPoints:
        """Those of its slide, late by its lag."""
        return slide_points(self.slide, self.lag, stream)

    @property
    def evaluations(self) -> AtMultiples | AtEveryNth | AtElements:
        """At the points of its slide."""
        match self.slide:
            case Rate(amount=amount, axis=Axis.TIME, origin=origin):
                return AtMultiples(amount, self.lag, origin)
            case Rate(amount=amount):
                return AtEveryNth(amount)
            case None:
                return AtElements()

    def slower(self, step: int, offset: int) -> WindowSpec | None:
        """With a slide over time that goes with the points."""
        slide = slower_slide(self.slide, self.lag, step, offset)
        if slide is None or slide == self.slide:
            return None if slide is None else self
        opens = None if self.opens is None else slide.ceil(self.opens)
        return replace(self, slide=slide, opens=opens, to_start=False, text="")

    def holds(self, stream: str) -> State:
        """The last instants."""
        return everything(stream) if self.unbounded else last_instants(self.size, stream)

    def remembers(self, stream: str) -> State | None:
        """Ends are known in advance: only what waits for the next slide is kept."""
        if self._by_rows and not self.unbounded:
            return None
        return waiting(self.slide, self.lag, stream)

    def live_rows(self, rate: float, horizon: float, partitions: float) -> float:  # noqa: ARG002
        """Those of its size."""
        return rate * min(self.size, horizon)


NOW = TimeWindow(1, text="[NOW]")
UNBOUNDED = TimeWindow(INFINITY, text="[RANGE UNBOUNDED]")


# What windows over the last rows have in common with those over time: an age, a slide and a lag.


def points_of(slide: Rate | None) -> Rate | None:
    """A slide over time, if it is one."""
    return slide if slide is not None and slide.axis is Axis.TIME else None


def aged(t: int, size: int, points: Rate | None) -> int:
    """When an element at t is too old, or t if it never is; with a slide over time at the next point of that."""
    edge = t if size >= INFINITY else t + size
    return edge if points is None else points.ceil(edge)


def aged_points(instants: list[int], size: int, points: Rate | None, lag: int) -> list[int]:
    """When elements at some instants come, and when they are too old."""
    edges = instants if size >= INFINITY else [*instants, *(t + size for t in instants)]
    return [(t if points is None else points.ceil(t)) + lag for t in edges]


def age_lengths(size: int, slide: Rate | None, lag: int) -> tuple[int, ...]:
    """All lengths of time in these."""
    points = points_of(slide)
    moves = (0, 0) if points is None else (points.amount, points.origin)
    return lag, *moves, 0 if size >= INFINITY else size


def slide_points(slide: Rate | None, lag: int, stream: str) -> Points | EventPoints:
    """A window that slides moves at its slide, shifted by its lag; one that does not can change at any instant."""
    match slide:
        case None:
            return EVERY_INSTANT
        case Rate(axis=Axis.ROWS):
            return EventPoints(stream)
        case Rate(amount=amount, origin=origin):
            return Points(amount, origin + lag)


def slide_evaluations(slide: Rate | None, lag: int, stream: Timeline, last: int) -> set[int]:
    """The points of a slide from the first element on, up to ``last``."""
    arrivals = [o.instant for o in stream.until(last)]
    if slide is None or not arrivals:
        return set(arrivals)
    if slide.axis is Axis.ROWS:
        return set(arrivals[slide.amount - 1 :: slide.amount])
    first = slide.ceil(arrivals[0]) + lag
    if (last - first) // slide.amount > LIMIT:
        raise too_many("points of a slide")
    return set(range(first, last + 1, slide.amount))


def slower_slide(slide: Rate | None, lag: int, step: int, offset: int) -> Rate | None:
    """The slide whose points are both those of a slide and of a step, where one of the two has all of the other's."""
    if slide is None:
        return Rate(step) if (offset - lag) % step == 0 else None
    apart = offset - lag - slide.origin
    if slide.axis is Axis.ROWS or apart % min(step, slide.amount):
        return None
    if step % slide.amount == 0:
        return Rate(step, origin=offset - lag)
    return slide if slide.amount % step == 0 else None


def waiting(slide: Rate | None, lag: int, stream: str) -> State:
    """What waits for the next point of a slide, and for a lag."""
    match slide:
        case Rate(amount=amount, axis=Axis.ROWS):
            return some_rows(amount, stream)
        case Rate(amount=amount):
            return last_instants(amount + lag, stream)
        case None:
            return last_instants(lag, stream) if lag else NOTHING


def _up(instant: Int64s, points: Rate) -> Int64s:
    return instant + (points.origin - instant) % points.amount

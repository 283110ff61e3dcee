"""Windows over time: the elements of the last so many instants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from continua.instants import INFINITY, TimeDomain, ceil_to, floor_to, too_many
from continua.windows.change_points import EVERY_INSTANT, AtElements, AtEveryNth, AtMultiples, EventPoints, Points
from continua.windows.measures import Axis, Rate, require_lag, require_size
from continua.windows.occurrences import LIMIT, Column, Element, Occurrence, Timeline
from continua.windows.spec import Int64s, Intervals, WindowSpec, occurring
from continua.windows.spelling import Clause, Spelling, Takes, Written
from continua.windows.state import NOTHING, State, everything, last_instants, some_rows
from continua.windows.wording import range_text, rate_text


@dataclass(frozen=True, slots=True)
class TimeWindow(WindowSpec):
    """The elements of the last ``size`` instants, the present one included (CQL 6.1.1, PIPES 2009 eq. 5).

    CQL's closed ``[RANGE T]`` has size T + 1, PIPES' ``WINDOW(RANGE T)`` size T, ``[NOW]`` size 1 and
    ``[RANGE UNBOUNDED]`` an infinite size. With a slide the content changes only at multiples of it; with a
    lag the evaluation is late by that much (Astral 6.1.1).
    """

    size: int
    slide: Rate | None = None
    lag: int = 0

    spellings: ClassVar = (
        Spelling((Clause("NOW", Takes.NOTHING),)),
        Spelling(
            (
                Clause("RANGE", Takes.RANGE),
                Clause("SLIDE", Takes.TIME_RATE, required=False),
                Clause("LAG", Takes.DELAY, required=False),
            ),
            partitioned=True,
        ),
    )

    def __post_init__(self) -> None:
        require_size(self.size)
        require_lag(self.lag)

    @classmethod
    def of(cls, written: Written) -> TimeWindow:
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
        return cls(written.covered("RANGE"), slide, written.length("LAG"))

    def body(self, domain: TimeDomain | None) -> str:
        """NOW, or RANGE and what belongs to it."""
        if self == NOW:
            return "NOW"
        return f"RANGE {range_text(self.size, domain)}" + rate_text("SLIDE", self.slide, self.lag, domain)

    @property
    def unbounded(self) -> bool:
        """Whether elements never leave by their age."""
        return self.size >= INFINITY

    @property
    def step(self) -> int | None:
        """The slide over time, if there is one."""
        return step_of(self.slide)

    @property
    def _by_rows(self) -> bool:
        return self.slide is not None and self.slide.axis is Axis.ROWS

    def content(self, stream: Timeline, t: int, column: Column) -> list[Occurrence]:  # noqa: ARG002
        """CQL 6.1.1: timestamps from now - T to now. With a slide, as it was at the last point of the slide."""
        now = t - self.lag
        if self.slide is not None and self.slide.axis is Axis.TIME:
            now = floor_to(now, self.slide.amount)
        elif self.slide is not None:
            arrived = stream.until(now)
            complete = len(arrived) // self.slide.amount * self.slide.amount
            if complete == 0:
                return []
            now = arrived[complete - 1].instant
        first = stream.start if self.unbounded else now - self.size + stream.chronon
        return stream.occurrences(first, now)

    def element_points(self, element: Element, stream: Timeline) -> Iterable[int]:
        """When an element enters and leaves; one that lasts does so once if the window is now."""
        if self.size == stream.chronon and self.slide is None:
            edges = [max(element.start, stream.start)] + ([element.end] if element.end < INFINITY else [])
            return [t + self.lag for t in edges]
        return aged_points(occurring(element, stream), self.size, self.step, self.lag)

    def evaluated_at(self, stream: Timeline, last: int) -> set[int]:
        """The points of the slide over time, or the last element of every group of rows."""
        return slide_evaluations(self.slide, self.lag, stream, last)

    @property
    def knows_ends(self) -> bool:
        """Unless it moves with the rows."""
        return not self._by_rows

    def validity(self, t: int) -> tuple[int, int] | None:
        """From t + lag on, for its size; with a slide both ends wait for its next point, and may meet there."""
        end = INFINITY if self.unbounded else t + self.size
        if self.step is None:
            return t + self.lag, end if self.unbounded else end + self.lag
        first = ceil_to(t, self.step) + self.lag
        last = end if self.unbounded else ceil_to(end, self.step) + self.lag
        return (first, last) if first < last else None

    def intervals(self, instants: Int64s) -> Intervals:
        """The same for many."""
        forever = np.full_like(instants, INFINITY) if self.unbounded else None
        if self.step is None:
            start = instants + self.lag if self.lag else instants
            return start, start + self.size if forever is None else forever, None
        start = _up(instants, self.step) + self.lag
        end = _up(instants + self.size, self.step) + self.lag if forever is None else forever
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
        """If no element comes and goes between two points of its slide."""
        return self.slide is None or (self.step is not None and self.step <= self.size)

    @property
    def spans_one_instant(self) -> bool:
        """If it is as long as an instant."""
        return self.size == 1

    def is_now(self, chronon: int) -> bool:
        """If it is as long as a chronon, and neither slides nor is late."""
        return self == TimeWindow(chronon)

    def is_momentary(self, chronon: int) -> bool:
        """If it is as long as a chronon, and does not slide."""
        return self.size <= chronon and self.slide is None

    @property
    def lengths(self) -> tuple[int, ...]:
        """Its size, its slide over time and its lag."""
        return age_lengths(self.size, self.slide, self.lag)

    @property
    def lifetime(self) -> int | None:
        """Its size, and the wait for the next point of its slide."""
        return None if self.unbounded else self.size + (self.step or 0)

    def last_change(self, t: int) -> int:
        """When an element leaves, or comes if it never leaves."""
        return aged(t, self.size, self.step) + self.lag

    def points(self, stream: str) -> Points | EventPoints:
        """Those of its slide, late by its lag."""
        return slide_points(self.slide, self.lag, stream)

    @property
    def evaluations(self) -> AtMultiples | AtEveryNth | AtElements:
        """At the points of its slide."""
        match self.slide:
            case Rate(amount=amount, axis=Axis.TIME):
                return AtMultiples(amount, self.lag)
            case Rate(amount=amount):
                return AtEveryNth(amount)
            case None:
                return AtElements()

    def slower(self, step: int, offset: int) -> WindowSpec | None:
        """With a slide over time that goes with the points."""
        slide = slower_slide(self.slide, self.lag, step, offset)
        return None if slide is None else self if slide == self.slide else replace(self, slide=slide, text="")

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


def step_of(slide: Rate | None) -> int | None:
    """A slide over time, if it is one."""
    return slide.amount if slide is not None and slide.axis is Axis.TIME else None


def aged(t: int, size: int, step: int | None) -> int:
    """When an element at t is too old, or t if it never is; with a step at the next point of that."""
    edge = t if size >= INFINITY else t + size
    return edge if step is None else ceil_to(edge, step)


def aged_points(instants: list[int], size: int, step: int | None, lag: int) -> list[int]:
    """When elements at some instants come, and when they are too old."""
    edges = instants if size >= INFINITY else [*instants, *(t + size for t in instants)]
    return [(t if step is None else ceil_to(t, step)) + lag for t in edges]


def age_lengths(size: int, slide: Rate | None, lag: int) -> tuple[int, ...]:
    """All lengths of time in these."""
    return lag, step_of(slide) or 0, 0 if size >= INFINITY else size


def slide_points(slide: Rate | None, lag: int, stream: str) -> Points | EventPoints:
    """A window that slides moves at its slide, shifted by its lag; one that does not can change at any instant."""
    match slide:
        case None:
            return EVERY_INSTANT
        case Rate(axis=Axis.ROWS):
            return EventPoints(stream)
        case Rate(amount=amount):
            return Points(amount, lag)


def slide_evaluations(slide: Rate | None, lag: int, stream: Timeline, last: int) -> set[int]:
    """The points of a slide from the first element on, up to ``last``."""
    arrivals = [o.instant for o in stream.until(last)]
    if slide is None or not arrivals:
        return set(arrivals)
    if slide.axis is Axis.ROWS:
        return set(arrivals[slide.amount - 1 :: slide.amount])
    first = ceil_to(arrivals[0], slide.amount) + lag
    if (last - first) // slide.amount > LIMIT:
        raise too_many("points of a slide")
    return set(range(first, last + 1, slide.amount))


def slower_slide(slide: Rate | None, lag: int, step: int, offset: int) -> Rate | None:
    """The slide whose points are both those of a slide and of a step, where one of the two has all of the other's."""
    if (offset - lag) % step or (slide is not None and slide.axis is Axis.ROWS):
        return None
    if slide is None or step % slide.amount == 0:
        return Rate(step)
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


def _up(instant: Int64s, step: int) -> Int64s:
    return instant + (-instant) % step

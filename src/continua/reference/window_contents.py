"""Window contents by definition: which occurrences of a stream's elements are in a window at an instant.

Written from the papers' formulas, instant by instant; validity intervals play no part here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from continua.errors import Diagnostic, EvaluationError
from continua.instants import INFINITY, ceil_to, floor_to
from continua.reference.elements import Element, Row
from continua.types import Value
from continua.windows.spec import (
    Axis,
    FixedWindow,
    GenericWindow,
    LandmarkWindow,
    Rate,
    RowsWindow,
    SequenceWindow,
    TimeWindow,
    WindowSpec,
)

LIMIT = 500_000


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An element at one instant."""

    instant: int
    row: Row


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

    def occurrences(self, first: int, last: int) -> list[Occurrence]:
        """What occurs from ``first`` to ``last``, both included, by instant and then by position."""
        first = max(first, self.start)
        if self.momentary:
            low, high = bisect_left(self.starts, first), bisect_right(self.starts, last)
            return [Occurrence(e.start, e.row) for e in self.elements[low:high]]
        found: list[tuple[int, int, Row]] = []
        for e in self.elements:
            low = max(e.start, ceil_to(first, self.chronon, e.start))
            high = min(e.end - 1, last)
            if high - low > LIMIT * self.chronon:
                raise too_many(f"{(high - low) // self.chronon} instants of one element")
            found += [(t, e.position, e.row) for t in range(low, high + 1, self.chronon)]
        found.sort(key=lambda o: o[:2])
        return [Occurrence(t, row) for t, _, row in found]

    def until(self, t: int) -> list[Occurrence]:
        """Everything up to an instant."""
        return self.occurrences(self.start, t)


def too_many(what: str) -> EvaluationError:
    """The answer has too many instants to be written down one by one."""
    return EvaluationError(
        Diagnostic(
            "TOO_MANY_INSTANTS",
            f"the answer changes at too many instants: {what}",
            hint="SET chronon = '1 second' for a coarser time domain, or SET start_time nearer to the data",
            parameters={"what": what},
        )
    )


def content(window: WindowSpec, stream: Timeline, t: int, column: Callable[[str], int]) -> list[Row]:
    """The rows in the window at instant t; ``column`` gives the place of a partitioning column."""
    match window:
        case TimeWindow():
            chosen = _time_window(window, stream, t)
        case FixedWindow(size=size):
            chosen = stream.occurrences(floor_to(t, size), t)
        case LandmarkWindow(start=start):
            chosen = stream.occurrences(start, t)
        case RowsWindow(partition=partition):
            chosen = _partitioned(stream.until(t), partition, column, lambda part: _rows_window(window, part, t))
        case SequenceWindow(partition=partition):
            chosen = _partitioned(stream.until(t), partition, column, lambda part: _sequence(window, part, t))
        case GenericWindow():
            chosen = _generic(window, stream, t)
    return [o.row for o in chosen]


def _time_window(window: TimeWindow, stream: Timeline, t: int) -> list[Occurrence]:
    """CQL 6.1.1: timestamps from now - T to now. With a slide, as it was at the last point of the slide."""
    now = t - window.lag
    if window.slide is not None and window.slide.axis is Axis.TIME:
        now = floor_to(now, window.slide.amount)
    elif window.slide is not None:
        arrived = stream.until(now)
        complete = len(arrived) // window.slide.amount * window.slide.amount
        if complete == 0:
            return []
        now = arrived[complete - 1].instant
    first = stream.start if window.unbounded else now - window.size + stream.chronon
    return stream.occurrences(first, now)


def _rows_window(window: RowsWindow, arrived: list[Occurrence], t: int) -> list[Occurrence]:
    """CQL 6.1.2: the N elements with the largest timestamps."""
    now = t - window.lag
    if window.slide is not None and window.slide.axis is Axis.TIME:
        now = floor_to(now, window.slide.amount)
    arrived = [o for o in arrived if o.instant <= now]
    if window.slide is not None and window.slide.axis is Axis.ROWS:
        arrived = arrived[: len(arrived) // window.slide.amount * window.slide.amount]
    last = arrived if window.rows >= INFINITY else arrived[-window.rows :]
    return last if window.size >= INFINITY else [o for o in last if o.instant > now - window.size]


def _sequence(window: SequenceWindow, arrived: list[Occurrence], t: int) -> list[Occurrence]:
    """Astral, definitions 9 and 10, with all elements of one instant in one batch."""
    j = delay(window, arrived, t)
    if j is None or j < 0:
        return []
    alpha, beta = window.alpha(j), window.beta(j)
    seen = [o for o in arrived if o.instant <= t - window.lag]
    if window.bounds is Axis.TIME:
        return [o for o in seen if alpha <= o.instant <= beta]
    return _positions(seen, alpha, beta)


def delay(window: SequenceWindow, arrived: list[Occurrence], t: int) -> int | None:
    """gamma: the number of the last window created at instant t (definition 9); None before any can be."""
    now, rate, beta0 = t - window.lag, window.rate.amount, window.beta(0)
    seen = [o for o in arrived if o.instant <= now]
    if window.rate.axis is Axis.TIME:
        if window.bounds is Axis.ROWS:
            if beta0 >= len(seen):
                return None
            beta0 = seen[beta0].instant
        return (now - beta0) // rate
    if window.bounds is Axis.TIME:
        if now < beta0:
            return None
        beta0 = len([o for o in seen if o.instant <= beta0]) - 1
    return (len(seen) - 1 - beta0) // rate


def _positions(arrived: list[Occurrence], alpha: int, beta: int) -> list[Occurrence]:
    """The batches that hold positions alpha to beta, and of these the most recent beta - alpha + 1 elements."""
    beta = min(beta, len(arrived) - 1)
    if alpha > beta:
        return []
    first, last = arrived[alpha].instant, arrived[beta].instant
    batches = [o for o in arrived if first <= o.instant <= last]
    return batches[-(beta - alpha + 1) :]


def _generic(window: GenericWindow, stream: Timeline, t: int) -> list[Occurrence]:
    arrived, bounds = stream.until(t), window.checked_bounds(t, stream.start)
    if bounds is None:
        return []
    alpha, beta = bounds
    if window.bounds is Axis.TIME:
        return [o for o in arrived if alpha <= o.instant <= beta]
    return _positions(arrived, alpha, beta)


def _partitioned(
    arrived: list[Occurrence],
    partition: tuple[str, ...],
    column: Callable[[str], int],
    choose: Callable[[list[Occurrence]], list[Occurrence]],
) -> list[Occurrence]:
    """The union of the windows over the substreams of equal partition values (CQL 6.1.3, Astral definition 11)."""
    if not partition:
        return choose(arrived)
    places = [column(name) for name in partition]
    groups: dict[tuple[Value, ...], list[Occurrence]] = {}
    for o in arrived:
        groups.setdefault(tuple(o.row[p] for p in places), []).append(o)
    return [o for group in groups.values() for o in choose(group)]


def change_points(window: WindowSpec, stream: Timeline) -> set[int]:
    """Instants that include all at which the content of the window can change."""
    found: set[int] = set()
    for e in stream.elements:
        if e.end <= stream.start:
            continue
        found |= set(_element_points(window, e, stream))
    match window:
        case SequenceWindow():
            found |= _evaluations(window, stream)
            if window.bounds is Axis.TIME:
                found.add(window.beta(0) + window.lag)
        case GenericWindow():
            found |= _steps(window, stream)
        case _:
            pass
    return found


def _element_points(window: WindowSpec, e: Element, stream: Timeline) -> Iterable[int]:
    """When an element enters and leaves; one that lasts enters anew at every instant, unless the window is now."""
    c = stream.chronon
    lag = window.lag if isinstance(window, TimeWindow | RowsWindow | SequenceWindow) else 0
    size = window.size if isinstance(window, TimeWindow | RowsWindow | FixedWindow) else INFINITY
    start = max(e.start, stream.start)
    if isinstance(window, TimeWindow) and window.size == c and window.slide is None:
        edges = [start, e.end] if e.end < INFINITY else [start]
    else:
        if e.end >= INFINITY:
            raise too_many("a window over a stream that goes on for ever")
        if (e.end - start) // c > LIMIT:
            raise too_many(f"{(e.end - start) // c} instants of one element")
        edges = list(range(start, e.end, c))
        if isinstance(window, FixedWindow):
            edges += [ceil_to(t + 1, size) for t in edges]
        elif size < INFINITY:
            edges += [t + size for t in edges]
    slide = window.slide if isinstance(window, TimeWindow | RowsWindow) else None
    if slide is not None and slide.axis is Axis.TIME:
        edges = [ceil_to(t, slide.amount) for t in edges]
    return [t + lag for t in edges]


def evaluations(window: WindowSpec, stream: Timeline, last: int) -> set[int]:
    """The instants up to ``last`` at which a window that slides is evaluated, from its first content on."""
    arrivals = [o.instant for o in stream.until(last)]
    if not arrivals:
        return set()
    match window:
        case (
            TimeWindow(slide=Rate(amount=step, axis=Axis.TIME), lag=lag)
            | RowsWindow(slide=Rate(amount=step, axis=Axis.TIME), lag=lag)
        ):
            first = ceil_to(arrivals[0], step) + lag
            if (last - first) // step > LIMIT:
                raise too_many("points of a slide")
            return set(range(first, last + 1, step))
        case TimeWindow(slide=Rate(amount=rows)) | RowsWindow(slide=Rate(amount=rows), partition=()):
            return set(arrivals[rows - 1 :: rows])
        case SequenceWindow(rate=Rate(axis=Axis.TIME)):
            return {t for t in _evaluations(window, stream) if t <= last}
        case GenericWindow():
            return {t for t in _steps(window, stream) if t <= last}
        case _:
            return set(arrivals)


def _evaluations(window: SequenceWindow, stream: Timeline) -> set[int]:
    """The instants at which windows are created, until they have left all elements behind."""
    arrived = stream.until(max((e.end - 1 for e in stream.elements), default=stream.start))
    if not arrived or window.rate.axis is Axis.ROWS:
        return set()
    last = arrived[-1].instant if window.bounds is Axis.TIME else len(arrived) - 1
    groups = [arrived]
    if window.partition:
        groups = [[o] for o in arrived]
    found: set[int] = set()
    for group in groups:
        origin = window.beta(0) if window.bounds is Axis.TIME else None
        if origin is None:
            if not window.partition and window.beta(0) >= len(group):
                continue
            origin = group[min(window.beta(0), len(group) - 1)].instant
        j = 0
        while True:
            found.add(origin + window.rate.amount * j + window.lag)
            done = window.alpha(j) > last if window.alpha.slope else window.beta(j) >= last or not window.beta.slope
            if done:
                break
            j += 1
            if j > LIMIT:
                raise too_many("windows of a sequence")
    return found


def _steps(window: GenericWindow, stream: Timeline) -> set[int]:
    """The instants at which gamma changes, found by doubling and halving, until all elements are left behind."""
    last = max((e.end for e in stream.elements), default=stream.start)
    found: set[int] = set()
    t = stream.start
    while len(found) <= LIMIT:
        here = window.gamma(t)
        if here is not None and window.bounds is Axis.TIME and window.alpha(here) > last:
            return found
        step = stream.chronon
        while window.gamma(t + step) == here:
            step *= 2
            if t + step > 4 * max(last, 1) + INFINITY // 4:
                return found
        low, high = t + step // 2, t + step
        while low + stream.chronon < high:
            middle = floor_to((low + high) // 2, stream.chronon)
            if middle in (low, high):
                break
            if window.gamma(middle) == here:
                low = middle
            else:
                high = middle
        found.add(high)
        t = high
        if here is not None and window.bounds is Axis.ROWS and t > last:
            return found
    raise too_many(f"evaluations of window {window.name}")

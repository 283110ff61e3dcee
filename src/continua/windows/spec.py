"""What a window is: everything that any layer asks of one. Each kind answers in a module of its own.

A window maps every element of a stream to the instants at which it is in the window. :class:`GenericWindow` is the
most general kind, by functions of its author (Astral, definition 12); :mod:`continua.windows.kinds` lists the kinds
that the language has words for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from continua.errors import Diagnostic, WindowError
from continua.instants import INFINITY, TimeDomain, floor_to, too_many
from continua.windows.change_points import EVERY_INSTANT, AtElements, AtOwnRhythm, Evaluations, EventPoints, Points
from continua.windows.measures import Axis, require
from continua.windows.occurrences import LIMIT, Column, Element, Occurrence, Timeline, occurring, positions
from continua.windows.spelling import Spelling, Written
from continua.windows.state import State

Int64s: TypeAlias = NDArray[np.int64]
Intervals: TypeAlias = tuple[Int64s, Int64s, "NDArray[np.bool_] | None"]
"""Starts and ends of elements in a window, and which of them are in it at all (None: all)."""


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """The description of a window, in instants and positions.

    ``text`` is the window as its author wrote it; it takes no part in comparisons.
    """

    text: str = field(default="", compare=False, kw_only=True)

    spellings: ClassVar[tuple[Spelling, ...]] = ()
    """How it is written."""

    @classmethod
    def of(cls, written: Written) -> WindowSpec:
        """The description of a window that was written by one of the spellings."""
        raise NotImplementedError

    def body(self, domain: TimeDomain | None) -> str:
        """The window as it could be written, with CQL's closed bounds, without brackets."""
        raise NotImplementedError

    @property
    def partition(self) -> tuple[str, ...]:
        """The columns by which it divides its stream: it is the union of the windows over the parts."""
        return ()

    @property
    def lag(self) -> int:
        """By how much its evaluation is late."""
        return 0

    def starting_at(self, start: int, chronon: int) -> WindowSpec:  # noqa: ARG002
        """The window of a query with start t0, where its description depends on that."""
        return self

    def renamed(self, names: Mapping[str, str]) -> Self | None:
        """The same window of a stream whose columns have other names; None where one is not there."""
        if not self.partition:
            return self
        if any(column not in names for column in self.partition):
            return None
        return replace(self, partition=tuple(names[column] for column in self.partition))  # type: ignore[call-arg]

    # The meaning, instant by instant. Nothing below this part plays any role in it.

    def content(self, stream: Timeline, t: int, column: Column) -> list[Occurrence]:
        """What is in the window at an instant, by definition."""
        raise NotImplementedError

    def change_points(self, stream: Timeline) -> set[int]:
        """Instants that include all at which the content can change."""
        coming = (e for e in stream.elements if e.end > stream.start)
        return {t for e in coming for t in self.element_points(e, stream)}

    def element_points(self, element: Element, stream: Timeline) -> Iterable[int]:
        """The instants at which an element can enter and leave; one that lasts enters anew at every instant."""
        return occurring(element, stream)

    def evaluated_at(self, stream: Timeline, last: int) -> set[int]:
        """The instants up to ``last`` at which a window that slides is evaluated, from its first content on."""
        return {o.instant for o in stream.until(last)}

    # The closed form, where there is one.

    @property
    def knows_ends(self) -> bool:
        """Whether the interval of an element follows from its instant alone, when the element comes."""
        return False

    def validity(self, t: int) -> tuple[int, int] | None:  # noqa: ARG002
        """The half-open interval of an element at t, if ``knows_ends``; None where it is never in the window."""
        raise TypeError(f"{type(self).__name__} has no validity function")

    def intervals(self, instants: Int64s) -> Intervals:
        """The validity of many elements."""
        distinct, places = np.unique(instants, return_inverse=True)
        found = [self.validity(int(t)) or (0, 0) for t in distinct]
        start, end = np.array(found, np.int64).reshape(-1, 2).T
        return start[places], end[places], (start < end)[places]

    # What can be said of it without looking at a stream. Where an answer is not sure, it is the weaker one.

    @property
    def holds_everything(self) -> bool:
        """Whether it holds all elements up to now."""
        return False

    @property
    def never_forgets(self) -> bool:
        """Whether elements that are in it stay."""
        return False

    @property
    def runs_empty(self) -> bool:
        """Whether the passing of time alone makes every element leave."""
        return False

    @property
    def time_based(self) -> bool:
        """Whether the instants of an element in the window depend on its own instant alone."""
        return self.knows_ends

    @property
    def ignores_order(self) -> bool:
        """Whether it makes no difference in which order the elements of one instant come."""
        return False

    @property
    def holds_all(self) -> bool:
        """Whether every element is in the window at some instant, sooner or later."""
        return self.holds_everything

    @property
    def spans_one_instant(self) -> bool:
        """Whether what it holds at any instant is of one instant."""
        return False

    @property
    def one_per_partition(self) -> bool:
        """Whether it holds at most one element of each partition."""
        return False

    def is_now(self, chronon: int) -> bool:  # noqa: ARG002
        """Whether it holds the elements of the present instant, and no others."""
        return False

    def is_momentary(self, chronon: int) -> bool:  # noqa: ARG002
        """Whether an element is in it for one instant."""
        return False

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of time in it: only if all are whole chronons does it change at chronons alone."""
        return ()

    @property
    def lifetime(self) -> int | None:
        """For how many instants, at most, an element is in it; None where nothing is known to end it."""
        return None

    def last_change(self, t: int) -> int:  # noqa: ARG002
        """The last instant at which an element at t makes a difference; it does not decrease with t."""
        raise TypeError(f"{self.text} has a rhythm of its own")

    @property
    def span(self) -> int | None:
        """How many instants it holds, where they move on with the present one or at points; None where they do not.

        What lasts for ever is in it at every one of them, and from then on nothing changes.
        """
        return None

    @property
    def begins(self) -> int | None:
        """The first instant at which it holds anything, where its description says so."""
        return None

    def points(self, stream: str) -> Points | EventPoints:  # noqa: ARG002
        """At which instants its content can change, over a stream of that name (SyncSQL 4.2)."""
        return EVERY_INSTANT

    @property
    def evaluations(self) -> Evaluations:
        """When it is evaluated: all that it holds is then listed by an Rstream."""
        return AtElements()

    def slower(self, step: int, offset: int) -> WindowSpec | None:  # noqa: ARG002
        """The window that moves only at ``offset`` + multiples of ``step``, if there is a description of it."""
        return None

    @property
    def undivided(self) -> WindowSpec:
        """The window of the whole stream, where that is the same as the union of those over its parts."""
        return self

    # What it costs.

    def holds(self, stream: str) -> State:
        """How much it can hold at one instant."""
        raise NotImplementedError

    @property
    def counts_rows(self) -> bool:
        """Whether it holds a limited number of rows, however many come at one instant."""
        return False

    def remembers(self, stream: str) -> State | None:  # noqa: ARG002
        """What must be remembered to know its content; None where that is the content itself."""
        return None

    def live_rows(self, rate: float, horizon: float, partitions: float) -> float:  # noqa: ARG002
        """About how many rows it holds, of a stream with so many elements an instant."""
        return rate * horizon


@dataclass(frozen=True, slots=True)
class GenericWindow(WindowSpec):
    """A window sequence with any evaluation rhythm (Astral, definition 12).

    ``gamma`` is a step function: it maps an instant to the instant of the latest evaluation, or None before the
    first one. ``alpha`` and ``beta`` give the bounds at an evaluation. User-defined windows are of this kind.
    """

    name: str
    alpha: Callable[[int], int] = field(compare=False)
    beta: Callable[[int], int] = field(compare=False)
    gamma: Callable[[int], int | None] = field(compare=False)
    arguments: tuple[int, ...] = ()
    bounds: Axis = Axis.TIME
    behind: int = 0
    """By how much, at most, ``gamma`` goes back from one instant to a later one."""

    def body(self, domain: TimeDomain | None) -> str:  # noqa: ARG002
        """Its name and arguments."""
        return f"{self.name}({', '.join(map(str, self.arguments))})" if self.arguments else self.name

    def checked_bounds(self, instant: int, start: int = 0) -> tuple[int, int] | None:
        """The bounds in force at an instant of a query with start t0, if they meet the conditions of definition 12."""
        try:
            evaluated = self.gamma(instant)
            if evaluated is None:
                return None
            alpha, beta = self.alpha(evaluated), self.beta(evaluated)
        except WindowError:
            raise
        except Exception as error:
            message = f"window {self.name} fails at {instant}: {error}"
            raise WindowError(Diagnostic("BAD_WINDOW", message, parameters={"window": self.name})) from error
        require(
            alpha <= beta,
            "WINDOW_BEGINS_AFTER_END",
            f"window {self.name} at {instant} begins at {alpha}, after its end {beta}",
            alpha=str(alpha),
            beta=str(beta),
        )
        earliest = start if self.bounds is Axis.TIME else 0
        require(
            alpha >= earliest,
            "WINDOW_BEGINS_TOO_EARLY",
            f"window {self.name} at {instant} begins at {alpha}, before the start {earliest}",
            alpha=str(alpha),
            start=earliest,
        )
        require(
            self.bounds is Axis.ROWS or beta <= instant,
            "WINDOW_END_NOT_ACCESSIBLE",
            f"window {self.name} at {instant} ends at {beta}, in the future",
            beta=str(beta),
            rate=evaluated,
        )
        return alpha, beta

    def content(self, stream: Timeline, t: int, column: Column) -> list[Occurrence]:  # noqa: ARG002
        """What lies within the bounds in force."""
        arrived, bounds = stream.until(t), self.checked_bounds(t, stream.start)
        if bounds is None:
            return []
        alpha, beta = bounds
        if self.bounds is Axis.TIME:
            return [o for o in arrived if alpha <= o.instant <= beta]
        return positions(arrived, alpha, beta)

    def change_points(self, stream: Timeline) -> set[int]:
        """Where elements come, and where gamma changes."""
        return WindowSpec.change_points(self, stream) | self._steps(stream)

    def evaluated_at(self, stream: Timeline, last: int) -> set[int]:
        """Where gamma changes."""
        return {t for t in self._steps(stream) if t <= last} if stream.until(last) else set()

    def _steps(self, stream: Timeline) -> set[int]:
        """The instants at which gamma changes, from the first element on, until all elements are left behind."""
        if not stream.elements:
            return set()
        first, last = min(e.start for e in stream.elements), stream.end
        t = max(stream.start, floor_to(first, stream.chronon) - stream.chronon)
        found: set[int] = set()
        while len(found) <= LIMIT:
            step = None if self.is_over(t, last) else self.next_step(t, self.looked_at_until(last), stream.chronon)
            if step is None:
                return found
            found.add(step)
            if self.bounds is Axis.ROWS and self.gamma(t) is not None and step > last:
                return found
            t = step
        raise too_many(f"evaluations of window {self.name}")

    def is_over(self, t: int, last: int) -> bool:
        """Whether it has left everything up to an instant behind at t, and at all later evaluations."""
        here = self.gamma(t)
        return here is not None and self.bounds is Axis.TIME and self.alpha(here - self.behind) > last

    @staticmethod
    def looked_at_until(last: int) -> int:
        """How far its evaluations are looked for when the last element has come."""
        return 4 * max(last, 1) + INFINITY // 4

    def next_step(self, now: int, until: int, chronon: int) -> int | None:
        """The first instant behind now, up to another, at which gamma is another: found by doubling and halving."""
        here, low, reach = self.gamma(now), now, chronon
        last = now + (until - now) // chronon * chronon
        while True:
            high = min(now + reach, last)
            if high <= low:
                return None
            if self.gamma(high) != here:
                break
            low, reach = high, 2 * reach
        while high - low > chronon:
            middle = low + (high - low) // (2 * chronon) * chronon
            if self.gamma(middle) == here:
                low = middle
            else:
                high = middle
        return high

    @property
    def ignores_order(self) -> bool:
        """If it is bounded by instants."""
        return self.bounds is Axis.TIME

    def points(self, stream: str) -> EventPoints:  # noqa: ARG002
        """The window has time points of its own: where gamma changes."""
        return EventPoints(self.name)

    @property
    def evaluations(self) -> AtOwnRhythm:
        """Where gamma changes."""
        return AtOwnRhythm()

    def holds(self, stream: str) -> State:
        """Nothing is known that bounds what it holds: its bounds are any functions of the instant."""
        return State(False, f"whatever window {self.name} asks for of {stream}")


def for_loop(
    name: str,
    init: int,
    proceed: Callable[[int], bool],
    evolution: Callable[[int], int],
    begin: Callable[[int], int],
    end: Callable[[int], int],
) -> GenericWindow:
    """TelegraphCQ's ``for (t = init; proceed(t); t = evolution(t)) WindowIs(begin(t), end(t))`` (Astral 6.1.4)."""

    def gamma(instant: int) -> int | None:
        if instant < init:
            return None
        current = init
        while proceed(current):
            following = evolution(current)
            require(
                following > current,
                "WINDOW_LOOP_STUCK",
                f"the loop of window {name} does not advance beyond {current}",
                at=current,
            )
            if following > instant:
                break
            current = following
        return current

    return GenericWindow(name, begin, end, gamma, text=f"[{name}]")

"""Windows that are evaluated in a rhythm of their own: at rates by a CASE, at the points of a loop.

Astral's definition 12 with formulas in place of functions: its example 5 (closer in working hours), and the for-loop
of TelegraphCQ (6.1.4).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from typing import ClassVar

from continua.instants import INFINITY, TimeDomain, ceil_to, too_many
from continua.windows.formulas import Constant, Formula, Instant, Operation, started, stays_until, text_of, value_at
from continua.windows.measures import require
from continua.windows.occurrences import LIMIT
from continua.windows.spec import GenericWindow
from continua.windows.spelling import Clause, Spelling, Takes, Written
from continua.windows.state import State


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of the window at an evaluation."""

    formula: Formula

    def __call__(self, t: int) -> int:
        return value_at(self.formula, t)


@dataclass(frozen=True, slots=True)
class Rates:
    """Evaluations at multiples of a rate that depends on the instant, counted from an origin (Astral, example 5).

    There are none before the query's start.
    """

    cases: tuple[tuple[Formula, int], ...]
    otherwise: int
    origin: int = 0
    start: int = 0

    def __call__(self, t: int) -> int | None:
        point = t - (t - self.origin) % self._rate(t)
        return point if point >= max(self.origin, self.start) else None

    def _rate(self, t: int) -> int:
        return next((rate for condition, rate in self.cases if value_at(condition, t)), self.otherwise)

    @property
    def slowest(self) -> int:
        """The longest time between two evaluations."""
        return max((self.otherwise, *(rate for _, rate in self.cases)))

    def following(self, t: int, until: int) -> int | None:
        """The first instant after t, up to another, at which the last evaluation is another one."""
        here, now, first = self(t), t, max(self.origin, self.start)
        if t < first <= until:
            now = first
            if self(now) is not None:
                return now
        while first <= until and now < until:
            turns = min((stays_until(condition, now) for condition, _ in self.cases), default=INFINITY)
            rate = self._rate(now)
            now = min(turns, now - (now - self.origin) % rate + rate)
            if now <= until and self(now) != here:
                return now
        return None


@dataclass(frozen=True, slots=True)
class Loop:
    """Evaluations at the points of a loop: where it begins, and the next of each as long as a condition holds."""

    begins: Formula
    proceeds: Formula
    following_point: Formula

    def __call__(self, t: int) -> int | None:
        if t < self.first:
            return None
        step = self._step
        if step is None:
            points = _walk(self).beyond(t)
            return points[bisect_right(points, t) - 1]
        return self.first + min((t - self.first) // step, self._steps(step)) * step

    @property
    def first(self) -> int:
        """Its first point."""
        return value_at(self.begins, 0)

    @property
    def _step(self) -> int | None:
        """The distance of the points, where it is always the same and the condition is a bound for them, or none."""
        match self.following_point, self.proceeds:
            case Instant(later=later), Constant() if later > 0:
                return later
            case Instant(later=later), Operation(name="<" | "<=", operands=(Instant(), Constant())) if later > 0:
                return later
            case _:
                return None

    def _steps(self, step: int) -> int:
        """How many points follow the first."""
        match self.proceeds:
            case Operation(name=name, operands=(Instant(later=later), Constant(value=bound))):
                last = bound - later - (name == "<")
                return max((last - self.first) // step + 1, 0)
            case _:
                return INFINITY if value_at(self.proceeds, self.first) else 0

    def following(self, t: int, until: int) -> int | None:
        """The first instant after t, up to another, at which the last evaluation is another one."""
        if t < self.first:
            return self.first if self.first <= until else None
        step = self._step
        if step is not None:
            number = (t - self.first) // step + 1
            point = self.first + number * step
            return point if number <= self._steps(step) and point <= until else None
        points = _walk(self).beyond(t)
        place = bisect_right(points, t)
        return points[place] if place < len(points) and points[place] <= until else None


class _Walk:
    """The points of a loop, as far as anybody has asked: each is found but once."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._points = [loop.first]
        self._over = False
        self._walking = Lock()

    def beyond(self, t: int) -> list[int]:
        """The points up to an instant, and the one behind it if there is any; perhaps more."""
        with self._walking:
            while self._points[-1] <= t and not self._over:
                self._step()
        return self._points

    def _step(self) -> None:
        current = self._points[-1]
        if not value_at(self._loop.proceeds, current):
            self._over = True
            return
        point = value_at(self._loop.following_point, current)
        require(
            point > current,
            "WINDOW_LOOP_STUCK",
            f"the loop of a window does not advance beyond {current}",
            at=current,
        )
        if len(self._points) > LIMIT:
            raise too_many("the points of a loop")
        self._points.append(point)


@lru_cache(maxsize=64)
def _walk(loop: Loop) -> _Walk:
    return _Walk(loop)


_NOW = Instant()
_ALWAYS = Rates((), 1)


@dataclass(frozen=True, slots=True)
class OwnRhythmWindow(GenericWindow):
    """A window from one formula of the evaluation to another, evaluated by rates or in a loop."""

    begin: Formula = _NOW
    end: Formula = _NOW
    rhythm: Rates | Loop = _ALWAYS
    to_start: bool = False
    """Whether the rates count from the query's start."""

    spellings: ClassVar = (
        Spelling((Clause("FOR", Takes.LOOP), Clause("WINDOWIS", Takes.TWO_BOUNDS)), partitioned=True),
    )
    """With rates it is written as a sequence of windows is, with CASE behind EVERY."""

    @classmethod
    def of(cls, written: Written) -> OwnRhythmWindow:
        """FOR, or FROM one formula TO another EVERY CASE. Divided, such a window is that of the whole stream."""
        _ = written.partition
        if written.has("LAG"):
            written.refuse("a rhythm of its own is late by its formulas", "FROM t - 10 TO t - 5", "LAG EVERY CASE")
        if written.word == "FOR":
            begin, end = written.formulas("WINDOWIS")
            return made(begin, end, Loop(*written.loop("FOR")))
        (begin,), (end,) = written.formulas("FROM"), written.formulas("TO")
        return made(begin, end, Rates(*written.rates("EVERY"), written.origin), written.to_start)

    def body(self, domain: TimeDomain | None) -> str:  # noqa: ARG002
        """The formulas, over instants."""
        return self.name

    def starting_at(self, start: int, chronon: int) -> OwnRhythmWindow:
        """With the start in its formulas."""
        start = ceil_to(start, chronon)
        begin, end, rhythm = started(self.begin, start), started(self.end, start), self.rhythm
        match rhythm:
            case Rates(cases=cases):
                origin = start if self.to_start else rhythm.origin
                cases = tuple((started(c, start), rate) for c, rate in cases)
                rhythm = replace(rhythm, cases=cases, origin=origin, start=start)
            case Loop(begins=begins, proceeds=proceeds, following_point=following):
                rhythm = Loop(*(started(part, start) for part in (begins, proceeds, following)))
        if (begin, end, rhythm) == (self.begin, self.end, self.rhythm):
            return self
        return replace(made(begin, end, rhythm, self.to_start), text=self.text)

    def checked_bounds(self, instant: int, start: int = 0) -> tuple[int, int] | None:
        """The bounds in force; what lies before the query's start is left out, since there is nothing."""
        bounds = GenericWindow.checked_bounds(self, instant, -INFINITY)
        return None if bounds is None or bounds[1] < start else (max(bounds[0], start), bounds[1])

    def next_step(self, now: int, until: int, chronon: int) -> int | None:
        """The first instant after now, up to another, at which it is evaluated anew."""
        found = self.rhythm.following(now, until)
        found = None if found is None else ceil_to(found, chronon)
        return None if found is None or found > until else found

    def holds(self, stream: str) -> State:
        """What is between its bounds, if their distance stays."""
        match self.begin, self.end:
            case Instant(later=first), Instant(later=last):
                return State(True, f"{last - first + 1} instants of {stream}")
            case _:
                return State(False, f"what is between the bounds of {self.name} of {stream}")


def made(begin: Formula, end: Formula, rhythm: Rates | Loop, to_start: bool = False) -> OwnRhythmWindow:
    """The window with these bounds and this rhythm."""
    name = _named(begin, end, rhythm)
    behind = rhythm.slowest if isinstance(rhythm, Rates) else 0
    return OwnRhythmWindow(
        name,
        Bound(begin),
        Bound(end),
        rhythm,
        behind=behind,
        begin=begin,
        end=end,
        rhythm=rhythm,
        to_start=to_start,
        text=f"[{name}]",
    )


def _named(begin: Formula, end: Formula, rhythm: Rates | Loop) -> str:
    match rhythm:
        case Loop(begins=begins, proceeds=proceeds, following_point=following):
            loop = f"FOR (t = {text_of(begins)}; {text_of(proceeds)}; t = {text_of(following)})"
            return f"{loop} WINDOWIS ({text_of(begin)}, {text_of(end)})"
        case Rates(cases=cases, otherwise=otherwise, origin=origin):
            rates = " ".join(f"WHEN {text_of(c)} THEN {rate}" for c, rate in cases)
            aligned = f" ALIGNED TO {origin}" if origin else ""
            return f"FROM {text_of(begin)} TO {text_of(end)} EVERY CASE {rates} ELSE {otherwise} END{aligned}"

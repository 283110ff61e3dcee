"""Window sequences: window j from one bound to another, evaluated at a rate (Astral, definitions 8 to 11)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from continua.instants import INFINITY, TimeDomain, ceil_to, too_many
from continua.windows.change_points import AtElements, AtOwnRhythm, AtSteps, EventPoints, Points
from continua.windows.in_own_rhythm import OwnRhythmWindow
from continua.windows.measures import Axis, Linear, Rate, require, require_lag
from continua.windows.occurrences import LIMIT, Column, Occurrence, Timeline, partitions, positions
from continua.windows.over_time import waiting
from continua.windows.spec import WindowSpec
from continua.windows.spelling import ALIGNED, LAG, Clause, Spelling, Takes, Written
from continua.windows.state import State, everything, some_rows
from continua.windows.wording import partition_text, rate_text


@dataclass(frozen=True, slots=True)
class SequenceWindow(WindowSpec):
    """The window sequence description (alpha, beta, r) of Astral, definition 8.

    Window j holds the elements from ``alpha(j)`` to ``beta(j)``, both included, and is the current one from its
    evaluation until that of window j + 1. Bounds and rate each count instants or positions (from 0).
    """

    alpha: Linear
    beta: Linear
    rate: Rate
    bounds: Axis = Axis.TIME
    partition: tuple[str, ...] = ()
    lag: int = 0
    start: int = 0
    to_start: bool = False
    """Whether the bounds count from the query's start, t0, as Astral writes them."""

    spellings: ClassVar = (
        Spelling(
            (
                Clause("FROM", Takes.BOUND),
                Clause("TO", Takes.BOUND),
                Clause("EVERY", Takes.TIME_RATE),
            ),
            partitioned=True,
            options=(ALIGNED, LAG),
        ),
        Spelling(
            (
                Clause("START", Takes.DELAY),
                Clause("END", Takes.DELAY),
                Clause("RATE", Takes.TIME_RATE),
                Clause("START_ADV", Takes.DELAY),
                Clause("END_ADV", Takes.DELAY),
            ),
            partitioned=True,
            options=(ALIGNED, LAG),
        ),
    )
    """The second is SStreamWare's: the first bounds, the rate, and each bound's advance (Astral 6.1.3)."""

    def __post_init__(self) -> None:
        earliest = self.start if self.bounds is Axis.TIME else 0
        alpha, beta = self.alpha, self.beta
        require(
            alpha(0) <= beta(0) and alpha.slope <= beta.slope,
            "WINDOW_BEGINS_AFTER_END",
            f"window j begins at {alpha} and ends at {beta}: the beginning must not be after the end",
            alpha=str(alpha),
            beta=str(beta),
        )
        require(
            alpha(0) >= earliest and alpha.slope >= 0,
            "WINDOW_BEGINS_TOO_EARLY",
            f"window j begins at {alpha}, which is before the start {earliest} for some j",
            alpha=str(alpha),
            start=earliest,
        )
        require(
            self.bounds is not self.rate.axis or beta.slope <= self.rate.amount,
            "WINDOW_END_NOT_ACCESSIBLE",
            f"window j ends at {beta} but is evaluated at {beta.start} + {self.rate.amount}*j: "
            "the end must not lie in the future",
            beta=str(beta),
            rate=self.rate.amount,
        )
        require_lag(self.lag)

    @classmethod
    def five_tuple(cls, start: int, end: int, rate: int, start_adv: int, end_adv: int) -> SequenceWindow:
        """SStreamWare's description: the first bounds, the rate, and each bound's advance (Astral 6.1.3)."""
        return cls(Linear(start_adv, start), Linear(end_adv, end), Rate(rate))

    @classmethod
    def of(cls, written: Written) -> WindowSpec:
        """FROM a bound TO another, EVERY so often; bounds that are aligned count from an instant."""
        if written.varies("EVERY"):
            return OwnRhythmWindow.of(written)
        if written.word == "START":
            length, rate, axis = written.length, written.rate("RATE") or Rate(1), Axis.TIME
            alpha, beta = Linear(length("START_ADV"), length("START")), Linear(length("END_ADV"), length("END"))
        else:
            alpha, beta, axis = written.bounds("FROM", "TO", "EVERY")
            rate = written.rate("EVERY") or Rate(1)
        origin, to_start = written.origin, written.to_start
        if axis is Axis.ROWS and written.has("ALIGNED"):
            written.refuse("bounds that count rows are not aligned", "FROM j TO j + 4 EVERY 2", "ALIGNED TO")
        alpha, beta = alpha.moved(origin), beta.moved(origin)
        start = 0 if to_start else written.start
        lag = written.length("LAG")
        return cls(alpha, beta, Rate(rate.amount, rate.axis), axis, written.partition, lag, start, to_start)

    def starting_at(self, start: int, chronon: int) -> SequenceWindow:
        """With bounds that count from the query's start."""
        if not self.to_start:
            return self
        start = ceil_to(start, chronon)
        alpha, beta = (bound.moved(start - self.start) for bound in (self.alpha, self.beta))
        return replace(self, alpha=alpha, beta=beta, start=start)

    def body(self, domain: TimeDomain | None) -> str:
        """FROM and what belongs to it."""
        unit = " ROWS" if self.bounds is Axis.ROWS else " MICROSECONDS" if domain is TimeDomain.MICROSECONDS else ""
        every = rate_text("EVERY", self.rate, self.lag, domain, self.to_start)
        moved = -self.start if self.to_start else 0
        bounds = f"FROM {self.alpha.moved(moved)}{unit} TO {self.beta.moved(moved)}{unit}"
        return f"{partition_text(self.partition)}{bounds}{every}"

    @property
    def _in_time(self) -> bool:
        """Whether bounds and rate both count instants."""
        return self.bounds is self.rate.axis is Axis.TIME

    def content(self, stream: Timeline, t: int, column: Column) -> list[Occurrence]:
        """The union of the windows over the parts of the stream."""
        parts = partitions(stream.until(t), [column(name) for name in self.partition])
        return [o for part in parts for o in self._current(part, t)]

    def _current(self, arrived: list[Occurrence], t: int) -> list[Occurrence]:
        """Astral, definitions 9 and 10, with all elements of one instant in one batch."""
        j = self.delay(arrived, t)
        if j is None or j < 0:
            return []
        alpha, beta = self.alpha(j), self.beta(j)
        seen = [o for o in arrived if o.instant <= t - self.lag]
        if self.bounds is Axis.TIME:
            return [o for o in seen if alpha <= o.instant <= beta]
        return positions(seen, alpha, beta)

    def delay(self, arrived: list[Occurrence], t: int) -> int | None:
        """gamma: the number of the last window created at instant t (definition 9); None before any can be."""
        now, rate, beta0 = t - self.lag, self.rate.amount, self.beta(0)
        seen = [o for o in arrived if o.instant <= now]
        if self.rate.axis is Axis.TIME:
            if self.bounds is Axis.ROWS:
                if beta0 >= len(seen):
                    return None
                beta0 = seen[beta0].instant
            return (now - beta0) // rate
        if self.bounds is Axis.TIME:
            if now < beta0:
                return None
            beta0 = len([o for o in seen if o.instant <= beta0]) - 1
        return (len(seen) - 1 - beta0) // rate

    def change_points(self, stream: Timeline) -> set[int]:
        """Where elements come, late by the lag, and where windows are created."""
        found = {t + self.lag for t in WindowSpec.change_points(self, stream)} | self._creations(stream)
        return found | {self.begins} if self.begins is not None else found

    def evaluated_at(self, stream: Timeline, last: int) -> set[int]:
        """Where windows are created; of a rate over rows, at any element."""
        arrivals = {o.instant for o in stream.until(last)}
        if not arrivals or self.rate.axis is Axis.ROWS:
            return arrivals
        return {t for t in self._creations(stream) if t <= last}

    def _creations(self, stream: Timeline) -> set[int]:
        """The instants at which windows are created, until they have left all elements behind."""
        arrived = stream.until(stream.end - 1)
        if not arrived or self.rate.axis is Axis.ROWS:
            return set()
        last = arrived[-1].instant if self.bounds is Axis.TIME else len(arrived) - 1
        groups = [[o] for o in arrived] if self.partition else [arrived]
        found: set[int] = set()
        for group in groups:
            origin = self.beta(0)
            if self.bounds is Axis.ROWS:
                if not self.partition and origin >= len(group):
                    continue
                origin = group[min(origin, len(group) - 1)].instant
            found |= {origin + self.rate.amount * j + self.lag for j in range(self._last_number(last) + 1)}
        return found

    def _last_number(self, last: int) -> int:
        """The number of the first window behind a bound, or of the first that reaches it if none is behind."""
        bound, target = (self.alpha, last + 1) if self.alpha.slope else (self.beta, last)
        number = bound.first_reaching(target) if bound.slope else 0
        if number > LIMIT:
            raise too_many("windows of a sequence")
        return number

    @property
    def knows_ends(self) -> bool:
        """If bounds and rate both count instants."""
        return self._in_time and not self.partition

    def validity(self, t: int) -> tuple[int, int] | None:
        """The evaluations d + r*j of the windows j that hold t: the first by beta, the last by alpha."""
        alpha, beta, step = self.alpha, self.beta, self.rate.amount
        if t <= beta(0):
            first = 0
        elif beta.slope > 0:
            first = -((beta.start - t) // beta.slope)
        else:
            return None
        if alpha.least is not None and t < alpha.least:
            return None
        origin = beta(0) + self.lag
        if alpha.slope == 0:
            return (origin + step * first, INFINITY) if alpha.start <= t else None
        last = (t - alpha.start) // alpha.slope
        return (origin + step * first, origin + step * (last + 1)) if first <= last else None

    @property
    def never_forgets(self) -> bool:
        """If its windows begin at one instant."""
        return self.bounds is Axis.TIME and self.alpha.slope == 0

    @property
    def runs_empty(self) -> bool:
        """If its windows move on with time."""
        return self._in_time and self.alpha.slope > 0

    @property
    def ignores_order(self) -> bool:
        """If its bounds count instants."""
        return self.bounds is Axis.TIME

    @property
    def lengths(self) -> tuple[int, ...]:
        """Its lag, and its rate over time."""
        return self.lag, self.rate.amount if self.rate.axis is Axis.TIME else 0

    def last_change(self, t: int) -> int:
        """When the first window is evaluated that lies behind an element, or the first that reaches it if none does."""
        if self.rate.axis is Axis.ROWS:
            return t + self.lag
        bound, target = (self.alpha, t + 1) if self.alpha.slope else (self.beta, t)
        number = bound.first_reaching(target) if bound.slope else 0
        return max(t, self.beta(0) + self.rate.amount * number) + self.lag

    @property
    def begins(self) -> int | None:
        """When its first window is evaluated, if that is an instant."""
        return self.beta(0) + self.lag if self.bounds is Axis.TIME else None

    def points(self, stream: str) -> Points | EventPoints:
        """Where windows are created."""
        return Points(self.rate.amount, self.beta.start + self.lag) if self._in_time else EventPoints(stream)

    @property
    def evaluations(self) -> AtSteps | AtOwnRhythm | AtElements:
        """Where windows are created."""
        if self._in_time:
            return AtSteps(self.rate.amount, self.beta(0) + self.lag)
        return AtOwnRhythm() if self.rate.axis is Axis.TIME else AtElements()

    def holds(self, stream: str) -> State:
        """What is between the bounds, if their distance stays."""
        if self.alpha.slope != self.beta.slope:
            return everything(stream)
        length = self.beta.start - self.alpha.start + 1
        if self.bounds is Axis.ROWS:
            return some_rows(length, stream, self.partition)
        return State(True, f"{length} instants of {stream}")

    @property
    def counts_rows(self) -> bool:
        """If its bounds count rows."""
        return self.bounds is Axis.ROWS

    def remembers(self, stream: str) -> State | None:
        """Its content, and what waits for windows that fall behind."""
        if self.beta.slope and (self.rate.axis is not self.bounds or self.beta.slope < self.rate.amount):
            return State(False, f"what waits for the windows of {stream}, which fall behind")
        return waiting(self.rate, self.lag, stream) if self.beta.slope and self.knows_ends else None

    def live_rows(self, rate: float, horizon: float, partitions: float) -> float:  # noqa: ARG002
        """What is between the first bounds."""
        length = float(self.beta(0) - self.alpha(0) + 1)
        return length * rate if self.bounds is Axis.TIME else length

"""Window descriptions, in instants and positions.

Every window maps an element (its instant, its position) to the instants during which it is in the window. A
description says which; :mod:`continua.windows.validity` gives the interval in closed form where there is one.
``text`` is the window as a user would write it; it takes no part in comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from continua.errors import Diagnostic, WindowError
from continua.instants import INFINITY


def _require(holds: bool, condition: str, message: str, **parameters: object) -> None:
    if not holds:
        raise WindowError(Diagnostic(condition, message, parameters=parameters))


class Axis(Enum):
    """What a bound or a rate counts: instants of the time domain, or positions of the stream."""

    TIME = "time"
    ROWS = "rows"


@dataclass(frozen=True, slots=True)
class Rate:
    """How often a window moves: every ``amount`` instants, or every ``amount`` elements."""

    amount: int
    axis: Axis = Axis.TIME

    def __post_init__(self) -> None:
        _require(self.amount > 0, "WINDOW_RATE", "a slide must be positive", amount=self.amount)


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """The elements of the last ``size`` instants, the present one included (CQL 6.1.1, PIPES 2009 eq. 5).

    CQL's closed ``[RANGE T]`` has size T + 1, PIPES' ``WINDOW(RANGE T)`` size T, ``[NOW]`` size 1 and
    ``[RANGE UNBOUNDED]`` an infinite size. With a slide the content changes only at multiples of it; with a
    lag the evaluation is late by that much (Astral 6.1.1).
    """

    size: int
    slide: Rate | None = None
    lag: int = 0
    text: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        _require(self.size > 0, "WINDOW_SIZE", "a window must cover at least one instant", size=self.size)
        _require(self.lag >= 0, "WINDOW_LAG", "a lag must not be negative", lag=self.lag)

    @property
    def unbounded(self) -> bool:
        """Whether elements never leave."""
        return self.size >= INFINITY


@dataclass(frozen=True, slots=True)
class FixedWindow:
    """Sections of ``size`` instants: an element is valid until the next section starts (PIPES 2005 eq. 10)."""

    size: int
    text: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        _require(self.size > 0, "WINDOW_SIZE", "a window must cover at least one instant", size=self.size)


@dataclass(frozen=True, slots=True)
class LandmarkWindow:
    """Everything since a fixed instant."""

    start: int
    text: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class RowsWindow:
    """The last ``rows`` elements, of each partition if there are any (CQL 6.1.2, 6.1.3).

    ``size`` also bounds their age, in instants. A slide over rows moves the window every so many elements, a
    slide over time at every so many instants (Astral 6.1.5).
    """

    rows: int
    partition: tuple[str, ...] = ()
    size: int = INFINITY
    slide: Rate | None = None
    lag: int = 0
    text: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        _require(self.rows > 0, "WINDOW_ROWS", "a row window needs a positive number of rows", rows=self.rows)
        _require(self.size > 0, "WINDOW_SIZE", "a window must cover at least one instant", size=self.size)
        _require(self.lag >= 0, "WINDOW_LAG", "a lag must not be negative", lag=self.lag)

    @property
    def unbounded(self) -> bool:
        """Whether elements never leave."""
        return self.rows >= INFINITY and self.size >= INFINITY


@dataclass(frozen=True, slots=True)
class Linear:
    """A bound that grows linearly with the window's number: ``max(slope * j + start, least)``."""

    slope: int
    start: int
    least: int | None = None

    def __call__(self, j: int) -> int:
        value = self.slope * j + self.start
        return value if self.least is None else max(value, self.least)

    def __str__(self) -> str:
        terms = [f"{self.slope}*j"] if self.slope else []
        if self.start or not terms:
            terms.append(str(self.start))
        text = " + ".join(terms)
        return text if self.least is None else f"GREATEST({text}, {self.least})"


@dataclass(frozen=True, slots=True)
class SequenceWindow:
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
    text: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        earliest = self.start if self.bounds is Axis.TIME else 0
        alpha, beta = self.alpha, self.beta
        _require(
            alpha(0) <= beta(0) and alpha.slope <= beta.slope,
            "WINDOW_BEGINS_AFTER_END",
            f"window j begins at {alpha} and ends at {beta}: the beginning must not be after the end",
            alpha=str(alpha),
            beta=str(beta),
        )
        _require(
            alpha(0) >= earliest and alpha.slope >= 0,
            "WINDOW_BEGINS_TOO_EARLY",
            f"window j begins at {alpha}, which is before the start {earliest} for some j",
            alpha=str(alpha),
            start=earliest,
        )
        _require(
            self.bounds is not self.rate.axis or beta.slope <= self.rate.amount,
            "WINDOW_END_NOT_ACCESSIBLE",
            f"window j ends at {beta} but is evaluated at {beta.start} + {self.rate.amount}*j: "
            "the end must not lie in the future",
            beta=str(beta),
            rate=self.rate.amount,
        )
        _require(self.lag >= 0, "WINDOW_LAG", "a lag must not be negative", lag=self.lag)

    @classmethod
    def five_tuple(cls, start: int, end: int, rate: int, start_adv: int, end_adv: int) -> SequenceWindow:
        """SStreamWare's description: the first bounds, the rate, and each bound's advance (Astral 6.1.3)."""
        return cls(Linear(start_adv, start), Linear(end_adv, end), Rate(rate))


@dataclass(frozen=True, slots=True)
class GenericWindow:
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
    text: str = field(default="", compare=False)

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
        _require(
            alpha <= beta,
            "WINDOW_BEGINS_AFTER_END",
            f"window {self.name} at {instant} begins at {alpha}, after its end {beta}",
            alpha=str(alpha),
            beta=str(beta),
        )
        earliest = start if self.bounds is Axis.TIME else 0
        _require(
            alpha >= earliest,
            "WINDOW_BEGINS_TOO_EARLY",
            f"window {self.name} at {instant} begins at {alpha}, before the start {earliest}",
            alpha=str(alpha),
            start=earliest,
        )
        _require(
            self.bounds is Axis.ROWS or beta <= instant,
            "WINDOW_END_NOT_ACCESSIBLE",
            f"window {self.name} at {instant} ends at {beta}, in the future",
            beta=str(beta),
            rate=evaluated,
        )
        return alpha, beta


WindowSpec: TypeAlias = TimeWindow | FixedWindow | LandmarkWindow | RowsWindow | SequenceWindow | GenericWindow

NOW = TimeWindow(1, text="[NOW]")
UNBOUNDED = TimeWindow(INFINITY, text="[RANGE UNBOUNDED]")


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
            _require(
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

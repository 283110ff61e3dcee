"""Windows of a query that starts later, found among those of one that started earlier (Astral 5.2, time transposing).

With the elements from before the later start left out, both hold the same: sigma_{t >= t1} of the earlier windows is
the later ones (property 4, corollary 2). From the first window on that begins at the later start or behind it nothing
has to be left out any more, so that whatever stands on the earlier windows serves the later query as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from continua.instants import ceil_to
from continua.windows.empty import EmptyWindow
from continua.windows.fixed import FixedWindow
from continua.windows.landmark import LandmarkWindow
from continua.windows.measures import Axis, Linear
from continua.windows.over_time import TimeWindow
from continua.windows.sequence import SequenceWindow
from continua.windows.spec import WindowSpec


class NotTransposedError(Exception):
    """The windows of one query are not among those of another one: the condition that failed, and why for a reader."""

    def __init__(self, condition: str, detail: str) -> None:
        super().__init__(detail)
        self.condition = condition
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Description:
    """A linear window sequence description (Astral, definition 8): window i is from ``alpha(i)`` to ``beta(i)``.

    Bounds over time are instants, so that no slide between two descriptions is implied (D = 0).
    """

    alpha: Linear
    beta: Linear
    rate: int

    @property
    def follows_its_rate(self) -> bool:
        """Whether it is transposed as it is, by whole rates (Astral, corollary 2)."""
        a, c = self.alpha.slope, self.beta.slope
        return c == self.rate and a in (0, self.rate)


@dataclass(frozen=True, slots=True)
class Transposed:
    """How the windows of a query are found among those of one that started earlier."""

    windows: int
    """K: so many were evaluated for the earlier query when the first one is for the later."""
    after: int
    """The first instant from which both hold the same elements without any being left out."""
    theorem: str


def synchronization_factor(later: Description, earlier: Description, start: int, slide: int = 0) -> int:
    """K of property 4: window i of the later sequence is window i + K of the earlier one, less what came before it.

    ``start`` is the least lower bound of the later one, B_t1. ``slide`` is D, the implicit slide between the two: for
    bounds that count positions, how many elements came between the starts.

    1. The bounds grow alike, by a and by c, and both are evaluated at the same rate r.
    2. K = (d' - d + D) / r is a natural number.
    3. c = r, if K is not 0.
    4. b' = b + aK - D if a is not 0; max(B_t1, b') = max(B_t1, b - D) if it is.
    """
    a, c, rate = later.alpha.slope, later.beta.slope, later.rate
    if (a, c, rate) != (earlier.alpha.slope, earlier.beta.slope, earlier.rate):
        raise NotTransposedError("FORM", "their windows do not move alike")  # 1
    factor, rest = divmod(later.beta.start - earlier.beta.start + slide, rate)
    if rest or factor < 0:
        apart = later.beta.start - earlier.beta.start + slide
        detail = f"the first windows are evaluated {apart} apart, which is not a natural number of rates of {rate}"
        raise NotTransposedError("SYNCHRONIZATION", detail)  # 2
    if factor and c != rate:
        detail = f"windows end {c} after each other and are evaluated every {rate}: K = {factor} must be 0"
        raise NotTransposedError("UPPER_BOUND", detail)  # 3
    wanted = earlier.alpha.start + a * factor - slide
    if a:
        same = later.alpha.start == wanted and _clipped(later.alpha, start) == _clipped(earlier.alpha, start)
    else:
        same = max(later.alpha(0), start) == max(earlier.alpha(0) - slide, start)
    if not same:
        detail = f"with K = {factor} the lower bound must begin at {wanted}, not at {later.alpha.start}"
        raise NotTransposedError("LOWER_BOUND", detail)  # 4
    return factor


def _clipped(bound: Linear, start: int) -> int:
    """What a bound is at least, where only elements from the later start on count."""
    return start if bound.least is None else max(bound.least, start)


def transposed(later: WindowSpec, earlier: WindowSpec, starts: tuple[int, int], since: int, chronon: int) -> Transposed:
    """How the windows of a query are found among those of another one that started earlier.

    ``starts``: those of the later and of the earlier query. ``since``: from when on both see the same elements.
    """
    match later, earlier:
        case EmptyWindow(), EmptyWindow():
            return Transposed(0, since, "property 4")
        case FixedWindow(size=size), FixedWindow() if later == earlier:
            return Transposed((since - ceil_to(starts[1], chronon)) // size, ceil_to(since, size), "corollary 2")
        case LandmarkWindow(start=begin), LandmarkWindow() if later == earlier:
            if begin < since:
                raise _for_ever(f"since {begin}")
            return Transposed((since - ceil_to(starts[1], chronon)) // chronon, since, "corollary 2")
        case TimeWindow(), TimeWindow():
            return _of_range(later, earlier, starts, since, chronon)
        case SequenceWindow(), SequenceWindow():
            return _of_sequence(later, earlier, since)
        case _:
            _refuse_positions(later, earlier)
            raise NotTransposedError("FORM", f"{later.text or later} and {earlier.text or earlier} do not move alike")


def _of_range(later: TimeWindow, earlier: TimeWindow, starts: tuple[int, int], since: int, chronon: int) -> Transposed:
    """RANGE x SLIDE y is [yi - x, yi, y] from the first point on (Astral 6.1.1)."""
    _refuse_positions(later, earlier)
    if later.lag != earlier.lag:
        raise NotTransposedError("FORM", "they are late by different lags")
    first, second = _range(later, starts[0], chronon), _range(earlier, starts[1], chronon)
    factor = synchronization_factor(first, second, since)
    if later.unbounded:
        raise _for_ever(f"since {starts[1]}")
    gone = since - chronon + later.size
    after = gone if later.slide is None else later.slide.ceil(gone)
    opened = [w.begins for w in (later, earlier) if w.begins is not None]
    return Transposed(factor, max(after + later.lag, *opened) if opened else after + later.lag, "corollary 2")


def _range(window: TimeWindow, start: int, chronon: int) -> Description:
    rate = chronon if window.slide is None else window.slide.amount
    first = ceil_to(start, chronon)
    if window.opens is not None:
        first = window.opens
    elif window.slide is not None:
        first = window.slide.ceil(first)
    lower = Linear(0, ceil_to(start, chronon)) if window.unbounded else Linear(rate, first - window.size + chronon)
    return Description(lower, Linear(rate, first), rate)


def _of_sequence(later: SequenceWindow, earlier: SequenceWindow, since: int) -> Transposed:
    _refuse_positions(later, earlier)
    if (later.lag, later.partition) != (earlier.lag, earlier.partition):
        raise NotTransposedError("FORM", "they are late by different lags, or divided by different columns")
    first, second = (Description(w.alpha, w.beta, w.rate.amount) for w in (later, earlier))
    factor = synchronization_factor(first, second, since)
    if later.alpha.slope:
        number = later.alpha.first_reaching(since)
    elif later.alpha(0) >= since:
        number = 0
    else:
        raise _for_ever(f"since {earlier.alpha(0)}")
    after = later.beta(0) + later.rate.amount * number + later.lag
    return Transposed(factor, after, "corollary 2" if first.follows_its_rate else "property 4")


def _refuse_positions(*windows: WindowSpec) -> None:
    """D and K of windows that count elements depend on how many came between the starts, which no plan knows."""
    for window in windows:
        rates = [getattr(window, name, None) for name in ("slide", "rate")]
        by_rows = any(getattr(rate, "axis", None) is Axis.ROWS for rate in rates)
        if by_rows or window.counts_rows or getattr(window, "bounds", Axis.TIME) is Axis.ROWS:
            detail = f"{window.text or window}: how many elements come between the two starts is not known ahead"
            raise NotTransposedError("POSITIONS", detail)


def _for_ever(since: str) -> NotTransposedError:
    detail = f"elements from {since} on never leave the windows of the earlier one: only the window itself is shared"
    return NotTransposedError("FOR_EVER", detail)

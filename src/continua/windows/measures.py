"""What windows are measured by: instants or positions, rates, and bounds that move."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from continua.errors import Diagnostic, WindowError
from continua.instants import INFINITY


def require(holds: bool, condition: str, message: str, **parameters: object) -> None:
    """Refuses the description of a window that makes no sense."""
    if not holds:
        raise WindowError(Diagnostic(condition, message, parameters=parameters))


def require_size(size: int) -> None:
    """Refuses a window that covers no instant."""
    require(size > 0, "WINDOW_SIZE", "a window must cover at least one instant", size=size)


def require_lag(lag: int) -> None:
    """Refuses a window that is evaluated before its time."""
    require(lag >= 0, "WINDOW_LAG", "a lag must not be negative", lag=lag)


class Axis(Enum):
    """What a bound or a rate counts: instants of the time domain, or positions of the stream."""

    TIME = "time"
    ROWS = "rows"


@dataclass(frozen=True, slots=True)
class Rate:
    """How often a window moves: every ``amount`` instants, or every ``amount`` elements.

    Over time it moves at ``origin`` + multiples of the amount.
    """

    amount: int
    axis: Axis = Axis.TIME
    origin: int = 0

    def __post_init__(self) -> None:
        require(self.amount > 0, "WINDOW_RATE", "a slide must be positive", amount=self.amount)
        object.__setattr__(self, "origin", self.origin % self.amount)

    def floor(self, instant: int) -> int:
        """The last point at or before an instant."""
        return instant - (instant - self.origin) % self.amount

    def ceil(self, instant: int) -> int:
        """The first point at or after an instant."""
        return instant + (self.origin - instant) % self.amount


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

    def moved(self, length: int) -> Linear:
        """The bound that lies so much further."""
        return Linear(self.slope, self.start + length, None if self.least is None else self.least + length)

    def next_change(self, j: int) -> int | None:
        """The first window after j with another bound; the slope is not negative."""
        if self.slope == 0:
            return None
        if self.least is None:
            return j + 1
        return max(j, (self.least - self.start) // self.slope) + 1

    def first_reaching(self, value: int) -> int:
        """The number of the first window whose bound is at least a value; the slope is positive."""
        return 0 if value <= self(0) else -((self.start - value) // self.slope)

    def all_first_reaching(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same for many values; infinity where there is no such window."""
        if self.slope == 0:
            return np.where(values <= self(0), 0, INFINITY)
        return np.where(values <= self(0), 0, -((self.start - values) // self.slope))

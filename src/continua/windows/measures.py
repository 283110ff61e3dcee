"""What windows are measured by: instants or positions, rates, and bounds that move."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from continua.errors import Diagnostic, WindowError


def require(holds: bool, condition: str, message: str, **parameters: object) -> None:
    """Refuses the description of a window that makes no sense."""
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
        require(self.amount > 0, "WINDOW_RATE", "a slide must be positive", amount=self.amount)


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

    def first_reaching(self, value: int) -> int:
        """The number of the first window whose bound is at least a value; the slope is positive."""
        if self.least is not None and value <= self.least:
            return 0
        return max(0, -((self.start - value) // self.slope))

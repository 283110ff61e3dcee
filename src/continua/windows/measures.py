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

"""Fixed windows: time cut into sections, of which the present one counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from continua.instants import TimeDomain, ceil_to, floor_to
from continua.windows.measures import require_size
from continua.windows.occurrences import Column, Element, Occurrence, Timeline, occurring
from continua.windows.spec import Int64s, Intervals, WindowSpec
from continua.windows.spelling import Clause, Spelling, Takes, Written
from continua.windows.state import NOTHING, State, last_instants
from continua.windows.wording import length_of


@dataclass(frozen=True, slots=True)
class FixedWindow(WindowSpec):
    """Sections of ``size`` instants: an element is valid until the next section starts (PIPES 2005 eq. 10)."""

    size: int

    spellings: ClassVar = (Spelling((Clause("FIXED", Takes.LENGTH),)),)

    def __post_init__(self) -> None:
        require_size(self.size)

    @classmethod
    def of(cls, written: Written) -> FixedWindow:
        """FIXED and a length."""
        return cls(written.length("FIXED"))

    def body(self, domain: TimeDomain | None) -> str:
        """FIXED and a length."""
        return f"FIXED {length_of(self.size, domain)}"

    def content(self, stream: Timeline, t: int, column: Column) -> list[Occurrence]:  # noqa: ARG002
        """What came in the present section."""
        return stream.occurrences(floor_to(t, self.size), t)

    def element_points(self, element: Element, stream: Timeline) -> Iterable[int]:
        """When an element comes, and when its section ends."""
        instants = occurring(element, stream)
        return [*instants, *(ceil_to(t + 1, self.size) for t in instants)]

    @property
    def knows_ends(self) -> bool:
        """Always."""
        return True

    def validity(self, t: int) -> tuple[int, int]:
        """Until the next section starts."""
        return t, ceil_to(t + 1, self.size)

    def intervals(self, instants: Int64s) -> Intervals:
        """The same for many."""
        return instants, instants + 1 + (-instants - 1) % self.size, None

    @property
    def runs_empty(self) -> bool:
        """With every section."""
        return True

    @property
    def ignores_order(self) -> bool:
        """Always: elements of one instant have one fate."""
        return True

    @property
    def holds_all(self) -> bool:
        """Always."""
        return True

    @property
    def lengths(self) -> tuple[int, ...]:
        """That of a section."""
        return (self.size,)

    @property
    def lifetime(self) -> int:
        """That of a section."""
        return self.size

    def last_change(self, t: int) -> int:
        """When its section has ended."""
        return ceil_to(t + 1, self.size)

    def holds(self, stream: str) -> State:
        """A section."""
        return last_instants(self.size, stream)

    def remembers(self, stream: str) -> State:  # noqa: ARG002
        """Ends are known in advance."""
        return NOTHING

    def live_rows(self, rate: float, horizon: float, partitions: float) -> float:  # noqa: ARG002
        """On average half a section."""
        return rate * self.size / 2

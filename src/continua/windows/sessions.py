"""Session windows: the elements of the session that is open, where sessions end with a pause."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from continua.instants import TimeDomain
from continua.windows.measures import require_size
from continua.windows.occurrences import Column, Element, Occurrence, Timeline, occurring, partitions
from continua.windows.spec import WindowSpec
from continua.windows.spelling import Clause, Spelling, Takes, Written
from continua.windows.state import State
from continua.windows.wording import partition_text, range_text


@dataclass(frozen=True, slots=True)
class SessionWindow(WindowSpec):
    """The elements of the session that is open, of each partition if there are any.

    An element keeps its session open for ``size`` instants, its own included: one that comes by then belongs to the
    session, and when none does the session is over. With ``GAP g`` the size is g + 1, so that elements exactly g apart
    belong together.
    """

    size: int
    partition: tuple[str, ...] = ()

    spellings: ClassVar = (Spelling((Clause("SESSION", Takes.NOTHING), Clause("GAP", Takes.LENGTH)), partitioned=True),)

    def __post_init__(self) -> None:
        require_size(self.size)

    @classmethod
    def of(cls, written: Written) -> SessionWindow:
        """SESSION GAP and a length."""
        gap = written.length("GAP")
        return cls(gap - gap % written.chronon + written.chronon, written.partition)

    def body(self, domain: TimeDomain | None) -> str:
        """SESSION GAP and a length."""
        return f"{partition_text(self.partition)}SESSION GAP {range_text(self.size, domain)}"

    def content(self, stream: Timeline, t: int, column: Column) -> list[Occurrence]:
        """The union of the open sessions of the parts of the stream."""
        parts = partitions(stream.until(t), [column(name) for name in self.partition])
        return [o for part in parts for o in self._open(part, t)]

    def _open(self, arrived: list[Occurrence], t: int) -> list[Occurrence]:
        """From t back, as long as no pause is too long."""
        found: list[Occurrence] = []
        later = t
        for o in reversed(arrived):
            if later - o.instant >= self.size:
                break
            found.append(o)
            later = o.instant
        return found[::-1]

    def element_points(self, element: Element, stream: Timeline) -> Iterable[int]:
        """When an element comes, and when its session is over if it is the last."""
        instants = occurring(element, stream)
        return [*instants, *(t + self.size for t in instants)]

    @property
    def runs_empty(self) -> bool:
        """With every pause."""
        return True

    @property
    def ignores_order(self) -> bool:
        """Always: elements of one instant have one fate."""
        return True

    @property
    def holds_all(self) -> bool:
        """Always: an element is in its own session."""
        return True

    @property
    def lengths(self) -> tuple[int, ...]:
        """For how long an element keeps its session open."""
        return (self.size,)

    def last_change(self, t: int) -> int:
        """When its session is over, if it is the last."""
        return t + self.size

    def holds(self, stream: str) -> State:
        """The session that is open."""
        by = f" per {', '.join(self.partition)}" if self.partition else ""
        return State(True, f"the open session of {stream}{by}")

    def live_rows(self, rate: float, horizon: float, partitions: float) -> float:  # noqa: ARG002
        """A session is thought to be a few times as long as the pause that ends it."""
        return rate * min(4 * self.size, horizon)

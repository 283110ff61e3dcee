"""Windows that hold nothing: a range of no length whose bounds leave its first instant out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from continua.instants import TimeDomain
from continua.windows.occurrences import Column, Element, Occurrence, Timeline
from continua.windows.spec import Int64s, Intervals, WindowSpec
from continua.windows.state import NOTHING, State


@dataclass(frozen=True, slots=True)
class EmptyWindow(WindowSpec):
    """What ``[RANGE 0]`` is with half-open bounds: the elements of (t - 0, t], of which there are none."""

    def body(self, domain: TimeDomain | None) -> str:  # noqa: ARG002
        """RANGE 0, which is empty by half-open bounds alone."""
        return "RANGE 0"

    def content(self, stream: Timeline, t: int, column: Column) -> list[Occurrence]:  # noqa: ARG002
        """Nothing."""
        return []

    def element_points(self, element: Element, stream: Timeline) -> Iterable[int]:  # noqa: ARG002
        """None: nothing enters or leaves."""
        return ()

    def evaluated_at(self, stream: Timeline, last: int) -> set[int]:  # noqa: ARG002
        """Never."""
        return set()

    @property
    def knows_ends(self) -> bool:
        """Always: no element is ever in it."""
        return True

    def validity(self, t: int) -> tuple[int, int] | None:  # noqa: ARG002
        """Never."""
        return None

    def intervals(self, instants: Int64s) -> Intervals:
        """The same for many."""
        return instants, instants, np.zeros(instants.size, np.bool_)

    @property
    def runs_empty(self) -> bool:
        """Always."""
        return True

    @property
    def ignores_order(self) -> bool:
        """Always."""
        return True

    @property
    def span(self) -> int:
        """It holds no instant."""
        return 0

    @property
    def lifetime(self) -> int:
        """None at all."""
        return 0

    def last_change(self, t: int) -> int:
        """No element makes a difference."""
        return t

    def holds(self, stream: str) -> State:  # noqa: ARG002
        """Nothing."""
        return NOTHING

    def remembers(self, stream: str) -> State:  # noqa: ARG002
        """Nothing."""
        return NOTHING

    def live_rows(self, rate: float, horizon: float, partitions: float) -> float:  # noqa: ARG002
        """None."""
        return 0.0

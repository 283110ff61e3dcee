"""Landmark windows: everything since a fixed instant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from continua.instants import INFINITY, TimeDomain
from continua.windows.occurrences import Column, Occurrence, Timeline
from continua.windows.spec import Int64s, Intervals, WindowSpec
from continua.windows.spelling import Clause, Spelling, Takes, Written
from continua.windows.state import NOTHING, State
from continua.windows.wording import instant_text


@dataclass(frozen=True, slots=True)
class LandmarkWindow(WindowSpec):
    """Everything since a fixed instant."""

    start: int

    spellings: ClassVar = (Spelling((Clause("LANDMARK", Takes.INSTANT),)),)

    @classmethod
    def of(cls, written: Written) -> LandmarkWindow:
        """LANDMARK and an instant."""
        return cls(written.instant("LANDMARK"))

    def body(self, domain: TimeDomain | None) -> str:
        """LANDMARK and an instant."""
        return f"LANDMARK {instant_text(self.start, domain)}"

    def content(self, stream: Timeline, t: int, column: Column) -> list[Occurrence]:  # noqa: ARG002
        """What came since the landmark."""
        return stream.occurrences(self.start, t)

    @property
    def knows_ends(self) -> bool:
        """Always: there are none."""
        return True

    def validity(self, t: int) -> tuple[int, int] | None:
        """For ever, from the landmark on."""
        return (t, INFINITY) if t >= self.start else None

    def intervals(self, instants: Int64s) -> Intervals:
        """The same for many."""
        kept = instants >= self.start
        return instants, np.full_like(instants, INFINITY), None if bool(kept.all()) else kept

    @property
    def never_forgets(self) -> bool:
        """Always."""
        return True

    @property
    def ignores_order(self) -> bool:
        """Always: elements of one instant have one fate."""
        return True

    def last_change(self, t: int) -> int:
        """When it comes."""
        return t

    def holds(self, stream: str) -> State:
        """Everything since the landmark."""
        return State(False, f"everything since instant {self.start} of {stream}")

    def remembers(self, stream: str) -> State:  # noqa: ARG002
        """Nothing ever leaves."""
        return NOTHING

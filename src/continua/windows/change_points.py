"""At which instants a relation can change: regular points, events, or any instant; and when a window is evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Points:
    """The instants ``offset`` + multiples of ``step``."""

    step: int
    offset: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "offset", self.offset % self.step)

    def contains(self, instant: int) -> bool:
        """Whether it is one of the points."""
        return instant % self.step == self.offset

    def may_contain(self, instant: int) -> bool:
        """The same: these points are known."""
        return self.contains(instant)


@dataclass(frozen=True, slots=True)
class EventPoints:
    """The instants at which something happens on a stream; which they are is known only when it does."""

    stream_name: str

    def contains(self, instant: int) -> bool:  # noqa: ARG002
        """Of no instant is it known."""
        return False

    def may_contain(self, instant: int) -> bool:  # noqa: ARG002
        """Of every instant it is possible."""
        return True


EVERY_INSTANT = Points(1, 0)


@dataclass(frozen=True, slots=True)
class AtMultiples:
    """A window is evaluated at ``offset`` + multiples of ``step``, late by ``lag``, from its first element on."""

    step: int
    lag: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class AtSteps:
    """A window is evaluated at ``first`` and every ``step`` instants from there, whatever comes."""

    step: int
    first: int


@dataclass(frozen=True, slots=True)
class AtEveryNth:
    """A window is evaluated whenever ``rows`` more elements have come."""

    rows: int


@dataclass(frozen=True, slots=True)
class AtElements:
    """A window is evaluated whenever an element comes."""


@dataclass(frozen=True, slots=True)
class AtOwnRhythm:
    """When a window is evaluated is found from its stream, by the window's own description."""


Evaluations: TypeAlias = AtMultiples | AtSteps | AtEveryNth | AtElements | AtOwnRhythm

"""Physical operators around points in time: the clock, points of refresh, what a relation holds at points.

Where the input ends and an answer would go on for ever, it is followed up to an instant that depends on the input.
Such instants come from nodes with one column of instants, the largest of which counts (:mod:`followed_until`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from continua.algebra.expr import Expr
from continua.algebra.expression_text import physical_text
from continua.physical.distribution import Alone, Anywhere, Distribution, Everywhere
from continua.physical.nodes import Node
from continua.physical.step_sql import latest_sql
from continua.windows.periodic import Periodic
from continua.windows.spec import WindowSpec


@dataclass(frozen=True)
class LastInstant(Node):
    """An instant that the rows of a batch tell: up to there answers are followed."""

    stateful: ClassVar[bool] = False

    @property
    def retracts(self) -> bool:
        return self.inputs[0].retracts

    def keeps(self, column: int) -> int | None:  # noqa: ARG002
        return None


@dataclass(frozen=True)
class Latest(LastInstant):
    """The largest value of an expression over the rows."""

    value: Expr

    def __getstate__(self) -> dict[str, object]:
        """With its text, so that it is written once and not in every process that runs it."""
        _ = self.duckdb
        return self.__dict__

    @cached_property
    def duckdb(self) -> str:
        """It as a query over the table ``input``, in DuckDB's SQL."""
        return latest_sql(self.value)

    @property
    def title(self) -> str:
        return f"Latest {physical_text(self.value)}"


@dataclass(frozen=True)
class LastChange(LastInstant):
    """The last instant at which rows make a difference to a window."""

    spec: WindowSpec

    @property
    def title(self) -> str:
        return f"Last change of {self.spec.text}"


@dataclass(frozen=True)
class Earliest(Node):
    """One of the rows of a batch that start first, without columns: of a stream that others wait for no more counts."""

    stateful: ClassVar[bool] = False

    @property
    def retracts(self) -> bool:
        return False

    def keeps(self, column: int) -> int | None:  # noqa: ARG002
        return None

    @property
    def title(self) -> str:
        return "Earliest"


@dataclass(frozen=True)
class Points(Node):
    """Points in time, which one partition finds for all."""

    goes_on: ClassVar[bool] = True

    @property
    def requires(self) -> tuple[Distribution, ...]:
        return tuple(Alone() for _ in self.inputs)

    @property
    def retracts(self) -> bool:
        return False


@dataclass(frozen=True)
class Clock(Points):
    """A row for every chronon since the start, never to leave (SyncSQL 3.2); its inputs say how far it is followed."""

    start: int
    chronon: int
    least: int
    further: int
    """How much further it goes on."""

    @property
    def title(self) -> str:
        return "Clock"


@dataclass(frozen=True)
class Ticks(Points):
    """The points ``offset`` + multiples of ``step``; the inputs say how far they are followed.

    Before these there is a stream, if the points begin with its first element (``waits``).
    """

    step: int
    offset: int
    start: int
    waits: bool
    lag: int
    least: int
    """How far it goes on at least."""

    @property
    def title(self) -> str:
        return f"Ticks every {self.step}"


@dataclass(frozen=True)
class EveryNth(Points):
    """The instants of every so many-th element."""

    rows: int

    @property
    def title(self) -> str:
        return f"Every {self.rows} rows"


@dataclass(frozen=True)
class At(Node):
    """What a relation holds at points, as a stream of elements (Rstream over synchronized inputs).

    Inputs: the relation, the points, what it holds at the start, how far it is followed. If it holds something at the
    start, the points in time (``earlier``: steps and offsets) before the first point count too.
    """

    goes_on: ClassVar[bool] = True
    start: int
    chronon: int
    earlier: tuple[tuple[int, int], ...]
    least: int
    endless: bool
    """Whether content at the end, where points never end, is no error."""

    @property
    def requires(self) -> tuple[Distribution, ...]:
        return Anywhere(), *(Everywhere() for _ in self.inputs[1:])

    @property
    def retracts(self) -> bool:
        return False

    @property
    def title(self) -> str:
        return "Content at points"


@dataclass(frozen=True)
class Moments(Node):
    """Rows cut into chronons, so that NOW is one instant in each; at the end of the input they are followed as far as
    the other inputs say, and what is there then stays."""

    goes_on: ClassVar[bool] = True
    start: int
    chronon: int
    least: int

    @property
    def requires(self) -> tuple[Distribution, ...]:
        return Anywhere(), *(Everywhere() for _ in self.inputs[1:])

    @property
    def title(self) -> str:
        return "Cut into chronons"


@dataclass(frozen=True)
class ToPoints(Node):
    """A relation that changes only at instants that recur: both ends rounded up to the next one."""

    stateful: ClassVar[bool] = False
    points: Periodic

    @property
    def title(self) -> str:
        count, period = len(self.points.stretches), self.points.period
        return f"Rounded up to {count} stretch{'es' if count > 1 else ''} of every {period} instants"


@dataclass(frozen=True)
class RoundUp(Node):
    """A relation that changes only at the points of a synchronization stream: the right input holds them."""

    @property
    def requires(self) -> tuple[Distribution, ...]:
        return Anywhere(), Everywhere()

    @property
    def title(self) -> str:
        return "Synchronization by events"


@dataclass(frozen=True)
class Rhythm(Points):
    """The instants at which a window with a rhythm of its own is evaluated, found from its stream."""

    spec: WindowSpec
    start: int
    chronon: int

    @property
    def title(self) -> str:
        return f"Evaluations of {self.spec.text}"

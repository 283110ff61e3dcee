"""The leaves of a plan: streams, stored relations, the clock, constants."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import ClassVar

from continua.algebra.base import Kind, Plan, require
from continua.algebra.schema import Field
from continua.instants import TimeDomain
from continua.types import BIGINT, TIMESTAMP, Value


class Rule(Enum):
    """What rows of a source are asked before any query sees them; those that fail are rejected."""

    TAGS = "tags"
    """A modification fits the relation as it is: nothing is there twice, and what is not there does not change."""
    DISJOINT = "disjoint"
    """No element begins while another one of its key lasts."""
    WITHIN = "within"
    """No element has the key of another one that came a certain time before, or less."""


@dataclass(frozen=True, slots=True)
class Check:
    """A rule for the rows of a source, by their keys; without a key a row is its own."""

    rule: Rule
    told_as: str
    """The name under which rejected rows are told."""
    key: tuple[str, ...]
    """The columns of the key, as they are declared."""
    within: int = 0
    domain: TimeDomain = TimeDomain.TICKS
    skips: bool = False
    """Whether rejected rows are kept apart; otherwise the first of them is an error."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Some rows of a stream: those whose seed, source partition and offset have a hash below a bound."""

    percent: Decimal
    seed: int

    @property
    def below(self) -> int:
        """The bound of the hashes, which have 64 bits."""
        return int(self.percent * (1 << 64) / 100)

    @property
    def text(self) -> str:
        """It as it could be written."""
        return f"SAMPLE {format(self.percent.normalize(), 'f')} PERCENT REPEATABLE ({self.seed})"


@dataclass(frozen=True)
class Source(Plan):
    """A base stream (CQL 4, PIPES 2.3.1). Its ordering column is hidden. Holds no state but that of its checks."""

    kind: ClassVar[Kind] = Kind.STREAM
    name: str
    alias: str
    columns: tuple[Field, ...]
    domain: TimeDomain = TimeDomain.TICKS
    key: tuple[str, ...] = ()
    interval: bool = False
    checks: tuple[Check, ...] = ()
    sample: Sample | None = None
    """Which of the rows that pass the checks there are."""
    position: str | None = None
    """The column by which elements of one instant are in order (Astral 3.2); of one position, as they arrived."""
    batch: str | None = None
    """The column that tells batches of one instant apart (Astral, definition 2), which are in its order."""

    @property
    def order(self) -> tuple[str, ...]:
        """The columns by which elements of one instant are in order."""
        return tuple(name for name in (self.batch, self.position) if name is not None)

    def __post_init__(self) -> None:
        self._derive(self.columns)


@dataclass(frozen=True)
class BaseRelation(Plan):
    """A stored relation: the same at every instant, unless timestamped updates change it."""

    name: str
    alias: str
    columns: tuple[Field, ...]
    key: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._derive(self.columns)


@dataclass(frozen=True)
class TaggedSource(Plan):
    """A stream of timestamped inserts, deletes and updates against a relation (SyncSQL 2.1)."""

    kind: ClassVar[Kind] = Kind.TAGGED
    name: str
    alias: str
    columns: tuple[Field, ...]
    domain: TimeDomain = TimeDomain.TICKS
    key: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()

    def __post_init__(self) -> None:
        self._derive(self.columns)


@dataclass(frozen=True)
class Clock(Plan):
    """The clock stream: +<t>t at every instant t (SyncSQL 3.2)."""

    kind: ClassVar[Kind] = Kind.TAGGED
    alias: str
    domain: TimeDomain = TimeDomain.TICKS

    def __post_init__(self) -> None:
        time = TIMESTAMP if self.domain is TimeDomain.MICROSECONDS else BIGINT
        self._derive((Field(f"{self.alias}.Timepoint", time, nullable=False),))


@dataclass(frozen=True)
class Values(Plan):
    """A constant relation."""

    columns: tuple[Field, ...]
    rows: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        for row in self.rows:
            require(len(row) == len(self.columns), "ROW_WIDTH", "a row of another width", row=row)
        self._derive(self.columns)

"""The leaves of a plan: streams, stored relations, the clock, constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from continua.algebra.base import Kind, Plan, require
from continua.algebra.schema import Field
from continua.instants import TimeDomain
from continua.types import BIGINT, TIMESTAMP, Value


@dataclass(frozen=True)
class Source(Plan):
    """A base stream (CQL 4, PIPES 2.3.1). Its ordering column is hidden. Holds no state."""

    kind: ClassVar[Kind] = Kind.STREAM
    name: str
    alias: str
    columns: tuple[Field, ...]
    domain: TimeDomain = TimeDomain.TICKS
    key: tuple[str, ...] = ()
    interval: bool = False

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

"""Between relations and streams: views of tagged streams, Istream and its kin, and how results are handed out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar

from continua.algebra.base import Kind, Plan, kind_of, of_kind, require
from continua.algebra.schema import Field
from continua.algebra.traverse import domain_of
from continua.instants import TimeDomain
from continua.types import BIGINT, TIMESTAMP


@dataclass(frozen=True)
class RelationalView(Plan):
    """The relation that a tagged stream modifies, with the timestamp TS of each row (SyncSQL definition 1).

    With ``sync`` it is modified only at the points of that stream (SyncSQL definition 2). State: the relation, and
    the modifications that wait for the next point.
    """

    input: Plan
    sync: Plan | None = None
    timestamp: str | None = None

    def __post_init__(self) -> None:
        of_kind(self.input, Kind.TAGGED, "the relational view")
        if self.sync is not None:
            require(
                len(self.sync.schema) == 1,
                "SYNC_COLUMNS",
                "a synchronization stream has one attribute, the time point",
                columns=list(self.sync.schema.names),
            )
        extra: tuple[Field, ...] = ()
        if self.timestamp is not None:
            time = TIMESTAMP if domain_of(self.input) is TimeDomain.MICROSECONDS else BIGINT
            extra = (Field(self.timestamp, time, nullable=False),)
        self._derive(self.input.schema.fields + extra)


@dataclass(frozen=True)
class Synchronize(Plan):
    """A relation as it was at the last multiple of ``step``: a slide over a relation (SyncSQL 3.1)."""

    input: Plan
    step: int
    offset: int = 0

    def __post_init__(self) -> None:
        of_kind(self.input, Kind.RELATION, "synchronization")
        require(self.step > 0, "WINDOW_RATE", "a slide must be positive", amount=self.step)
        object.__setattr__(self, "schema", self.input.schema)


class StreamOperator(Enum):
    """Relation to stream (CQL 5.1)."""

    ISTREAM = "Istream"
    DSTREAM = "Dstream"
    RSTREAM = "Rstream"


@dataclass(frozen=True)
class ToStream(Plan):
    """Istream, Dstream, Rstream by the formulas of CQL 5.1. State: the relation at the instant before.

    An Rstream may be handed out coalesced or split (PIPES 2005 4.2.5), which changes its elements and not what they
    stand for: ``as_intervals`` whatever its rows are, in intervals of at most ``longest`` instants.
    """

    kind: ClassVar[Kind] = Kind.STREAM
    operator: StreamOperator
    input: Plan
    as_intervals: bool = False
    longest: int | None = None

    def __post_init__(self) -> None:
        of_kind(self.input, Kind.RELATION, self.operator.value)
        is_interval = self.operator is StreamOperator.RSTREAM
        require(is_interval or not self.as_intervals, "SPLIT_LENGTH", "only an Rstream is handed out as intervals")
        require(self.longest is None or self.longest > 0, "SPLIT_LENGTH", "an element has at least one instant")
        self._derive(tuple(replace(f, hidden=False) for f in self.input.schema))


@dataclass(frozen=True)
class Tag(Plan):
    """A tagged stream: of a relation's changes (the operator ξ, SyncSQL 4.2.1; STREAMED output), or of a raw
    stream's elements by key (the tagger, SyncSQL 2.1). ``single``: the relation has at most one row, so that its
    changes are updates. State: the key values, with their rows.
    """

    kind: ClassVar[Kind] = Kind.TAGGED
    input: Plan
    key: tuple[str, ...] = ()
    single: bool = False

    def __post_init__(self) -> None:
        visible = tuple(f for f in self.input.schema if not f.hidden)
        for name in self.key:
            require(
                any(f.name == name for f in visible), "UNKNOWN_COLUMN", f"there is no key column {name}", column=name
            )
        self._derive(visible)


@dataclass(frozen=True)
class Complete(Plan):
    """COMPLETE output: the relation itself, to be read at any instant (SyncSQL 2.1)."""

    input: Plan

    def __post_init__(self) -> None:
        of_kind(self.input, Kind.RELATION, "COMPLETE")
        object.__setattr__(self, "schema", self.input.schema)


@dataclass(frozen=True)
class Split(Plan):
    """Intervals cut to pieces of at most ``length`` instants: no effect on the logical stream (PIPES 2005 4.2.5)."""

    input: Plan
    length: int = 1

    def __post_init__(self) -> None:
        require(self.length > 0, "SPLIT_LENGTH", "a piece has at least one instant", length=self.length)
        object.__setattr__(self, "schema", self.input.schema)

    @property
    def yields(self) -> Kind:
        """As its input."""
        return kind_of(self.input)


@dataclass(frozen=True)
class Coalesce(Plan):
    """Adjacent intervals of equal rows merged: no effect on the logical stream (PIPES 2005 4.2.5)."""

    input: Plan
    max_length: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", self.input.schema)

    @property
    def yields(self) -> Kind:
        """As its input."""
        return kind_of(self.input)

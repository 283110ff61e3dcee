"""What the driver sends to workers for an epoch, and what their tasks report of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from continua.physical.epoch import Epoch
from continua.physical.placement import Placement
from continua.runtime.checkpoint.partition_state import DurableState
from continua.runtime.checkpoint.store import Address, Numbered
from continua.runtime.checkpoint.succession import Terms
from continua.runtime.fingerprints import Function
from continua.sources.broken_keys import Broken
from continua.sources.frame_sources import FrameSource
from continua.sources.lateness import Promise
from continua.sources.split_readings import Reading
from continua.sources.stretches import FileSource


@dataclass(frozen=True)
class Program:
    """The graph of all queries, as workers load it."""

    placement: Placement
    functions: tuple[Function, ...]
    partitions: int


class Shared(Protocol):
    """What a driver has sent to all workers, once."""

    @property
    def value(self) -> bytes:
        """What was sent, as the worker that asks has received it."""
        ...


@dataclass(frozen=True, slots=True)
class Staged:
    """A file that a task has written for a sink: how many answers are in it, its name and its digest."""

    rows: int
    file: str
    digest: str


class ResultWriter(Protocol):
    """Writes what a task yields for a query to where its answers go, so that it can be published when it is certain."""

    def staging(
        self, epoch: Numbered, level: int, partition: int, durable: bool
    ) -> AbstractContextManager[ResultStaging]:
        """Takes the rows of an epoch; at the end of the block they are written, and replace an earlier attempt's."""
        ...


class ResultStaging(Protocol):
    """Takes what a task yields for a query, part by part in the order of time."""

    def add(self, rows: pa.Table) -> None:
        """Adds rows."""
        ...

    @property
    def staged(self) -> Staged:
        """What was written, behind the end of the block."""
        ...


@dataclass(frozen=True)
class Job:
    """One epoch, as it is sent to workers."""

    program: str
    """The name of the graph that runs."""
    store: Address
    """The store in which everything is kept that outlives the task."""
    scratch: str
    """The folder of this run for state that is being worked on, if it is not worked on in memory.

    It is a path, or a name where workers have folders of their own.
    """
    epoch: Epoch
    kept: Mapping[tuple[int, int], DurableState] = field(default_factory=dict)
    """For each level and partition, what is durable of its state."""
    joined: Mapping[str, int] = field(default_factory=dict)
    """By their ids, the first epochs of results that joined after one which may have to be run again: they have no part
    in that."""
    snapshot_bytes: int | None = None
    """How many bytes a partition receives until it takes a snapshot; None: as many as its state has."""
    durable: bool = False
    """Whether what is written is on the disk itself before the epoch is finished."""
    sources: Mapping[str, FileSource] = field(default_factory=dict)
    """The sources whose rows are in files."""
    frame_sources: Mapping[str, FrameSource] = field(default_factory=dict)
    """The sources that Spark reads."""
    readings: tuple[Reading, ...] = ()
    """The splits of files that the epoch reads."""
    frames: tuple[str, ...] = ()
    """The sources that Spark reads, whole, in the epoch."""
    promises: Mapping[str, Promise] = field(default_factory=dict)
    """What is known of sources whose rows arrive."""
    writers: Mapping[str, ResultWriter] = field(default_factory=dict)
    """Of the queries whose answers tasks write to where they go."""
    keeps_results: bool = True
    """Whether the results of such queries are kept here as well."""
    keeps_logs: bool = True
    """Whether what partitions receive is kept, so that their state can be made again elsewhere."""
    in_memory: bool = False
    """Whether all tasks run in this process, with state in its memory."""
    shows_rows: bool = False
    """Whether the driver is shown some of the rows that are read of files."""
    single_epoch: bool = False
    """Whether there is no other epoch, so that no state has to outlive its task."""
    shared: Shared | None = None
    """The program, as it was sent to workers; None where they are in this process."""
    terms: Terms = field(default_factory=Terms)
    """The terms of the driver by which what is kept is named, of this epoch and of those before."""
    tasks: int = 1
    """How many tasks a level has at most: task i works on partitions i, i + tasks, and so on."""
    living: tuple[str, ...] = ()
    """The names of the folders of all runs that the driver has, where workers have folders of their own."""

    @property
    def name(self) -> Numbered:
        """The number of the epoch and its term, by which what it writes is named."""
        return Numbered(self.epoch.number, self.store.term)


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What a partition of a level tells the driver."""

    level: int
    partition: int
    kept: DurableState
    results: dict[str, int]
    state_rows: dict[str, int]
    rows: dict[str, int]
    state_bytes: int
    operator_bytes: dict[str, int] = field(default_factory=dict)
    """What the state of each operator takes."""
    seconds: float = 0.0
    latest: dict[str, int] = field(default_factory=dict)
    """For each query the latest instant at which a row of its result starts."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The files with results that were written, and their digests."""
    staged: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By query, the same of files for its sink."""
    took: Mapping[str, float] = field(default_factory=dict)
    """How many seconds each operator took."""
    written: int = 0
    """How many rows the files with results have: those that several queries yield are there once."""
    broken: tuple[Broken, ...] = ()
    """The rows that checks have rejected."""
    loaded: bool = False
    """Whether the state was not where the task ran, so that it was loaded from the store."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """How many seconds the worker was in each stage since it told them last."""


@dataclass(frozen=True, slots=True)
class ReadReport:
    """What a task that reads sources tells the driver: the seconds of all of it; of each operator those, and rows."""

    seconds: float
    took: Mapping[str, float] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    samples: Mapping[str, pa.Table] = field(default_factory=dict)
    """Some of the rows of sources that the driver does not see."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """How many seconds the worker was in each stage since it told them last."""

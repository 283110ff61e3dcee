"""What a live run is told when it begins: how it works, and what is around it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from continua.catalog import Retention, StreamInfo
from continua.objects.urls import Place
from continua.runtime.engine import DURABLE
from continua.runtime.inputs import InputReader
from continua.runtime.intake import Intake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """How a live run works: its master is a Spark session or, without one, this process."""

    checkpoint: Place | None = None
    partitions: int = 2
    """How many tasks work on a level at once."""
    slots: int | None = None
    """Into how many partitions state is divided from the beginning of a checkpoint on; None: as the engine does."""
    idle_timeout: float | None = None
    """Seconds after which a silent source is not waited for."""
    trigger: Mapping[str, Any] | None = None
    durable: bool = DURABLE
    """Whether a finished epoch is on the disk itself, and so there after the power has failed."""
    retention: Retention | None = None
    """How much history is kept; None: as SET retention says."""
    max_rows: int | None = None
    """At most so many rows of each source are in an epoch."""
    asked: bool = True
    """Whether somebody may ask what streams hold; else nothing is kept for that alone."""
    until: int | None = None
    """The last instant that is answered; None: there is none."""


@dataclass(frozen=True)
class Surroundings:
    """Where the rows of a live run come from, and where what it leaves out and what it writes goes."""

    inputs: InputReader
    spark: SparkSession | None = None
    frames: Mapping[str, tuple[StreamInfo, DataFrame]] = field(default_factory=dict)
    """Streaming DataFrames and the streams whose rows they are."""
    clock: Callable[[], int] = lambda: time.time_ns() // 1000
    folder: Path = Path()
    rejects: Path = Path("rejected")
    lock: RLock = field(default_factory=RLock)
    """Held by a session while it changes what is defined, and while sources are looked at.

    Whoever works on a run holds the lock of the run too, and that first.
    """
    intake: Intake | None = None
    """Where rows are taken in that come once; None for a run that does so itself."""
    group: str = ""
    """The group of the queries of the run, if they are in one."""
    emptied: Callable[[], None] = lambda: None
    """Is called when the last query has left, by a thread that may be at work on the run: it must not wait for that."""


@dataclass(frozen=True, slots=True)
class Beside:
    """How far the runs of other groups are: one that begins later begins after what they have read."""

    latest: int
    """The latest instant that any of them has closed or read a row of."""
    taken: int
    """The last batch of what was taken in."""

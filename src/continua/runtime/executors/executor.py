"""Who runs the levels of an epoch: this process alone, or Spark (:mod:`continua.runtime.executors.on_spark`)."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import pyarrow as pa

from continua.runtime.checkpoint.store import Address
from continua.runtime.jobs import Job, Program, Shared
from continua.runtime.level_zero import run_arrivals, run_reading, run_sources
from continua.runtime.loaded_programs import keep_here
from continua.runtime.row_blocks import REPORT, Block
from continua.runtime.tasks import run_level
from continua.sources.split_readings import following
from continua.sources.stretches import Summary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Tables = Mapping[str, pa.Table]
Argument = TypeVar("Argument")
Result = TypeVar("Result")


class Executor(Protocol):
    """Runs an epoch: the rows of sources in, the messages to the driver out."""

    @property
    def cores(self) -> int:
        """How many tasks run at once."""
        ...

    @property
    def forgets(self) -> bool:
        """Whether a worker that is lost takes the run with it, so that nothing need be kept to go on without it."""
        ...

    @property
    def shares_folders(self) -> bool:
        """Whether tasks see the folders for scratch that the driver sees."""
        ...

    @property
    def in_this_process(self) -> bool:
        """Whether all tasks run in this process, so that they can share its memory."""
        ...

    @property
    def spark(self) -> SparkSession | None:
        """The session of Spark that runs tasks, if it does."""
        ...

    def share(self, store: Address, name: str, program: Program) -> Shared | None:
        """Has all tasks find a program; what is to be given to them for that, if anything."""
        ...

    def where_rows_are_read(
        self, function: Callable[[Argument], Result], arguments: Sequence[Argument]
    ) -> list[Result]:
        """The results of a function that reads some rows: it runs where rows are read, not in the driver."""
        ...

    def blind(self, path: Path) -> list[str]:
        """The machines whose tasks do not see a file that is here, as it is here."""
        ...

    @property
    def done(self) -> float:
        """Which share of what runs now is done, from 0 to 1: any thread may ask."""
        ...

    def run(self, job: Job, fed: Tables, levels: int, partitions: int, arrivals: bool = False) -> list[Block]:
        """Runs all levels on the splits that the job names and on the rows that are fed.

        With ``arrivals`` rows that are fed too late are kept apart.
        """
        ...


class InProcess:
    """Runs all partitions one after the other in this process: for small inputs and for debugging."""

    cores = 1
    forgets = True
    shares_folders = True
    in_this_process = True
    spark = None

    def __init__(self) -> None:
        self._tasks = 1
        self._ended = 0

    @property
    def done(self) -> float:
        """The share of tasks that have ended."""
        return min(self._ended / self._tasks, 1.0)

    def share(self, store: Address, name: str, program: Program) -> None:
        """Tasks find it in the memory that they share."""
        keep_here(store, name, program)

    def where_rows_are_read(
        self, function: Callable[[Argument], Result], arguments: Sequence[Argument]
    ) -> list[Result]:
        """The results of a function, here."""
        return [function(argument) for argument in arguments]

    def blind(self, path: Path) -> list[str]:  # noqa: ARG002
        """All tasks are here."""
        return []

    def run(self, job: Job, fed: Tables, levels: int, partitions: int, arrivals: bool = False) -> list[Block]:
        """Runs all levels."""
        self._tasks, self._ended = len(job.readings) + (levels - 1) * partitions or 1, 0
        blocks = run_fed(job, fed, arrivals) if fed or not job.readings else []
        last: Summary | None = None
        for reading in job.readings:
            read = run_reading(job, following(job.sources[reading.source], reading, last))
            last = next(iter(summaries(read)), None)
            blocks += read
            self._ended += 1
        for level in range(1, levels):
            parts, blocks = divided(blocks, partitions), []
            for number, mine in enumerate(parts):
                blocks += run_level(job, level, number, mine)
                self._ended += 1
        return blocks


def run_fed(job: Job, fed: Tables, arrivals: bool) -> list[Block]:
    """Level 0 for rows that are here."""
    return run_arrivals(job, count(), fed) if arrivals else run_sources(job, 0, fed)


def summaries(blocks: list[Block]) -> list[Summary]:
    """What tasks tell of the splits that they have read."""
    return [pickle.loads(b.data) for b in blocks if b.level == REPORT and b.channel == "summary"]


def divided(blocks: list[Block], partitions: int) -> list[list[Block]]:
    """The blocks of each partition; messages to the driver go with the first."""
    parts: list[list[Block]] = [[] for _ in range(partitions)]
    for block in blocks:
        parts[0 if block.level == REPORT else block.partition].append(block)
    return parts

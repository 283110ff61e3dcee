"""Epochs on Spark: tasks read the splits of files, and blocks of rows move through Spark's exchange.

Where all tasks are on one machine, an epoch of files is a Spark job for each level: the rows of a block stay in a file,
the block says where, and only that goes through the driver. On several machines a small epoch is the same with the
blocks themselves, and a large one is one job: a stage that reads, and a stage for each further level. What moves
between its stages are pairs of a partition's number and a block. Spark keeps what an exchange has written, so that
splits that have to be read again are read alone. What Spark reads itself always goes through its exchange.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from continua.catalog import StreamInfo
from continua.errors import ContinuaError, Diagnostic, SourceError
from continua.physical.asked_of_sources import asked_of
from continua.runtime.checkpoint.store import Address
from continua.runtime.executors.block_files import BlockFolder, block_folder, in_files
from continua.runtime.executors.executor import Argument, Result, Tables, divided, run_fed, summaries
from continua.runtime.executors.frame_rows import frame_of
from continua.runtime.executors.placing import Item, Placing
from continua.runtime.jobs import Job, Program, Shared
from continua.runtime.late_rows import ARRIVED
from continua.runtime.level_zero import run_arrivals, run_frame, run_reading
from continua.runtime.loaded_programs import program_of, sendable
from continua.runtime.row_blocks import AGAIN, REPORT, Block, Plain, as_batch, gathered
from continua.runtime.task_output import failure
from continua.runtime.tasks import run_level
from continua.sources.intervals import timed
from continua.sources.planning import BYTES
from continua.sources.split_readings import Reading, corrected

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame, Row, SparkSession

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
Moving: TypeAlias = tuple[int, tuple[int, Plain]]
"""A block on its way: the partition that it goes to, the reading that it is from, and its parts."""

SMALL = 8 << 20
"""Blocks of at most so many bytes go through the driver: that takes less time than Spark's exchanges."""
_SHARE = 4
"""A file is about this many times as large as the blocks that are made of it."""

SOURCE = "#source"
"""The column of a frame of several sources that has the number of a row's source."""
_COLUMNS = "level int, partition int, channel string, place long, data binary, origin long"
_NO_READING = -1
_MOST_ATTEMPTS = 1000
_FIRST_FRAME = 1 << 6
"""Frames come behind files in the order of rows of one instant."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The rows of a source in a frame: what is declared of them, and the stamp for those that have no time."""

    name: str
    info: StreamInfo
    stamp: int


@dataclass(frozen=True)
class UnionFrame:
    """The rows of several sources in one frame: the source's number, and a column of structs for each."""

    rows: DataFrame
    shapes: tuple[Shape, ...]


class OnSpark:
    """Runs an epoch on Spark."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._placing = Placing(spark.sparkContext)

    @property
    def cores(self) -> int:
        """How many tasks run at once."""
        return self.spark.sparkContext.defaultParallelism

    @property
    def done(self) -> float:
        """The share of the tasks of Spark's jobs that have ended, as far as their stages have begun."""
        tracker = self.spark.sparkContext.statusTracker()
        jobs = [job for number in tracker.getActiveJobsIds() if (job := tracker.getJobInfo(number)) is not None]
        stages = [tracker.getStageInfo(number) for job in jobs for number in job.stageIds]
        begun = [stage for stage in stages if stage is not None and stage.numTasks]
        if not begun:
            return 0.0
        shares = sum(stage.numCompletedTasks / stage.numTasks for stage in begun)
        return float(shares / len(stages))

    @property
    def in_this_process(self) -> bool:
        """Tasks run in workers."""
        return False

    @property
    def shares_folders(self) -> bool:
        """Where all tasks are on this machine."""
        return self.forgets

    @property
    def forgets(self) -> bool:
        """On one machine a task that fails is not tried again by another process."""
        master = self.spark.sparkContext.master or ""
        return master.startswith("local") and not master.startswith("local-cluster")

    def share(self, store: Address, name: str, program: Program) -> Shared:  # noqa: ARG002
        """Spark sends it to every worker that runs a task of it, once."""
        return self.spark.sparkContext.broadcast(sendable(program))

    def where_rows_are_read(
        self, function: Callable[[Argument], Result], arguments: Sequence[Argument]
    ) -> list[Result]:
        """The results of a function, from tasks."""
        found: list[Result] = self._parallel(list(arguments), len(arguments)).map(function).collect()
        return found

    def blind(self, path: Path) -> list[str]:
        """Those of executors, where they are not all on this machine."""
        if self.forgets:
            return []
        content = path.read_bytes()

        def look(_: int) -> str | None:
            with suppress(OSError):
                if path.read_bytes() == content:
                    return None
            return socket.gethostname()

        found = self._parallel(list(range(self.cores)), self.cores).map(look).collect()
        return sorted({host for host in found if host is not None})

    def run(self, job: Job, fed: Tables, levels: int, partitions: int, arrivals: bool = False) -> list[Block]:
        """Runs all levels: level 0 in tasks that read the splits of files, and here for rows that are fed."""
        with self._block_folder(job) as folder:
            return self._run(job, run_fed(job, fed, arrivals), levels, partitions, folder)

    @property
    def leaves_in_files(self) -> bool:
        """Tasks leave blocks for each other in files where all of them are on this machine."""
        return self.shares_folders

    def _block_folder(self, job: Job) -> AbstractContextManager[BlockFolder | None]:
        """Where tasks leave blocks for each other, if they do."""
        return block_folder(job.scratch) if self.leaves_in_files else nullcontext()

    def _run(
        self, job: Job, blocks: list[Block], levels: int, partitions: int, folder: BlockFolder | None
    ) -> list[Block]:
        if job.frames and levels == 1:
            found = [self._frame(job, name, rank) for rank, name in enumerate(job.frames, start=1)]
            blocks += [Block(*plain) for frame in found for _, (_, plain) in frame.collect()]
            return blocks + (self._read(job, folder) if job.readings else [])
        large = folder is None and levels > 1 and sum(map(_weight, job.readings)) > _SHARE * SMALL
        if job.frames or large:
            return self._exchanged(job, blocks, levels, partitions, folder)
        if job.readings:
            blocks += self._read(job, folder)
        return self._levels(job, blocks, levels, partitions, folder)

    def _levels(
        self, job: Job, blocks: list[Block], levels: int, partitions: int, folder: BlockFolder | None
    ) -> list[Block]:
        """Runs levels on blocks that are here: one after the other, or as one job once they are large."""
        blocks = list(in_files(folder, blocks))
        for level in range(1, levels):
            if folder is None and sum(b.size for b in blocks if b.level != REPORT) > SMALL:
                moving = self._parallel([_moving(b) for b in blocks], job.tasks)
                return self._chain(job, moving.partitionBy(job.tasks, _itself), level, levels, partitions, folder)
            blocks = self._level(job, level, blocks, partitions, folder)
        return blocks

    # Reading.

    def _read(self, job: Job, folder: BlockFolder | None) -> list[Block]:
        """Reads all splits, some of them again until all are read as they should be; the blocks come here."""
        kept: dict[int, list[Block]] = {}
        again = list(job.readings)
        for _ in range(_MOST_ATTEMPTS):
            found = self._readings(job, again, folder).collect()
            kept |= {r.task: [] for r in again}
            for _, (task, plain) in found:
                kept[task].append(Block(*plain))
            blocks = [b for mine in kept.values() for b in mine]
            told = summaries(blocks)
            again = corrected(job.sources, job.readings, told) if len(told) == len(job.readings) else []
            if not again:
                return blocks
        raise _unsteady(job)

    def _readings(self, job: Job, readings: list[Reading], folder: BlockFolder | None) -> RDD[Moving]:
        """The blocks of splits: as many tasks as there are splits, but small ones share a task."""
        tasks = max(2 * self.cores, sum(map(_weight, readings)) // BYTES)

        def read(mine: Iterable[Reading]) -> Iterator[Moving]:
            for reading in mine:
                for block in in_files(folder, run_reading(job, reading)):
                    yield _moving(block, reading.task)

        return self._parallel(readings, min(tasks, len(readings))).mapPartitions(read)

    def _frame(self, job: Job, name: str, rank: int) -> RDD[Moving]:
        """The blocks of a source that Spark reads."""
        asked = asked_of(program_of(job)[0].placement, name)
        rows = frame_of(self.spark, job.frame_sources[name], asked)
        blocks = rows.mapInArrow(_frame_source_task(job, name, _FIRST_FRAME + rank), _COLUMNS)
        return blocks.rdd.map(_moving_row)

    def _where_state_is(self, items: RDD[Item], tasks: int) -> RDD[Item]:
        """The same, each task where the state of its partitions is; on one machine that is anywhere."""
        return items if self.shares_folders else self._placing.placed(items, tasks)

    def _parallel(self, items: list[Any], parts: int) -> RDD[Any]:
        return self.spark.sparkContext.parallelize(items, max(parts, 1))

    # Levels as one job.

    def _exchanged(
        self, job: Job, given: list[Block], levels: int, partitions: int, folder: BlockFolder | None
    ) -> list[Block]:
        """All levels on the splits of a job, through exchanges."""
        parts = [self._readings(job, list(job.readings), folder)] if job.readings else []
        parts += [self._frame(job, name, rank) for rank, name in enumerate(job.frames, start=1)]
        if given:
            parts.append(self._parallel([_moving(b) for b in given], 1))
        moving = self.spark.sparkContext.union(parts)
        arrived = moving.partitionBy(job.tasks, _itself)
        for _ in range(_MOST_ATTEMPTS):
            blocks = self._chain(job, arrived, 1, levels, partitions, folder)
            if not any(b.channel == AGAIN for b in blocks):
                return blocks
            told = summaries(blocks)
            again = corrected(job.sources, job.readings, told) if len(told) == len(job.readings) else []
            if not again:
                return blocks
            stale = frozenset(r.task for r in again)
            fresh = self._readings(job, again, folder).partitionBy(job.tasks, _itself)
            arrived = arrived.filter(_others(stale)).union(fresh).partitionBy(job.tasks, _itself)
        raise _unsteady(job)

    def _chain(
        self, job: Job, arrived: RDD[Moving], first: int, levels: int, partitions: int, folder: BlockFolder | None
    ) -> list[Block]:
        """The levels from one on, on blocks that are where they belong."""
        for level in range(first, levels):
            here = self._where_state_is(arrived, job.tasks)
            sent = here.mapPartitionsWithIndex(_level_task(job, level, partitions, folder))
            arrived = sent.partitionBy(job.tasks, _itself) if level + 1 < levels else sent
        return [Block(*plain) for _, (_, plain) in arrived.collect()]

    def _level(
        self, job: Job, level: int, blocks: list[Block], partitions: int, folder: BlockFolder | None
    ) -> list[Block]:
        """One level as one job; blocks that are for later levels stay here."""
        later = [b for b in blocks if b.level != level]
        parts = divided([b for b in blocks if b.level == level], partitions)

        def task(number: int, shares: Iterable[list[list[Plain]]]) -> Iterable[list[Plain]]:
            mine = ([Block(*plain) for plain in part] for share in shares for part in share)
            numbers = range(number, partitions, job.tasks)
            made = (run_level(job, level, part, blocks) for part, blocks in zip(numbers, mine, strict=True))
            return [[block.plain for block in in_files(folder, chain.from_iterable(made))]]

        plain = [[block.plain for block in part] for part in parts]
        shares = [plain[number :: job.tasks] for number in range(job.tasks)]
        here = self._where_state_is(self._parallel(shares, job.tasks), job.tasks)
        found = here.mapPartitionsWithIndex(task).collect()
        return later + [Block(*plain) for part in found for plain in part]

    # Frames.

    def run_union(self, job: Job, union: UnionFrame, levels: int, partitions: int) -> list[Block]:
        """Runs all levels on the rows of several sources in one frame."""
        blocks = union.rows.mapInArrow(_union_task(job, union.shapes), _COLUMNS)
        moving = blocks.rdd.map(_moving_row)
        with self._block_folder(job) as folder:
            return self._chain(job, moving.partitionBy(job.tasks, _itself), 1, levels, partitions, folder)


def _unsteady(job: Job) -> SourceError:
    """Splits were read again and again, and each time under another assumption."""
    names = sorted({job.sources[r.source].info.name for r in job.readings})
    message = f"the files of {', '.join(names)} are others each time that they are read"
    hint = "run it again when nobody writes to them"
    return SourceError(Diagnostic("SOURCE_UNSTEADY", message, hint=hint, parameters={"sources": names}))


def _weight(reading: Reading) -> int:
    """How many bytes a reading is of, as far as that is known."""
    split = reading.split
    if split.end < 0 or split.rows is not None:
        return 0
    length = split.width * (split.end - split.begin)
    return min(max(length, 0), BYTES) if split.end > (1 << 12) else split.width * split.size


def _itself(key: int) -> int:
    return key


def _moving(block: Block, task: int = _NO_READING) -> Moving:
    return (0 if block.level == REPORT else block.partition), (task, block.plain)


def _others(stale: frozenset[int]) -> Callable[[Moving], bool]:
    return lambda moving: moving[1][0] not in stale


def _level_task(
    job: Job, level: int, partitions: int, folder: BlockFolder | None
) -> Callable[[int, Iterable[Moving]], Iterator[Moving]]:
    def run(number: int, arrived: Iterable[Moving]) -> Iterator[Moving]:
        parts: dict[int, list[Block]] = {part: [] for part in range(number, partitions, job.tasks)}
        for _, (_, plain) in arrived:
            block = Block(*plain)
            parts[block.partition if block.level == level else number].append(block)
        made = (run_level(job, level, part, blocks) for part, blocks in parts.items())
        for block in in_files(folder, chain.from_iterable(made)):
            yield _moving(block)

    return run


def _moving_row(row: Row) -> Moving:
    level, partition, channel, place, data, origin = row
    return (0 if level == REPORT else partition), (_NO_READING, (level, partition, channel, place, bytes(data), origin))


def _task_number() -> int:
    """The place of this task among those of its job."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


def _frame_source_task(job: Job, name: str, rank: int) -> Task:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tasks = _numbers(rank << 24 | _task_number() << 12, 12)
        latest: dict[int, int] = {}
        for table in gathered(batches):
            for block in run_frame(job, name, tasks, table, latest):
                yield as_batch(block)

    return run


def _union_task(job: Job, shapes: tuple[Shape, ...]) -> Task:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tasks = _numbers(_task_number() << 16, 16)
        for table in gathered(batches):
            try:
                fed, refused = _separated(table, shapes)
            except ContinuaError as error:
                yield as_batch(failure(error))
                return
            for block in run_arrivals(job, tasks, fed, refused):
                yield as_batch(block)

    return run


def _numbers(first: int, bits: int) -> Iterator[int]:
    """The numbers that a task of Spark gives to what it does: none of them twice in an epoch."""
    yield from range(first, first + (1 << bits))
    raise OverflowError(f"a task has more than {1 << bits} parts")


def _separated(table: pa.Table, shapes: tuple[Shape, ...]) -> tuple[dict[str, pa.Table], dict[str, int]]:
    """The rows of each source, with their intervals, and how many were refused because they have no place in time."""
    source = np.asarray(table.column(SOURCE).to_numpy())
    found: dict[str, pa.Table] = {}
    refused: dict[str, int] = {}
    for number, shape in enumerate(shapes):
        mine = table.filter(pa.array(source == number))
        if not mine.num_rows:
            continue
        payload = pa.Table.from_struct_array(mine.column(f"s{number}").combine_chunks())
        rows = timed(shape.info, payload, shape.stamp)
        if rows.refused and not shape.info.skip_errors:
            raise rows.refused[0].malformed(ARRIVED, rows.refused[0].row + 1).error(shape.info.name)
        found[shape.name] = rows.rows
        refused[shape.name] = len(rows.refused)
    return found, refused

"""Who runs the levels of an epoch: Spark, or this process alone."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from continua.instants import INFINITY
from continua.kernels.jit import Int64s
from continua.physical.native import Native
from continua.physical.nodes import Sink
from continua.physical.rows import as_rows
from continua.runtime.blocks import REPORT, Block, as_batch, as_table, of_batches
from continua.runtime.state import Kept
from continua.runtime.tasks import SEGMENT, Job, Report, native_path, run_arrivals, run_level, run_sources

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Tables = Mapping[str, pa.Table]
Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

SMALL = 8 << 20
"""An epoch of at most so many bytes goes through the driver: that takes less time than Spark's exchanges."""

SOURCE = "#source"
_COLUMNS = "level int, partition int, channel string, place long, data binary"


@dataclass(frozen=True)
class Frame:
    """The rows of a source in Spark: its columns by position, and which of them hold the start and the end."""

    rows: DataFrame
    start: int
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """How the rows of a source are read: the places of start and end, and the stamp for rows that have no start."""

    name: str
    start: int | None
    end: int | None
    stamp: int


@dataclass(frozen=True)
class UnionFrame:
    """The rows of several sources in one frame: the source's number, and a column of structs for each."""

    rows: DataFrame
    shapes: tuple[Shape, ...]


class Executor(Protocol):
    """Runs an epoch: the rows of sources in, the messages to the driver out."""

    def run(self, job: Job, fed: Tables, levels: int, partitions: int, arrivals: bool = False) -> list[Block]:
        """Runs all levels; with ``arrivals`` rows that are too late are kept apart."""
        ...


class InProcess:
    """Runs all partitions one after the other in this process: for small inputs and for debugging."""

    def run(self, job: Job, fed: Tables, levels: int, partitions: int, arrivals: bool = False) -> list[Block]:
        """Runs all levels."""
        blocks = (run_arrivals if arrivals else run_sources)(job, 0, fed)
        for level in range(1, levels):
            parts = _divided(blocks, partitions)
            blocks = [b for number, mine in enumerate(parts) for b in run_level(job, level, number, mine)]
        return blocks


class OnSpark:
    """Runs an epoch on Spark.

    A large one is one Spark job: an exchange and a Python stage per level. A small one is a job per level, and the few
    blocks between them go through the driver.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def run(self, job: Job, fed: Tables, levels: int, partitions: int, arrivals: bool = False) -> list[Block]:
        """Runs all levels; level 0 runs here, where the rows are."""
        blocks = (run_arrivals if arrivals else run_sources)(job, 0, fed)
        for level in range(1, levels):
            if sum(len(b.data) for b in blocks) > SMALL:
                frame = self._spark.createDataFrame(as_table(blocks))
                return self.run_blocks(job, frame, level, levels, partitions)
            blocks = self._level(job, level, blocks, partitions)
        return blocks

    def run_frames(self, job: Job, frames: Mapping[str, Frame], levels: int, partitions: int) -> list[Block]:
        """Runs all levels on rows that are in Spark: level 0 runs in the tasks that read them."""
        blocks: DataFrame | None = None
        for name, frame in frames.items():
            sent = frame.rows.mapInArrow(_source_task(job, name, frame.start, frame.end), _COLUMNS)
            blocks = sent if blocks is None else blocks.unionAll(sent)
        assert blocks is not None
        return self.run_blocks(job, blocks, 1, levels, partitions)

    def native(self, sinks: Iterable[Sink], frames: Mapping[str, Frame]) -> dict[str, Native]:
        """The queries without state that Spark can run by itself."""
        from continua.runtime.native import native_queries

        return native_queries(self._spark, sinks, frames)

    def run_native(self, job: Job, queries: Mapping[str, Native], frames: Mapping[str, Frame]) -> list[Block]:
        """Runs such queries."""
        from continua.runtime.native import run_native

        checkpoint, epoch = Path(job.checkpoint), job.epoch.number
        counts = {
            name: run_native(self._spark, query, frames, native_path(checkpoint, name, epoch))
            for name, query in queries.items()
        }
        report = Report(0, SEGMENT, Kept(), counts, {}, {}, 0)
        return [Block(REPORT, 0, "report", 0, pickle.dumps(report))]

    def run_union(self, job: Job, union: UnionFrame, levels: int, partitions: int) -> list[Block]:
        """Runs all levels on the rows of several sources in one frame."""
        blocks = union.rows.mapInArrow(_union_task(job, union.shapes), _COLUMNS)
        return self.run_blocks(job, blocks, 1, levels, partitions)

    def run_blocks(self, job: Job, blocks: DataFrame, first: int, levels: int, partitions: int) -> list[Block]:
        """Runs the levels from one on as one job, on blocks that are in Spark."""
        for level in range(first, levels):
            blocks = blocks.repartitionById(partitions, "partition").mapInArrow(_level_task(job, level), _COLUMNS)
        return [Block(r[0], r[1], r[2], r[3], bytes(r[4])) for r in blocks.collect()]

    def _level(self, job: Job, level: int, blocks: list[Block], partitions: int) -> list[Block]:
        """One level as one job; blocks that are for later levels stay here."""
        later = [b for b in blocks if b.level != level]
        parts = _divided([b for b in blocks if b.level == level], partitions)

        def task(slices: Iterable[list[Block]]) -> Iterable[list[Block]]:
            from pyspark import TaskContext

            context = TaskContext.get()
            assert context is not None
            mine = [b for part in slices for b in part]
            return [list(run_level(job, level, context.partitionId(), mine))]

        found = self._spark.sparkContext.parallelize(parts, partitions).mapPartitions(task).collect()
        return later + [b for part in found for b in part]


def _divided(blocks: list[Block], partitions: int) -> list[list[Block]]:
    """The blocks of each partition; messages to the driver go with the first."""
    parts: list[list[Block]] = [[] for _ in range(partitions)]
    for block in blocks:
        parts[0 if block.level == REPORT else block.partition].append(block)
    return parts


def _level_task(job: Job, level: int) -> Task:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for block in run_level(job, level, context.partitionId(), of_batches(batches)):
            yield as_batch(block)

    return run


def _source_task(job: Job, name: str, start: int, end: int | None) -> Task:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        task = context.partitionId()
        for number, table in enumerate(_chunks(batches)):
            for block in run_sources(job, task << 16 | number, {name: _timed(table, start, end)}):
                yield as_batch(block)

    return run


def _union_task(job: Job, shapes: tuple[Shape, ...]) -> Task:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        task = context.partitionId()
        for number, table in enumerate(_chunks(batches)):
            for block in run_arrivals(job, task << 16 | number, _separated(table, shapes)):
                yield as_batch(block)

    return run


def _separated(table: pa.Table, shapes: tuple[Shape, ...]) -> dict[str, pa.Table]:
    """The rows of each source, with their intervals."""
    source = np.asarray(table.column(SOURCE).to_numpy())
    found: dict[str, pa.Table] = {}
    for number, shape in enumerate(shapes):
        mine = table.filter(pa.array(source == number))
        if not mine.num_rows:
            continue
        payload = pa.Table.from_struct_array(mine.column(f"s{number}").combine_chunks())
        if shape.start is None:
            stamp = np.full(mine.num_rows, shape.stamp, np.int64)
            found[shape.name] = as_rows(payload, stamp, stamp + 1)
        else:
            found[shape.name] = _timed(payload, shape.start, shape.end)
    return found


def _timed(table: pa.Table, start: int, end: int | None) -> pa.Table:
    """Rows with their intervals: an element lasts for one instant unless a column says until when."""
    first = _instants(table.column(start))
    return as_rows(table, first, first + 1 if end is None else _instants(table.column(end)))


def _instants(column: pa.ChunkedArray) -> Int64s:
    kind = column.type
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz))
    return np.asarray(column.cast(pa.int64()).fill_null(INFINITY).to_numpy(), np.int64)


def _chunks(batches: Iterator[pa.RecordBatch], rows: int = 1 << 20) -> Iterator[pa.Table]:
    """Batches gathered to tables of about a million rows, so that kernels get much at a time."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= rows:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()

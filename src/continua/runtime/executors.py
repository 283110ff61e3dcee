"""Who runs the levels of an epoch: Spark, or this process alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from continua.runtime.blocks import Block, as_table, of_batches
from continua.runtime.tasks import Job, run_level, run_sources

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Executor(Protocol):
    """Runs an epoch: the rows of sources in, the messages to the driver out."""

    def run(self, job: Job, fed: Mapping[str, pa.Table], levels: int, partitions: int) -> list[Block]:
        """Runs all levels."""
        ...


class InProcess:
    """Runs all partitions one after the other in this process: for small inputs and for debugging."""

    def run(self, job: Job, fed: Mapping[str, pa.Table], levels: int, partitions: int) -> list[Block]:
        """Runs all levels."""
        blocks = run_sources(job, 0, fed)
        for level in range(1, levels):
            following: list[Block] = []
            for number in range(partitions):
                mine = [b for b in blocks if b.partition == number]
                following += run_level(job, level, number, mine)
            blocks = following
        return blocks


class OnSpark:
    """Runs an epoch as one Spark job: an exchange and a Python stage per level."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def run(self, job: Job, fed: Mapping[str, pa.Table], levels: int, partitions: int) -> list[Block]:
        """Runs all levels; level 0 runs here, where the rows are."""
        blocks = run_sources(job, 0, fed)
        if levels == 1:
            return blocks
        return self.run_blocks(job, self._spark.createDataFrame(as_table(blocks)), levels, partitions)

    def run_blocks(self, job: Job, blocks: DataFrame, levels: int, partitions: int) -> list[Block]:
        """Runs the levels behind 0 on blocks that are in Spark already."""
        for level in range(1, levels):
            blocks = blocks.repartitionById(partitions, "partition").mapInArrow(_task(job, level), _SPARK_SCHEMA)
        found = blocks.collect()
        return [Block(r["level"], r["partition"], r["channel"], r["place"], bytes(r["data"])) for r in found]


_SPARK_SCHEMA = "level int, partition int, channel string, place long, data binary"


def _task(job: Job, level: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for block in run_level(job, level, context.partitionId(), of_batches(batches)):
            yield as_table([block]).to_batches()[0]

    return run


__all__ = ["Executor", "InProcess", "OnSpark", "Sequence"]

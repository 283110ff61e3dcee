"""Jobs that do nothing but make Spark ready: the first job and the first Python worker take longer than all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


def warm_workers(context: SparkContext) -> None:
    """Has Spark start the process that its Python workers are forked from, and the first of them.

    It is one task: the others' forks take no time, and the caller's own jobs find the other cores free.
    """
    context.parallelize([0], 1).mapPartitions(_nothing).collect()


def warm_exchange(context: SparkContext) -> None:
    """Has Spark run a job whose blocks move from one Python stage to the next."""
    rows = context.parallelize([(0, b"a"), (1, b"b")], 2)
    both = context.union([rows, context.parallelize([(1, b"c")], 1)])
    both.mapPartitions(_as_they_are).partitionBy(2, int).mapPartitionsWithIndex(_numbered).collect()


def warm_frames(session: SparkSession) -> None:
    """Has Spark plan and run a job of frames with a task in Python and an exchange."""
    rows = session.range(4, numPartitions=2).selectExpr("cast(id % 2 as int) as partition")
    rows.repartition(2, "partition").mapInArrow(_same, "partition int").rdd.map(tuple).collect()


def train(session: SparkSession, folder: Path) -> None:
    """Jobs of all kinds that runs consist of, so that the JVM loads the classes that they need."""
    import pyarrow as pa

    warm_workers(session.sparkContext)
    warm_exchange(session.sparkContext)
    warm_frames(session)
    table = pa.table({"partition": [0, 1], "at": pa.array([1, 2], pa.timestamp("us", "UTC")), "name": ["a", "b"]})
    session.createDataFrame(table).write.parquet(str(folder / "rows"))
    rows = session.read.parquet(str(folder / "rows")).filter("partition >= 0 and name like 'a%'")
    rows.groupBy("partition").count().collect()
    rows.join(session.range(4).withColumnRenamed("id", "partition"), "partition").orderBy("at").toArrow()
    rows.select("partition").unionAll(rows.select("partition")).mapInArrow(_same, "partition long").count()


def _nothing(rows: Iterable[int]) -> list[int]:
    """A task; it is named, not an inner function, so that workers find it by its name."""
    return [sum(1 for _ in rows)]


def _as_they_are(rows: Iterable[tuple[int, bytes]]) -> Iterable[tuple[int, bytes]]:
    return rows


def _numbered(_: int, rows: Iterable[tuple[int, bytes]]) -> Iterable[tuple[int, bytes]]:
    return rows


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches

"""Epochs from Structured Streaming: one streaming query for all sources, one micro-batch an epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql.functions import coalesce, col, lit, struct

from continua.catalog import StreamInfo
from continua.runtime.executors.on_spark import SOURCE, Shape, UnionFrame
from continua.runtime.live import Live
from continua.sources.partition_sequences import columns_of_partitions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


_EXECUTION = "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution"


@dataclass(frozen=True)
class StreamingSource:
    """A streaming DataFrame as the rows of a declared stream, its columns in the declared order."""

    name: str
    rows: DataFrame
    info: StreamInfo


def start_streaming(
    live: Live, sources: Sequence[StreamingSource], trigger: Mapping[str, Any] | None = None
) -> StreamingQuery:
    """Starts the streaming query; ``trigger`` is as for DataStreamWriter.trigger."""

    def micro_batch(rows: DataFrame, batch: int) -> None:
        if batch <= live.batch:
            return
        with live.batches.inside(), live.lock:
            stamp = live.now()
            frame = UnionFrame(_in_order(rows, sources), tuple(Shape(s.name, s.info, stamp) for s in sources))
            live.run(lambda until, saved, known: live.engine.epoch_of_union(frame, until, saved, known), batch)

    writer = _unioned(sources).writeStream.foreachBatch(micro_batch)
    writer = writer.option("checkpointLocation", str(live.engine.checkpoint / "spark"))
    if trigger:
        writer = writer.trigger(**trigger)
    return writer.start()


def stop_streaming(live: Live, stream: StreamingQuery, spark: SparkSession) -> None:
    """Stops the streaming query between two micro-batches.

    One that begins meanwhile is refused, so that it comes again after a restart. That is no error worth a stack trace.
    """
    live.batches.close()
    with _quiet(spark):
        stream.stop()


@contextmanager
def _quiet(spark: SparkSession) -> Iterator[None]:
    """While Spark says nothing of streaming queries that end."""
    jvm: Any = spark.sparkContext._jvm
    loggers = jvm.org.apache.logging.log4j.LogManager
    levels, configurator = jvm.org.apache.logging.log4j.Level, jvm.org.apache.logging.log4j.core.config.Configurator
    before = loggers.getLogger(_EXECUTION).getLevel()
    configurator.setLevel(_EXECUTION, levels.OFF)
    try:
        yield
    finally:
        configurator.setLevel(_EXECUTION, before)


def _unioned(sources: Sequence[StreamingSource]) -> DataFrame:
    """The rows of all sources as one frame: the number of the source, and a column of structs for each."""
    frames: list[DataFrame] = []
    for number, source in enumerate(sources):
        columns = [col(f"`{name}`").alias(f"c{i}") for i, name in enumerate(source.rows.columns)]
        frames.append(source.rows.select(lit(number).alias(SOURCE), struct(*columns).alias(f"s{number}")))
    return reduce(lambda known, frame: known.unionByName(frame, allowMissingColumns=True), frames)


def _in_order(rows: DataFrame, sources: Sequence[StreamingSource]) -> DataFrame:
    """The rows of each partition of a source together, in the order of their offsets, where columns tell these."""
    places = {number: columns_of_partitions(source.info) for number, source in enumerate(sources)}
    known = {number: by for number, by in places.items() if by is not None}
    if not known:
        return rows
    partition = coalesce(*(col(f"s{n}.c{by.partition}").cast("long") for n, by in known.items()))
    offsets = [col(f"s{n}.c{by.offset}").cast("long") for n, by in known.items() if by.offset is not None]
    order = [col(SOURCE), partition, *([coalesce(*offsets)] if offsets else [])]
    tasks = rows.sparkSession.sparkContext.defaultParallelism
    return rows.repartition(tasks, col(SOURCE), partition).sortWithinPartitions(*order)

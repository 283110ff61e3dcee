"""Epochs from Structured Streaming: one streaming query for all sources, one micro-batch an epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql.functions import coalesce, col, lit, struct

from continua.catalog import StreamInfo
from continua.runtime.executors.on_spark import SOURCE, Shape, UnionFrame
from continua.runtime.live import Live
from continua.sources.partition_sequences import columns_of_partitions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery


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

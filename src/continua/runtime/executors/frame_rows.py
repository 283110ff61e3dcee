"""DataFrames as sources: what Spark reads, on its way to level 0."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from continua.algebra.expr import Expr
from continua.catalog import RelationInfo, StreamInfo
from continua.errors import Diagnostic, SourceError, did_you_mean, listing
from continua.runtime.spark.brought_along import with_zone
from continua.sources.frame_sources import TABLE, FrameSource, option_text
from continua.sources.intervals import FAR
from continua.sources.partition_sequences import columns_of_partitions
from continua.sources.source_spec import SourceSpec, missing_column
from continua.types import DataType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def frame_of(spark: SparkSession, source: FrameSource, asked: Expr | None = None) -> DataFrame:
    """The DataFrame of a source, with the declared columns and no others, so that Spark reads no others.

    ``asked`` is a condition for all rows that are needed: those that do not satisfy it may be left out.
    """
    spec, options = source.spec, _options(source)
    with _readable(spec):
        if spec.format == TABLE:
            frame = spark.read.table(spec.path)
        else:
            frame = spark.read.format(spec.path).options(**options).load()
        present = frame.columns
    chosen = list(_chosen(present, source))
    frame = frame.select(*(f"`{name}`" for name in chosen))
    by = columns_of_partitions(source.info)
    if by is None:
        return frame if asked is None else _filtered(frame, source, asked)
    order = [f"`{chosen[place]}`" for place in (by.partition, by.offset) if place is not None]
    return frame.repartition(spark.sparkContext.defaultParallelism, order[0]).sortWithinPartitions(*order)


def stream_of(spark: SparkSession, source: FrameSource) -> DataFrame:
    """The streaming DataFrame of a source, with the declared columns and no others."""
    spec, options = source.spec, _options(source)
    with _readable(spec):
        frame = spark.readStream.format(spec.path).options(**options).load()
        present = frame.columns
    return frame.select(*(f"`{name}`" for name in _chosen(present, source)))


def _options(source: FrameSource) -> dict[str, str]:
    return with_zone(source.spec.path, {name: option_text(value) for name, value in source.spec.options})


@contextmanager
def _readable(spec: SourceSpec) -> Iterator[None]:
    """What Spark cannot read is told."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        first = str(error).strip().splitlines()[0]
        message = f"Spark cannot read {spec.format}('{spec.path}') for {spec.name}: {first}"
        parameters: dict[str, object] = {"source": spec.name, "path": spec.path}
        raise SourceError(Diagnostic("SOURCE_NOT_READABLE", message, parameters=parameters)) from None


def _filtered(frame: DataFrame, source: FrameSource, asked: Expr) -> DataFrame:
    """Without rows that nobody asks for, but with all that have to be refused: these are told whatever is asked.

    So nothing is left out where a value may have to be converted, or where more than a missing value is refused.
    """
    from pyspark.sql.functions import col
    from pyspark.sql.types import TimestampType

    from continua.runtime.executors.catalyst import as_condition, is_same_type

    info = source.info
    if isinstance(info, StreamInfo) and info.valid is not None:
        return frame
    time, names = info.order_by, frame.columns
    for (column, of), field in zip(source.spec.columns, frame.schema.fields, strict=True):
        is_time = column == time and isinstance(field.dataType, TimestampType)
        if not is_time and not is_same_type(of, field.dataType):
            return frame
    condition = as_condition(asked, names)
    if condition is None or (isinstance(info, RelationInfo) and info.tagged_by is not None):
        return frame
    for place, declared in enumerate(info.columns):
        if not declared.nullable or declared.name == time:
            condition |= col(f"`{names[place]}`").isNull()
        if declared.name == time:
            condition |= _is_refused(col(f"`{names[place]}`"), declared.type, source.first)
    return frame.where(condition)


def _is_refused(time: Column, of: DataType, first: int) -> Column:
    """Whether a time is one that no row may have."""
    from pyspark.sql.functions import lit, timestamp_micros

    if not of.is_integer:
        return time < timestamp_micros(lit(first))
    return (time < first) | (time >= FAR)


def _chosen(present: list[str], source: FrameSource) -> Iterator[str]:
    by_name = {name.casefold(): name for name in present}
    for column, _ in source.spec.columns:
        found = by_name.get(column.casefold())
        if found is None:
            hint = did_you_mean(column, present) or f"it has {listing(present) or 'no columns'}"
            raise missing_column(source.spec, column, f"{source.spec.format}('{source.spec.path}')", hint)
        yield found

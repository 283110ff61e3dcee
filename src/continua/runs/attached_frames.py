"""DataFrames that stand for declared sources: whether they fit is told before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from uuid import uuid4

from continua.answers.query import Query
from continua.catalog import Catalog, RelationInfo, StreamInfo
from continua.errors import BindError, Diagnostic, did_you_mean
from continua.runtime.inputs import InputReader, needs_spark
from continua.sources.arrow_types import check_columns
from continua.sources.intervals import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def declared(catalog: Catalog, name: str) -> Source:
    """The stream or relation of a name."""
    info = catalog.table(name)
    if not isinstance(info, StreamInfo | RelationInfo):
        known = [e.name for e in catalog.entries() if isinstance(e, StreamInfo | RelationInfo)]
        message = f"there is no stream or relation {name}"
        raise BindError(
            Diagnostic("UNKNOWN_STREAM", message, hint=did_you_mean(name, known), parameters={"name": name})
        )
    return info


def fitting(info: Source, frame: DataFrame, is_live: bool = False) -> DataFrame:
    """The declared columns of a frame, in the declared order; BindError where it does not fit.

    ``is_live``: queries are live, whose streaming DataFrames are those that there were when they began.
    """
    from pyspark.sql import DataFrame as Frame
    from pyspark.sql.pandas.types import to_arrow_schema

    if not isinstance(frame, Frame):
        message = f"{type(frame).__name__} is no DataFrame of Spark"
        hint = "insert takes rows and tables of other kinds"
        raise BindError(Diagnostic("NOT_A_FRAME", message, hint=hint, parameters={"name": info.name}))
    if frame.isStreaming and not isinstance(info, StreamInfo):
        message = f"{info.name} is a relation, and the frame is streaming"
        hint = "attach a frame that is not streaming, or declare a stream"
        raise BindError(Diagnostic("STREAMING_FRAME", message, hint=hint, parameters={"name": info.name}))
    if frame.isStreaming and is_live:
        message = f"queries are live: a streaming DataFrame for {info.name} comes too late"
        hint = "attach it before start(), or stop() first"
        raise BindError(Diagnostic("ALREADY_LIVE", message, hint=hint, parameters={"name": info.name}))
    names = check_columns(info, to_arrow_schema(frame.schema, timezone="UTC"), "the frame")
    return frame.select(*(f"`{name.replace('`', '``')}`" for name in names))


def streaming(catalog: Catalog, frames: Mapping[str, DataFrame]) -> dict[str, tuple[StreamInfo, DataFrame]]:
    """Streaming DataFrames with the streams whose rows they are, as these are declared by now."""
    found: dict[str, tuple[StreamInfo, DataFrame]] = {}
    for name, frame in frames.items():
        info = declared(catalog, name)
        if isinstance(info, StreamInfo):  # others are refused, since the frame is streaming
            found[name] = (info, fitting(info, frame))
        else:
            fitting(info, frame)
    return found


def declared_streams(inputs: InputReader, queries: Iterable[Query], spark: SparkSession | None) -> dict[str, DataFrame]:
    """The streaming DataFrames of sources of queries that are declared as streams of Spark."""
    read = {s.name.casefold(): s for query in queries for s in query.sources}
    found = {name: source for name, info in read.items() if (source := inputs.stream(info)) is not None}
    if not found:
        return {}
    if spark is None:
        raise needs_spark(next(iter(found.values())).info)
    from continua.runtime.executors.frame_rows import stream_of

    return {name: stream_of(spark, source) for name, source in found.items()}


def as_table(frame: DataFrame) -> str:
    """The name of a table by which a frame is known to Spark from now on."""
    name = f"continua_{uuid4().hex}"
    frame.createOrReplaceTempView(name)
    return name

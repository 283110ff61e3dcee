"""Queries without state on Spark alone: Spark filters, computes and writes the result segments itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import TimestampNTZType, TimestampType

from continua.errors import CheckpointError, Diagnostic, EvaluationError
from continua.instants import INFINITY
from continua.physical.native import Native, native_query, spark_type
from continua.physical.nodes import END, START, WEIGHT, Sink, Source
from continua.runtime.executors import Frame
from continua.sqltext.expressions import quoted

MOST = 4
"""So many queries are worth a pass over the rows each; more share one, in Python."""


def native_queries(spark: SparkSession, sinks: Iterable[Sink], frames: Mapping[str, Frame]) -> dict[str, Native]:
    """The queries that Spark can run alone, if they are few."""
    found = {s.query: q for s in sinks if (q := native_query(s)) is not None and _can_run(spark, q, frames)}
    return found if len(found) <= MOST else {}


def _can_run(spark: SparkSession, query: Native, frames: Mapping[str, Frame]) -> bool:
    """Whether Spark is set up so that its answer is the engine's: errors are errors, and times are UTC."""
    settings = spark.conf
    if settings.get("spark.sql.ansi.enabled") != "true" or settings.get("spark.sql.session.timeZone") != "UTC":
        return False
    return all(source.name in frames for source in query.sources)


def run_native(spark: SparkSession, query: Native, frames: Mapping[str, Frame], folder: Path) -> int:
    """Writes the result rows of a query; returns how many there are. What is there from before is replaced."""
    views: dict[str, str] = {}
    try:
        for source in query.sources:
            views[source.name] = f"continua_{uuid4().hex}"
            _physical(frames[source.name], source).createOrReplaceTempView(views[source.name])
        result = spark.sql(query.text(views.__getitem__))
        momentary = query.momentary and all(frames[s.name].end is None for s in query.sources)
        result = result.drop(WEIGHT, END) if momentary else result.drop(WEIGHT)
        result.write.mode("overwrite").parquet(str(folder))
    except PySparkException as error:
        first = str(error).strip().splitlines()[0]
        raise EvaluationError(Diagnostic("EVALUATION_FAILED", f"the query fails on its data: {first}")) from None
    finally:
        for view in views.values():
            spark.catalog.dropTempView(view)
    return sum(pq.ParquetFile(path).metadata.num_rows for path in _files(folder))


def read_native(folder: Path, schema: pa.Schema) -> pa.Table:
    """The result rows that Spark has written; pages are checked."""
    try:
        tables = [pq.read_table(path, page_checksum_verification=True, partitioning=None) for path in _files(folder)]
    except (OSError, pa.ArrowInvalid) as error:
        message = f"{folder} is damaged: {error}"
        raise CheckpointError(Diagnostic("DAMAGED_FILE", message, parameters={"path": str(folder)})) from None
    found = pa.concat_tables(tables)
    start = np.asarray(found.column(START).to_numpy(), np.int64)
    columns = [found.column(f.name).cast(f.type) for f in schema]
    end = found.column(END) if END in found.column_names else pa.array(start + 1)
    names = [*schema.names, START, END, WEIGHT]
    return pa.table(dict(zip(names, [*columns, found.column(START), end, pa.array(np.ones_like(start))], strict=True)))


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-*.parquet"))


def _physical(frame: Frame, source: Source) -> DataFrame:
    """The rows of a source with columns by position, their intervals and weights."""
    pairs = zip(frame.rows.columns, source.schema, strict=False)
    columns = [f"CAST({quoted(name)} AS {spark_type(f.type)}) AS `{f.name}`" for name, f in pairs]
    start = _instant(frame, frame.start)
    end = f"{start} + 1" if frame.end is None else _instant(frame, frame.end)
    times = [f"{start} AS `{START}`", f"{end} AS `{END}`", f"CAST(1 AS BIGINT) AS `{WEIGHT}`"]
    return frame.rows.selectExpr(*columns, *times)


def _instant(frame: Frame, place: int) -> str:
    """A column as instants; NULL is the end of time."""
    field = frame.rows.schema.fields[place]
    name = quoted(field.name)
    if isinstance(field.dataType, TimestampType | TimestampNTZType):
        name = f"UNIX_MICROS(CAST({name} AS TIMESTAMP))"
    value = f"CAST({name} AS BIGINT)"
    return f"COALESCE({value}, {INFINITY})" if field.nullable else value

"""DataFrames as sources: what Spark reads, on its way to level 0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from continua.errors import Diagnostic, SourceError, did_you_mean, listing
from continua.sources.frames import TABLE, FrameSource
from continua.sources.spec import missing_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def frame_of(spark: SparkSession, source: FrameSource) -> DataFrame:
    """The DataFrame of a source, with the declared columns and no others, so that Spark reads no others."""
    from pyspark.errors import PySparkException

    spec = source.spec
    try:
        if spec.format == TABLE:
            frame = spark.read.table(spec.path)
        else:
            frame = spark.read.format(spec.path).options(**{k: _text(v) for k, v in spec.options}).load()
        present = frame.columns
    except PySparkException as error:
        first = str(error).strip().splitlines()[0]
        message = f"Spark cannot read {spec.format}('{spec.path}') for {spec.name}: {first}"
        parameters: dict[str, object] = {"source": spec.name, "path": spec.path}
        raise SourceError(Diagnostic("SOURCE_NOT_READABLE", message, parameters=parameters)) from None
    return frame.select(*(f"`{name}`" for name in _chosen(present, source)))


def _chosen(present: list[str], source: FrameSource) -> Iterator[str]:
    by_name = {name.casefold(): name for name in present}
    for column, _ in source.spec.columns:
        found = by_name.get(column.casefold())
        if found is None:
            hint = did_you_mean(column, present) or f"it has {listing(present) or 'no columns'}"
            raise missing_column(source.spec, column, f"{source.spec.format}('{source.spec.path}')", hint)
        yield found


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

"""What Spark writes: any format that it knows, with options, and tables.

Tasks of Spark read what an epoch has yielded and write it, after the epoch is finished. What Spark has written can not
be put in its place by a name, so the number of the epoch stands in every row: by it, an epoch that may have been
written when a run was interrupted is looked for before it is written again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from continua.errors import Diagnostic, MachineError, SourceError
from continua.plain_answers import free_name
from continua.runtime.machines import spark_error
from continua.sinks.base import Sink
from continua.sinks.formats import storable
from continua.sources.frames import TABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EPOCH = "epoch"


@dataclass(frozen=True)
class SparkSink(Sink):
    """A table, or what a format writes with some options."""

    function: str
    target: str
    """The name of the table or of the format."""
    options: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.function}('{self.target}')"

    def write(self, epoch: int, answers: pa.Table) -> None:
        """Writes answers that are here, by the Spark session of this thread."""
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession()
        if session is None:
            raise self.needs_spark()
        self.append(session.createDataFrame(with_epoch(answers, epoch)))

    def append(self, rows: DataFrame) -> None:
        """Writes rows behind those that are there; a table that is not there is made."""
        with self._told("write to"):
            if self.function == TABLE:
                rows.write.mode("append").options(**dict(self.options)).saveAsTable(self.target)
            else:
                rows.write.format(self.target).options(**dict(self.options)).mode("append").save()

    def count(self, spark: SparkSession, epoch: int | None = None) -> int | None:
        """How many rows it has of an epoch, or whether any; None where nothing is there, or Spark can not read it."""
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        try:
            rows = self._read(spark)
            if epoch is None:
                return len(rows.take(1))
            return rows.where(f"`{self.epoch_column(rows.columns)}` = {epoch}").count()
        except (PySparkException, Py4JError):
            return None

    def _read(self, spark: SparkSession) -> DataFrame:
        if self.function == TABLE:
            return spark.read.table(self.target)
        return spark.read.format(self.target).options(**dict(self.options)).load()

    @staticmethod
    def epoch_column(columns: list[str]) -> str:
        """The column with the number of the epoch, which is the last that is called so."""
        return next(name for name in reversed(columns) if name.casefold().startswith(_EPOCH))

    def start(self, spark: SparkSession | None = None) -> None:
        """Refuses to begin where there are rows already: they are not of this run."""
        if spark is None:
            raise self.needs_spark()
        if self.count(spark):
            raise SourceError(
                Diagnostic(
                    "SINK_NOT_EMPTY",
                    f"{self} has rows already",
                    hint="remove them, name another, or go on with the --checkpoint of the run that wrote them",
                    parameters={"sink": str(self)},
                )
            )

    def needs_spark(self) -> SourceError:
        """What it is where there is no Spark."""
        message = f"{self} is written by Spark, and this run works without it"
        hint = "name a Spark master instead of none"
        return SourceError(Diagnostic("NEEDS_SPARK", message, hint=hint, parameters={"sink": str(self)}))

    def doubtful(self, epoch: int, found: int, wanted: int) -> SourceError:
        """Why nothing can be written any more: an interrupted epoch is there in part."""
        return SourceError(
            Diagnostic(
                "SINK_DOUBTFUL",
                f"{self} has {found:,} of the {wanted:,} rows of epoch {epoch}: writing them was interrupted",
                hint=f"delete the rows whose epoch is {epoch}; the same command with its --checkpoint then writes them",
                parameters={"sink": str(self), "epoch": epoch, "found": found, "wanted": wanted},
            )
        )

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """What Spark refuses is told in a line; what is wrong with a machine as everywhere."""
        from py4j.protocol import Py4JError
        from pyspark.errors import AnalysisException, PySparkException

        try:
            yield
        except (PySparkException, Py4JError) as error:
            known = spark_error(error)
            if known is not None:
                raise known from error
            of = SourceError if isinstance(error, AnalysisException) else MachineError
            message = f"Spark cannot {what} {self}: {_reason(error)}"
            raise of(Diagnostic("SINK_NOT_WRITABLE", message, parameters={"sink": str(self)})) from error


def _reason(error: Exception) -> str:
    """What an error of Spark's says, in a line."""
    java = getattr(error, "java_exception", None)
    text = str(error) if java is None else str(java)
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)


def with_epoch(answers: pa.Table, epoch: int) -> pa.Table:
    """Answers as they are written: with the number of their epoch."""
    rows = storable(answers, "parquet")
    return rows.append_column(free_name(_EPOCH, rows.column_names), pa.array([epoch] * rows.num_rows, pa.int64()))

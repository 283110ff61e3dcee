"""What Spark writes: any format that it knows, with options, and tables.

Tasks of Spark read what an epoch has yielded and write it, after the epoch is finished. What Spark has written can not
be put in its place by a name, so the number of the epoch stands in every row: by it, an epoch that may have been
written when a run was interrupted is looked for before it is written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from continua.answers.plain_answers import free_name
from continua.errors import Diagnostic, MachineError, SourceError
from continua.runtime.machines import spark_error
from continua.sinks.formats import storable
from continua.sinks.sink import Sink
from continua.sources.frame_sources import TABLE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EPOCH = "epoch"


@dataclass(frozen=True)
class SparkSink(Sink):
    """A table, or what a format writes with some options."""

    function: str
    target: str
    """The name of the table or of the format."""
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    stays = True

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
                rows.write.mode("append").saveAsTable(self.target)
            else:
                rows.write.format(self.target).options(**dict(self.options)).mode("append").save()

    def has_rows(self, spark: SparkSession) -> bool:
        """Whether it has any rows, as far as Spark can read it."""
        return bool(self._asked(spark, lambda rows: len(rows.take(1))))

    def count(self, spark: SparkSession, column: str, epoch: int) -> int | None:
        """How many rows it has of an epoch, by a column; None where nothing is there, or Spark can not read it so."""
        return self._asked(spark, lambda rows: rows.where(f"`{column}` = {epoch}").count())

    def _asked(self, spark: SparkSession, question: Callable[[DataFrame], int]) -> int | None:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        try:
            return question(self._read(spark))
        except (PySparkException, Py4JError) as error:
            known = spark_error(error)
            if known is not None:
                raise known from error
            return None

    def _read(self, spark: SparkSession) -> DataFrame:
        if self.function == TABLE:
            return spark.read.table(self.target)
        return spark.read.format(self.target).options(**dict(self.options)).load()

    def start(self, spark: SparkSession | None = None) -> None:
        """Refuses to begin where there are rows already: they are not of this run."""
        if spark is None:
            raise self.needs_spark()
        if self.has_rows(spark):
            raise SourceError(
                Diagnostic(
                    "SINK_NOT_EMPTY",
                    f"{self} has rows already",
                    hint="remove them, name another, or go on with the --checkpoint of the run that wrote them",
                    parameters={"sink": str(self)},
                )
            )

    def check_there(self, spark: SparkSession, done: int) -> None:
        """Refuses to go on where a table is not known any more that has the answers of epochs."""
        if self.function == TABLE and not spark.catalog.tableExists(self.target):
            raise SourceError(
                Diagnostic(
                    "SINK_LOST",
                    f"{self} is not there any more, and it had the answers of epochs up to {done}",
                    hint="Spark has forgotten it if its catalog is in memory: a catalog of Hive or another one lasts",
                    parameters={"sink": str(self), "epoch": done},
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
        from pyspark.errors import (
            AnalysisException,
            IllegalArgumentException,
            PySparkException,
            UnsupportedOperationException,
        )

        try:
            yield
        except (PySparkException, Py4JError) as error:
            known = spark_error(error)
            if known is not None:
                raise known from error
            of_script = AnalysisException | IllegalArgumentException | UnsupportedOperationException
            of = SourceError if isinstance(error, of_script) else MachineError
            message = f"Spark cannot {what} {self}: {_reason(error)}"
            raise of(Diagnostic("SINK_NOT_WRITABLE", message, parameters={"sink": str(self)})) from error


def _reason(error: Exception) -> str:
    """What an error of Spark's says, in a line."""
    java = getattr(error, "java_exception", None)
    text = str(error) if java is None else str(java)
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)


def with_epoch(answers: pa.Table, epoch: int) -> pa.Table:
    """Answers as they are written: with the number of their epoch last.

    Names differ by more than upper and lower case, and what is a timestamp here is one of Spark's, whatever its zone.
    """
    rows = storable(answers, "parquet")
    rows = rows.append_column(_EPOCH, pa.array([epoch] * rows.num_rows, pa.int64()))
    names: list[str] = []
    for name in rows.column_names:
        names.append(free_name(name, names, str.casefold))
    schema = pa.schema([(name, _in_utc(field.type)) for name, field in zip(names, rows.schema, strict=True)])
    return rows.rename_columns(names).cast(schema)


def _in_utc(kind: pa.DataType) -> pa.DataType:
    """A type with instants for what are times without a zone."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC")
    if pa.types.is_map(kind):
        return pa.map_(_in_utc(kind.key_type), _in_utc(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(_in_utc(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _in_utc(field.type)) for field in kind])
    return kind

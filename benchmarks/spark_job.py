"""What Spark alone does with the files of a folder: a query in SQL, or the least that moves their rows at all.

python -m benchmarks.spark_job FOLDER MASTER JOB        JOB is a ``SparkJob`` as JSON
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PARTITIONS = 2
_SETTINGS = {"spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC"}
_FAST_MOVES = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "131072",
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
}
"""With these, rows move as fast as they can: by default Spark compresses them and hands them on in smaller batches."""


@dataclass(frozen=True, slots=True)
class SparkJob:
    """The sources to read, and the query whose answers go to a folder.

    Without a text it is the floor: all rows through an exchange by a key and an identity in Python, and to nowhere.
    """

    sources: tuple[str, ...]
    text: str = ""
    answers: str = "plain_spark"
    key: str = ""
    form: str = "parquet"
    schema: str = ""
    """The columns of files that do not tell them."""


def job_of(written: str) -> SparkJob:
    """A job as it was before it became JSON."""
    found = json.loads(written)
    return SparkJob(**{**found, "sources": tuple(found["sources"])})


def move(frame: DataFrame, key: str) -> None:
    """The rows through an exchange by a key and an identity in Python."""

    def identity(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    moved = frame.repartition(PARTITIONS, key).mapInArrow(identity, frame.schema)
    moved.write.format("noop").mode("overwrite").save()


def do(spark: SparkSession, job: SparkJob, data: Path) -> None:
    """Does a job on the files of a folder."""
    for source in job.sources:
        path = str(data / f"{source}.{job.form}")
        reader = spark.read.schema(job.schema) if job.schema else spark.read
        frame = reader.parquet(path) if job.form == "parquet" else reader.option("header", True).csv(path)
        if job.text:
            frame.createOrReplaceTempView(source)
        else:
            move(frame, job.key)
    if job.text:
        spark.sql(job.text).write.parquet(str(data / job.answers))


def main() -> None:
    """Does one job in a session of its own."""
    from pyspark.sql import SparkSession

    folder, master, written = sys.argv[1:]
    job = job_of(written)
    builder = SparkSession.builder.master(master).appName("Spark alone")
    for name, value in {**_SETTINGS, **({} if job.text else _FAST_MOVES)}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    do(spark, job, Path(folder))
    spark.stop()


if __name__ == "__main__":
    main()

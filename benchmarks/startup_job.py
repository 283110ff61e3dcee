"""What plain PySpark does until it is ready: a session, a first job, and a first job with a Python worker.

python -m benchmarks.startup_job MASTER
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    import pyarrow as pa


def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows as they are."""
    yield from batches


def main() -> None:
    """Prints a line when all of it is done."""
    spark = SparkSession.builder.master(sys.argv[1]).getOrCreate()
    assert spark.range(10).count() == 10
    assert len(spark.range(10).mapInArrow(same, "id long").collect()) == 10
    print("ready", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()

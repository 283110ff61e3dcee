"""A Spark that is started only to have its classes archived: ``python -m continua.runtime.spark.jvm_training ORDER``.

The order is a file that says which Java and which Spark, the JVM's options, and where the classes go. The JVM writes
them when it ends.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from continua.runtime.spark.jvm import QUIET, Jvm
from continua.runtime.spark.jvm_archive import Installation
from continua.runtime.spark.starting import context_of, settings_for
from continua.runtime.spark.warming import train


def main(path: str) -> int:
    """Starts Spark, runs jobs of all kinds, and ends it."""
    order = json.loads(Path(path).read_text())
    classes = Path(order["classes"])
    settings = settings_for("local[2]", "continua", small=True)
    options = [*order["options"], f"-XX:ArchiveClassesAtExit={classes}", *QUIET]
    jvm = Jvm(Installation(Path(order["java"]), Path(order["spark"])), options, settings)
    try:
        context_of(settings, jvm.connect())
        session = SparkSession.builder.getOrCreate()
        train(session, Path.cwd())
        session.stop()
    finally:
        # Writing the archive takes some seconds, on a busy machine many.
        jvm.end(patience=300)
    return 0 if classes.is_file() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""Answers a query by Spark Structured Streaming, on this machine: all that is there, then it ends.

python -m benchmarks.peers.spark_job FOLDER FORM CHANGES QUERY        CHANGES is 1 if answers are changes of a relation
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.peers.tables import ANSWERS, PARALLELISM, SIDE, TABLES, TIME, columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": str(PARALLELISM),
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.driver.memory": "4g",
}
"""What its documents advise: as many partitions as cores, and state in RocksDB, of which changes alone are kept."""
_BATCH = "batch"
_ONCE = re.compile("^-- dropDuplicates: (.*)$", re.MULTILINE)
"""What a text cannot say of streams, and a DataFrame can."""
_CHECKPOINT = "spark_checkpoint"


def _read(spark: SparkSession, path: Path, form: str, schema: str, streaming: bool) -> DataFrame:
    reader = (spark.readStream if streaming else spark.read).schema(schema)
    reader = reader.option("timestampFormat", "yyyy-MM-dd HH:mm:ss.SSS")
    return reader.format({"jsonl": "json"}.get(form, form)).load(str(path))


def main() -> None:
    """Answers one query."""
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import lit

    given, form, changes, query = sys.argv[1:]
    folder = Path(given)
    builder = SparkSession.builder.master(f"local[{PARALLELISM}]").appName("Spark Structured Streaming")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for name, table in TABLES.items():
        frame = _read(spark, folder / name, form, columns_of(table), streaming=True)
        frame.withWatermark(TIME, "0 seconds").createOrReplaceTempView(name)
    _read(spark, folder / "side", form, columns_of(SIDE), streaming=False).createOrReplaceTempView("side")
    answers, checkpoint = str(folder / ANSWERS), folder / _CHECKPOINT
    shutil.rmtree(checkpoint, ignore_errors=True)

    def write(batch: DataFrame, number: int) -> None:
        batch.withColumn(_BATCH, lit(number)).write.mode("append").json(answers)

    found = spark.sql(query)
    if (once := _ONCE.search(query)) is not None:
        found = found.dropDuplicates(once[1].split(", "))
    writer = found.writeStream.trigger(availableNow=True).option("checkpointLocation", str(checkpoint))
    if changes == "1":
        started = writer.outputMode("update").foreachBatch(write).start()
    else:
        started = writer.outputMode("append").format("json").option("path", answers).start()
    started.awaitTermination()
    spark.stop()
    shutil.rmtree(checkpoint, ignore_errors=True)


if __name__ == "__main__":
    main()

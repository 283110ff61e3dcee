"""What Spark's own connector does with a topic.

python -m benchmarks.kafka_job MASTER JOB        JOB is a ``KafkaJob`` as JSON
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass

_SCHEMA = "item INT, price INT, ts BIGINT"


@dataclass(frozen=True, slots=True)
class KafkaJob:
    """``read``: values are read, to nowhere; ``copy``: and written; ``json``: as JSON, and written so."""

    kind: str
    servers: str
    source: str
    out: str
    jars: list[str]

    @property
    def written(self) -> str:
        """It as JSON."""
        return json.dumps(asdict(self))


def main() -> None:
    """Does one job in a session of its own."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    master, written = sys.argv[1:]
    job = KafkaJob(**json.loads(written))
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false")
    spark = builder.config("spark.jars", ",".join(job.jars)).getOrCreate()
    source = {"kafka.bootstrap.servers": job.servers, "subscribe": job.source, "startingOffsets": "earliest"}
    values = spark.read.format("kafka").options(**source).load().select("value")
    if job.kind == "json":
        rows = values.select(f.from_json(f.col("value").cast("string"), _SCHEMA).alias("row"))
        values = rows.select(f.to_json("row").alias("value"))
    if job.kind == "read":
        values.write.format("noop").mode("overwrite").save()
    else:
        values.write.format("kafka").options(**{"kafka.bootstrap.servers": job.servers, "topic": job.out}).save()
    spark.stop()


if __name__ == "__main__":
    main()

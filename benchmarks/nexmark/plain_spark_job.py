"""A query as Spark alone answers it, from files to a folder of Parquet: what ``plain_spark`` measures.

python -m benchmarks.nexmark.plain_spark_job QUERY FORMAT FOLDER MASTER
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

SCHEMA = "auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP"
TEXTS = {
    "q1": "SELECT dateTime AS t, auction, bidder, 0.908 * price AS price, dateTime FROM bid",
    "q2": "SELECT dateTime AS t, auction, price FROM bid WHERE auction % 123 = 0",
}
"""With the columns that the answers of Continua have."""


def answers_of(query: str) -> str:
    """The folder of a query's answers."""
    return f"plain_{query}"


def _bids(spark: SparkSession, form: str, data: Path) -> DataFrame:
    path = str(data / f"bid.{form}")
    if form == "parquet":
        return spark.read.parquet(path)
    return spark.read.schema(SCHEMA).option("header", True).csv(path)


def main() -> None:
    """Answers one query."""
    query, form, folder, master = sys.argv[1:]
    builder = SparkSession.builder.master(master).appName("plain Spark")
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC")
    spark = builder.getOrCreate()
    data = Path(folder)
    _bids(spark, form, data).createOrReplaceTempView("bid")
    spark.sql(TEXTS[query]).write.parquet(str(data / answers_of(query)))
    spark.stop()


if __name__ == "__main__":
    main()

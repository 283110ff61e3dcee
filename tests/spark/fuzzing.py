"""The square on Spark for as long as one likes: ways that are drawn, and one session for all graphs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from continua.runtime.spark.starting import start_spark
from tests.spark.engine import OnFiles
from tests.spark.in_files import Moves, Way


@contextmanager
def session() -> Iterator[SparkSession]:
    """A Spark session on two cores of this machine."""
    spark = start_spark("local[2]", **{"spark.sql.shuffle.partitions": "2"})
    try:
        yield spark
    finally:
        spark.stop()


def engines_of(spark: SparkSession, folder: Path, seed: int) -> tuple[OnFiles, OnFiles]:
    """Two ways to run the graph of a seed."""
    chance = random.Random(seed)
    first, second = (OnFiles(spark, folder / str(number), drawn(chance)) for number in range(2))
    return first, second


def drawn(chance: random.Random) -> Way:
    """Any way."""
    return Way(
        split=chance.randrange(20, 300),
        moves=chance.choice(list(Moves)),
        batch=chance.choice((None, None, 2, 5)),
        partitions=chance.randrange(1, 5),
        delay=chance.choice((0, 0, 1, 7)),
        durable=chance.random() < 0.3,
    )

"""One Spark session for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from continua.runtime.spark.starting import start_spark


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = start_spark("local[2]", **{"spark.sql.shuffle.partitions": "2"})
    yield session
    session.stop()

"""The process from which Spark forks its Python workers: it has loaded what every task needs, so that no worker has to.

Spark's own part of a worker is loaded here too: PySpark's daemon leaves that to each worker after the fork. Nothing
that is loaded here starts a thread, since a fork has only one.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyspark.worker  # noqa: F401

import continua.runtime.on_spark  # noqa: F401
from continua.kernels.partition import divided, partition_of
from continua.sqltext.values import duckdb_type
from continua.types import BIGINT


def preload() -> None:
    """Has libraries load what they leave to their first use: the compiler's tables, what Arrow takes arrays by, SQL."""
    rows = pa.table({"c0": pa.array(np.zeros(1, np.int64))})
    list(divided(partition_of(rows, (0,), 2), 2))
    duckdb_type(BIGINT)


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload()
    manager()

"""The process from which Spark forks its Python workers: it has loaded what every task needs, so that no worker has to.

Spark's own part of a worker is loaded here too: PySpark's daemon leaves that to each worker after the fork. Nothing
that is loaded here starts a thread, since a fork has only one.
"""

from __future__ import annotations

import ctypes
import gc
from importlib import import_module

import numpy as np
import pyarrow as pa
import pyspark.worker  # noqa: F401

import continua.runtime.on_spark
import continua.sources.csv_split  # noqa: F401
from continua.kernels.partition import divided, partition_of
from continua.sqltext.values import duckdb_type
from continua.types import BIGINT

ABOVE = ("continua.sinks.folders",)
"""What tasks are given to use by the layers above this one, by name."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""The names that the C library has for what :func:`keep_memory` sets."""


def preload() -> None:
    """Has libraries load what they leave to their first use: the compiler's tables, what Arrow takes arrays by, SQL."""
    rows = pa.table({"c0": pa.array(np.zeros(1, np.int64))})
    list(divided(partition_of(rows, (0,), 2), 2))
    duckdb_type(BIGINT)
    for name in ABOVE:
        import_module(name)


def keep_memory() -> None:
    """Has the C library keep some memory that was given back: new pages cost more than what is done with them."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_MMAP_THRESHOLD, 32 << 20)
        library.mallopt(_TRIM_THRESHOLD, 256 << 20)


def spare_the_collector() -> None:
    """Takes all that is loaded out of the collector's sight: PySpark has it look at everything after every task."""
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    from pyspark.daemon import manager

    keep_memory()
    preload()
    spare_the_collector()
    manager()

"""The process from which Spark forks its Python workers: it has loaded what every task needs, so that no worker has to.

Spark's own part of a worker is loaded here too: PySpark's daemon leaves that to each worker after the fork. Nothing
that is loaded here starts a thread, since a fork has only one.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from importlib import import_module
from pathlib import Path

LOADED = (
    "pyspark.worker",
    "continua.runtime.executors.on_spark",
    "continua.sources.csv_split",
    "continua.sinks.folder_sink",
)
"""What tasks use, by name."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""The names that the C library has for what :func:`keep_memory` sets."""


def prefer_installed() -> None:
    """Has PySpark loaded from where it is installed, where its files are compiled, and not from Spark's archive."""
    home = Path(os.environ.get("SPARK_HOME", ""))
    archive = str(home / "python" / "lib" / "pyspark.zip")
    if home.name == "pyspark" and (home / "worker.py").exists() and archive in sys.path:
        sys.path.insert(sys.path.index(archive), str(home.parent))


def preload() -> None:
    """Has libraries load what they leave to their first use: the compiler's tables, what Arrow takes arrays by, SQL."""
    for name in LOADED:
        import_module(name)
    import numpy as np
    import pyarrow as pa

    from continua.kernels.words.partition import divided, partition_of
    from continua.sqltext.duckdb_types import duckdb_type
    from continua.types import BIGINT

    rows = pa.table({"c0": pa.array(np.zeros(1, np.int64))})
    list(divided(partition_of(rows, (0,), 2), 2))
    duckdb_type(BIGINT)


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
    prefer_installed()
    keep_memory()
    preload()
    spare_the_collector()
    from pyspark.daemon import manager

    manager()

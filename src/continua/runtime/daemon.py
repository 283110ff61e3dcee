"""The process from which Spark forks its Python workers: it has the kernels loaded, so that no worker has to."""

from __future__ import annotations

import continua.runtime.on_spark  # noqa: F401

if __name__ == "__main__":
    from pyspark.daemon import manager

    manager()

"""The process from which Spark forks its Python workers: it has the kernels loaded, so that no worker has to.

Spark's own part of a worker is loaded here too: PySpark's daemon leaves that to each worker after the fork.
"""

from __future__ import annotations

import pyspark.worker  # noqa: F401

import continua.runtime.on_spark  # noqa: F401

if __name__ == "__main__":
    from pyspark.daemon import manager

    manager()

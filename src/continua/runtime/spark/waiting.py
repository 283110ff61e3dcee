"""Executors that do not come: a job that waits for them says nothing by itself, and waits for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from continua.errors import Diagnostic
from continua.runtime.spark.starting import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 20.0
"""So many seconds executors may take to come before that is told."""


@contextmanager
def telling_of_none(
    spark: SparkSession, tell: Callable[[Diagnostic], None], patience: float = PATIENCE
) -> Iterator[None]:
    """Meanwhile it is told, once, if a cluster has given no executor for some time."""
    master = spark.sparkContext.master or ""
    over = threading.Event()

    def look() -> None:
        with suppress(Exception):  # a Spark that is gone is told by whoever has it work
            if not over.wait(patience) and not executors(spark):
                tell(_none(master, patience))

    if not is_local(master):
        threading.Thread(target=look, name="executors", daemon=True).start()
    try:
        yield
    finally:
        over.set()


def executors(spark: SparkSession) -> int:
    """How many executors there are; what runs the driver is none."""
    return int(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1


def _none(master: str, patience: float) -> Diagnostic:
    return Diagnostic(
        "NO_EXECUTORS",
        f"{master} has given no executor for {patience:.0f} seconds; the run waits for one",
        hint="are there workers with so many free cores and so much memory as spark.executor.cores and "
        "spark.executor.memory ask for, and can they reach this machine?",
        parameters={"master": master},
    )

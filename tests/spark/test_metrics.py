"""The figures of a live run on Spark have those of Spark's executors beside Continua's own."""

from __future__ import annotations

import time
from collections.abc import Callable

from pyspark.sql import SparkSession

from continua.runs.metrics import metrics_text
from continua.session import Session
from tests.runtime.test_metrics import figures


def test_figures_of_executors_are_told(spark: SparkSession) -> None:
    session = Session(spark=spark)
    session.execute("CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts")
    session.sql("REGISTER QUERY q AS SELECT k, COUNT(*) AS n FROM S [RANGE 5] GROUP BY k")
    session.start()
    live = session.live
    assert live is not None

    def found() -> dict[str, float]:
        return figures(metrics_text(live.runs.values()))

    try:
        before = found()
        session.insert("S", [(1, 1), (2, 3)])
        live.process()
        done = 'continua_spark_executor_completed_tasks_total{executor="driver"}'
        _wait(lambda: found()[done] > before[done])
        assert found()['continua_spark_executor_cores{executor="driver"}'] == spark.sparkContext.defaultParallelism
        assert found()['continua_spark_executor_failed_tasks_total{executor="driver"}'] >= 0
        assert found()["continua_epochs_total"] >= 1
    finally:
        session.stop()


def _wait(until: Callable[[], bool]) -> None:
    """Spark tells its status store of tasks a little later."""
    end = time.monotonic() + 30
    while not until():
        assert time.monotonic() < end
        time.sleep(0.05)

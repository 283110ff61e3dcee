"""What Spark knows of its executors: tasks, memory and rows that moved, as its own status store has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class ExecutorFigure:
    """A figure of an executor: its name, how it goes, what it is, and its value."""

    name: str
    kind: str
    told: str
    value: float


_Read = Callable[[Any], float]

_FIGURES: tuple[tuple[str, str, str, _Read], ...] = (
    ("cores", "gauge", "Cores of an executor of Spark.", lambda e: e.totalCores()),
    ("active_tasks", "gauge", "Tasks that an executor works on.", lambda e: e.activeTasks()),
    ("completed_tasks_total", "counter", "Tasks that an executor has done.", lambda e: e.completedTasks()),
    ("failed_tasks_total", "counter", "Tasks that failed on an executor.", lambda e: e.failedTasks()),
    ("task_seconds_total", "counter", "What an executor's tasks took.", lambda e: e.totalDuration() / 1e3),
    ("gc_seconds_total", "counter", "What an executor's JVM took to collect garbage.", lambda e: e.totalGCTime() / 1e3),
    ("input_bytes_total", "counter", "What an executor has read by Spark's readers.", lambda e: e.totalInputBytes()),
    ("exchange_read_bytes_total", "counter", "What an executor took from exchanges.", lambda e: e.totalShuffleRead()),
    ("exchange_written_bytes_total", "counter", "What an executor gave to exchanges.", lambda e: e.totalShuffleWrite()),
    ("storage_bytes", "gauge", "What an executor holds for blocks of Spark.", lambda e: e.memoryUsed()),
)
_PEAKS = (
    ("peak_heap_bytes", "JVMHeapMemory", "The most heap that an executor's JVM has used."),
    ("peak_off_heap_bytes", "JVMOffHeapMemory", "The most memory beside the heap that an executor's JVM has used."),
)


def executor_figures(spark: SparkSession) -> Iterator[tuple[str, ExecutorFigure]]:
    """The figures of each executor that is there, with its id. On one machine the driver is the only one."""
    executors = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    for place in range(executors.size()):
        executor = executors.apply(place)
        name = str(executor.id())
        for figure, kind, told, read in _FIGURES:
            yield name, ExecutorFigure(figure, kind, told, float(read(executor)))
        peaks = executor.peakMemoryMetrics()
        for figure, metric, told in _PEAKS if peaks.isDefined() else ():
            yield name, ExecutorFigure(figure, "gauge", told, float(peaks.get().getMetricValue(metric)))

"""A live session as its user sees it: bids come batch by batch, and what each batch took is told."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.bids import COLUMNS, bids, write
from benchmarks.sides import cores_of
from benchmarks.slopes import spread
from continua.runs.live_options import LiveOptions
from continua.session import Session

ROWS = 1_000
"""The rows of a small batch."""
AT_ONCE = 100_000
"""So many rows come at once when a window is filled."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a batch took until all its rows were worked on, and what its epochs tell of themselves."""

    seconds: float
    progress: Sequence[dict[str, Any]]

    @property
    def engine(self) -> float:
        """The seconds of the engine: running all epochs of the batch and committing them."""
        return sum(float(p["durationMs"][step]) for p in self.progress for step in ("run", "commit")) / 1000

    @property
    def answers(self) -> int:
        """How many rows of results came out."""
        return sum(sum(p["numOutputRows"].values()) for p in self.progress)

    @property
    def state_rows(self) -> int:
        """How many rows the operators hold after it."""
        return sum(self.progress[-1]["stateRows"].values())


class LiveBids:
    """Live queries over a stream of bids, one an instant."""

    def __init__(
        self, texts: Sequence[str], master: str, options: LiveOptions | None = None, files: Path | None = None
    ) -> None:
        """``files``: the folder of the files in which bids come as a streaming DataFrame; else they are inserted."""
        self.session = Session(master=master)
        self.session.execute(f"CREATE STREAM bid ({COLUMNS}) ORDERED BY ts")
        self._files = files
        if files is not None:
            files.mkdir()
            spark = self.session.spark
            assert spark is not None
            self.session.attach("bid", spark.readStream.schema(COLUMNS).parquet(str(files)))
        for text in texts:
            self.session.sql(text)
        self._handle = self.session.start(options=options)[0]
        self._next = 0

    def batch(self, rows: int = ROWS) -> Batch:
        """The next bids come; returns when they are worked on."""
        come = self._coming(bids(rows, seed=self._next, rate=1, first=self._next))
        self._next += rows
        last: Any = self._handle.lastProgress
        begin = time.perf_counter()
        come()
        self._handle.processAllAvailable()
        taken = time.perf_counter() - begin
        recent: list[dict[str, Any]] = self._handle.recentProgress
        return Batch(taken, [p for p in recent if last is None or p["epoch"] > last["epoch"]])

    def _coming(self, table: pa.Table) -> Callable[[], object]:
        """Lets rows come that are ready to: as tuples, or as a file that gets its name when it is whole."""
        if self._files is None:
            values = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
            return partial(self.session.insert, "bid", values)
        path = self._files.with_name("next")
        write(table, path)
        return partial(path.rename, self._files / f"{self._next:012}.parquet")

    def snapshot_seconds(self) -> float:
        """How long it takes to read what the first query holds."""
        begin = time.perf_counter()
        self._handle.snapshot()
        return time.perf_counter() - begin

    def fill(self, rows: int) -> None:
        """So many bids come."""
        for first in range(0, rows, AT_ONCE):
            self.batch(min(AT_ONCE, rows - first))

    def batches(self, count: int, warm: int = 0) -> list[Batch]:
        """So many small batches come, after some that are not counted."""
        return [self.batch() for _ in range(warm + count)][warm:]

    def stop(self) -> None:
        """Ends the queries; Spark goes on."""
        self.session.stop()


def stop_spark() -> None:
    """Ends the Spark that sessions have started, if there is one."""
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    if spark is not None:
        spark.stop()


def on_cores_of(master: str) -> None:
    """This process and those that it starts use as many cores as a master has."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: cores_of(master)])


def milliseconds(seconds: Sequence[float]) -> str:
    """The median of some times, and from where to where they spread."""
    return spread([1000 * s for s in seconds], ".1f")

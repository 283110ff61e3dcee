"""Whether state stays where it is: a live session of small epochs on a cluster of three machines.

``python -m benchmarks.state_locality`` starts a master of Spark and three workers on loopback. Each worker has folders
of its own, so that state which is not where its task runs must be loaded from the store. What is told: how many
partitions were opened and how many of them loaded, and what an epoch took, with little state and with a hundred times
as much.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.services.spark_cluster import SparkCluster

from benchmarks.bids import COLUMNS, bids
from benchmarks.live import stop_spark
from continua.runs.live_options import LiveOptions
from continua.session import Session

_QUERY = (
    "REGISTER QUERY busy AS SELECT auction, COUNT(*) AS n, MAX(price) AS highest FROM Bid [RANGE {range}] "
    "GROUP BY auction"
)
_WORKERS, _PARTITIONS = 3, 3
_WARM = 5
_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True)
class Stayed:
    """What some epochs told: how often state was opened, and loaded from the store, and the seconds of each epoch."""

    openings: int
    loads: int
    seconds: Sequence[float]
    state_bytes: int

    @property
    def share(self) -> float:
        """Which share of openings were loads."""
        return self.loads / self.openings


def measure(master: str, checkpoint: Path, epochs: int, rows: int, state: int) -> Stayed:
    """Small epochs over a window that holds so many rows."""
    session = Session(master=master)
    session.execute(f"CREATE STREAM Bid ({COLUMNS}) ORDERED BY ts")
    session.sql(_QUERY.format(range=state))
    handle = session.start(options=LiveOptions(checkpoint=checkpoint, partitions=_PARTITIONS))[0]
    came = 0

    def come(count: int) -> tuple[float, list[dict[str, Any]]]:
        """Rows come. How long they took, and what their epochs told."""
        nonlocal came
        table = bids(count, seed=came, rate=1, first=came)
        values = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        came += count
        before: Any = handle.lastProgress
        begin = time.perf_counter()
        session.insert("Bid", values)
        handle.processAllAvailable()
        taken = time.perf_counter() - begin
        recent: list[Any] = handle.recentProgress
        return taken, [p for p in recent if before is None or p["epoch"] > before["epoch"]]

    for first in range(0, state, _AT_ONCE):
        come(min(_AT_ONCE, state - first))
    for _ in range(_WARM):
        come(rows)
    found = [come(rows) for _ in range(epochs)]
    told = [progress for _, several in found for progress in several]
    openings, loads = sum(p["stateOpenings"] for p in told), sum(p["stateLoads"] for p in told)
    stayed = Stayed(openings, loads, [seconds for seconds, _ in found], told[-1]["stateBytes"])
    session.stop()
    return stayed


@contextmanager
def cluster(folder: Path) -> Iterator[SparkCluster]:
    """Three workers with a core each, and folders that no other sees."""
    hidden = folder / "hidden"
    hidden.mkdir()
    started = SparkCluster(hidden, folder / "cluster.log", _WORKERS, 1)
    try:
        yield started
    finally:
        stop_spark()
        started.remove()


def main() -> None:
    """Measures, and tells."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--epochs", type=int, default=200)
    given.add_argument("--rows", type=int, default=1_000, help="of an epoch")
    given.add_argument("--state", type=int, nargs="*", default=[10_000, 1_000_000], help="rows in the window")
    options = given.parse_args()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with tempfile.TemporaryDirectory() as name, cluster(Path(name)) as started:
        for state in options.state:
            found = measure(started.master, Path(name) / f"checkpoint-{state}", options.epochs, options.rows, state)
            median, worst = statistics.median(found.seconds), max(found.seconds)
            print(
                f"{state} rows in the window, {found.state_bytes >> 10} KiB of state: of {found.openings} openings "
                f"{found.loads} were loads ({found.share:.1%}); an epoch took {median:.3f} s, the longest {worst:.3f} s"
            )


if __name__ == "__main__":
    main()

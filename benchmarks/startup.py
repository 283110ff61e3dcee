"""How long Spark takes to start: plain PySpark, and this engine's ways, each in a process of its own, in alternation.

python -m benchmarks.startup [--runs N] [--ways plain,large,small,background]

Every way does the same three things: a session on local[2], a first trivial job, and a first job with a Python worker
(mapInArrow). The time is from the first line of the program on, with all imports.

plain        SparkSession.builder.getOrCreate()
large        start_spark(...), as for large inputs
small        start_spark(..., small=True)
background   start_in_background(..., small=True), asked for the session at once: a caller that reads a script
             meanwhile waits for less
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

WAYS = ("plain", "large", "small", "background")
STEPS = ("session", "job", "python", "total")
MASTER = "local[2]"
TARGET = 0.6


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(once(given.one)), flush=True)
        return 0
    prepare()
    ways = given.ways.split(",")
    found: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    for number in range(given.runs):
        # Every round begins with another way, so that none is always the first after a pause.
        for way in ways[number % len(ways) :] + ways[: number % len(ways)]:
            found[way].append(measured(way))
    report(found)
    return 0


def prepare() -> None:
    """The archive is made once per installation: its time is told, and is no part of a start."""
    from continua.runtime.jvm_archive import find_archive, make_archive

    if find_archive() is None:
        begin = time.perf_counter()
        made = make_archive()
        print(f"archive {'made' if made else 'NOT made'} in {time.perf_counter() - begin:.1f} s")


def measured(way: str) -> dict[str, float]:
    """One start in a process of its own."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-m", "benchmarks.startup", "--one", way]
    ran = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    steps: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    # The JVM ends by itself after its parent: the next start is not to share the machine with it.
    time.sleep(1.0)
    return steps


def once(way: str) -> dict[str, float]:
    """The seconds of each step of one start."""
    times = [time.perf_counter()]
    session = started(way)
    times.append(time.perf_counter())
    assert session.range(10).count() == 10
    times.append(time.perf_counter())
    assert len(session.range(10).mapInArrow(same, "id long").collect()) == 10
    times.append(time.perf_counter())
    session.stop()
    steps = [after - before for before, after in pairwise(times)]
    return dict(zip(STEPS, [*steps, times[-1] - times[0]], strict=True))


def started(way: str) -> SparkSession:
    """A session, started in one of the ways."""
    if way == "plain":
        from pyspark.sql import SparkSession

        return SparkSession.builder.master(MASTER).getOrCreate()
    from continua.runtime.spark import start_in_background, start_spark

    if way == "background":
        return start_in_background(MASTER, small=True, archive=False).session()
    return start_spark(MASTER, small=way == "small")


def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows as they are."""
    yield from batches


def report(found: dict[str, list[dict[str, float]]]) -> None:
    """Medians with the least and the most, and the ratio to plain PySpark."""
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}; seconds, median [least to most] of {len(next(iter(found.values())))}")
    print(f"{'':<12}" + "".join(f"{step:>24}" for step in STEPS) + f"{'of plain':>24}")
    for way, runs in found.items():
        cells = []
        for step in STEPS:
            values = [run[step] for run in runs]
            cells.append(f"{statistics.median(values):.2f} [{min(values):.2f} to {max(values):.2f}]")
        ratio = ""
        if "plain" in found:
            # Rounds are compared with themselves: what else runs on the machine is then the same for both.
            ratios = [run["total"] / plain["total"] for run, plain in zip(runs, found["plain"], strict=True)]
            ratio = f"{statistics.median(ratios):.2f} [{min(ratios):.2f} to {max(ratios):.2f}]"
        print(f"{way:<12}" + "".join(f"{cell:>24}" for cell in [*cells, ratio]))
    print(f"target: at most {TARGET} of plain")


if __name__ == "__main__":
    sys.exit(main())

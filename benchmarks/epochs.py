"""Small epochs: how long they take, how that grows with the state, and that nothing piles up.

python -m benchmarks.epochs growth     1,000-row epochs with a state, and with one a hundred times larger
python -m benchmarks.epochs soak       1,000 epochs: memory of the processes and files on disk stay bounded
python -m benchmarks.epochs durable    1,000-row epochs that are on the disk itself when they are finished, and others
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.throughput import DEFINITIONS, KEYS
from continua.physical.rows import as_rows
from continua.running import graph_of
from continua.runtime.engine import Engine
from continua.runtime.on_spark import OnSpark
from continua.runtime.spark import start_spark
from continua.session import Session

ROWS = 1_000
PARTITIONS = 2


def engine_for(spark: object, texts: list[str], folder: str, durable: bool = True) -> Engine:
    """An engine with queries over bids."""
    session = Session()
    session.execute(DEFINITIONS)
    queries = [q for q in (session.sql(text) for text in texts) if q is not None]
    sinks = [graph_of(q, []) for q in queries]
    return Engine(sinks, OnSpark(spark), checkpoint=folder, partitions=PARTITIONS, durable=durable)  # type: ignore[arg-type]


def bids(count: int, first: int, seed: int) -> pa.Table:
    """Bids from an instant on, one an instant."""
    random = np.random.default_rng(seed)
    start = np.arange(first, first + count)
    payload = pa.table({"c0": random.integers(0, KEYS, count), "c1": random.integers(1, 10_000, count), "c2": start})
    return as_rows(payload, start, start + 1)


def timed_epochs(engine: Engine, first: int, count: int) -> Iterator[float]:
    """The times of small epochs."""
    for number in range(count):
        table = bids(ROWS, first + number * ROWS, number)
        begin = time.perf_counter()
        engine.epoch({"bid": table}, first + (number + 1) * ROWS - 1)
        yield time.perf_counter() - begin


def growth(epochs: int) -> bool:
    """Epochs of 1,000 rows over 10,000 live rows and over a million."""
    spark = start_spark(f"local[{PARTITIONS}]")
    median: dict[int, float] = {}
    for live in (10_000, 1_000_000):
        folder = tempfile.mkdtemp(prefix="continua-bench-")
        text = f"SELECT auction, SUM(price), COUNT(*), MAX(price) FROM bid [RANGE {live}] GROUP BY auction"
        engine = engine_for(spark, [text], folder)
        engine.epoch({"bid": bids(live, 0, 7)}, live - 1)
        times = list(timed_epochs(engine, live, epochs))[5:]
        median[live] = statistics.median(times)
        rows = sum(engine.progress[-1].state_rows.values())
        print(f"{live:>9,} live rows: {median[live] * 1000:6.0f} ms an epoch (state rows {rows:,})", flush=True)
        engine.close()
        shutil.rmtree(folder, ignore_errors=True)
    spark.stop()
    ratio = median[1_000_000] / median[10_000]
    print(f"a hundred times the state: {ratio:.2f} times the time (target: under 2)")
    slow = max(median.values())
    print(f"epoch of {ROWS:,} rows: {slow:.3f} s (target: under 0.35)")
    return ratio < 2 and slow < 0.35


def soak(epochs: int) -> bool:
    """Many epochs over a bounded window: what the processes and the folder hold must not grow."""
    spark = start_spark(f"local[{PARTITIONS}]")
    folder = tempfile.mkdtemp(prefix="continua-bench-")
    texts = [
        "SELECT auction, SUM(price), MAX(price) FROM bid [RANGE 20000] GROUP BY auction",
        "SELECT DISTINCT auction, price FROM bid [RANGE 20000]",
        "SELECT auction, price FROM bid [PARTITION BY auction ROWS 3]",
    ]
    engine = engine_for(spark, texts, folder)
    marks: list[tuple[float, float, int, int]] = []
    tenth = max(epochs // 10, 1)
    for number, _ in enumerate(timed_epochs(engine, 0, epochs), start=1):
        if number % tenth == 0:
            marks.append(_held(Path(folder)))
            python, java, files, size = marks[-1]
            line = f"epoch {number:5}: Python {python:6.0f} MB, Java {java:6.0f} MB, {files} files of state"
            print(f"{line}, {size / 1e6:.1f} MB", flush=True)
    engine.close()
    shutil.rmtree(folder, ignore_errors=True)
    spark.stop()
    early, late = marks[len(marks) // 2], marks[-1]
    grown = [name for name, a, b in zip(("Python", "Java", "files", "bytes"), early, late, strict=True) if b > 1.3 * a]
    print("nothing grows" if not grown else f"these grow: {', '.join(grown)}")
    return not grown


def durable(epochs: int) -> bool:
    """Epochs with and without waiting for the disk, by turns."""
    spark = start_spark(f"local[{PARTITIONS}]")
    text = "SELECT auction, SUM(price), COUNT(*), MAX(price) FROM bid [RANGE 10000] GROUP BY auction"
    folders = {waits: tempfile.mkdtemp(prefix="continua-bench-") for waits in (False, True)}
    engines = {waits: engine_for(spark, [text], folder, waits) for waits, folder in folders.items()}
    epoch_times = {waits: timed_epochs(engine, 0, epochs) for waits, engine in engines.items()}
    pairs = list(zip(epoch_times[False], epoch_times[True], strict=True))[5:]
    without, waiting = (statistics.median(times) for times in zip(*pairs, strict=True))
    for waits, engine in engines.items():
        engine.close()
        shutil.rmtree(folders[waits], ignore_errors=True)
    spark.stop()
    ratio = waiting / without
    print(
        f"{without * 1000:.1f} ms an epoch, {waiting * 1000:.1f} ms on the disk: {ratio:.2f} times (target: under 1.1)"
    )
    return ratio < 1.1


def _held(folder: Path) -> tuple[float, float, int, int]:
    """Megabytes of the Python workers and of Java, and the files of the engine's state and their bytes."""
    mine = subprocess.run(
        ["ps", "-eo", "pid,ppid,rss,comm"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[1:]
    rows = [line.split(None, 3) for line in mine]
    children: set[int] = {os.getpid()}
    for _ in range(6):
        children |= {int(pid) for pid, parent, _, _ in rows if int(parent) in children}
    sizes = [(name, int(rss) / 1024) for pid, _, rss, name in rows if int(pid) in children and int(pid) != os.getpid()]
    python = sum(size for name, size in sizes if "python" in name)
    java = sum(size for name, size in sizes if "java" in name)
    files = [
        f for part in ("state", "epochs", "intents", "programs") for f in (folder / part).rglob("*") if f.is_file()
    ]
    state = [f for f in files if "epochs" not in f.parts]
    return python, java, len(state), sum(f.stat().st_size for f in state)


def main() -> None:
    """Runs one of them; the exit status says whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("growth", "soak", "durable"))
    parser.add_argument("--epochs", type=int)
    arguments = parser.parse_args()
    measure, usual = {"growth": (growth, 40), "soak": (soak, 1_000), "durable": (durable, 60)}[arguments.what]
    raise SystemExit(0 if measure(arguments.epochs or usual) else 1)


if __name__ == "__main__":
    main()

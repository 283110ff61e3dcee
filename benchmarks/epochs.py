"""Small batches of a live session: how long they take, how that grows with the state, and that nothing piles up.

A batch is 1,000 rows that come and are worked on (``processAllAvailable``). The engine's part of it is what the epochs
tell of themselves (``recentProgress``): running them and committing them. Rows that are inserted take two epochs, one
that reads them and one that closes their instants; a micro-batch of a streaming DataFrame takes one, which closes the
instants of the micro-batch before, unless what they bring is known beforehand.

python -m benchmarks.epochs growth     batches over a state, and over one a hundred times larger
python -m benchmarks.epochs soak       1,000 batches: memory, files on disk, the time of an epoch and that of a
                                       snapshot do not grow with their number [--batches N] [--master M]
python -m benchmarks.epochs durable    batches that are on the disk itself when they are finished, and others
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.live import ROWS, Batch, LiveBids, milliseconds, on_cores_of, stop_spark
from benchmarks.processes import end_tidily, family, held, name_of
from benchmarks.sides import IN_PROCESS, MASTER, tell
from benchmarks.slopes import print_table
from continua.catalog import Retention
from continua.runs.live_options import LiveOptions

WARM = 5
SMALL_STATE, LARGE_STATE = 10_000, 1_000_000
ENGINE_TARGET, GROWTH_TARGET, DURABLE_TARGET = 0.17, 2.0, 1.1
MARKS = 20
GROWS = 1.3
"""What is at most so many times larger in the second half than in the first does not grow: logs come and go."""
KEPT_EPOCHS = 200
"""So much history is kept."""


def _median(batches: list[Batch]) -> float:
    return statistics.median(batch.engine for batch in batches)


@dataclass(frozen=True)
class Way:
    """Where the work is done, and how rows come."""

    master: str
    streamed: bool = False

    def __str__(self) -> str:
        return f"{self.master}, {'streamed' if self.streamed else 'inserted'}"


WAYS = (Way(IN_PROCESS), Way(MASTER), Way(MASTER, streamed=True))


def over(way: Way, live: int, count: int) -> list[Batch]:
    """Small batches over a window of so many rows."""
    text = f"SELECT auction, SUM(price), COUNT(*), MAX(price) FROM bid [RANGE {live}] GROUP BY auction"
    with tempfile.TemporaryDirectory(prefix="continua-bench-") as folder:
        queries = LiveBids([text], way.master, files=Path(folder, "files") if way.streamed else None)
        queries.fill(live)
        found = queries.batches(count, WARM)
        queries.stop()
    return found


def growth(count: int, ways: Sequence[Way] = WAYS, small: int = SMALL_STATE, large: int = LARGE_STATE) -> bool:
    """Small batches over two sizes of state, wherever and however; whether all targets are met."""
    lines: list[list[str]] = []
    met = True
    for way in ways:
        median: dict[int, float] = {}
        for live in (small, large):
            tell(f"{way}: {live:,} live rows")
            batches = over(way, live, count)
            median[live] = _median(batches)
            slow = median[live] > ENGINE_TARGET
            times = (milliseconds([b.engine for b in batches]), milliseconds([b.seconds for b in batches]))
            epochs = statistics.median(len(b.progress) for b in batches)
            counts = (f"{epochs:.0f}", f"{batches[-1].state_rows:,}")
            lines.append([f"{way}", f"{live:,}", *times, *counts, "missed" if slow else ""])
            met &= not slow
        ratio = median[large] / median[small]
        lines[-1].append(f"{ratio:.2f} x" + ("" if ratio < GROWTH_TARGET else " missed"))
        lines[-2].append("")
        met &= ratio < GROWTH_TARGET
    print(f"\n{ROWS:,} rows, milliseconds: the median of {count}, least and most")
    print(f"targets: at most {1000 * ENGINE_TARGET:.0f} for the engine, and less than {GROWTH_TARGET} x for more state")
    head = ("where, how", "live rows", "engine", "whole batch", "epochs", "state rows", "", "more state")
    print_table(head, lines)
    return met


def soak(count: int, master: str = MASTER) -> bool:
    """Many batches over a bounded window: what is held, and what an epoch and a snapshot take, must not grow."""
    texts = [
        "SELECT auction, SUM(price), MAX(price) FROM bid [RANGE 20000] GROUP BY auction",
        "SELECT DISTINCT auction, price FROM bid [RANGE 20000]",
        "SELECT auction, price FROM bid [PARTITION BY auction ROWS 3]",
    ]
    marks: list[Held] = []
    with tempfile.TemporaryDirectory(prefix="continua-bench-") as folder:
        options = LiveOptions(checkpoint=Path(folder), retention=Retention(epochs=KEPT_EPOCHS))
        queries = LiveBids(texts, master, options)
        since: list[Batch] = []
        for number in range(1, count + 1):
            since.append(queries.batch())
            if number % max(count // MARKS, 1) == 0:
                marks.append(Held.now(Path(folder), _median(since), queries.snapshot_seconds()))
                print(f"batch {number:5}: {marks[-1]}", flush=True)
                since = []
        queries.stop()
    halves = marks[: len(marks) // 2], marks[len(marks) // 2 :]
    middle = statistics.median
    before, after = ({name: middle(m.bounded[name] for m in half) for name in marks[0].bounded} for half in halves)
    grown = [name for name in after if after[name] > GROWS * before[name]]
    print("nothing grows" if not grown else f"these grow: {', '.join(grown)}")
    return not grown


@dataclass(frozen=True)
class Held:
    """What a live run holds: memory of its processes, and files of its checkpoint."""

    session: int
    workers: int
    java: int
    files: int
    size: int
    epoch: float
    """The milliseconds that an epoch has taken lately, the median."""
    snapshot: float
    """The milliseconds that it takes to read what a query holds."""

    @classmethod
    def now(cls, checkpoint: Path, epoch: float, snapshot: float) -> Held:
        """As it is at this moment."""
        mine, *others = family(os.getpid())
        memory: Counter[bool] = Counter()
        for process in others:
            memory["java" in name_of(process)] += held(process)
        sizes = [path.stat().st_size for path in checkpoint.rglob("*") if path.is_file()]
        return cls(held(mine), memory[False], memory[True], len(sizes), sum(sizes), 1000 * epoch, 1000 * snapshot)

    @property
    def bounded(self) -> dict[str, float]:
        """What must not grow."""
        processes = {"the session": self.session, "Python's workers": self.workers, "Java": self.java}
        disk = {"files": self.files, "bytes on disk": self.size}
        return {**processes, **disk, "the time of an epoch": self.epoch, "the time of a snapshot": self.snapshot}

    def __str__(self) -> str:
        sizes = {"session": self.session, "workers": self.workers, "Java": self.java, "disk": self.size}
        shown = ", ".join(f"{name} {value / 2**20:.0f} MB" for name, value in sizes.items())
        return f"{shown} in {self.files} files; an epoch {self.epoch:.1f} ms, a snapshot {self.snapshot:.1f} ms"


def durable(count: int, master: str = MASTER) -> bool:
    """Batches with and without waiting for the disk, by turns."""
    text = "SELECT auction, SUM(price), COUNT(*), MAX(price) FROM bid [RANGE 10000] GROUP BY auction"
    with tempfile.TemporaryDirectory(prefix="continua-bench-") as folder:
        options = [LiveOptions(checkpoint=Path(folder, str(d)), durable=d) for d in (False, True)]
        both = [LiveBids([text], master, o) for o in options]
        pairs = [[queries.batch() for queries in both] for _ in range(WARM + count)][WARM:]
        for queries in both:
            queries.stop()
    without, waiting = (list(batches) for batches in zip(*pairs, strict=True))
    ratio = _median(waiting) / _median(without)
    shown = [milliseconds([b.engine for b in batches]) for batches in (without, waiting)]
    print(f"{ROWS:,} rows, milliseconds of the engine: the median of {count}, least and most")
    print(f"{shown[0]}; on the disk {shown[1]}: {ratio:.2f} times (target: under {DURABLE_TARGET})")
    return ratio < DURABLE_TARGET


def main() -> None:
    """Runs one of them; the exit status says whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("growth", "soak", "durable"))
    parser.add_argument("--batches", type=int)
    parser.add_argument("--master", default=MASTER, help=f"of soak; {IN_PROCESS}: this process")
    given = parser.parse_args()
    end_tidily()
    on_cores_of(MASTER)
    match given.what:
        case "growth":
            met = growth(given.batches or 40)
        case "soak":
            met = soak(given.batches or 1_000, given.master)
        case _:
            met = durable(given.batches or 60)
    stop_spark()
    raise SystemExit(0 if met else 1)


if __name__ == "__main__":
    main()

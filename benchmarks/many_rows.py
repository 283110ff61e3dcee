"""What the processes of ``continua run`` hold over many rows, when the JVM has little memory.

A grouped window over a file of CSV goes to a folder of Parquet. Rows of files do not pass through the driver: neither
its Python nor its JVM needs more for more of them.

python -m benchmarks.many_rows [--rows 40000000] [--heap 1g] [--master local[2]]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow.csv as pc
import pyarrow.parquet as pq

from benchmarks.bids import COLUMNS, PER_INSTANT, bids
from benchmarks.checkouts import this_checkout
from benchmarks.processes import EVERY, end_tidily, family, held, name_of, pinned
from benchmarks.sides import MASTER, cores_of, tell
from benchmarks.slopes import megabytes, print_table

PART = 2_000_000
"""So many rows are made at a time."""
SCRIPT = f"""
CREATE STREAM bid ({COLUMNS}) SOURCE csv('bid.csv') ORDERED BY ts;
REGISTER QUERY q AS SELECT auction, COUNT(*) AS bids, MAX(price) AS most FROM bid [RANGE 60000] GROUP BY auction
INTO parquet('answers');
"""


def write_rows(path: Path, rows: int) -> None:
    """A file of CSV with so many bids in the order of their time."""
    with path.open("wb") as file:
        for seed, done in enumerate(range(0, rows, PART)):
            table = bids(min(PART, rows - done), seed, first=done // PER_INSTANT)
            pc.write_csv(table, file, pc.WriteOptions(include_header=done == 0))


class Peaks:
    """The most that each kind of process held at one time."""

    def __init__(self, driver: int) -> None:
        self.found: dict[str, int] = {}
        self._driver = driver

    def look(self) -> None:
        """Looks once."""
        now: dict[str, int] = {}
        for process in family(self._driver):
            kind = self._kind(process)
            now[kind] = now.get(kind, 0) + held(process)
        for kind, bytes_ in now.items():
            self.found[kind] = max(self.found.get(kind, 0), bytes_)

    def _kind(self, process: int) -> str:
        if process == self._driver:
            return "Python of the driver"
        return "JVM" if name_of(process) == "java" else "Python of all workers"


@contextmanager
def looking(peaks: Peaks) -> Iterator[None]:
    """Looks again and again meanwhile."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(EVERY):
            peaks.look()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def measured(folder: Path, master: str, environment: Mapping[str, str]) -> tuple[float, Mapping[str, int]]:
    """The seconds of a run, and the most that its processes held."""
    (folder / "q.sql").write_text(SCRIPT, encoding="utf-8")
    command = pinned(this_checkout().command("run", "q.sql", "--master", master), cores_of(master))
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, env=dict(environment)) as process:
        peaks = Peaks(process.pid)
        with looking(peaks):
            status = process.wait()
    if status:
        raise SystemExit(f"the run ended with status {status}")
    return time.perf_counter() - began, peaks.found


def main() -> int:
    """Measures, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=40_000_000)
    parser.add_argument("--heap", default="1g", help="the most memory of the JVM's heap")
    parser.add_argument("--master", default=MASTER)
    given = parser.parse_args()
    end_tidily()
    with tempfile.TemporaryDirectory(prefix="continua-bench-") as name:
        folder = Path(name)
        tell(f"writing {given.rows:,} rows")
        write_rows(folder / "bid.csv", given.rows)
        environment = {**this_checkout().environment, "SPARK_DRIVER_MEMORY": given.heap}
        seconds, peaks = measured(folder, given.master, environment)
        answers = sum(pq.read_metadata(file).num_rows for file in (folder / "answers").glob("*.parquet"))
    print(f"{given.rows:,} rows, {answers:,} answers, {seconds:.1f} s on {given.master}, a heap of {given.heap}")
    print_table(("processes", "most memory"), [(kind, megabytes(bytes_)) for kind, bytes_ in peaks.items()])
    return 0


if __name__ == "__main__":
    sys.exit(main())

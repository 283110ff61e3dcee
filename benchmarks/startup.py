"""How long a user waits for the answer to a small script, against what plain PySpark takes to be ready.

``continua run`` reads ten bids on Spark and prints their number. Plain PySpark starts a session, runs a first trivial
job and a first job with a Python worker, and then prints a line. Both are processes on two cores, in alternation; times
are from the start of the process to its first line of standard output, and to its end.

python -m benchmarks.startup [--runs K]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.checkouts import ROOT, this_checkout
from benchmarks.processes import Waited, end_tidily, wait_for_line
from benchmarks.sides import MASTER, cores_of, tell
from benchmarks.slopes import print_table, spread

TARGET = 0.6
PAUSE = 1.0
"""A JVM ends by itself after its parent: the next start is not to share the machine with it."""
BIDS = "item,price,ts\n" + "".join(f"{i % 3},{i},{i}\n" for i in range(10))
SCRIPT = """CREATE STREAM bid (item INT, price INT, ts BIGINT) SOURCE csv('tiny.csv') ORDERED BY ts;
SELECT COUNT(*) AS bids FROM bid [RANGE 5];
"""


@dataclass(frozen=True)
class Start:
    """A command that starts Spark and prints something."""

    label: str
    command: Sequence[str]
    environment: Mapping[str, str]

    def measured(self, folder: Path) -> Waited:
        """One start."""
        found = wait_for_line(self.command, cores_of(MASTER), folder, self.environment)
        time.sleep(PAUSE)
        return found


def starts(folder: Path, master: str = MASTER) -> list[Start]:
    """The command, and plain PySpark."""
    (folder / "tiny.csv").write_text(BIDS, encoding="utf-8")
    (folder / "tiny.sql").write_text(SCRIPT, encoding="utf-8")
    mine = this_checkout()
    plain = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    return [
        Start("continua run", mine.command("run", "tiny.sql", "--master", master), mine.environment),
        Start("plain PySpark", [sys.executable, "-m", "benchmarks.startup_job", master], plain),
    ]


def prepare() -> None:
    """Makes the archive of Spark's classes, which the first run after an installation leaves behind it."""
    tell("the archive of Spark's classes is made if there is none")
    made = [sys.executable, "-m", "continua.runtime.spark.jvm_archive"]
    subprocess.run(made, env=this_checkout().environment, stdout=subprocess.DEVNULL, check=False)


def main() -> None:
    """Measures and prints the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    given = parser.parse_args()
    end_tidily()
    prepare()
    with tempfile.TemporaryDirectory(prefix="continua-bench-") as name:
        both = starts(Path(name))
        found: list[list[Waited]] = [[], []]
        for number in range(-1, given.runs):
            order = list(zip(both, found, strict=True))
            for start, runs in order if number % 2 else reversed(order):
                runs.append(start.measured(Path(name)))
    mine, plain = (runs[1:] for runs in found)
    lines: list[list[str]] = []
    for step, field in (("first line", "first"), ("end", "seconds")):
        times = [[getattr(run, field) for run in runs] for runs in (mine, plain)]
        # rounds are compared with themselves: what else runs on the machine is then the same for both
        ratios = [a / b for a, b in zip(*times, strict=True)]
        missed = "missed" if statistics.median(ratios) > TARGET else ""
        lines.append([step, *map(spread, times), spread(ratios), f"{TARGET:.2f}", missed])
    print(f"\n{MASTER}, seconds to: the median of {given.runs}, least and most")
    print_table(("", *(start.label for start in both), "ratio", "target", ""), lines)


if __name__ == "__main__":
    main()

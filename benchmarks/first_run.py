"""What the first queries after an installation cost, when nothing is compiled: seconds of processor time.

The first is a COUNT(*) over two rows, in one process and on Spark, beside what plain PySpark takes to start a session
and run two jobs. Then each further shape of query runs in a process of its own, over a hundred rows, with what those
before it have left in the folder of compiled code; shown is what it takes more than the first query takes by then.

python -m benchmarks.first_run [--no-spark] [--compiled] [SHAPE ...]

With --compiled no rows are few: kernels are compiled at once, as for large inputs. ``continua warmup`` does that ahead.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.checkouts import ROOT, this_checkout
from benchmarks.processes import CommandError, family
from benchmarks.sides import IN_PROCESS, MASTER
from benchmarks.slopes import print_table
from continua.cli.query_shapes import SHAPES, script, write_sources
from continua.kernels.first_calls import COMPILED, VARIABLE

FIRST_TARGET, FURTHER_TARGET = 8.0, 2.0
"""Seconds that the first query may take beside Spark's own start, and what another shape may add."""
EVERY = 0.05
_TICKS = os.sysconf("SC_CLK_TCK")
_FIRST = """CREATE STREAM bid (item INT, price INT, ts BIGINT) SOURCE csv('two.csv') ORDERED BY ts;
SELECT COUNT(*) AS bids FROM bid [RANGE 5];
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took: seconds of processor time of all its processes, seconds, and how much it compiled."""

    processor: float
    seconds: float
    compiled: int


class Installation:
    """A folder with small scripts, and one for compiled code, which is empty at first."""

    def __init__(self, folder: Path, compiled: bool) -> None:
        self._folder, self._cache = folder, folder / "cache"
        self._checkout = this_checkout()
        self._environment = {**self._checkout.environment, "NUMBA_CACHE_DIR": str(self._cache)}
        if compiled:
            self._environment[VARIABLE] = COMPILED
        (folder / "two.csv").write_text("item,price,ts\n1,10,1\n2,20,2\n", encoding="utf-8")
        (folder / "first.sql").write_text(_FIRST, encoding="utf-8")
        write_sources(folder)

    def first(self, master: str) -> Cost:
        """The first query."""
        return self._run("first.sql", master)

    def shape(self, name: str) -> Cost:
        """A query of a shape, in one process."""
        (self._folder / "shape.sql").write_text(script(name), encoding="utf-8")
        return self._run("shape.sql", IN_PROCESS)

    def _run(self, name: str, master: str) -> Cost:
        before = self._compiled()
        command = self._checkout.command("run", name, "--master", master)
        processor, seconds = processor_time(command, self._folder, self._environment)
        return Cost(processor, seconds, self._compiled() - before)

    def _compiled(self) -> int:
        return sum(1 for _ in self._cache.rglob("*.nbc"))


def processor_time(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> tuple[float, float]:
    """Seconds of processor time of a command and all its descendants, and how many seconds it took."""
    used: dict[int, float] = {}
    begin = time.perf_counter()
    with (folder / "said.txt").open("wb") as said:
        process = subprocess.Popen(command, cwd=folder, env=dict(environment), stdout=said, stderr=said)
        while process.poll() is None:
            for one in family(process.pid):
                used[one] = max(used.get(one, 0.0), _used(one))
            time.sleep(EVERY)
    if process.returncode:
        raise CommandError((folder / "said.txt").read_text(encoding="utf-8", errors="replace").strip())
    return sum(used.values()), time.perf_counter() - begin


def _used(process: int) -> float:
    """Seconds of processor time of a process by itself; none of one that has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _missed(value: float, target: float) -> str:
    return "missed" if value > target else ""


def _on_spark(folder: Path, compiled: bool) -> list[list[str]]:
    """The first query on Spark, and plain PySpark, each with nothing compiled."""
    mine = Installation(folder, compiled).first(MASTER)
    plain = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    start, waited = processor_time([sys.executable, "-m", "benchmarks.startup_job", MASTER], folder, plain)
    beside = mine.processor - start
    return [
        ["plain PySpark, started", f"{start:.1f}", f"{waited:.1f}", "", "", ""],
        ["first query, on Spark", f"{mine.processor:.1f}", f"{mine.seconds:.1f}", str(mine.compiled), "", ""],
        ["  beside Spark's start", f"{beside:.1f}", "", "", f"{FIRST_TARGET}", _missed(beside, FIRST_TARGET)],
    ]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-spark", action="store_true")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=f"of: {', '.join(SHAPES)}")
    given = parser.parse_args()
    lines: list[list[str]] = []
    with tempfile.TemporaryDirectory(prefix="continua-bench-") as name:
        if not given.no_spark:
            (Path(name) / "spark").mkdir()
            lines += _on_spark(Path(name) / "spark", given.compiled)
        mine = Installation(Path(name), given.compiled)
        for label in ("first query, in one process", "the same again"):
            again = mine.first(IN_PROCESS)
            missed = _missed(again.processor, FIRST_TARGET)
            took = [f"{again.processor:.1f}", f"{again.seconds:.1f}", str(again.compiled), f"{FIRST_TARGET}", missed]
            lines.append([label, *took])
        for shape in given.shapes or SHAPES:
            cost = mine.shape(shape)
            more = cost.processor - again.processor
            took = [f"+{more:.1f}", f"{cost.seconds:.1f}", str(cost.compiled), f"{FURTHER_TARGET}"]
            lines.append([shape, *took, _missed(more, FURTHER_TARGET)])
    print_table(("", "processor s", "seconds", "compiled", "target", ""), lines)


if __name__ == "__main__":
    main()

"""Sides of a comparison: what is run over the same rows, in turn, each time as a new process.

A side is the command ``continua run`` on a script, or a job for Spark alone. ``slopes_of`` takes the speed of several.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.checkouts import ROOT, Checkout, CheckoutError, this_checkout
from benchmarks.processes import CommandError, Usage, end_tidily, run
from benchmarks.slopes import FACTOR, Slope, print_table
from benchmarks.spark_job import SparkJob

MASTER = "local[2]"
IN_PROCESS = "none"


@dataclass(frozen=True)
class Side:
    """A way to answer a query: the command for a folder of rows, and the folder in it to which the answers go."""

    label: str
    command: Callable[[Path], Sequence[str]]
    environment: Mapping[str, str]
    cores: int
    answers: str
    limit: float | None = None
    """After how many seconds a run is given up."""

    def run(self, data: Path) -> Usage:
        """Runs over the rows of a folder; answers that were there before are removed."""
        self.forget(data)
        return run(self.command(data), self.cores, data, self.environment, self.limit)

    def forget(self, data: Path) -> None:
        """Removes the answers of the last run."""
        shutil.rmtree(data / self.answers, ignore_errors=True)

    def rows(self, data: Path) -> pa.Table:
        """The answers of the last run, in an order of their own; units and precisions do not matter."""
        if not (data / self.answers).exists():
            raise CommandError("there are no answers")
        table = pq.read_table(data / self.answers)
        table = table.cast(pa.schema([pa.field(f.name, _general(f.type)) for f in table.schema]))
        return table.sort_by([(name, "ascending") for name in table.column_names])

    def count(self, data: Path) -> int:
        """How many answers the last run gave."""
        return sum(pq.read_metadata(file).num_rows for file in (data / self.answers).glob("*.parquet"))


def _general(of: pa.DataType) -> pa.DataType:
    """The type to which all that hold the same values are converted."""
    if pa.types.is_timestamp(of):
        return pa.timestamp("us")
    return pa.decimal128(38, of.scale) if pa.types.is_decimal(of) else of


def cores_of(master: str) -> int:
    """How many cores a local master works on."""
    found = re.fullmatch(r"local\[(\d+)\]", master)
    if found is None and master != IN_PROCESS:
        raise CommandError(f"the master {master} is not of the form local[2]")
    return int(found[1]) if found else 1


def command_side(checkout: Checkout, name: str, script: str, master: str = MASTER, label: str = "") -> Side:
    """``continua run`` of a script whose answers go to the folder of its name."""

    def command(data: Path) -> Sequence[str]:
        path = data / f"{name}.sql"
        path.write_text(script, encoding="utf-8")
        return checkout.command("run", str(path), "--master", master)

    return Side(label or checkout.label, command, checkout.environment, cores_of(master), name)


def spark_side(job: SparkJob, master: str = MASTER, label: str = "Spark alone") -> Side:
    """A job for Spark alone."""
    written = json.dumps(asdict(job))

    def command(data: Path) -> Sequence[str]:
        return [sys.executable, "-m", "benchmarks.spark_job", str(data), master, written]

    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    return Side(label, command, environment, cores_of(master), job.answers)


def same_answers(sides: Sequence[Side], data: Path) -> str | None:
    """Runs all sides, so that what is compiled is there later; None if all answer the same, else what is wrong."""
    first: pa.Table | None = None
    for side in sides:
        try:
            side.run(data)
            found = side.rows(data)
        except CommandError as error:
            return f"{side.label} fails: {error}"
        if first is None:
            first = found
        elif not found.equals(first):
            return f"{side.label} answers otherwise than {sides[0].label}"
    return None


@dataclass(frozen=True)
class Data:
    """The folders of so many rows, and of three times as many."""

    rows: int
    small: Path
    large: Path

    @classmethod
    def written(cls, folder: Path, rows: int, write: Callable[[Path, int], None]) -> Data:
        """With the files that ``write`` puts into a folder for a number of rows."""
        found = cls(rows, folder / "small", folder / "large")
        for path, count in ((found.small, rows), (found.large, FACTOR * rows)):
            path.mkdir(parents=True, exist_ok=True)
            write(path, count)
        return found


def slopes_of(sides: Sequence[tuple[Side, Data]], runs: int) -> list[Slope]:
    """Runs all sides in turn, over their rows and over three times as many; every other time in reverse."""
    usages: list[tuple[list[Usage], list[Usage]]] = [([], []) for _ in sides]
    for number in range(runs):
        order = list(zip(sides, usages, strict=True))
        for place in (0, 1):
            for (side, data), found in order if number % 2 == 0 else reversed(order):
                folder = data.large if place else data.small
                found[place].append(side.run(folder))
                side.forget(folder)
    return [Slope(data.rows, tuple(few), tuple(many)) for (_, data), (few, many) in zip(sides, usages, strict=True)]


def print_lines(head: Sequence[str], note: str, lines: Callable[[Path], Iterator[list[str]]]) -> int:
    """Prints the lines of a table that are measured in a temporary folder; returns the exit status of the command.

    A target that is missed is no failure: the lines tell it.
    """
    end_tidily()
    found: list[list[str]] = []
    with tempfile.TemporaryDirectory(prefix="continua-bench-") as folder:
        try:
            this_checkout().check(Path(folder))
            for line in lines(Path(folder)):
                tell(", ".join(filter(None, line)))
                found.append(line)
        except (CheckoutError, CommandError) as error:
            print(error, file=sys.stderr)
            return 1
    print(f"\n{note}: the median, least and most")
    print_table(head, found)
    return 0


def tell(text: str) -> None:
    """Says what happens meanwhile."""
    print(text, file=sys.stderr, flush=True)

"""A map and a filter over files, by ``continua run`` and by Spark alone: how many times as fast Continua is.

Both read the same bids, write the same answers to a folder of Parquet, and have the same master. They run in turn, and
speed is a slope, as in ``compare``.

python -m benchmarks.nexmark.plain_spark [--events N] [--runs K] [--formats csv,parquet] [--queries q1,q2]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.nexmark.checkouts import ROOT, CheckoutError, this_checkout
from benchmarks.nexmark.plain_spark_job import TEXTS, answers_of
from benchmarks.nexmark.processes import CommandError, end_tidily
from benchmarks.nexmark.sides import Side, continua_side, cores_of, same_answers, slopes_of, tell, written
from benchmarks.nexmark.slopes import megabytes, print_table, ratio, times

MASTER = "local[2]"
TARGETS = {"csv": 1.5, "parquet": 0.9}
"""How many times as fast as Spark alone Continua should be, by the format of the files."""


def spark_side(query: str, form: str) -> Side:
    """The query by Spark alone."""
    job = [sys.executable, "-m", "benchmarks.nexmark.plain_spark_job", query, form]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    return Side("Spark alone", lambda data: [*job, str(data), MASTER], environment, cores_of(MASTER), answers_of(query))


def line(query: str, form: str, small: Path, large: Path, events: int, runs: int) -> list[str]:
    """A line of the table."""
    sides = [continua_side(this_checkout(), query, form, MASTER, "continua run"), spark_side(query, form)]
    wrong = same_answers(sides, small)
    if wrong is not None:
        raise CommandError(wrong)
    mine, sparks = slopes_of(sides, small, large, events, runs)
    faster = ratio(sparks, mine)
    verdict = "" if faster is not None and faster >= TARGETS[form] else "missed"
    shown = [mine.shown, sparks.shown, times(faster), times(TARGETS[form]), verdict]
    return [f"{query} {form}", *shown, megabytes(mine.peak), megabytes(sparks.peak)]


def main() -> int:
    """Measures, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--formats", default=",".join(TARGETS))
    parser.add_argument("--queries", default=",".join(TEXTS))
    arguments = parser.parse_args()
    end_tidily()
    head = ["query", "continua run", "Spark alone", "faster", "target", "", "memory", "memory of Spark"]
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory(prefix="continua-nexmark-") as name:
        try:
            this_checkout().check(Path(name))
            for form in arguments.formats.split(","):
                small, large = written(Path(name), form, arguments.events)
                for query in arguments.queries.split(","):
                    tell(f"measuring {query} over {form}")
                    rows.append(line(query, form, small, large, arguments.events, arguments.runs))
                    tell("  " + ", ".join(filter(None, rows[-1][1:])))
        except (CheckoutError, CommandError) as error:
            print(error, file=sys.stderr)
            return 1
    print(f"\n{MASTER}, seconds per million events: the median of {arguments.runs}, least and most")
    print_table(head, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())

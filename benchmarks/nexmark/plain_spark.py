"""A map and a filter over files, by ``continua run`` and by Spark alone: how many times as fast Continua is.

Both read the same bids, write the same answers to a folder of Parquet, and have the same master. They run in turn, and
speed is a slope, as in ``compare``.

python -m benchmarks.nexmark.plain_spark [--events N] [--runs K] [--formats csv,parquet] [--queries q1,q2]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.checkouts import this_checkout
from benchmarks.nexmark.generator import LEAN, write_first
from benchmarks.nexmark.scripts import query_side
from benchmarks.processes import CommandError
from benchmarks.sides import MASTER, Data, print_lines, same_answers, slopes_of, spark_side, tell
from benchmarks.slopes import megabytes, ratio, times, verdict
from benchmarks.spark_job import SparkJob

SCHEMA = "auction BIGINT, bidder BIGINT, price BIGINT, dateTime TIMESTAMP"
TEXTS = {
    "q1": "SELECT dateTime AS t, auction, bidder, 0.908 * price AS price, dateTime FROM bid",
    "q2": "SELECT dateTime AS t, auction, price FROM bid WHERE auction % 123 = 0",
}
"""With the columns that the answers of Continua have."""
TARGETS = {"csv": 1.5, "parquet": 0.9}
"""How many times as fast as Spark alone Continua should be, by the format of the files."""


def line(query: str, form: str, data: Data, runs: int) -> list[str]:
    """A line of the table."""
    job = SparkJob(("bid",), TEXTS[query], form=form, schema="" if form == "parquet" else SCHEMA)
    sides = [query_side(this_checkout(), query, form, MASTER, "continua run"), spark_side(job)]
    wrong = same_answers(sides, data.small)
    if wrong is not None:
        raise CommandError(wrong)
    mine, sparks = slopes_of([(side, data) for side in sides], runs)
    faster = ratio(sparks, mine)
    shown = [mine.shown, sparks.shown, times(faster), times(TARGETS[form]), verdict(faster, TARGETS[form])]
    return [f"{query} {form}", *shown, megabytes(mine.peak), megabytes(sparks.peak)]


def main() -> int:
    """Measures, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--formats", default=",".join(TARGETS))
    parser.add_argument("--queries", default=",".join(TEXTS))
    given = parser.parse_args()

    def lines(folder: Path) -> Iterator[list[str]]:
        for form in given.formats.split(","):
            tell(f"writing {given.events:,} events and three times as many as {form}")
            data = Data.written(folder, given.events, partial(write_first, LEAN, form))
            for query in given.queries.split(","):
                tell(f"measuring {query} over {form}")
                yield line(query, form, data, given.runs)

    head = ["query", "continua run", "Spark alone", "faster", "target", "", "memory", "memory of Spark"]
    return print_lines(head, f"{MASTER}, seconds per million events, {given.runs} runs", lines)


if __name__ == "__main__":
    sys.exit(main())

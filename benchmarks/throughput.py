"""How fast ``continua run`` answers queries, as a share of what Spark alone needs for the same rows.

The floor is the least that Spark and Python need to move rows: Parquet is read, goes through an exchange by key and an
identity in Python, and nowhere. Continua writes its answers to a folder of Parquet besides. Queries that need no
exchange are compared with Spark itself, which answers them to such a folder too.

Speed is a slope: the rows of 3 N less those of N, by the time that these took more. Every run is a process of its own
on two cores, and the runs of Continua and of Spark alternate.

python -m benchmarks.throughput [--rows N] [--runs K] [--cases NAME,...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bids import bids, definition, write
from benchmarks.checkouts import this_checkout
from benchmarks.processes import CommandError
from benchmarks.sides import (
    MASTER,
    Data,
    command_side,
    print_lines,
    same_answers,
    slopes_of,
    spark_side,
    tell,
)
from benchmarks.slopes import ratio, share, verdict
from benchmarks.spark_job import SparkJob

WINDOW = 60_000
SLIDE = 1_000
ANSWERS = "answers"


@dataclass(frozen=True)
class Case:
    """A query, the least share of Spark's speed that it should reach, if one is set, and the sources that it reads."""

    name: str
    text: str
    target: float | None
    sources: tuple[str, ...] = ("bid",)
    plain: str = ""
    """What Spark alone is asked for the same answers; without it the comparison is with the floor."""

    @property
    def script(self) -> str:
        """What Continua runs."""
        return "".join(map(definition, self.sources)) + f"REGISTER QUERY q AS {self.text} INTO parquet('{ANSWERS}');"

    @property
    def job(self) -> SparkJob:
        """What Spark runs."""
        return SparkJob(self.sources, self.plain, key="auction")


CASES = (
    Case("sum and count", f"SELECT auction, SUM(price), COUNT(*) FROM bid [RANGE {WINDOW}] GROUP BY auction", 0.45),
    Case("max", f"SELECT auction, MAX(price) FROM bid [RANGE {WINDOW}] GROUP BY auction", 0.55),
    Case(
        "join",
        "SELECT offer.auction, offer.price, ask.price AS other FROM offer [RANGE 200], ask [RANGE 200]"
        " WHERE offer.auction = ask.auction",
        0.55,
        ("offer", "ask"),
    ),
    Case("distinct", f"SELECT DISTINCT auction, price FROM bid [RANGE {WINDOW}]", 0.55),
    Case("partitioned rows", "SELECT auction, price FROM bid [PARTITION BY auction ROWS 10]", 0.55),
    Case("unkeyed slide", f"SELECT COUNT(*), SUM(price), MAX(price) FROM bid [RANGE {WINDOW} SLIDE {SLIDE}]", None),
    Case(
        "keyed slide",
        f"SELECT auction, COUNT(*), SUM(price), MAX(price) FROM bid [RANGE {WINDOW} SLIDE {SLIDE}] GROUP BY auction",
        None,
    ),
    Case(
        "filter and map",
        "SELECT RSTREAM auction, price * 2 AS twice, price % 7 AS rest FROM bid [NOW]"
        " WHERE price > 5000 AND auction < 999",
        0.80,
        plain="SELECT ts AS t, auction, price * 2 AS twice, price % 7 AS rest FROM bid"
        " WHERE price > 5000 AND auction < 999",
    ),
    Case(
        "query 6.1",
        "SELECT * FROM bid WHERE price > 5000",
        0.77,
        plain="SELECT ts AS t, auction, price FROM bid WHERE price > 5000",
    ),
)
HEAD = ("case", "continua run", "Spark alone", "share", "target", "", "answers of N rows")


def write_sources(folder: Path, rows: int) -> None:
    """The files of all sources; ``offer`` and ``ask`` have as many rows together as ``bid``."""
    for seed, (name, part) in enumerate((("bid", 1), ("offer", 2), ("ask", 2))):
        write(bids(rows // part, seed), folder / f"{name}.parquet")


def line(case: Case, data: Data, runs: int, master: str = MASTER) -> list[str]:
    """A line of the table."""
    mine, sparks = command_side(this_checkout(), ANSWERS, case.script, master), spark_side(case.job, master)
    wrong = same_answers([mine, sparks] if case.plain else [mine], data.small)
    if wrong is not None:
        raise CommandError(f"{case.name}: {wrong}")
    answers = mine.count(data.small)
    taken, least = slopes_of([(mine, data), (sparks, data)], runs)
    target = ("-", "") if case.target is None else (f"{case.target:.0%}", verdict(ratio(least, taken), case.target))
    return [case.name, taken.shown, least.shown, share(least, taken), *target, f"{answers:,}"]


def chosen(names: str | None) -> Sequence[Case]:
    """The cases of some names; without names, all that have a target."""
    if names is None:
        return [case for case in CASES if case.target is not None]
    known = {case.name: case for case in CASES}
    return [known[name] for name in names.split(",")]


def main() -> int:
    """Measures, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000, metavar="N")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cases", help=", ".join(case.name for case in CASES))
    given = parser.parse_args()

    def lines(folder: Path) -> Iterator[list[str]]:
        data = Data.written(folder, given.rows, write_sources)
        for case in chosen(given.cases):
            tell(f"measuring {case.name}")
            yield line(case, data, given.runs)

    return print_lines(HEAD, f"{MASTER}, seconds per million rows, {given.runs} runs", lines)


if __name__ == "__main__":
    sys.exit(main())

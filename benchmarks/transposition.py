"""Queries that start at different times over one windowed aggregate: how long a batch takes, against that of one.

python -m benchmarks.transposition [--batches N] [--starts N] [--joining N] [--master M] [--alone]

Once 50 queries whose starts lie a number of slides apart begin together, and once 100 equal queries join a live run one
after the other. Both are measured when the initial phases are over.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator

from benchmarks.live import ROWS, Batch, LiveBids, milliseconds, on_cores_of, stop_spark
from benchmarks.processes import end_tidily
from benchmarks.sides import IN_PROCESS, MASTER, tell
from benchmarks.slopes import print_table

WINDOW, SLIDE = 2_000, 100
WARM = 3
TARGETS = {"starts": 2.0, "joining": 1.5}
"""So many times as long as with one query a batch may take."""
AT_START = (
    f"SELECT auction % 50 AS g, COUNT(*) AS n, SUM(price) AS s FROM bid "
    f"[RANGE {WINDOW} SLIDE {SLIDE} ALIGNED TO START] GROUP BY auction % 50"
)
PLAIN = AT_START.replace(" ALIGNED TO START", "")


def started(count: int, number: int, master: str, setting: str) -> list[Batch]:
    """Batches with so many queries at starts of their own, when all windows are full."""
    starts = [f"{setting} SET start_time = {SLIDE * i}; {AT_START}" for i in range(count)]
    queries = LiveBids(starts, master)
    queries.fill(2 * WINDOW + SLIDE * count)
    found = queries.batches(number, WARM)
    queries.stop()
    return found


def joined(count: int, number: int, master: str, setting: str) -> list[Batch]:
    """Batches with so many queries that have joined one after the other, when all windows are full."""
    queries = LiveBids([setting + PLAIN], master)
    queries.fill(WINDOW)
    for _ in range(count - 1):
        queries.fill(SLIDE)
        added = queries.session.sql(PLAIN)
        assert added is not None
        queries.session.start([added])
    queries.fill(2 * WINDOW)
    found = queries.batches(number, WARM)
    queries.stop()
    return found


WAYS = {"starts": started, "joining": joined}


def lines(kind: str, count: int, number: int, master: str, alone: bool) -> Iterator[list[str]]:
    """The lines of the table for one kind: one query, then so many; ``alone``: also without transposition."""
    one = 0.0
    off = "SET disabled_rules = 'transposition';"
    for queries, setting in [(1, ""), (count, ""), *([(count, off)] if alone else [])]:
        tell(f"{kind}: {queries:,} queries {setting}")
        batches = WAYS[kind](queries, number, master, setting)
        taken = statistics.median(b.seconds for b in batches)
        one = one or taken
        target = TARGETS[kind]
        missed = "missed" if queries > 1 and not setting and taken > target * one else ""
        times = (milliseconds([b.seconds for b in batches]), milliseconds([b.engine for b in batches]))
        state = f"{batches[-1].state_rows:,}"
        name = f"{queries:,} {kind}" + (", each by its own operators" if setting else "")
        yield [name, *times, f"{batches[-1].answers:,}", state, f"{taken / one:.1f} x", f"{target} x", missed]


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--starts", type=int, default=50)
    parser.add_argument("--joining", type=int, default=100)
    parser.add_argument("--master", default=MASTER, help=f"{IN_PROCESS}: without Spark")
    parser.add_argument("--alone", action="store_true", help="Also with each query by its own operators.")
    given = parser.parse_args()
    end_tidily()
    on_cores_of(given.master)
    counts = {"starts": given.starts, "joining": given.joining}
    found = [line for kind in WAYS for line in lines(kind, counts[kind], given.batches, given.master, given.alone)]
    stop_spark()
    print(f"\n{given.master}, {ROWS:,} rows, milliseconds: the median of {given.batches}, least and most")
    print_table(("queries", "whole batch", "engine", "rows out", "rows held", "of one", "target", ""), found)


if __name__ == "__main__":
    main()

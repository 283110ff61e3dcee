"""Many live queries over one windowed aggregate: how long a batch of 1,000 rows takes, against that of one query.

python -m benchmarks.sharing [--batches N] [--counts 1,100,1000]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence

from benchmarks.live import ROWS, LiveBids, milliseconds, on_cores_of, stop_spark
from benchmarks.processes import end_tidily
from benchmarks.sides import MASTER, tell
from benchmarks.slopes import print_table

WINDOW = 20_000
WARM = 3
TARGETS = {1: 1.0, 100: 4.0, 1_000: 15.0}
"""For so many queries, how many times as long as with one a batch may take."""
REGISTRATION_TARGET = 1.0
FILTERS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "thresholds": ("total > {}", lambda i, count: 50_000 + i * 40_000 // count),
    "keys": ("auction = {}", lambda i, _: i),
}
"""A condition, and the constant in it for one of so many queries."""


def query(condition: str) -> str:
    """A filter over the aggregate."""
    total = f"SELECT auction, SUM(price) AS total FROM bid [RANGE {WINDOW}] GROUP BY auction"
    return f"SELECT auction, total FROM ({total}) v WHERE {condition}"


def live_queries(kind: str, count: int, master: str = MASTER) -> LiveBids:
    """So many live queries, whose window is full."""
    condition, constant = FILTERS[kind]
    queries = LiveBids([query(condition.format(constant(i, count))) for i in range(count)], master)
    queries.fill(WINDOW)
    return queries


def registration_time(queries: LiveBids) -> float:
    """How long the next query takes to join."""
    begin = time.perf_counter()
    added = queries.session.sql(query("total > 12345"))
    assert added is not None
    queries.session.start([added])
    return time.perf_counter() - begin


def lines(kind: str, counts: Sequence[int], number: int, master: str = MASTER) -> Iterator[list[str]]:
    """The lines of the table for one kind of filter; the first count is what the others are compared with."""
    one = 0.0
    for count in counts:
        tell(f"{kind}: {count:,} queries")
        queries = live_queries(kind, count, master)
        batches = queries.batches(number, WARM)
        joined = registration_time(queries)
        queries.stop()
        taken = statistics.median(b.seconds for b in batches)
        one = one or taken
        times = (milliseconds([b.seconds for b in batches]), milliseconds([b.engine for b in batches]))
        target = TARGETS.get(count)
        limit = "-" if target is None else f"{target:.0f} x"
        missed = ["batch"] if target is not None and taken > target * one else []
        missed += ["one more"] if joined > REGISTRATION_TARGET else []
        result = [f"{taken / one:.1f} x", limit, f"{joined:.2f} s", "missed: " + ", ".join(missed) if missed else ""]
        yield [f"{count:,} {kind}", *times, f"{batches[-1].answers:,}", *result]


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--counts", default=",".join(map(str, TARGETS)))
    given = parser.parse_args()
    counts = [int(count) for count in given.counts.split(",")]
    end_tidily()
    on_cores_of(MASTER)
    found = [line for kind in FILTERS for line in lines(kind, counts, given.batches)]
    stop_spark()
    print(f"\n{MASTER}, {ROWS:,} rows, milliseconds: the median of {given.batches}, least and most")
    print(f"target for one more query that joins: at most {REGISTRATION_TARGET:.0f} s")
    print_table(("queries", "whole batch", "engine", "rows out", "of one", "target", "one more", ""), found)


if __name__ == "__main__":
    main()

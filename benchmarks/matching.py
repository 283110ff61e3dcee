"""200 live queries that are contained in 5 views: how long a batch takes, against that of the 5 views alone.

python -m benchmarks.matching [--batches N] [--queries N] [--master M]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence

from benchmarks.live import ROWS, LiveBids, milliseconds, on_cores_of, stop_spark
from benchmarks.processes import end_tidily
from benchmarks.sides import IN_PROCESS, MASTER, tell
from benchmarks.slopes import print_table

WINDOW = 5_000
FILL = 10_000
WARM = 3
TARGET = 2.0
"""So many times as long as with the views alone a batch may take."""


def _bids(slide: int, alias: str = "", window: int = WINDOW) -> str:
    return f"FROM bid [RANGE {window} SLIDE {slide}] {alias}".strip()


PAIRS = f"{_bids(500, 'a')}, bid [RANGE 500 SLIDE 500] b"
VIEWS = (
    f"SELECT auction, price {_bids(100)} WHERE price > 5000",
    f"SELECT auction, COUNT(*) AS n, SUM(price) AS s, MAX(price) AS m {_bids(100)} GROUP BY auction",
    f"SELECT auction % 10 AS g, auction % 100 AS h, COUNT(*) AS n, SUM(price) AS s {_bids(50)} "
    "WHERE price BETWEEN 100 AND 9000 GROUP BY auction % 10, auction % 100",
    f"SELECT DISTINCT auction {_bids(100)} WHERE price > 9000",
    f"SELECT a.auction, a.price AS p, b.price AS q {PAIRS} WHERE a.auction = b.auction AND a.price > 9900",
)


def contained(number: int) -> str:
    """A query that is contained in one of the views, by two compensations or more."""
    kind, i = number % 5, number // 5
    slide = 100 * (1 + i % 5)
    match kind:
        case 0:
            return f"SELECT price, auction {_bids(slide)} WHERE price > {9000 + 20 * i}"
        case 1:
            some = f"auction IN ({i}, {i + 1}, {i + 2})"
            found = f"SELECT auction, SUM(price) AS s, COUNT(*) AS n {_bids(slide)} WHERE {some}"
            return f"{found} GROUP BY auction HAVING COUNT(*) > {i % 4}"
        case 2:
            some = f"price >= 100 AND price <= 9000 AND auction % 100 >= {i}"
            found = f"SELECT auction % 10 AS g, SUM(price) AS s, COUNT(*) AS n {_bids(slide)} WHERE {some}"
            return f"{found} GROUP BY auction % 10"
        case 3:
            return f"SELECT DISTINCT auction {_bids(200)} WHERE price > 9000 AND auction < {50 * (i + 1)}"
        case _:
            some = f"b.auction = a.auction AND a.price > {9901 + i} AND b.price < {9000 - 100 * i}"
            return f"SELECT b.price AS q, a.auction {PAIRS} WHERE {some}"


def lines(counts: Sequence[int], number: int, master: str, alone: bool) -> Iterator[list[str]]:
    """The lines of the table: the views alone, then with so many queries; ``alone``: also without matching."""
    first = 0.0
    for count, setting in [(c, "") for c in counts] + (
        [(counts[-1], "SET disabled_rules = 'query_matching';")] if alone else []
    ):
        tell(f"{count:,} queries {setting}")
        texts = [*VIEWS, *(contained(i) for i in range(count))]
        queries = LiveBids([setting + text for text in texts], master)
        queries.fill(FILL)
        batches = queries.batches(number, WARM)
        queries.stop()
        taken = statistics.median(b.seconds for b in batches)
        first = first or taken
        missed = "missed" if count and not setting and taken > TARGET * first else ""
        times = (milliseconds([b.seconds for b in batches]), milliseconds([b.engine for b in batches]))
        name = "5 views" if not count else f"and {count:,} queries" + (", each by its own plan" if setting else "")
        yield [name, *times, f"{batches[-1].answers:,}", f"{taken / first:.1f} x", missed]


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--master", default=MASTER, help=f"{IN_PROCESS}: without Spark")
    parser.add_argument("--alone", action="store_true", help="Also with each query by its own plan.")
    given = parser.parse_args()
    end_tidily()
    on_cores_of(given.master)
    found = list(lines((0, given.queries), given.batches, given.master, given.alone))
    stop_spark()
    print(f"\n{given.master}, {ROWS:,} rows, milliseconds: the median of {given.batches}, least and most")
    print(f"target: at most {TARGET:.0f} times the views alone")
    print_table(("queries", "whole batch", "engine", "rows out", "of the views", ""), found)


if __name__ == "__main__":
    main()

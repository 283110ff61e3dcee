"""Windows that are written as conditions, and by views over the clock, beside the same windows in brackets.

Speed is a slope, as in ``throughput``; both sides alternate, and must give the same answers.

python -m benchmarks.predicate_windows [--rows N] [--runs K] [--master none]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bids import bids, definition, write
from benchmarks.checkouts import this_checkout
from benchmarks.processes import CommandError
from benchmarks.sides import IN_PROCESS, Data, Side, command_side, print_lines, same_answers, slopes_of, tell
from benchmarks.slopes import ratio, times

RANGE, SLIDE = 500, 100
MOST = 1.5
"""So many times as long as the window in brackets one by condition may take."""
VIEWS = (
    "CREATE STREAMED VIEW NowView AS SELECT 1 AS KEY, MAX(T.Timepoint) AS t FROM RELATION(clockStr) T;\n"
    f"CREATE STREAMED VIEW Points AS SELECT C.Timepoint FROM RELATION(clockStr) C WHERE C.Timepoint % {SLIDE} = 0;\n"
    "CREATE STREAMED VIEW Slide AS SELECT 1 AS KEY, MAX(T.Timepoint) AS t FROM RELATION(Points) T;\n"
)
TOTAL = "SELECT auction, COUNT(*) AS bids, SUM(price) AS total"
ASKED = f"n.t - {RANGE} <= r.TS AND r.TS <= n.t"
CASES = {
    "condition on NOW": (
        f"{TOTAL} FROM RELATION(bid) r WHERE NOW - {RANGE} <= r.TS AND r.TS <= NOW GROUP BY auction",
        f"{TOTAL} FROM bid [RANGE {RANGE}] GROUP BY auction",
    ),
    "view of now": (
        f"{TOTAL} FROM RELATION(bid) r, RELATION(NowView) n WHERE {ASKED} GROUP BY auction",
        f"{TOTAL} FROM bid [RANGE {RANGE}] GROUP BY auction",
    ),
    "range and slide": (
        f"{TOTAL} FROM RELATION(bid) r, RELATION(Slide) n WHERE {ASKED} GROUP BY auction",
        f"{TOTAL} FROM bid [RANGE {RANGE} SLIDE {SLIDE}] GROUP BY auction",
    ),
}
"""Each query by conditions, and with a window."""


def side(text: str, name: str, master: str) -> Side:
    """One way to write a query."""
    script = f"{definition('bid')}{VIEWS}REGISTER QUERY q AS {text} INTO parquet('{name}');"
    return command_side(this_checkout(), name, script, master, name)


def line(name: str, data: Data, runs: int, master: str) -> list[str]:
    """A line of the table: both ways, and their ratio."""
    condition, window = CASES[name]
    by_condition, in_brackets = side(condition, "condition", master), side(window, "window", master)
    wrong = same_answers([by_condition, in_brackets], data.small)
    if wrong is not None:
        raise CommandError(f"{name}: {wrong}")
    one, other = slopes_of([(by_condition, data), (in_brackets, data)], runs)
    slower = ratio(one, other)
    missed = "too short to tell" if slower is None else "missed" if slower > MOST else ""
    return [name, one.shown, other.shown, times(slower), f"at most {times(MOST)}", missed]


def main() -> int:
    """Measures, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--master", default=IN_PROCESS)
    given = parser.parse_args()

    def write_bids(folder: Path, rows: int) -> None:
        write(bids(rows, 1), folder / "bid.parquet")

    def lines(folder: Path) -> Iterator[list[str]]:
        data = Data.written(folder / "rows", given.rows, write_bids)
        for name in CASES:
            tell(f"measuring {name}")
            yield line(name, data, given.runs, given.master)

    head = ("case", "by condition", "window", "slower", "target", "")
    return print_lines(head, f"{given.master}, seconds per million rows, {given.runs} runs", lines)


if __name__ == "__main__":
    sys.exit(main())

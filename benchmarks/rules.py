"""What the rules are worth: ``continua run`` of queries as they are, and with ``SET disabled_rules = 'all'``.

Speed is a slope, as in ``throughput``; runs with and without rules alternate, and both must give the same answers.

python -m benchmarks.rules [--scale F] [--runs K] [--cases NAME,...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.bids import KEYS, PER_INSTANT, bids, definition, write
from benchmarks.checkouts import this_checkout
from benchmarks.processes import CommandError
from benchmarks.sides import MASTER, Data, command_side, print_lines, same_answers, slopes_of, tell
from benchmarks.slopes import ratio, times, verdict

LIFE = 5_000
"""How many instants an auction is open."""
AUCTIONS_PER_INSTANT = 0.1
SLOW = 0.1
"""How many prices a slow stream has an instant."""
SLIDE = 500


def _prices(name: str, rate: float, auctions: float = KEYS) -> str:
    return definition(name, f"STATISTICS (rate = {rate}, auction = {auctions:.0f})")


DEFINITIONS = {
    "bid": _prices("bid", PER_INSTANT),
    "offer": _prices("offer", PER_INSTANT),
    "ask": _prices("ask", SLOW),
    "deal": _prices("deal", SLOW),
    "raise": _prices("raise", PER_INSTANT, 3 * LIFE * AUCTIONS_PER_INSTANT),
    "opened": "CREATE STREAM opened (auction BIGINT, seller BIGINT, ts BIGINT) SOURCE parquet('opened.parquet')"
    f" ORDERED BY ts KEY auction STATISTICS (rate = {AUCTIONS_PER_INSTANT});\n",
    "closed": "CREATE STREAM closed (auction BIGINT, ts BIGINT) SOURCE parquet('closed.parquet')"
    f" ORDERED BY ts KEY auction STATISTICS (rate = {AUCTIONS_PER_INSTANT});\n",
}


@dataclass(frozen=True)
class Case:
    """A query, how many times faster the rules should make it, and the rows of the fastest stream that it reads.

    With the rules it reads so many ``times`` more, so that what they take can be told from how long it takes to start.
    """

    name: str
    text: str
    target: float
    rows: int
    times: int
    sources: tuple[str, ...]

    def script(self, rules: bool) -> str:
        """What is run, with the rules or without them."""
        setting = "" if rules else "SET disabled_rules = 'all';\n"
        definitions = "".join(DEFINITIONS[source] for source in self.sources)
        return f"{setting}{definitions}REGISTER QUERY q AS {self.text} INTO parquet('{_folder(rules)}');"


def _folder(rules: bool) -> str:
    return "rules_on" if rules else "rules_off"


CASES = (
    Case(
        "filter pushdown",
        "SELECT bid.auction, bid.price, offer.price AS other FROM bid [RANGE 4000], offer [RANGE 4000]"
        " WHERE bid.auction = offer.auction AND bid.price > 9900 AND offer.price > 8000",
        3.0,
        270_000,
        10,
        ("bid", "offer"),
    ),
    Case(
        "join reordering",
        "SELECT bid.auction, bid.price, offer.price AS other, ask.price AS asked, deal.price AS dealt"
        " FROM bid [RANGE 1500] JOIN offer [RANGE 1500] ON bid.auction = offer.auction"
        " JOIN ask [RANGE 1500] ON offer.auction = ask.auction JOIN deal [RANGE 1500] ON ask.auction = deal.auction",
        3.0,
        130_000,
        5,
        ("bid", "offer", "ask", "deal"),
    ),
    Case(
        "figure 9",
        f"SELECT opened.auction, seller, MAX(price) FROM raise [RANGE {2 * LIFE} SLIDE {SLIDE}]"
        f" JOIN closed [RANGE {2 * LIFE}] ON raise.auction = closed.auction"
        f" JOIN opened [RANGE {3 * LIFE}] ON closed.auction = opened.auction GROUP BY opened.auction, seller",
        2.0,
        670_000,
        1,
        ("raise", "opened", "closed"),
    ),
)
"""With the equalities in the joins, so that without rules too all of them are hash joins."""


def _raises(rows: int, seed: int) -> pa.Table:
    """Bids on the auctions that are open at their instant."""
    found = bids(rows, seed)
    last = (found["ts"].to_numpy() * AUCTIONS_PER_INSTANT).astype(np.int64)
    back = np.random.default_rng(seed + 1).integers(0, int(LIFE * AUCTIONS_PER_INSTANT), rows)
    return found.set_column(0, "auction", pa.array(np.maximum(last - back, 0)))


def _auctions(rows: int, delay: int, sellers: bool) -> pa.Table:
    """Every auction once, so long after it has opened."""
    auctions = np.arange(int(rows / PER_INSTANT * AUCTIONS_PER_INSTANT))
    times_of = (auctions / AUCTIONS_PER_INSTANT).astype(np.int64) + delay
    seller = {"seller": auctions % 97} if sellers else {}
    return pa.table({"auction": auctions, **seller, "ts": times_of})


def rows_of(source: str, rows: int) -> pa.Table:
    """The rows of a source, where the fastest one has so many."""
    seed = sum(map(ord, source))
    match source:
        case "raise":
            return _raises(rows, seed)
        case "opened":
            return _auctions(rows, 0, sellers=True)
        case "closed":
            return _auctions(rows, LIFE, sellers=False)
        case "ask" | "deal":
            return bids(max(1, int(rows * SLOW / PER_INSTANT)), seed, SLOW)
        case _:
            return bids(rows, seed)


def write_sources(case: Case, folder: Path, rows: int) -> None:
    """The files of a case."""
    for source in case.sources:
        write(rows_of(source, rows), folder / f"{source}.parquet")


def line(case: Case, folder: Path, scale: float, runs: int, master: str = MASTER) -> list[str]:
    """A line of the table: with and without rules, and their ratio."""
    rows, write_rows = int(case.rows * scale), partial(write_sources, case)
    few = Data.written(folder / "few", rows, write_rows)
    many = few if case.times == 1 else Data.written(folder / "many", rows * case.times, write_rows)
    with_rules, without = (
        command_side(this_checkout(), _folder(r), case.script(r), master, _folder(r)) for r in (True, False)
    )
    wrong = same_answers([with_rules, without], few.small)
    if wrong is not None:
        raise CommandError(f"{case.name}: {wrong}")
    answers = without.count(few.small)
    on, off = slopes_of([(with_rules, many), (without, few)], runs)
    faster = ratio(off, on)
    result = [times(faster), times(case.target), verdict(faster, case.target)]
    return [case.name, on.shown, off.shown, *result, f"{answers:,}"]


HEAD = ("case", "rules on", "rules off", "faster", "target", "", "answers of N rows")


def main() -> int:
    """Measures, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cases", default=",".join(case.name for case in CASES))
    given = parser.parse_args()
    names = given.cases.split(",")

    def lines(folder: Path) -> Iterator[list[str]]:
        for case in (case for case in CASES if case.name in names):
            tell(f"measuring {case.name}")
            yield line(case, folder, given.scale, given.runs)

    return print_lines(HEAD, f"{MASTER}, seconds per million rows of the fastest stream, {given.runs} runs", lines)


if __name__ == "__main__":
    sys.exit(main())

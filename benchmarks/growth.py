"""What a row costs as things grow: keys, elements of a window, queries, rows, skew and cores.

A cost is a slope: the time of 3 N rows less that of N, so that starting does not count. Points are measured from the
small ones of all kinds to the large ones, until the time is used up; those that are left out are told. Each kind is
fitted by a power law. All runs are ``continua run`` in one process, but for cores, where they are on Spark.

python -m benchmarks.growth [--kinds keys,window] [--most 10000000] [--minutes 20] [--write]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.bids import COLUMNS
from benchmarks.checkouts import CheckoutError, this_checkout
from benchmarks.plots import Point, fitted, plot
from benchmarks.processes import CommandError, end_tidily, run
from benchmarks.report import PLOTS, circumstances, markdown, write_section
from benchmarks.sides import IN_PROCESS, cores_of, tell
from benchmarks.slopes import FACTOR, print_table

_PART = 2_000_000
"""So many rows are made at a time."""
_ROWS = 500_000
"""The lesser number of rows of most points."""
_PRICES = 10_000
_SINK = "INTO parquet('answers')"
_GROUPED = f"SELECT auction, COUNT(*) AS bids, SUM(price) AS total FROM bid [{{window}}] GROUP BY auction {_SINK}"


@dataclass(frozen=True)
class Task:
    """What is run at a point: queries over rows of so many keys, of which a share has one key."""

    queries: Sequence[str]
    rows: int = _ROWS
    keys: int = 2_000
    skew: float = 0.0
    master: str = IN_PROCESS

    @property
    def script(self) -> str:
        """What Continua runs."""
        stream = f"CREATE STREAM bid ({COLUMNS}) SOURCE parquet('bid.parquet') ORDERED BY ts;"
        named = (f"REGISTER QUERY q{number} AS {text};" for number, text in enumerate(self.queries))
        return "\n".join([stream, *named])


@dataclass(frozen=True)
class Growth:
    """One kind of growth: what grows, at which points, and what bounds the cost."""

    name: str
    across: str
    points: Sequence[float]
    task: Callable[[float], Task]
    bound: str


def _selective(count: int) -> list[str]:
    """So many queries that share a scan, each of which takes the bids of one price."""
    step = max(1, _PRICES // count)
    prices = (1 + number * step % _PRICES for number in range(count))
    return [f"SELECT RSTREAM auction, price FROM bid [NOW] WHERE price = {price}" for price in prices]


def _powers(first: int, last: int) -> list[float]:
    return [10.0**power for power in range(first, last + 1)]


KINDS = (
    Growth(
        "keys",
        "keys",
        _powers(3, 7),
        lambda x: Task([_GROUPED.format(window="RANGE UNBOUNDED")], rows=max(_ROWS, int(x)), keys=int(x)),
        "the caches: a group's key and cells are somewhere in memory",
    ),
    Growth(
        "window",
        "elements of a window",
        _powers(0, 6),
        lambda x: Task([_GROUPED.format(window=f"RANGE {int(x)}")], rows=max(_ROWS, int(x))),
        "the queue of ends, which is sorted by time",
    ),
    Growth(
        "queries",
        "queries",
        _powers(0, 4),
        lambda x: Task(_selective(int(x)), rows=100_000),
        "the answers: conditions are asked for all queries at once",
    ),
    Growth(
        "rows",
        "rows",
        _powers(5, 8),
        lambda x: Task([_GROUPED.format(window="RANGE 60000")], rows=int(x) // FACTOR),
        "nothing that grows: what is held depends on the window",
    ),
    Growth(
        "skew",
        "share of the rows that have one key, in percent",
        (1.0, 10.0, 50.0),
        lambda x: Task([_GROUPED.format(window="RANGE 60000")], skew=x / 100, master="local[2]"),
        "the partition that has the key",
    ),
    Growth(
        "cores",
        "cores",
        (1.0, 2.0),
        lambda x: Task([_GROUPED.format(window="RANGE 60000")], rows=2_000_000, master=f"local[{int(x)}]"),
        "what the driver does alone, and memory that cores share",
    ),
)
HEAD = ("grows", "at", "seconds per million rows", "fitted exponent", "explained", "bounded by")


def write_rows(path: Path, task: Task, rows: int) -> None:
    """A file of bids in the order of their time, one an instant."""
    if task.rows < 1:
        raise ValueError("a point needs rows")
    schema = pa.schema([("auction", pa.int64()), ("price", pa.int64()), ("ts", pa.int64())])
    random = np.random.default_rng(7)
    with pq.ParquetWriter(path, schema) as writer:
        for first in range(0, rows, _PART):
            count = min(_PART, rows - first)
            auctions = random.integers(0, task.keys, count)
            auctions[random.random(count) < task.skew] = 0
            prices = random.integers(1, _PRICES + 1, count)
            times = np.arange(first, first + count)
            writer.write_table(pa.table([auctions, prices, times], schema=schema), row_group_size=250_000)


def seconds(task: Task, rows: int, folder: Path) -> float:
    """How long the queries take over so many rows."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        place = Path(name)
        write_rows(place / "bid.parquet", task, rows)
        (place / "q.sql").write_text(task.script, encoding="utf-8")
        command = this_checkout().command("run", "q.sql", "--master", task.master)
        return run(command, cores_of(task.master), place, this_checkout().environment).seconds


def cost(task: Task, folder: Path) -> float:
    """Seconds per million rows."""
    few, many = (seconds(task, factor * task.rows, folder) for factor in (1, FACTOR))
    return (many - few) / ((FACTOR - 1) * task.rows) * 1_000_000


def in_order(kinds: Sequence[Growth], most: float) -> Iterator[tuple[Growth, float]]:
    """All points up to the most, the small ones of all kinds first."""
    for place in range(max(len(kind.points) for kind in kinds)):
        for kind in kinds:
            if place < len(kind.points) and kind.points[place] <= most:
                yield kind, kind.points[place]


def measured(kinds: Sequence[Growth], most: float, budget: float, folder: Path) -> dict[str, list[Point]]:
    """The cost at the points for which there is time."""
    found: dict[str, list[Point]] = {kind.name: [] for kind in kinds}
    began = time.monotonic()
    for kind, x in in_order(kinds, most):
        if time.monotonic() - began > budget:
            tell(f"{kind.name} {x:,.0f}: left out, the time is used up")
            continue
        y = cost(kind.task(x), folder)
        tell(f"{kind.name} {x:,.0f}: {y:.3f} s per million rows")
        if y > 0:
            found[kind.name].append((x, y))
        else:
            tell(f"{kind.name} {x:,.0f}: too short to tell")
    return found


def lines_of(kinds: Sequence[Growth], found: dict[str, list[Point]]) -> list[list[str]]:
    """The lines of the table."""
    lines = []
    for kind in kinds:
        points = found[kind.name]
        law = fitted(points)
        fit = ("-", "-") if law is None else (f"{law.exponent:.2f}", f"{law.explained:.0%}")
        for number, (x, y) in enumerate(points):
            lines.append([kind.name, f"{x:,.0f}", f"{y:.3f}", *(("", "", "") if number else (*fit, kind.bound))])
    return lines


def serial_share(points: Sequence[Point]) -> str | None:
    """What one and two cores say of the share that is not divided, and of what 64 cores would give at most."""
    costs = dict(points)
    if 1.0 not in costs or 2.0 not in costs:
        return None
    share = min(max(2 * costs[2.0] / costs[1.0] - 1, 0.0), 1.0)
    most = 1 / (share + (1 - share) / 64)
    faster = costs[1.0] / costs[2.0]
    return f"Two cores are {faster:.2f} times one: {share:.0%} is serial, so 64 would give {most:.0f} times at most."


def main() -> int:
    """Measures, and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default=",".join(kind.name for kind in KINDS))
    parser.add_argument("--most", type=float, default=1e7, help="the largest point; 1e8 rows take some minutes")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--write", action="store_true", help="to docs/benchmarks.md, with plots")
    given = parser.parse_args()
    known = {kind.name: kind for kind in KINDS}
    if unknown := [name for name in given.kinds.split(",") if name not in known]:
        parser.error(f"there is no kind {unknown[0]}; there are {', '.join(known)}")
    kinds = [known[name] for name in given.kinds.split(",")]
    end_tidily()
    with tempfile.TemporaryDirectory(prefix="continua-growth-") as name:
        try:
            this_checkout().check(Path(name))
            found = measured(kinds, given.most, 60 * given.minutes, Path(name))
        except (CheckoutError, CommandError) as error:
            print(error, file=sys.stderr)
            return 1
    lines = lines_of(kinds, found)
    print_table(HEAD, lines)
    serial = serial_share(found.get("cores", []))
    if serial is not None:
        print(serial)
    if given.write:
        shown = [circumstances("benchmarks.growth"), "", *markdown(HEAD, lines), *(["", serial] if serial else [])]
        PLOTS.mkdir(exist_ok=True)
        for kind in kinds:
            if len(found[kind.name]) > 1:
                picture = plot(f"Cost against {kind.across}", kind.across, "s per million rows", found[kind.name])
                (PLOTS / f"growth-{kind.name}.svg").write_text(picture, encoding="utf-8")
                shown += ["", f"![Cost against {kind.across}](plots/growth-{kind.name}.svg)"]
        write_section("growth", shown)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How fast ``continua run`` answers NEXMark's queries, and how fast another commit does.

Speed is a slope: the events of 3 N less those of N, by the time that these took more. Runs of the two alternate, every
one is a process of its own on as many cores as its master has, and the answers go to folders of Parquet.

python -m benchmarks.nexmark.compare [--against COMMIT] [--queries q1,q5] [--events N] [--runs K]
    [--format csv|jsonl|parquet] [--full] [--masters local[2],local[1]]
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from benchmarks.checkouts import Checkout, CheckoutError, checkout_of, this_checkout
from benchmarks.nexmark.generator import Settings, write_first
from benchmarks.nexmark.scripts import CLASSIC, NAMES, needs_texts, query_side
from benchmarks.processes import CommandError, end_tidily, pinned
from benchmarks.sides import MASTER, Data, cores_of, same_answers, slopes_of, tell
from benchmarks.slopes import Slope, geometric_mean, megabytes, print_table, ratio, times
from continua.cli.event_files import FORMATS

AGAINST = "644093e"
NOTHING = "none"


@dataclass(frozen=True)
class Work:
    """What is compared over which events."""

    checkouts: Sequence[Checkout]
    masters: Sequence[str]
    data: Callable[[bool], Data]
    """The events with or without long texts, written when they are first asked for."""
    full: bool
    runs: int
    form: str


Found = dict[str, list[Slope]]
"""Of a master, the slopes of the checkouts."""


def measured(work: Work, query: str) -> Found | str:
    """The slopes of a query, or why there are none."""
    pairs = [(master, checkout) for master in work.masters for checkout in work.checkouts]
    sides = [query_side(c, query, work.form, master, f"{c.label} on {master}") for master, c in pairs]
    data = work.data(work.full or needs_texts(query))
    wrong = same_answers(sides, data.small)
    if wrong is not None:
        return wrong
    try:
        slopes = slopes_of([(side, data) for side in sides], work.runs)
    except CommandError as error:
        return f"fails over many events: {error}"
    found: Found = {}
    for (master, _), slope in zip(pairs, slopes, strict=True):
        found.setdefault(master, []).append(slope)
    return found


def print_checkouts(work: Work, found: dict[str, Found]) -> None:
    """A table a master: the time and the memory of each checkout, and how many times as fast this one is."""
    labels = [checkout.label for checkout in work.checkouts]
    for master in work.masters:
        print(f"\n{master}, {work.form}, seconds per million events: the median of {work.runs}, least and most")
        head = ["query", *labels, *(["faster"] if len(labels) > 1 else []), *(f"memory of {label}" for label in labels)]
        ratios, rows = [], []
        for query, by_master in found.items():
            slopes = by_master[master]
            faster = [ratio(slopes[1], slopes[0])] if len(slopes) > 1 else []
            ratios += faster
            shown = [slope.shown for slope in slopes]
            rows.append([query, *shown, *map(times, faster), *(megabytes(slope.peak) for slope in slopes)])
        print_table(head, rows)
        if len(labels) > 1:
            print(f"this is {times(geometric_mean(ratios))} as fast as {labels[1]} (geometric mean)")


def print_masters(work: Work, found: dict[str, Found]) -> None:
    """How many times as fast each checkout is on the first master as on each other."""
    first, *others = work.masters
    for other in others:
        print(f"\n{first} against {other}")
        by_label: dict[str, list[float | None]] = {
            checkout.label: [ratio(of[other][i], of[first][i]) for of in found.values()]
            for i, checkout in enumerate(work.checkouts)
        }
        rows = [[query, *(times(values[i]) for values in by_label.values())] for i, query in enumerate(found)]
        rows.append(["geometric mean", *(times(geometric_mean(values)) for values in by_label.values())])
        print_table(["query", *by_label], rows)


def compared(work: Work, queries: Sequence[str]) -> bool:
    """Measures all queries and prints the tables; whether all went well."""
    found: dict[str, Found] = {}
    wrong: list[str] = []
    for query in queries:
        tell(f"measuring {query}")
        result = measured(work, query)
        if isinstance(result, str):
            wrong.append(f"{query}: {result}")
            tell(wrong[-1])
        else:
            found[query] = result
            for master, slopes in result.items():
                shown = (f"{c.label} {s.shown}" for c, s in zip(work.checkouts, slopes, strict=True))
                tell(f"  {master}, seconds per million events: {', '.join(shown)}")
    if found:
        print_checkouts(work, found)
        print_masters(work, found)
    for line in wrong:
        print(f"\n{line}")
    return not wrong


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default=AGAINST, metavar="COMMIT", help=f"{NOTHING}: this checkout alone")
    parser.add_argument("--queries", default=",".join(CLASSIC))
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--format", choices=FORMATS, default="csv")
    parser.add_argument(
        "--full",
        action="store_true",
        help="events with long texts and padding for queries that do not ask for them too",
    )
    parser.add_argument("--masters", default=MASTER)
    arguments = parser.parse_args()
    arguments.queries = arguments.queries.split(",")
    arguments.masters = re.split(r",(?=[a-z])", arguments.masters)
    if unknown := [q for q in arguments.queries if q not in NAMES]:
        parser.error(f"there is no query {unknown[0]}; there are {', '.join(NAMES)}")
    return arguments


def main() -> int:
    """Compares, and returns the exit status."""
    arguments = _arguments()
    end_tidily()
    with tempfile.TemporaryDirectory(prefix="continua-nexmark-") as name:
        folder = Path(name)
        try:
            for master in arguments.masters:
                pinned([], cores_of(master))
            checkouts = [this_checkout()]
            if arguments.against != NOTHING:
                checkouts.append(checkout_of(arguments.against, folder / "checkout"))
            for checkout in checkouts:
                checkout.check(folder)
        except (CheckoutError, CommandError) as error:
            print(error, file=sys.stderr)
            return 2
        form, events = arguments.format, arguments.events

        @cache
        def data(full: bool) -> Data:
            tell(f"writing {events:,} events and three times as many as {form}{', with all texts' if full else ''}")
            place = folder / ("full" if full else "lean")
            return Data.written(place, events, partial(write_first, Settings(full=full), form))

        work = Work(checkouts, arguments.masters, data, arguments.full, arguments.runs, form)
        return 0 if compared(work, arguments.queries) else 1


if __name__ == "__main__":
    sys.exit(main())

"""How fast NEXMark's queries are answered by Continua, by Flink SQL and by Spark Structured Streaming.

All read the same files, with two tasks on two cores, and write lines of JSON to files. Speed is a slope: the events of
3 N less those of N, by the time that these took more, so that starting does not count. Every run is processes of its
own; the systems run in turn. Before a query is measured all systems answer it, and what their answers come to in the
end is compared.

python -m benchmarks.peers.compare [--queries q0,q5] [--systems Continua,Spark] [--events N] [--runs K] [--format csv]
    [--rate R] [--limit SECONDS] [--peers .venv-peers] [--write]        --runs 0 compares the answers, and no speed
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb

from benchmarks.checkouts import ROOT, CheckoutError, this_checkout
from benchmarks.nexmark.generator import Settings
from benchmarks.peers.contents import COMPARED, NOT_COMPARED, Answers, difference, load
from benchmarks.peers.events import FORMATS, write
from benchmarks.peers.systems import CONTINUA, FLINK, QUERIES, SPARK, System, changes, systems
from benchmarks.peers.tables import ANSWERS
from benchmarks.processes import CommandError, end_tidily
from benchmarks.report import circumstances, markdown, write_section
from benchmarks.sides import Data, Side, slopes_of, tell
from benchmarks.slopes import Slope, geometric_mean, megabytes, per_second, print_table, ratio, times

CANNOT = "cannot"


@dataclass(frozen=True)
class Found:
    """What was measured of a query: the slopes of those that answer it, and why others have none."""

    slopes: dict[str, Slope]
    missing: dict[str, str]
    differences: list[str]


def kind_of(system: str, query: str) -> str:
    """How a system's answers tell of changes."""
    if system == CONTINUA:
        return "tagged"
    if not changes(system, query):
        return "elements"
    return "debezium" if system == FLINK else "batches"


def compared(sides: Sequence[Side], query: str, data: Path) -> tuple[dict[str, str], list[str]]:
    """Runs all sides once: who fails, and how their answers differ from those of the first."""
    failed: dict[str, str] = {}
    differences: list[str] = []
    first: str | None = None
    with duckdb.connect() as connection:
        for side in sides:
            side.forget(data)
            try:
                side.run(data)
            except CommandError as error:
                failed[side.label] = str(error)
                tell(f"  {side.label} fails: {error}")
                continue
            if (side.label, query) in NOT_COMPARED:
                continue
            files = str(data / ANSWERS / ("**/part-*" if side.label == FLINK else "**/*.json"))
            count = load(connection, Answers(side.label, files, kind_of(side.label, query)), query)
            tell(f"  {side.label} has {count:,} answers")
            if first is None:
                first = side.label
            elif (wrong := difference(connection, query, first, side.label, side.label == SPARK)) is not None:
                differences.append(wrong)
                tell(f"  DIFFERENT: {wrong}")
    return failed, differences


def measured(chosen: Sequence[System], query: str, data: Data, form: str, runs: int, limit: float) -> Found:
    """What is to be known of a query."""
    missing = {s.name: CANNOT for s in chosen if s.cannot(query, form) is not None}
    sides = [system.side(query, form, limit) for system in chosen if system.name not in missing]
    failed, differences = compared(sides, query, data.small)
    missing |= dict.fromkeys(failed, "fails")
    sides = [side for side in sides if side.label not in failed]
    slopes: dict[str, Slope] = {}
    if runs:
        slopes = dict(zip([s.label for s in sides], slopes_of([(side, data) for side in sides], runs), strict=True))
        tell("  " + ", ".join(f"{name} {per_second(slope)} events/s" for name, slope in slopes.items()))
    for side in sides:
        side.forget(data.small)
    return Found(slopes, missing, differences)


def table_of(chosen: Sequence[System], found: dict[str, Found]) -> list[list[str]]:
    """Head and lines: events per second of each, how many times as fast Continua is, and the memory of each."""
    names = [system.name for system in chosen]
    peers = [name for name in names if name != CONTINUA] if CONTINUA in names else []
    head = ["query", *names, *(f"of {name}" for name in peers), *(f"memory of {name}" for name in names)]
    ratios: dict[str, list[float | None]] = {name: [] for name in peers}
    lines = []
    for query, of in found.items():
        line = [query, *(per_second(of.slopes[n]) if n in of.slopes else of.missing.get(n, "-") for n in names)]
        for name in peers:
            both = CONTINUA in of.slopes and name in of.slopes
            faster = ratio(of.slopes[name], of.slopes[CONTINUA]) if both else None
            ratios[name].append(faster)
            line.append(times(faster))
        line += [megabytes(of.slopes[n].peak) if n in of.slopes else "-" for n in names]
        lines.append(line)
    means = [times(geometric_mean(ratios[name])) for name in peers]
    lines.append(["geometric mean", *[""] * len(names), *means, *[""] * len(names)])
    return [head, *lines]


def notes_on(chosen: Sequence[System], found: dict[str, Found], form: str) -> list[str]:
    """Where answers differ, what a system cannot express, and what is compared where meanings differ."""
    notes: list[str] = []
    for query, of in found.items():
        notes += [f"{query}: {wrong}" for wrong in of.differences]
        refused = ((system.name, system.cannot(query, form)) for system in chosen)
        notes += [f"{query}: {name} cannot: {why}" for name, why in refused if why is not None]
        if query in COMPARED:
            notes.append(f"{query}: {COMPARED[query][1]}")
    return notes


def configuration(system: System) -> str:
    """How a system is set up."""
    return f"{system.name}: " + ", ".join(f"{name} = {value}" for name, value in system.configuration.items())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", default=",".join(QUERIES))
    parser.add_argument("--systems", default=",".join((CONTINUA, FLINK, SPARK)))
    parser.add_argument("--events", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--format", choices=FORMATS, default="csv")
    parser.add_argument("--rate", type=int, default=Settings().rate, help="events a second of their own time")
    parser.add_argument("--limit", type=float, default=1_200, help="seconds after which a run is given up")
    parser.add_argument("--peers", type=Path, default=ROOT / ".venv-peers", help="the environment that has PyFlink")
    parser.add_argument("--write", action="store_true", help="to docs/benchmarks.md")
    given = parser.parse_args()
    given.queries, given.systems = given.queries.split(","), given.systems.split(",")
    if unknown := [query for query in given.queries if query not in QUERIES]:
        parser.error(f"there is no query {unknown[0]}; there are {', '.join(QUERIES)}")
    if unknown := [name for name in given.systems if name not in (CONTINUA, FLINK, SPARK)]:
        parser.error(f"there is no system {unknown[0]}; there are {CONTINUA}, {FLINK} and {SPARK}")
    if FLINK in given.systems and not (given.peers / "bin" / "python").exists():
        parser.error(f"there is no PyFlink in {given.peers}: `make peers` puts it there")
    return given


def main() -> int:
    """Compares, and returns the exit status: 0 if all answer alike."""
    given = _arguments()
    end_tidily()
    known = systems(given.peers)
    chosen = [known[name] for name in given.systems]
    print("\n".join(map(configuration, chosen)))
    found: dict[str, Found] = {}
    with tempfile.TemporaryDirectory(prefix="continua-peers-") as name:
        folder = Path(name)
        try:
            this_checkout().check(folder)
        except CheckoutError as error:
            print(error, file=sys.stderr)
            return 2
        tell(f"writing {given.events:,} events and three times as many as {given.format}")
        settings = Settings(rate=given.rate, full=True)
        data = Data.written(folder, given.events, partial(write, settings, given.format))
        for query in given.queries:
            tell(f"{'measuring' if given.runs else 'comparing'} {query}")
            try:
                found[query] = measured(chosen, query, data, given.format, given.runs, given.limit)
            except CommandError as error:
                tell(f"  {error}")
                found[query] = Found({}, dict.fromkeys(given.systems, "fails"), [])
    head, *lines = table_of(chosen, found)
    told = f"{given.format}, thousands of events per second: the median of {given.runs}, least and most"
    if given.runs:
        print(f"\n{told}")
        print_table(head, lines)
    notes = notes_on(chosen, found, given.format)
    print("\n".join(notes))
    if given.write:
        setups = [f"- {told_setup}" for told_setup in map(configuration, chosen)]
        table = markdown(head, lines)
        where = circumstances("benchmarks.peers.compare")
        write_section("peers", [where, "", f"{told}:", "", *table, "", *(f"- {n}" for n in notes), "", *setups])
    return int(any(of.differences or "fails" in of.missing.values() for of in found.values()))


if __name__ == "__main__":
    sys.exit(main())

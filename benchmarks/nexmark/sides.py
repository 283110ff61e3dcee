"""Sides of a comparison: what is run over the same events, in turn, each time as a new process."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.nexmark.checkouts import Checkout
from benchmarks.nexmark.generator import LEAN, Settings, write
from benchmarks.nexmark.processes import CommandError, Usage, run
from benchmarks.nexmark.scripts import script
from benchmarks.nexmark.slopes import FACTOR, Slope


@dataclass(frozen=True)
class Side:
    """A way to answer a query: the command for a folder of events, and the folder in it to which the answers go."""

    label: str
    command: Callable[[Path], Sequence[str]]
    environment: Mapping[str, str]
    cores: int
    answers: str

    def run(self, data: Path) -> Usage:
        """Runs over the events of a folder; answers that were there before are removed."""
        shutil.rmtree(data / self.answers, ignore_errors=True)
        return run(self.command(data), self.cores, data, self.environment)

    def rows(self, data: Path) -> pa.Table:
        """The answers of the last run, in an order of their own; units and precisions do not matter."""
        table = pq.read_table(data / self.answers)
        table = table.cast(pa.schema([pa.field(f.name, _general(f.type)) for f in table.schema]))
        return table.sort_by([(name, "ascending") for name in table.column_names])


def _general(of: pa.DataType) -> pa.DataType:
    """The type to which all that hold the same values are converted."""
    if pa.types.is_timestamp(of):
        return pa.timestamp("us")
    return pa.decimal128(38, of.scale) if pa.types.is_decimal(of) else of


def cores_of(master: str) -> int:
    """How many cores a local master works on."""
    found = re.fullmatch(r"local\[(\d+)\]", master)
    if found is None:
        raise CommandError(f"the master {master} is not of the form local[2]")
    return int(found[1])


def continua_side(checkout: Checkout, query: str, form: str, master: str, label: str = "") -> Side:
    """``continua run`` of a query's script on a master."""

    def command(data: Path) -> Sequence[str]:
        path = data / f"{query}.sql"
        path.write_text(script(query, form), encoding="utf-8")
        return checkout.command("run", str(path), "--master", master)

    return Side(label or checkout.label, command, checkout.environment, cores_of(master), query)


def same_answers(sides: Sequence[Side], data: Path) -> str | None:
    """Runs all sides, so that what is compiled is there later; None if all answer the same, else what is wrong."""
    first: pa.Table | None = None
    for side in sides:
        try:
            side.run(data)
        except CommandError as error:
            return f"{side.label} fails: {error}"
        found = side.rows(data)
        if first is None:
            first = found
        elif not found.equals(first):
            return f"{side.label} answers otherwise than {sides[0].label}"
    return None


def slopes_of(sides: Sequence[Side], small: Path, large: Path, events: int, runs: int) -> list[Slope]:
    """Runs all sides in turn, over so many events and over three times as many; every other time in reverse."""
    usages: list[tuple[list[Usage], list[Usage]]] = [([], []) for _ in sides]
    for number in range(runs):
        order = list(enumerate(sides))
        for data, place in ((small, 0), (large, 1)):
            for i, side in order if number % 2 == 0 else reversed(order):
                usages[i][place].append(side.run(data))
                shutil.rmtree(data / side.answers, ignore_errors=True)
    return [Slope(events, tuple(few), tuple(many)) for few, many in usages]


def written(folder: Path, form: str, events: int, settings: Settings = LEAN) -> tuple[Path, Path]:
    """The folders of so many events and of three times as many."""
    tell(f"writing {events:,} events and three times as many as {form}")
    small, large = folder / "small", folder / "large"
    write(small, form, 0, events, settings)
    write(large, form, 0, FACTOR * events, settings)
    return small, large


def tell(text: str) -> None:
    """Says what happens meanwhile."""
    print(text, file=sys.stderr, flush=True)

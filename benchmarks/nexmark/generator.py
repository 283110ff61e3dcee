"""The events of NEXMark as the benchmarks have them, with or without the long texts.

python -m benchmarks.nexmark.generator FOLDER [--events A B] [--format csv|jsonl|parquet] [--full] [--rate R] [--seed S]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from continua.cli.event_files import FORMATS, event_table, write_events, write_table
from continua.sources.nexmark.events import COLUMNS, KINDS, RATE, SEED, Events

_LEAN = {
    "person": ("id", "name", "city", "state", "dateTime"),
    "auction": ("id", "initialBid", "reserve", "dateTime", "expires", "seller", "category"),
    "bid": ("auction", "bidder", "price", "dateTime"),
}
"""The columns that are not long texts."""
SIDE_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Settings:
    """What events are made: how many a second of their own time, by which seed, with or without the long texts."""

    rate: int = RATE
    seed: int = SEED
    full: bool = False

    def events(self, kind: str) -> Events:
        """The events of a kind."""
        return Events(kind, self.rate, self.seed, extra=self.full)

    def columns(self, kind: str) -> tuple[str, ...]:
        """The columns of a kind."""
        return tuple(COLUMNS[kind]) if self.full else _LEAN[kind]


LEAN = Settings()


def table(kind: str, first: int, end: int, settings: Settings = LEAN) -> pa.Table:
    """The events of a kind among those from ``first`` to below ``end``."""
    return event_table(settings.events(kind), settings.columns(kind), first, end)


def side_input() -> pa.Table:
    """The table beside the events that q13 asks: a text for each number of four digits."""
    keys = range(SIDE_ROWS)
    return pa.table({"key": pa.array(keys, pa.int64()), "value": [f"value {key}" for key in keys]})


def write(folder: Path, form: str, first: int, end: int, settings: Settings = LEAN) -> None:
    """Writes the events from ``first`` to below ``end`` to a file per kind, such as ``bid.csv``, and the side input."""
    write_events(folder, form, first, end, {settings.events(kind): settings.columns(kind) for kind in KINDS})
    write_table(folder / f"side.{form}", form, side_input())


def write_first(settings: Settings, form: str, folder: Path, events: int) -> None:
    """Writes the first so many events."""
    write(folder, form, 0, events, settings)


def main() -> None:
    """Writes events and says how fast."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--events", type=int, nargs=2, metavar=("A", "B"), default=(0, 1_000_000), help="from A to B - 1"
    )
    parser.add_argument("--format", choices=FORMATS, default="csv")
    parser.add_argument("--full", action="store_true", help="with the long texts and the padding")
    parser.add_argument("--rate", type=int, default=LEAN.rate, help="events a second of their own time")
    parser.add_argument("--seed", type=int, default=LEAN.seed)
    arguments = parser.parse_args()
    first, end = arguments.events
    began = time.perf_counter()
    write(arguments.folder, arguments.format, first, end, Settings(arguments.rate, arguments.seed, arguments.full))
    taken = time.perf_counter() - began
    print(f"{end - first:,} events in {taken:.2f} s, {(end - first) / taken:,.0f} a second")


if __name__ == "__main__":
    main()

"""The events of NEXMark: persons, auctions and bids, by number.

An event depends on its number and the seed alone: whatever ranges the events are made in, they are the same.

python -m benchmarks.nexmark.generator FOLDER [--events A B] [--format csv|jsonl|parquet] [--full] [--rate R] [--seed S]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.nexmark import texts
from benchmarks.nexmark.files import FORMATS, TableFile
from benchmarks.nexmark.random_fields import Longs, RandomFields

KINDS = ("person", "auction", "bid")
PERSONS, AUCTIONS, ROUND = 1, 3, 50
"""Of every 50 events, so many are persons and auctions, in this order; the others are bids."""
FIRST_ID = 1_000
FIRST_CATEGORY, CATEGORIES = 10, 5
HOT = 100
"""Every so manieth id is hot."""
ACTIVE, AHEAD = 1_000, 10
"""Who sells and bids: so many of the last persons, and some that are still to come."""
IN_FLIGHT = 100
"""So many of the last auctions get bids."""
HORIZON = 1_666
"""An auction is open for the time of so many events on average."""
BASE = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp() * 1_000)
CHUNK = 250_000
"""So many events are made at once."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What events are made: how many a second of their own time, by which seed, with or without the long texts."""

    rate: int = 10_000
    seed: int = 1
    full: bool = False

    @property
    def period(self) -> int:
        """Microseconds from event to event."""
        return 1_000_000 // self.rate


LEAN = Settings()


def _last_person(events: Longs) -> Longs:
    """The number of the last person up to an event."""
    return events // ROUND


def _last_auction(events: Longs) -> Longs:
    """The number of the last auction up to an event; before the first it is -1."""
    return AUCTIONS * (events // ROUND) + np.clip(events % ROUND - PERSONS, -1, AUCTIONS - 1)


def _chosen(events: Longs, kind: str) -> Longs:
    """The events of a kind."""
    place = events % ROUND
    match kind:
        case "person":
            mask = place < PERSONS
        case "auction":
            mask = (place >= PERSONS) & (place < PERSONS + AUCTIONS)
        case _:
            mask = place >= PERSONS + AUCTIONS
    return events[mask]


def _millis(events: Longs, settings: Settings) -> Longs:
    """When events happen, in milliseconds."""
    return BASE + events * settings.period // 1_000


def _times(millis: Longs) -> pa.Array:
    return pa.array(millis).cast(pa.timestamp("ms", tz="UTC"))


def _prices(draws: RandomFields, field: str) -> Longs:
    """From 100 to 100,000,000, as many of each order of magnitude."""
    return np.rint(100 * 10 ** (6 * draws.unit(field))).astype(np.int64)


def _hot_or(usual: Longs, hot: Longs, is_hot: NDArray[np.bool_]) -> pa.Array:
    return pa.array(np.where(is_hot, hot, usual) + FIRST_ID)


def _active_person(draws: RandomFields, events: Longs) -> Longs:
    """One of the last persons, or one of the next."""
    persons = _last_person(events) + 1
    active = np.minimum(persons, ACTIVE)
    return persons - active + draws.below("active person", active + AHEAD)


def _persons(events: Longs, settings: Settings) -> pa.Table:
    draws = RandomFields(settings.seed, events)
    named = texts.people(draws)
    found = {"id": pa.array(_last_person(events) + FIRST_ID), "name": named["name"]}
    if settings.full:
        found |= named
    found["city"] = texts.picked(draws, "city", texts.CITIES)
    found["state"] = texts.picked(draws, "state", texts.STATES)
    found["dateTime"] = _times(_millis(events, settings))
    if settings.full:
        found["extra"] = texts.padding(draws, "person extra", 130)
    return pa.table(found)


def _auctions(events: Longs, settings: Settings) -> pa.Table:
    draws = RandomFields(settings.seed, events)
    opens = _millis(events, settings)
    horizon = max(HORIZON * settings.period // 1_000, 1)
    first = _prices(draws, "initial bid")
    hot = HOT * (_last_person(events) // HOT)
    found: dict[str, pa.Array] = {"id": pa.array(_last_auction(events) + FIRST_ID)}
    if settings.full:
        found["itemName"] = texts.padding(draws, "item", 10)
        found["description"] = texts.padding(draws, "description", 50)
    found["initialBid"] = pa.array(first)
    found["reserve"] = pa.array(first + _prices(draws, "reserve"))
    found["dateTime"] = _times(opens)
    found["expires"] = _times(opens + 1 + draws.below("life", 2 * horizon))
    found["seller"] = _hot_or(_active_person(draws, events), hot, draws.below("hot seller", 4) > 0)
    found["category"] = pa.array(FIRST_CATEGORY + draws.below("category", CATEGORIES))
    if settings.full:
        found["extra"] = texts.padding(draws, "auction extra", 392)
    return pa.table(found)


def _bids(events: Longs, settings: Settings) -> pa.Table:
    draws = RandomFields(settings.seed, events)
    last = _last_auction(events)
    oldest = np.maximum(last - IN_FLIGHT, 0)
    usual = oldest + draws.below("auction", last + AHEAD + 1 - oldest)
    hot_bidder = HOT * (_last_person(events) // HOT) + 1
    found: dict[str, pa.Array] = {
        "auction": _hot_or(usual, HOT * (last // HOT), draws.below("hot auction", 2) > 0),
        "bidder": _hot_or(_active_person(draws, events), hot_bidder, draws.below("hot bidder", 4) > 0),
        "price": pa.array(_prices(draws, "price")),
    }
    if settings.full:
        found |= texts.channels(draws)
    found["dateTime"] = _times(_millis(events, settings))
    if settings.full:
        found["extra"] = texts.padding(draws, "bid extra", 68)
    return pa.table(found)


_MAKERS = {"person": _persons, "auction": _auctions, "bid": _bids}


def table(kind: str, first: int, end: int, settings: Settings = LEAN) -> pa.Table:
    """The events of a kind among those from ``first`` to below ``end``."""
    return _MAKERS[kind](_chosen(np.arange(first, end, dtype=np.int64), kind), settings)


def _chunks(first: int, end: int) -> Iterator[tuple[int, int]]:
    for begin in range(first, end, CHUNK):
        yield begin, min(begin + CHUNK, end)


def write(folder: Path, form: str, first: int, end: int, settings: Settings = LEAN) -> None:
    """Writes the events from ``first`` to below ``end`` to a file per kind, such as ``bid.csv``."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:
        opened = {
            kind: files.enter_context(TableFile(folder / f"{kind}.{form}", form, table(kind, first, first, settings)))
            for kind in KINDS
        }
        for begin, until in _chunks(first, end):
            for kind, file in opened.items():
                file.append(table(kind, begin, until, settings))


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

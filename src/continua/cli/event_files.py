"""The events of NEXMark as files, a file for each kind, written piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from continua.answers.encoding.record_texts import csv_file, json_file
from continua.sources.nexmark.events import Events

FORMATS = ("csv", "jsonl", "parquet")
_AT_ONCE = 250_000
"""So many events are made at once."""

Wanted = Mapping[Events, tuple[str, ...]]
"""Kinds of events, with the columns of each."""


def event_table(events: Events, names: tuple[str, ...], first: int, end: int) -> pa.Table:
    """The events of a kind among those from ``first`` to below ``end``; timestamps say that they are in UTC."""
    made = events.make(events.numbers(events.rows_below(first), events.rows_below(end)), names)
    types = [pa.timestamp("us", "UTC") if pa.types.is_timestamp(t) else t for t in made.schema.types]
    return made.cast(pa.schema(zip(names, types, strict=True)))


def write_table(path: Path, form: str, table: pa.Table) -> None:
    """Writes a table to a file of its own."""
    with _EventFile(path, form, table.schema) as file:
        file.append(table)


class _EventFile:
    """A file that takes tables of one schema."""

    def __init__(self, path: Path, form: str, schema: pa.Schema) -> None:
        self._form = form
        self._file = path.open("wb")
        self._parquet = pyarrow.parquet.ParquetWriter(self._file, schema) if form == "parquet" else None
        self._empty = True

    def __enter__(self) -> _EventFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._parquet is not None:
            self._parquet.close()
        self._file.close()

    def append(self, table: pa.Table) -> None:
        """Writes the rows of a table."""
        if self._parquet is not None:
            self._parquet.write_table(table)
            return
        lines = csv_file(table) if self._form == "csv" else json_file(table)
        if self._form == "csv" and not self._empty:
            next(lines)  # the header stands there already
        self._empty = False
        self._file.writelines(lines)


def write_events(folder: Path, form: str, first: int, end: int, wanted: Wanted) -> dict[Path, int]:
    """Writes the events from ``first`` to below ``end``; the files, such as ``bid.csv``, and how many rows each has."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {events: folder / f"{events.kind}.{form}" for events in wanted}
    rows = dict.fromkeys(paths.values(), 0)
    with ExitStack() as files:
        opened = {
            events: files.enter_context(_EventFile(paths[events], form, event_table(events, names, 0, 0).schema))
            for events, names in wanted.items()
        }
        for begin, until in _stretches(first, end):
            for events, names in wanted.items():
                table = event_table(events, names, begin, until)
                opened[events].append(table)
                rows[paths[events]] += table.num_rows
    return rows


def _stretches(first: int, end: int) -> Iterator[tuple[int, int]]:
    """Ranges of numbers; at least one, so that a file of no rows has a header."""
    for begin in range(first, max(end, first + 1), _AT_ONCE):
        yield begin, min(begin + _AT_ONCE, end)

"""Rows that were inserted by hand and wait: for a live run, or for whoever reads all rows of their source."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from continua.sources.inserted_rows import INSERTED
from continua.sources.places import origin_of, with_places


@dataclass(frozen=True)
class Arrival:
    """Rows that were inserted together, and when."""

    columns: pa.Table
    stamp: int
    mark: int | None = None
    """By what whoever has kept them for the time being knows them."""


@dataclass(frozen=True)
class Taken:
    """Rows that were taken, by source, and the marks of those that somebody has kept."""

    tables: dict[str, pa.Table]
    marks: dict[str, list[int]]

    @property
    def all_marks(self) -> list[int]:
        """Those of all sources."""
        return sorted(mark for some in self.marks.values() for mark in some)


class WaitingRows:
    """Any thread may add some or take some, and none is lost.

    Sources are known by their folded names.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._arrivals: dict[str, list[Arrival]] = {}
        """By source, in the order in which they came."""
        self._counts: dict[str, int] = {}
        """How many rows of each source ever came."""

    def add(self, name: str, columns: pa.Table, mark: int | None = None) -> None:
        """Rows come last; each stands where it was among all that were inserted."""
        with self._lock:
            first = self._counts.get(name, 0)
            self._counts[name] = first + columns.num_rows
            offsets = np.arange(first, first + columns.num_rows)
            placed = with_places(columns, origin_of(INSERTED), offsets)
            self._arrivals.setdefault(name, []).append(Arrival(placed, self._now(), mark))

    def take(self, names: Iterable[str]) -> Taken:
        """The rows of sources: from now on they are the caller's."""
        with self._lock:
            found = {name: self._arrivals.pop(name) for name in list(names) if name in self._arrivals}
        tables = {name: pa.concat_tables([a.columns for a in some]) for name, some in found.items()}
        marks = {name: [a.mark for a in some if a.mark is not None] for name, some in found.items()}
        return Taken({name: table for name, table in tables.items() if table.num_rows}, marks)

    def give_back(self, taken: Taken) -> None:
        """Rows that were taken and not worked on wait again, before those that have come since."""
        with self._lock:
            for name, table in taken.tables.items():
                marks = taken.marks.get(name, [])
                none = table.slice(0, 0)
                again = [Arrival(none, self._now(), mark) for mark in marks]
                self._arrivals.setdefault(name, [])[:0] = [Arrival(table, self._now()), *again]

    def drop(self, name: str) -> None:
        """Nobody waits for these any more."""
        with self._lock:
            self._arrivals.pop(name, None)

    def of(self, name: str) -> tuple[Arrival, ...]:
        """What waits; it stays."""
        with self._lock:
            return tuple(self._arrivals.get(name, ()))

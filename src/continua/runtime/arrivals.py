"""Rows of a live run that come by themselves, and once: from standard input and from sockets.

What was taken for an epoch that failed waits for the next one, and so does what a process that was killed had kept for
an epoch that it did not finish.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from continua.catalog import is_by_arrival
from continua.errors import Diagnostic
from continua.kernels.jit import Int64s
from continua.physical.nodes import END, START
from continua.sources.incoming import Incoming
from continua.sources.intervals import Source
from continua.sources.source_spec import Malformed

Opening = Callable[[Source, threading.Event], Incoming | None]
"""Opens a source whose rows come by themselves; None for another."""
Refusing = Callable[[str, Sequence[Malformed]], None]
"""Takes what has come of a source and is no row."""


class Arrivals:
    """What has come and is in no finished epoch."""

    def __init__(self, opening: Opening, refusing: Refusing, waiting: Mapping[str, pa.Table]) -> None:
        """``waiting``: rows that had come for an epoch which was not finished."""
        self._opening = opening
        self._refusing = refusing
        self.news = threading.Event()
        """Is set when something has come."""
        self.behind = False
        """Whether there may be more than what was given last."""
        self._open: dict[str, Incoming | None] = {}
        self._waiting = dict(waiting)

    def next(self, sources: Mapping[str, Source], now: int, rows: int | None) -> dict[str, pa.Table]:
        """What the next epoch has of sources, at most so many rows of each, stamped now where they have no time."""
        self.news.clear()
        self.behind = False
        for name, info in sources.items():
            if name not in self._open:
                self._open[name] = self._opening(info, self.news)
        found = {name: restamped(table, sources[name], now) for name, table in self._waiting.items() if name in sources}
        for name, incoming in self._open.items():
            if incoming is not None and name in sources and name not in found:
                taken = incoming.take(now, rows)
                if taken is None:
                    continue
                if taken.wrong:
                    self._refusing(name, taken.wrong)
                if taken.rows.num_rows:
                    found[name] = self._waiting[name] = taken.rows
                self.behind |= rows is not None
        return found

    def done(self, names: Mapping[str, object]) -> None:
        """What was given of these sources is in a finished epoch."""
        for name in names:
            self._waiting.pop(name, None)

    @property
    def ended(self) -> list[str]:
        """The sources of which everything has come and was given."""
        return [n for n, x in self._open.items() if x is not None and x.ended and n not in self._waiting]

    def notices(self) -> list[Diagnostic]:
        """What is to be told of connections."""
        return [notice for x in self._open.values() if x is not None for notice in x.notices()]

    def close(self) -> None:
        """Nothing more is read."""
        for incoming in self._open.values():
            if incoming is not None:
                incoming.close()


def restamped(rows: pa.Table, info: Source, now: int) -> pa.Table:
    """Rows that have waited: those without a time of their own have come now, since others may have come meanwhile."""
    if not is_by_arrival(info):
        return rows
    length = _numbers(rows, END) - _numbers(rows, START)
    columns = {START: np.full(rows.num_rows, now, np.int64), END: length + now}
    for name, values in columns.items():
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(values))
    return rows


def _numbers(rows: pa.Table, name: str) -> Int64s:
    return np.asarray(rows.column(name).to_numpy(), np.int64)


def joined(first: pa.Table | None, second: pa.Table | None) -> pa.Table:
    """Rows that have waited or come by themselves, and behind them those that were inserted."""
    return pa.concat_tables([table for table in (first, second) if table is not None])

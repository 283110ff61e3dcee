"""Feeds: the rows of sources as epochs, a limited number at a time.

Sources are in the order of time. A heartbeat follows from what comes next: all instants before the next row of every
source are complete (CQL 7.3), and at the end of all sources every instant is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from continua.catalog import RelationInfo, StreamInfo
from continua.errors import CheckpointError, Diagnostic
from continua.instants import INFINITY, floor_to
from continua.kernels.jit import Int64s
from continua.physical.nodes import UNIT
from continua.physical.relation import schema_of
from continua.physical.rows import as_rows
from continua.reference.elements import Inputs
from continua.runtime.checkpoint.manifests import Intent
from continua.runtime.checkpoint.offsets import Offsets
from continua.sources.given import Given
from continua.sources.intervals import NEVER, timed
from continua.sources.places import with_places
from continua.sources.split_readings import Reading
from continua.sqltext.duckdb_types import arrow_type, to_arrow
from continua.types import STRING, DataType
from continua.windows.occurrences import Row


@dataclass(frozen=True, slots=True)
class Fed:
    """What an epoch reads: rows by source, up to which instant they are complete, and where reading goes on."""

    tables: dict[str, pa.Table]
    until: int
    offsets: Offsets
    readings: tuple[Reading, ...] = ()
    """The splits of files that it reads."""
    frames: tuple[str, ...] = ()
    """The sources that Spark reads, all of each."""


class Feed:
    """Sources that are there as a whole, in the order of time."""

    def __init__(self, sources: Mapping[str, pa.Table], grain: int = 1) -> None:
        """``grain``: epochs end between multiples of it, so that floored timestamps are in their epoch."""
        self._grain = grain
        self._sources = dict(sources)
        self._starts = {name: _column(table, "#start") for name, table in sources.items()}

    @classmethod
    def of_inputs(cls, inputs: Inputs | Given, types: Mapping[str, Sequence[DataType]], grain: int = 1) -> Feed:
        """The rows of streams, stored relations and tagged streams; ``types`` are those of their columns."""
        if isinstance(inputs, Given):
            tables = {name: inputs.tables[name] for name in types if name in inputs.tables}
            return cls({**cls.of_inputs(Inputs(), types).tables(), **tables}, grain)
        sources: dict[str, pa.Table] = {UNIT: as_rows(pa.table({}), np.zeros(1, np.int64), _forever(1))}
        for name, columns in types.items():
            if elements := inputs.streams.get(name):
                start = np.array([e.start for e in elements], np.int64)
                end = np.array([e.end for e in elements], np.int64)
                table = _table([e.row for e in elements], columns)
                if places := inputs.places.get(name):
                    table = with_places(table, *(np.asarray(part, np.int64) for part in places))
                sources[name] = as_rows(table, start, end)
            elif stored := inputs.relations.get(name):
                zero = np.zeros(len(stored), np.int64)
                sources[name] = as_rows(_table(stored, columns), zero, _forever(len(stored)))
            elif modifications := inputs.tagged.get(name):
                start = np.array([m.instant for m in modifications], np.int64)
                rows = [(*m.row, m.op) for m in modifications]
                sources[name] = as_rows(_table(rows, [*columns, STRING]), start, start + 1)
        return cls(sources, grain)

    def tables(self) -> dict[str, pa.Table]:
        """All rows, by source."""
        return dict(self._sources)

    def until(self, instant: int) -> Feed:
        """The rows that start by an instant."""
        kept = {}
        for name, table in self._sources.items():
            count = int(np.searchsorted(self._starts[name], instant, side="right"))
            kept[name] = table.slice(0, count)
        return Feed(kept, self._grain)

    def again(self, intent: Intent) -> Fed:
        """An epoch that was decided on before."""
        before = intent.before.rows
        places, ends = self.places(before), self.places({**before, **intent.offsets.rows})
        parts = {name: table.slice(places[name], ends[name] - places[name]) for name, table in self._sources.items()}
        tables = {name: part for name, part in parts.items() if part.num_rows}
        return Fed(tables, intent.until, Offsets(ends), intent.readings, intent.frames)

    def places(self, offsets: Mapping[str, int]) -> dict[str, int]:
        """Where reading goes on in each source; an error if a source has less than was read of it."""
        for name, offset in offsets.items():
            rows = self._sources[name].num_rows if name in self._sources else 0
            if offset > rows:
                raise CheckpointError(
                    Diagnostic(
                        "ROWS_MISSING",
                        f"the checkpoint has read {offset} rows of {name}, which has only {rows} now",
                        hint="give the rows with which it was made, or start with an empty folder",
                        parameters={"source": name, "read": offset, "rows": rows},
                    )
                )
        return {name: offsets.get(name, 0) for name in self._sources}

    def latest(self, offsets: Mapping[str, int]) -> int:
        """The latest instant at which a row starts that has been read."""
        places = self.places(offsets)
        return max((int(self._starts[n][:place].max(initial=NEVER)) for n, place in places.items()), default=NEVER)

    def next(self, batch_rows: int | None, places: Mapping[str, int], last: int) -> Fed:
        """The next epoch, of at most that many rows per source."""
        tables: dict[str, pa.Table] = {}
        after: dict[str, int] = {}
        until = last
        for name, table in self._sources.items():
            place = places[name]
            stored = bool(table.num_rows) and int(self._starts[name][-1]) == 0 and self._whole(name)
            count = table.num_rows - place if batch_rows is None or stored else batch_rows
            part = table.slice(place, count)
            if part.num_rows:
                tables[name] = part
            after[name] = place + part.num_rows
            if after[name] < table.num_rows:
                until = min(until, floor_to(int(self._starts[name][after[name]]), self._grain) - 1)
        return Fed(tables, until, Offsets(after))

    def _whole(self, name: str) -> bool:
        """Whether a source is a stored relation: its rows are valid from the beginning and for ever."""
        ends = _column(self._sources[name], "#end")
        return bool((ends >= INFINITY).all()) and not bool(self._starts[name].any())


def arrived(info: StreamInfo | RelationInfo, columns: pa.Table, now: int) -> pa.Table:
    """Rows of a declared source as they arrive: they have the instants of its columns, or that of now."""
    return timed(info, columns, now).rows


def _column(table: pa.Table, name: str) -> Int64s:
    return np.asarray(table.column(name).to_numpy(), np.int64)


def _forever(count: int) -> Int64s:
    return np.full(count, INFINITY, np.int64)


def _table(rows: Sequence[Row], types: Sequence[DataType]) -> pa.Table:
    """Rows as columns c0, c1, ..."""
    if not types:
        return pa.table({})
    columns = [pa.array([to_arrow(row[i], t) for row in rows], arrow_type(t)) for i, t in enumerate(types)]
    return pa.Table.from_arrays(columns, schema=schema_of(types))

"""From the columns of a source to rows with intervals: the one place where a row gets its time, or is refused.

A row is refused where a column that must have a value has none, where its time is missing or too far, where its
validity is empty, and where its tag is none. Which rows are late is said elsewhere (:mod:`lateness`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from continua.catalog import RelationInfo, StreamInfo
from continua.errors import DataError, Diagnostic
from continua.instants import INFINITY, show_instant
from continua.kernels.jit import Int64s
from continua.physical.rows import as_rows
from continua.sources.places import has_places, split_places, with_places
from continua.sources.source_spec import MALFORMED, UNTIMED, Malformed
from continua.sqltext.duckdb_types import from_duckdb
from continua.types import Value

Source = StreamInfo | RelationInfo
Mask = NDArray[np.bool_]
NEVER = -INFINITY
"""The latest time before the first row."""
FAR = 1 << 62
"""Sums of instants that are nearer than this do not overflow."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that has no place among the others: its number, and why."""

    row: int
    condition: str
    reason: str

    def malformed(self, file: str, line: int, text: str = "") -> Malformed:
        """It as a record of a file."""
        return Malformed(file, line, self.reason, text, None, "a row in time", condition=self.condition)


@dataclass
class Timed:
    """The rows of a stretch of a source with their intervals, in the order in which they came."""

    rows: pa.Table
    places: Int64s
    """Which rows of the stretch they are."""
    start: Int64s
    refused: list[Refused] = field(default_factory=list)

    def take(self, kept: Mask) -> Timed:
        """Those of the rows that are kept."""
        if bool(kept.all()):
            return self
        rows = self.rows.filter(pa.array(kept))
        return Timed(rows, self.places[kept], self.start[kept], self.refused)


def timed(info: Source, columns: pa.Table, stamp: int | Int64s) -> Timed:
    """The rows of a source with their intervals; ``stamp`` is the instant of those that have no time of their own.

    Where rows stand is told behind their columns, if it is known.
    """
    columns, standing = split_places(columns) if has_places(columns) else (columns, None)
    found = _Rows(info, columns)
    removals = _removals_by_key(info, columns)
    for number, column in enumerate(info.columns):
        if not column.nullable:
            missing = _null(columns.column(number))
            if missing is not None and removals is not None and column.name not in info.key:
                missing &= ~removals
            found.refuse(missing, f"{column.name} is NULL, and declared NOT NULL")
    for name in () if info.partitions is None else (info.partitions.column, info.partitions.offset):
        if name is not None:
            found.refuse(_null(columns.column(found.names.index(name))), f"{name} is NULL, and tells its place")
    match info:
        case StreamInfo():
            start, end = _stream_times(info, columns, found, stamp)
            payload = columns
        case RelationInfo(order_by=None):
            start = np.zeros(columns.num_rows, np.int64)
            end = np.full(columns.num_rows, INFINITY, np.int64)
            payload = columns
        case RelationInfo():
            payload = _modifications(info, columns, found)
            start = _times(columns.column(found.names.index(info.order_by or "")), found)
            end = start + 1
    payload = _with_places(info, columns, payload, standing)
    kept = found.kept
    if kept is None:
        return Timed(as_rows(payload.combine_chunks(), start, end), np.arange(start.size), start)
    places = np.flatnonzero(kept)
    rows = as_rows(payload.filter(pa.array(kept)).combine_chunks(), start[kept], end[kept])
    return Timed(rows, places, start[kept], sorted(found.refused, key=lambda r: r.row))


def _removals_by_key(info: Source, columns: pa.Table) -> Mask | None:
    """Which rows remove the one of their key, and need not tell more of it; None where none does."""
    if not isinstance(info, RelationInfo) or info.tagged_by is None or not info.key:
        return None
    tag = columns.column([f.name for f in info.columns].index(info.tagged_by))
    return np.asarray(pc.fill_null(pc.equal(tag, "-"), False).to_numpy())


def check_start(info: Source, start: Int64s, first: int) -> None:
    """Refuses a stream that has elements before time begins."""
    if isinstance(info, StreamInfo) and start.size and int(start.min()) < first:
        earliest = int(start.min())
        raise DataError(
            Diagnostic(
                "BEFORE_START",
                f"{info.name} has an element at {show_instant(earliest, info.domain)}, before time begins",
                hint="SET start_time to an instant before all data",
                parameters={"source": info.name, "instant": earliest},
            )
        )


def _with_places(info: Source, columns: pa.Table, payload: pa.Table, standing: pa.Table | None) -> pa.Table:
    """The payload, and where its rows stand: where their own columns say, else as they were read."""
    by = info.partitions
    if by is not None and by.column is not None and by.offset is not None:
        names = [f.name for f in info.columns]
        origin, offset = (numbers_of(columns.column(names.index(n))) for n in (by.column, by.offset))
        return with_places(payload, origin, offset)
    if standing is None:
        return payload
    for name in standing.column_names:
        payload = payload.append_column(name, standing.column(name))
    return payload


class _Rows:
    """Which rows are refused, each for the first reason that is found."""

    def __init__(self, info: Source, columns: pa.Table) -> None:
        self.names = [f.name for f in info.columns]
        self.columns = columns
        self.kept: Mask | None = None
        self.refused: list[Refused] = []

    def refuse(self, wrong: Mask | None, reason: str, condition: str = MALFORMED) -> None:
        """Refuses rows for a reason that is the same for all of them."""
        for row in self._new(wrong):
            self.refused.append(Refused(row, condition, reason))

    def refuse_each(self, wrong: dict[int, str]) -> None:
        """Refuses rows, each for a reason of its own."""
        mask = np.zeros(self.columns.num_rows, np.bool_)
        mask[list(wrong)] = True
        for row in self._new(mask):
            self.refused.append(Refused(row, MALFORMED, wrong[row]))

    def _new(self, wrong: Mask | None) -> list[int]:
        if wrong is None or not bool(wrong.any()):
            return []
        if self.kept is None:
            self.kept = np.ones(wrong.size, np.bool_)
        new = wrong & self.kept
        self.kept &= ~wrong
        found: list[int] = np.flatnonzero(new).tolist()
        return found


def _stream_times(info: StreamInfo, columns: pa.Table, found: _Rows, stamp: int | Int64s) -> tuple[Int64s, Int64s]:
    if info.valid is None:
        if info.order_by is None:
            start = np.full(columns.num_rows, stamp, np.int64)
        else:
            start = _times(columns.column(found.names.index(info.order_by)), found)
        return start, start + 1
    first, last = (found.names.index(name) for name in info.valid)
    begins, ends = columns.column(first), columns.column(last)
    start, end = numbers_of(begins), numbers_of(ends)
    endless = _null(ends)
    if endless is not None:
        end = np.where(endless, INFINITY, end)
    empty = end <= start
    unknown = _null(begins)
    if unknown is not None:
        empty &= ~unknown
    types = info.columns[first].type, info.columns[last].type
    found.refuse_each(
        {
            row: f"its validity ends at {_value(ends, row, types[1])}, not after it starts at "
            f"{_value(begins, row, types[0])}"
            for row in np.flatnonzero(empty).tolist()
        }
    )
    return _times(begins, found), end


def _modifications(info: RelationInfo, columns: pa.Table, found: _Rows) -> pa.Table:
    """The visible columns, and behind them the tag."""
    tag = pa.chunked_array([pa.repeat("+", columns.num_rows)])
    if info.tagged_by is not None:
        place = found.names.index(info.tagged_by)
        tag = columns.column(place)
        allowed = ("+", "-", "u") if info.key else ("+", "-")
        fine = np.asarray(pc.is_in(tag, pa.array(allowed, tag.type)).to_numpy(zero_copy_only=False))
        hint = "" if info.key else " (u needs KEY)"
        of = info.columns[place].type
        found.refuse_each(
            {
                row: f"tag {_value(tag, row, of)!r} is not one of {' '.join(allowed)}{hint}"
                for row in np.flatnonzero(~fine).tolist()
            }
        )
    visible = [i for i, f in enumerate(info.columns) if not f.hidden]
    return columns.select(visible).append_column("tag", tag)


def _times(column: pa.ChunkedArray, found: _Rows) -> Int64s:
    """The instants of an ordering column."""
    found.refuse(_null(column), "the timestamp is NULL", UNTIMED)
    numbers = numbers_of(column)
    if numbers.size and (int(numbers.min()) <= -FAR or int(numbers.max()) >= FAR):
        far = (numbers <= -FAR) | (numbers >= FAR)
        found.refuse(far, "its time is too far from 0 to be reckoned with")
        numbers = np.where(far, 0, numbers)
    return numbers


def _null(column: pa.ChunkedArray) -> Mask | None:
    return np.asarray(column.is_null().to_numpy()) if column.null_count else None


def numbers_of(column: pa.ChunkedArray) -> Int64s:
    """Integers or timestamps as instants, NULL as 0."""
    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], column.type)
    if pa.types.is_timestamp(column.type):
        values = values.cast(pa.timestamp("us", column.type.tz)).view(pa.int64())
    values = values.cast(pa.int64())
    return np.asarray((values.fill_null(0) if values.null_count else values).to_numpy(), np.int64)


def _value(column: pa.ChunkedArray, row: int, of: object) -> Value:
    return from_duckdb(column[row].as_py(), of)  # type: ignore[arg-type]

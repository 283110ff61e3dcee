"""Stretches of a source: rows with intervals, and apart from them those that are late or no rows at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from continua.catalog import is_timed
from continua.kernels.jit import Int64s
from continua.sources.intervals import FAR, NEVER, Source, check_start, timed
from continua.sources.lateness import heartbeat_after, is_late, latest_before
from continua.sources.places import origin_of, with_places
from continua.sources.shown_values import show_values
from continua.sources.source_spec import Late, Malformed, SourceRow, SourceSpec, Unit
from continua.sources.split_reader import read_split
from continua.sources.splits import Extent, Piece, Split
from continua.sqltext.duckdb_types import from_duckdb
from continua.stages import stage
from continua.types import Value


@dataclass(frozen=True)
class FileSource:
    """A declared source whose rows are in files, as tasks know it."""

    info: Source
    spec: SourceSpec
    first: int
    """The instant before which a stream has no elements."""
    stamp: int
    """The instant of rows that have no time of their own."""


@dataclass(frozen=True)
class Summary:
    """What a task tells of a split: where it began and ended, the times of its rows, and what was kept apart."""

    source: str
    number: int
    split: Split
    rows: int = 0
    least: int | None = None
    """The least instant of the rows that were taken to be in time."""
    latest: int = NEVER
    assumed: int = NEVER
    """The latest time before the split, as it was known when it was read."""
    extent: Extent = field(default_factory=Extent)
    wrong: tuple[Malformed, ...] = field(default=(), repr=False)
    late: tuple[Late, ...] = field(default=(), repr=False)

    failed: bool = False
    """Whether the split has a row that the source does not allow."""

    by_position: bool = True
    """Whether its extent is in the unit of its splits; otherwise it is in rows, or in bytes of what the file holds."""

    @property
    def records(self) -> int:
        """How many records there are, be they rows or not."""
        return self.rows + len(self.wrong) + len(self.late)

    @property
    def slim(self) -> Summary:
        """It without the rows that were kept apart, but for whether some were late."""
        return replace(self, wrong=(), late=self.late[:1])


@dataclass
class Stretch:
    """Rows of a source, one after the other."""

    rows: pa.Table
    """Those in time, with their intervals, in the order in which they came."""
    start: Int64s
    latest: int
    wrong: list[Malformed]
    late: list[Late]
    apart: pa.Table | None = None
    """The late rows with their intervals."""


def stretch_of(
    info: Source,
    piece: Piece,
    file: str,
    stamp: int | Int64s,
    latest: int,
    base: int = 0,
    first: int = NEVER,
    ordered: bool = True,
    closed: int = NEVER,
    since: int = NEVER,
) -> Stretch:
    """The rows of a piece; ``latest`` is the latest time before it, ``base`` is added to the lines of its rows.

    ``ordered``: whether the order in which rows come tells which of them are late. Rows of instants up to ``closed``
    are late too: these were closed because the source had ended. Those before ``since`` are of no use to anybody.
    """
    columns = piece.columns
    if piece.offsets is not None:
        columns = with_places(columns, origin_of(file), piece.offsets)
    found = timed(info, columns, stamp)
    wrong = [replace(m, line=m.line + base) for m in piece.wrong]
    for refused in found.refused:
        values = _values(info, piece.columns, refused.row)
        text = json.dumps(show_values(values), ensure_ascii=False)
        line = int(piece.lines[refused.row]) + base
        wrong.append(refused.malformed(file, line, text))
    late: list[Late] = []
    apart: pa.Table | None = None
    mask = is_late(found.start, info.slack if ordered else FAR, latest)
    if is_timed(info):
        mask |= (found.start <= closed) & (found.start >= since)
    reached = max(latest, int(found.start.max(initial=NEVER)))
    if bool(mask.any()):
        before = latest_before(found.start, latest)
        for row in np.flatnonzero(mask).tolist():
            place = int(found.places[row])
            values = _values(info, piece.columns, place)
            kept = SourceRow(values, file, int(piece.lines[place]) + base)
            heartbeat = max(heartbeat_after(int(before[row]), info.slack), closed)
            late.append(Late(kept, int(found.start[row]), heartbeat))
        apart, found = found.take(mask).rows, found.take(~mask)
    check_start(info, found.start, first)
    wrong.sort(key=lambda m: m.line)
    return Stretch(found.rows, found.start, reached, wrong, late, apart)


def read_stretch(
    source: FileSource, number: int, split: Split, latest: int, closed: int = NEVER, since: int = NEVER
) -> tuple[Stretch, Summary]:
    """The rows of a split of a file; those of instants that are closed are late whatever the slack."""
    with stage("read"):
        piece = read_split(source.spec, split)
    with stage("convert"):
        found = stretch_of(source.info, piece, split.shown, source.stamp, latest, closed=closed, since=since)
    if found.wrong and not source.spec.skip_malformed:
        found.wrong = found.wrong[:1]
    summary = Summary(
        source.info.name.casefold(), number, split, found.rows.num_rows,
        int(found.start.min()) if found.start.size else None, found.latest, latest,
        piece.extent, tuple(found.wrong), tuple(found.late),
        bool(found.wrong) and not source.spec.skip_malformed,
        split.end >= 0 and source.spec.unit is not Unit.GROUPS,
    )  # fmt: skip
    return found, summary


def _values(info: Source, columns: pa.Table, row: int) -> tuple[Value, ...]:
    return tuple(from_duckdb(columns.column(i)[row].as_py(), f.type) for i, f in enumerate(info.columns))


def with_true_lines(summaries: Sequence[Summary]) -> tuple[list[Malformed], list[Late]]:
    """What consecutive splits of a source have kept apart, with the lines of the files."""
    wrong: list[Malformed] = []
    late: list[Late] = []
    file, base = "", 1
    for summary in summaries:
        if summary.split.path != file:
            file, base = summary.split.path, 1 + summary.split.line
        wrong += [replace(m, line=m.line + base) for m in summary.wrong]
        late += [replace(x, row=replace(x.row, line=x.row.line + base)) for x in summary.late]
        base += summary.extent.passed
    return wrong, late

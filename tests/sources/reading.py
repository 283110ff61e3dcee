"""Sources read by splits, whatever the cut, as rows and rejects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from continua.algebra.schema import Field
from continua.catalog import StreamInfo
from continua.instants import TimeDomain
from continua.sources.intervals import NEVER
from continua.sources.planning import list_source
from continua.sources.source_spec import Late, Malformed, Reject, SourceRow, SourceSpec, Unit
from continua.sources.split_reader import read_split
from continua.sources.splits import Extent, Piece, Split, entries
from continua.sources.stretches import stretch_of
from continua.sqltext.duckdb_types import from_duckdb
from continua.types import BIGINT


def read_source(spec: SourceSpec, base: Path) -> tuple[list[SourceRow], list[Reject]]:
    """All rows of a source in the order of its files, and the records left out under ON ERROR SKIP."""
    rows: list[SourceRow] = []
    wrong: list[Malformed] = []
    for listed in list_source(spec, base):
        found = [(split, read_split(spec, split)) for split in listed.splits]
        some, others = of_pieces(spec, found)
        rows += some
        wrong += others
        if wrong and not spec.skip_malformed:
            raise wrong[0].error(spec.name)
    return rows, [m.reject() for m in wrong]


def read_cut(spec: SourceSpec, path: Path, cuts: Iterable[int]) -> tuple[list[SourceRow], list[Malformed], int]:
    """The rows of a text file that is cut at some bytes, and how often splits had to be read again."""
    size = path.stat().st_size
    bounds = [0, *sorted(cuts), size]
    splits = [Split(str(path), path.name, a, b, size) for a, b in pairwise(bounds) if a < b or not size]
    found = [(split, read_split(spec, split)) for split in splits]
    rounds = 0
    while True:
        wrong = [
            place
            for place, (begin, (_, piece)) in enumerate(zip(entries(extents(found)), found, strict=True))
            if begin is not None and begin != piece.extent.entry
        ]
        if not wrong:
            return *of_pieces(spec, found), rounds
        rounds += 1
        begins = entries(extents(found))
        for place in wrong:
            split = replace(found[place][0], entry=begins[place])
            found[place] = (split, read_split(spec, split))


def extents(found: Iterable[tuple[Split, Piece]]) -> list[Extent]:
    """From where to where splits were read."""
    return [piece.extent for _, piece in found]


def of_pieces(spec: SourceSpec, pieces: Iterable[tuple[Split, Piece]]) -> tuple[list[SourceRow], list[Malformed]]:
    """The rows of consecutive splits of a file, and the records that are none."""
    rows: list[SourceRow] = []
    wrong: list[Malformed] = []
    base = 1
    for split, piece in pieces:
        types = [of for _, of in spec.columns]
        lists = [[from_duckdb(v, of) for v in piece.columns.column(i).to_pylist()] for i, of in enumerate(types)]
        lines = (piece.lines + base).tolist()
        rows += [
            SourceRow(values, split.shown, line) for values, line in zip(zip(*lists, strict=True), lines, strict=True)
        ]
        wrong += [replace(m, line=m.line + base) for m in piece.wrong]
        base += piece.extent.passed
    return rows, sorted(wrong, key=lambda m: m.line)


def is_textual(spec: SourceSpec) -> bool:
    """Whether a source is cut by bytes."""
    return spec.unit is Unit.BYTES


@dataclass(frozen=True)
class Arrival:
    """A row that is in time, its instant, and its place in the order of the stream."""

    instant: int
    position: int
    line: int


def arrivals(
    instants: Sequence[int | None], slack: int, skip: bool = False
) -> tuple[list[Arrival], list[Late], list[Reject]]:
    """What becomes of rows that come with these instants: a stream of the instants and the lines of rows."""
    fields = (Field("ts", BIGINT), Field("line", BIGINT))
    info = StreamInfo("s", fields, TimeDomain.TICKS, "ts", slack, skip_errors=skip)
    table = pa.table({"c0": pa.array(instants, pa.int64()), "c1": pa.array(range(len(instants)), pa.int64())})
    found = stretch_of(info, Piece(table, np.arange(len(instants))), "s.csv", 0, NEVER, 1)
    if found.wrong and not skip:
        raise found.wrong[0].error("s")
    pairs = sorted(zip(found.start.tolist(), found.rows.column(1).to_pylist(), strict=True))
    kept = [Arrival(instant, place, line + 1) for place, (instant, line) in enumerate(pairs)]
    return kept, found.late, [m.reject() for m in found.wrong]

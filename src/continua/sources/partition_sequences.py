"""Partitions of a source that a column tells: each is a sequence of its own, in the order of its offsets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from continua.catalog import RelationInfo, is_timed
from continua.kernels.jit import Int64s
from continua.sources.intervals import Source, numbers_of
from continua.sources.splits import Piece


@dataclass(frozen=True, slots=True)
class PartitionColumns:
    """The places of the columns that tell partition and offset among those of rows."""

    partition: int
    offset: int | None = None


def columns_of_partitions(info: Source, payload: bool = False) -> PartitionColumns | None:
    """Where partition and offset stand: among the declared columns, or among those of rows with intervals."""
    if info.partitions is None or info.partitions.column is None:
        return None
    fields = list(info.columns)
    if payload and isinstance(info, RelationInfo) and is_timed(info):
        fields = [f for f in fields if not f.hidden]
    names = [f.name for f in fields]
    offset = info.partitions.offset
    return PartitionColumns(names.index(info.partitions.column), None if offset is None else names.index(offset))


def sequences(rows: pa.Table, by: PartitionColumns | None) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each partition, with its number; all rows, as of partition 0, where nothing tells them apart."""
    if by is None or not rows.num_rows:
        yield 0, rows
        return
    for origin, places in _places(rows, by):
        yield origin, rows.take(pa.array(places))


def pieces(info: Source, piece: Piece) -> Iterator[tuple[int, Piece]]:
    """What was read, partition by partition; what could not be read goes with the first."""
    by = columns_of_partitions(info)
    if by is None or not piece.columns.num_rows:
        yield 0, piece
        return
    wrong = piece.wrong
    for origin, places in _places(piece.columns, by):
        offsets = None if piece.offsets is None else piece.offsets[places]
        yield origin, Piece(piece.columns.take(pa.array(places)), piece.lines[places], wrong, offsets=offsets)
        wrong = ()


def _places(rows: pa.Table, by: PartitionColumns) -> Iterator[tuple[int, Int64s]]:
    """For each partition, in their order, the places of its rows in the order of their offsets."""
    origin = numbers_of(rows.column(by.partition))
    offset = np.zeros(origin.size, np.int64) if by.offset is None else numbers_of(rows.column(by.offset))
    order = np.lexsort((offset, origin))
    bounds = np.flatnonzero(np.diff(origin[order])) + 1
    for places in np.split(order, bounds):
        yield int(origin[places[0]]), places

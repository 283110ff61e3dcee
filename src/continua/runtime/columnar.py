"""Sources as the tables that the engine takes, without a Python object a row.

Only data that is entirely clean is read so. Whatever is malformed, late, without an instant or in any other way not
plain is left to :mod:`continua.runtime.inputs`, which tells of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from continua.catalog import RelationInfo, StreamInfo
from continua.instants import INFINITY
from continua.kernels.jit import Int64s
from continua.physical.rows import as_rows
from continua.reference.elements import Inputs
from continua.runtime.sources.column_files import read_columns
from continua.runtime.sources.spec import SourceSpec

_FAR = 1 << 62
"""Sums of instants that are nearer than this do not overflow."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the engine reads: the sources that are tables already, and the rows of the others."""

    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    others: Inputs = field(default_factory=Inputs)

    @property
    def size(self) -> int:
        """How many rows there are."""
        return sum(int(table.num_rows) for table in self.tables.values()) + self.others.size


def read_table(info: StreamInfo | RelationInfo, spec: SourceSpec, data: Path, first: int) -> pa.Table | None:
    """The rows of a source in the order of time, with their intervals; None where there is any doubt.

    ``first`` is the instant before which a stream has no elements.
    """
    columns = read_columns(spec, data)
    if columns is None or not columns.num_rows or not _complete(columns, info):
        return None
    match info:
        case StreamInfo():
            return _stream(info, columns, first)
        case RelationInfo(order_by=None):
            zero = np.zeros(columns.num_rows, np.int64)
            return as_rows(columns.combine_chunks(), zero, np.full(zero.size, INFINITY, np.int64))
        case RelationInfo():
            return _tagged(info, columns)


def _complete(columns: pa.Table, info: StreamInfo | RelationInfo) -> bool:
    """Whether every column declared NOT NULL has a value in every row."""
    return all(f.nullable or not columns.column(i).null_count for i, f in enumerate(info.columns))


def _stream(info: StreamInfo, columns: pa.Table, first: int) -> pa.Table | None:
    names = [f.name for f in info.columns]
    time = info.valid[0] if info.valid is not None else info.order_by
    start = None if time is None else _instants(columns.column(names.index(time)))
    if start is None or int(start.min()) < first:
        return None
    end: Int64s | None = start + 1
    if info.valid is not None:
        end = _ends(columns.column(names.index(info.valid[1])))
        if end is None or bool((end <= start).any()):
            return None
    assert end is not None
    return _in_order(columns, start, end, info.slack)


def _tagged(info: RelationInfo, columns: pa.Table) -> pa.Table | None:
    names = [f.name for f in info.columns]
    start = _instants(columns.column(names.index(info.order_by or "")))
    if start is None:
        return None
    tag = pa.chunked_array([pa.repeat("+", columns.num_rows)])
    if info.tagged_by is not None:
        tag = columns.column(names.index(info.tagged_by))
        allowed = pa.array(["+", "-", "u"] if info.key else ["+", "-"])
        if tag.type != pa.string() or not pc.all(pc.is_in(tag, allowed)).as_py():
            return None
    visible = [i for i, f in enumerate(info.columns) if not f.hidden]
    payload = columns.select(visible).append_column("tag", tag)
    return _in_order(payload, start, start + 1, info.slack)


def _instants(column: pa.ChunkedArray) -> Int64s | None:
    """The instants of a column; None where one is NULL or very far."""
    if column.null_count:
        return None
    values = _numbers(column)
    return values if int(values.min()) > -_FAR and int(values.max()) < _FAR else None


def _ends(column: pa.ChunkedArray) -> Int64s | None:
    """The ends of intervals; that of NULL is the end of time."""
    known = column.drop_null()
    if len(known) and _instants(known) is None:
        return None
    kept: Int64s = _numbers(column.fill_null(pa.scalar(0, column.type)))
    return np.where(column.is_null().to_numpy(), INFINITY, kept)


def _numbers(column: pa.ChunkedArray) -> Int64s:
    """Integers or timestamps as instants."""
    numbers = column.combine_chunks()
    if pa.types.is_timestamp(column.type):
        numbers = numbers.view(pa.int64())
    return np.asarray(numbers.cast(pa.int64()).to_numpy(), np.int64)


def _in_order(payload: pa.Table, start: Int64s, end: Int64s, slack: int) -> pa.Table | None:
    """The rows by instant, those of one instant as they came; None where one is later than the slack allows."""
    latest = np.maximum.accumulate(start)
    if bool((start == latest).all()):
        return as_rows(payload.combine_chunks(), start, end)
    if slack >= _FAR or bool((start < latest - slack).any()):
        return None
    order = np.argsort(start, kind="stable")
    return as_rows(payload.take(pa.array(order)).combine_chunks(), start[order], end[order])

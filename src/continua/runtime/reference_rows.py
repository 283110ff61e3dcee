"""Rows of sources as the reference has them: elements of streams, rows of relations, modifications by their tags."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from continua.algebra.schema import Field
from continua.catalog import RelationInfo, StreamInfo
from continua.physical.nodes import END, START
from continua.reference.elements import Modification
from continua.sources.intervals import Source
from continua.sqltext.duckdb_types import from_duckdb
from continua.windows.occurrences import Element, Row


def reference_rows(info: Source, table: pa.Table) -> Sequence[Element | Row | Modification]:
    """The rows of a source as the reference has them."""
    match info:
        case StreamInfo():
            return _elements(info, table)
        case RelationInfo(order_by=None):
            return payload_rows(table, info.columns)
        case RelationInfo():
            return _modifications(info, table)


def payload_rows(table: pa.Table, columns: Sequence[Field]) -> list[Row]:
    """The payload of rows as values."""
    if not columns:
        return [()] * table.num_rows
    lists = [[from_duckdb(v, f.type) for v in table.column(i).to_pylist()] for i, f in enumerate(columns)]
    return list(zip(*lists, strict=True))


def _elements(info: StreamInfo, table: pa.Table) -> list[Element]:
    times = zip(table.column(START).to_pylist(), table.column(END).to_pylist(), strict=True)
    rows = zip(payload_rows(table, info.columns), times, strict=True)
    return [Element(row, start, end, position) for position, (row, (start, end)) in enumerate(rows)]


def _modifications(info: RelationInfo, table: pa.Table) -> list[Modification]:
    visible = [f for f in info.columns if not f.hidden]
    tags, times = table.column(len(visible)).to_pylist(), table.column(START).to_pylist()
    return [Modification(*found) for found in zip(tags, payload_rows(table, visible), times, strict=True)]

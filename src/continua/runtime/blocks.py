"""Blocks: rows on their way between partitions, many to a message, as Arrow writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

REPORT = -1
"""The level of a message to the driver."""

SCHEMA = pa.schema(
    [
        ("level", pa.int32()),
        ("partition", pa.int32()),
        ("channel", pa.string()),
        ("place", pa.int64()),
        ("data", pa.binary()),
    ]
)


@dataclass(frozen=True, slots=True)
class Block:
    """A message: for which level and partition it is, on which channel, its place there, and its content.

    Messages of a channel are read in the order of their places, whatever the order in which they arrive.
    """

    level: int
    partition: int
    channel: str
    place: int
    data: bytes


def packed(table: pa.Table) -> bytes:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def unpacked(data: bytes) -> pa.Table:
    """The table again, without copying its columns."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_all()


def as_table(blocks: Sequence[Block]) -> pa.Table:
    """Blocks as rows of a table."""
    columns: Mapping[str, list[object]] = {
        "level": [b.level for b in blocks],
        "partition": [b.partition for b in blocks],
        "channel": [b.channel for b in blocks],
        "place": [b.place for b in blocks],
        "data": [b.data for b in blocks],
    }
    return pa.table(columns, schema=SCHEMA)


def of_batches(batches: Iterable[pa.RecordBatch]) -> Iterable[Block]:
    """The blocks in rows of a table."""
    for batch in batches:
        for row in batch.to_pylist():
            yield Block(**row)

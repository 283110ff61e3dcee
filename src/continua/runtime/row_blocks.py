"""Blocks: rows on their way between partitions, many to a message, as Arrow writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from continua.kernels.jit import Int64s
from continua.physical.nodes import END, START, WEIGHT
from continua.stages import stage

_LENGTH = "#length"
REPORT = -1
"""The level of a message to the driver."""
SPLITS = "#splits"
"""The channel on which partitions of level 1 are told of the splits that were read."""
AGAIN = "#again"
"""The channel on which levels above 1 are told that the epoch is not to be run: some splits are read again."""

SCHEMA = pa.schema(
    [
        ("level", pa.int32()),
        ("partition", pa.int32()),
        ("channel", pa.string()),
        ("place", pa.int64()),
        ("data", pa.binary()),
        ("origin", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class FileStretch:
    """Bytes in a file of this machine."""

    path: str
    begin: int
    size: int

    def mapped(self) -> pa.Buffer:
        """The bytes, mapped into memory: they are there as long as somebody has them, also when the file is gone."""
        with pa.memory_map(self.path) as file:
            file.seek(self.begin)
            return file.read_buffer(self.size)


Plain: TypeAlias = tuple[int, int, str, int, bytes | FileStretch, int]
"""The parts of a block as plain data, in this order."""


@dataclass(frozen=True, slots=True)
class Block:
    """A message: for which level and partition it is, on which channel, its place there, and its content.

    Messages of a channel are read in the order of their places, whatever the order in which they arrive. The content
    is bytes, here or in a file, or a table that has not left its process. ``origin`` is the partition of the source
    that rows are from.
    """

    level: int
    partition: int
    channel: str
    place: int
    content: bytes | FileStretch | pa.Table
    origin: int = 0

    @property
    def data(self) -> bytes:
        """The content as bytes."""
        match self.content:
            case bytes():
                return self.content
            case FileStretch():
                return bytes(self.content.mapped())
            case _:
                return packed(self.content)

    @property
    def table(self) -> pa.Table:
        """The content as rows."""
        match self.content:
            case bytes():
                return unpacked(self.content)
            case FileStretch():
                return unpacked(self.content.mapped())
            case _:
                return self.content

    @property
    def size(self) -> int:
        """About how many bytes the content has."""
        match self.content:
            case bytes():
                return len(self.content)
            case FileStretch():
                return self.content.size
            case _:
                return int(self.content.nbytes)

    @property
    def plain(self) -> Plain:
        """It as plain data."""
        content = self.content if isinstance(self.content, FileStretch) else self.data
        return self.level, self.partition, self.channel, self.place, content, self.origin


def packed(table: pa.Table) -> bytes:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    pack_into(sink, table)
    return bytes(sink.getvalue())


@stage("exchange")
def pack_into(sink: pa.NativeFile, table: pa.Table) -> None:
    """Writes a table. A weight or a length that all rows share is written once."""
    notes: dict[str, str] = {}
    start, end, weight = (_numbers(table, name) for name in (START, END, WEIGHT))
    kept = list(range(table.num_columns - 2))
    for place, name, values in ((2, _LENGTH, end - start), (1, WEIGHT, weight)):
        if values.size and bool((values == values[0]).all()):
            notes[name] = str(int(values[0]))
        else:
            kept.append(table.num_columns - place)
    slim = table.select(kept).replace_schema_metadata(notes)
    with pa.ipc.new_stream(sink, slim.schema) as writer:
        writer.write_table(slim)


@stage("exchange")
def unpacked(data: bytes | pa.Buffer) -> pa.Table:
    """The table again, without copying its columns."""
    table = pa.ipc.open_stream(pa.py_buffer(data)).read_all()
    notes = {k.decode(): int(v) for k, v in (table.schema.metadata or {}).items()}
    columns = dict(zip(table.column_names, table.columns, strict=True))
    if _LENGTH in notes:
        columns[END] = pa.chunked_array([pa.array(_numbers(table, START) + notes[_LENGTH])])
    if WEIGHT in notes:
        columns[WEIGHT] = pa.chunked_array([pa.array(np.full(table.num_rows, notes[WEIGHT], np.int64))])
    names = [n for n in table.column_names if n not in (START, END, WEIGHT)]
    return pa.table({name: columns[name] for name in (*names, START, END, WEIGHT)})


def _numbers(table: pa.Table, name: str) -> Int64s:
    column = table.column(name)
    whole = column.chunk(0) if column.num_chunks == 1 else column
    return np.asarray(whole.to_numpy(), np.int64)


def as_table(blocks: Sequence[Block]) -> pa.Table:
    """Blocks as rows of a table."""
    columns: Mapping[str, list[object]] = {
        "level": [b.level for b in blocks],
        "partition": [b.partition for b in blocks],
        "channel": [b.channel for b in blocks],
        "place": [b.place for b in blocks],
        "data": [b.data for b in blocks],
        "origin": [b.origin for b in blocks],
    }
    return pa.table(columns, schema=SCHEMA)


def as_batch(block: Block) -> pa.RecordBatch:
    """A block as a row."""
    return as_table([block]).to_batches()[0]


def gathered(batches: Iterator[pa.RecordBatch], rows: int = 1 << 20) -> Iterator[pa.Table]:
    """Batches gathered to tables of about a million rows, so that kernels get much at a time."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= rows:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()

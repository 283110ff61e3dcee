"""Rows between operators: Arrow columns where expressions need them, words where kernels do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from continua.kernels.jit import Int64s
from continua.kernels.words.batch import Batch
from continua.kernels.words.columns import Codec
from continua.physical.nodes import END, OFFSET, ORIGIN, START, WEIGHT
from continua.stages import stage

_TIMES = (START, END, WEIGHT)
_PLACE = (ORIGIN, OFFSET)


class RowSet:
    """Rows of a physical stream. The payload is turned from one form to the other when it is asked for."""

    def __init__(
        self,
        codec: Codec,
        start: Int64s,
        end: Int64s,
        weight: Int64s,
        payload: pa.Table | None = None,
        words: Int64s | None = None,
    ) -> None:
        self.codec = codec
        self.start, self.end, self.weight = start, end, weight
        self._payload = payload
        self._words = words

    def __len__(self) -> int:
        return int(self.start.size)

    @classmethod
    def of_batch(cls, codec: Codec, batch: Batch) -> RowSet:
        """What a kernel yields."""
        return cls(codec, batch.start, batch.end, batch.weight, words=batch.words)

    @classmethod
    def of_table(cls, codec: Codec, table: pa.Table | pa.RecordBatch) -> RowSet:
        """A table with the payload first, then start, end and weight."""
        width = len(codec.schema)
        start, end, weight = (_numbers(table.column(width + i)) for i in range(3))
        payload = table.select(list(range(width)))
        if isinstance(payload, pa.RecordBatch):
            payload = pa.Table.from_batches([payload])
        return cls(codec, start, end, weight, payload)

    @classmethod
    def empty(cls, codec: Codec) -> RowSet:
        """No rows."""
        return cls.of_batch(codec, Batch.empty(codec.width))

    @property
    def words(self) -> Int64s:
        """The payload as words."""
        if self._words is None:
            assert self._payload is not None
            with stage("intern"):
                self._words = (
                    self.codec.encode(self._payload) if len(self.codec.schema) else _unit(self.codec, len(self))
                )
        return self._words

    @property
    def batch(self) -> Batch:
        """The rows as kernels take them."""
        return Batch(self.words, self.start, self.end, self.weight)

    @property
    def payload(self) -> pa.Table:
        """The payload as columns."""
        if self._payload is None:
            assert self._words is not None
            with stage("decode"):
                self._payload = self.codec.decode(self._words)
        return self._payload

    @property
    def encoded(self) -> bool:
        """Whether the words are there already."""
        return self._words is not None

    @cached_property
    def table(self) -> pa.Table:
        """Payload, start, end and weight as one table."""
        columns = [self.payload.column(i) for i in range(len(self.codec.schema))]
        columns += [pa.array(self.start), pa.array(self.end), pa.array(self.weight)]
        return pa.Table.from_arrays(columns, names=[*self.codec.schema.names, *_TIMES])

    def take(self, places: Int64s | np.ndarray[tuple[int], np.dtype[np.bool_]]) -> RowSet:
        """The rows at those places."""
        if self._words is not None:
            return RowSet.of_batch(self.codec, self.batch.take(places))
        chosen = np.flatnonzero(places) if places.dtype == np.bool_ else places
        return RowSet.of_table(self.codec, self.table.combine_chunks().take(pa.array(chosen)))

    def during(self, start: Int64s, end: Int64s) -> RowSet:
        """The same rows during other intervals."""
        payload, words = (None, self._words) if self.encoded else (self.payload, None)
        return RowSet(self.codec, start, end, self.weight, payload, words)

    @classmethod
    def concat(cls, codec: Codec, parts: Sequence[RowSet]) -> RowSet:
        """The rows of all parts."""
        filled = [p for p in parts if len(p)]
        if not filled:
            return cls.empty(codec)
        if len(filled) == 1:
            return filled[0] if filled[0].codec is codec else filled[0].under(codec)
        if all(p.encoded for p in filled):
            return cls.of_batch(codec, Batch.concat([p.batch for p in filled], codec.width))
        tables = [p.table.rename_columns([*codec.schema.names, *_TIMES]) for p in filled]
        return cls.of_table(codec, pa.concat_tables(tables))

    def under(self, codec: Codec) -> RowSet:
        """The same rows with the columns of a like schema."""
        payload = None if self._payload is None else self._payload.cast(codec.schema)
        return RowSet(codec, self.start, self.end, self.weight, payload, self._words)


def _numbers(column: pa.ChunkedArray | pa.Array) -> Int64s:
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            column = column.chunk(0)
        elif column.num_chunks == 0:
            return np.empty(0, np.int64)
        else:
            column = pa.concat_arrays(column.chunks)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)


def _unit(codec: Codec, count: int) -> Int64s:
    return np.zeros((codec.width, count), np.int64)


def as_rows(payload: pa.Table, start: Int64s, end: Int64s, weight: Int64s | None = None) -> pa.Table:
    """A table of a physical stream from its parts; every row counts once, unless weights say otherwise.

    Columns that tell where rows stand keep their names.
    """
    weights = np.ones(start.size, np.int64) if weight is None else weight
    columns = [*payload.columns, pa.array(start), pa.array(end), pa.array(weights)]
    own = (name if name in _PLACE else f"c{i}" for i, name in enumerate(payload.column_names))
    names = [*own, *_TIMES]
    return pa.Table.from_arrays(columns, names=names)

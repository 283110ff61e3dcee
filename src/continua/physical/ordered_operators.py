"""Operators that depend on order: top-k, rows cut into chronons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.types as types

from continua.instants import INFINITY, goes_on_for_ever, too_many
from continua.kernels.jit import Int64s
from continua.kernels.relation import pieces, top_k
from continua.kernels.relation.coalesce import coalesce
from continua.kernels.store import hold
from continua.kernels.store.arena import Arena
from continua.kernels.words.batch import Batch
from continua.kernels.words.columns import NULLS_PER_WORD, Codec
from continua.physical import nodes
from continua.physical.key_words import key_width, keys_of
from continua.physical.relation import cannot
from continua.physical.rows import RowSet

FINAL = INFINITY - 1
"""The end of time: an epoch up to it is the last one."""

MOST_POINTS = 5_000_000
"""So many pieces of rows, at most, come out in one epoch."""


class TopK:
    """The first rows in an order."""

    def __init__(self, node: nodes.TopK, arena: Arena, codec: Codec) -> None:
        self._node, self._codec = node, codec
        order = tuple(_order_key(codec, key) for key in node.order)
        width = key_width(codec, node.partition)
        self._kernel = top_k.TopK(arena, node.id, width, codec.width, order, node.limit, node.offset)

    @property
    def state_rows(self) -> int:
        """Rows that are valid."""
        return self._kernel.state_rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:
        """The rows that are among the first."""
        rows = inputs[0]
        keys, batch = keys_of(rows, self._node.partition), rows.batch
        strings = self._codec.interner.strings()
        return RowSet.of_batch(self._codec, self._kernel.epoch(keys, batch, after, until, strings))

    def interned(self) -> list[Int64s]:
        """The strings of the rows."""
        return self._kernel.interned(self._codec.string_columns)


def _order_key(codec: Codec, key: nodes.Order) -> top_k.OrderKey:
    words = codec.columns[key.column]
    kind = codec.schema.field(key.column).type
    if len(words) == 2:
        shape = top_k.WIDE_DECIMAL
    elif types.is_string(kind) or types.is_binary(kind):
        shape = top_k.STRING
    elif words[0] in codec.string_columns:
        raise cannot(f"an order by {kind}")
    else:
        shape = top_k.INT
    null_word = codec.null_words[key.column // NULLS_PER_WORD]
    return top_k.OrderKey(words, null_word, key.column % NULLS_PER_WORD, key.descending, key.nulls_first, shape)


class Pieces:
    """Content that ends at every multiple of a length and begins anew."""

    def __init__(self, node: nodes.Pieces, arena: Arena, codec: Codec) -> None:
        self._codec = codec
        self._kernel = pieces.Pieces(arena, node.id, codec.width, node.length, _check_pieces)

    @property
    def state_rows(self) -> int:
        """How many different rows there are."""
        return self._kernel.state_rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:
        """The net changes, with those at the cuts."""
        return RowSet.of_batch(self._codec, self._kernel.epoch(inputs[0].batch, after, until, until >= FINAL))

    def interned(self) -> list[Int64s]:
        """The strings of rows that are there."""
        return self._kernel.interned(self._codec.string_columns)


def _check_pieces(count: int) -> None:
    if count > MOST_POINTS:
        raise too_many("every piece of elements that last", "a greater length makes fewer pieces")


class Chronons:
    """Rows cut into chronons."""

    def __init__(self, node: nodes.Chronons, arena: Arena, codec: Codec) -> None:
        self._chronon, self._span, self._codec = node.chronon, node.span, codec
        self._as_fed = node.inputs[0].is_fed
        self._hold = hold.Hold(arena, node.id, codec.width)
        self._last = arena.array(f"{node.id}.last", 1)

    @property
    def state_rows(self) -> int:
        """Rows that have chronons to come."""
        return self._hold.state_rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """An element for each row and chronon up to the end of the epoch."""
        chronon, fresh = self._chronon, inputs[0].batch
        self._note(fresh)
        batch = self._merged(self._hold.epoch(self._aligned(fresh), until))
        final = until >= FINAL
        last = np.minimum(batch.end - 1, int(self._last[0]) if final else until)
        counts = np.maximum((last - batch.start) // chronon + 1, 0)
        if int(counts.sum()) > MOST_POINTS:
            raise too_many("every instant of elements that last")
        endless = self._wait(batch, batch.start + counts * chronon, final)
        places = np.repeat(np.arange(len(batch)), counts)
        numbers = np.arange(places.size) - np.repeat(np.cumsum(counts) - counts, counts)
        times = batch.start[places] + numbers * chronon
        found = Batch(batch.words[:, places], times, times + chronon, batch.weight[places])
        found = Batch.concat([self._merged(found.sorted(), chronon), endless], self._codec.width)
        return RowSet.of_batch(self._codec, found)

    def _merged(self, batch: Batch, length: int | None = None) -> Batch:
        """Without what was taken back; elements as they were fed keep their order, which is that of their positions."""
        return batch if self._as_fed else coalesce(batch, length)

    def _wait(self, batch: Batch, rest: Int64s, final: bool) -> Batch:
        """Keeps what has chronons to come; at the end of time that is what never ends."""
        waiting = rest < batch.end
        kept = self._merged(Batch(batch.words[:, waiting], rest[waiting], batch.end[waiting], batch.weight[waiting]))
        self._hold.epoch(kept.take(np.zeros(len(kept), np.bool_)) if final else kept, -INFINITY)
        return self._for_ever(kept if final else kept.take(np.zeros(len(kept), np.bool_)))

    def _for_ever(self, batch: Batch) -> Batch:
        """Rows that never end, once for each chronon of the window."""
        if not len(batch):
            return batch
        if self._span is None:
            raise goes_on_for_ever()
        count = self._span // self._chronon
        if count * len(batch) > MOST_POINTS:
            raise too_many("every instant of elements that last")
        places = np.tile(np.arange(len(batch)), count)
        start = batch.start[places] + np.repeat(np.arange(count), len(batch)) * self._chronon
        return Batch(batch.words[:, places], start, np.full(places.size, INFINITY), batch.weight[places])

    def _aligned(self, batch: Batch) -> Batch:
        """Rows from the first whole chronon on."""
        first = batch.start + -batch.start % self._chronon
        kept = first < batch.end
        return Batch(batch.words[:, kept], first[kept], batch.end[kept], batch.weight[kept])

    def _note(self, batch: Batch) -> None:
        """Remembers the last instant at which anything changes."""
        if len(batch):
            ends = batch.end[batch.end < INFINITY]
            latest = max(int(batch.start.max()), int(ends.max()) if ends.size else 0)
            self._last[0] = max(int(self._last[0]), latest)

    def interned(self) -> list[Int64s]:
        """The strings of rows that have chronons to come."""
        return self._hold.interned(self._codec.string_columns)

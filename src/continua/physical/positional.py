"""Operators that depend on order or on points in time: top-k, samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.types as types

from continua.errors import Diagnostic, EvaluationError
from continua.instants import INFINITY
from continua.kernels import hold, top_k
from continua.kernels.arena import Arena
from continua.kernels.batch import Batch
from continua.kernels.coalesce import coalesce
from continua.kernels.columns import NULLS_PER_WORD, Codec
from continua.kernels.jit import Int64s
from continua.physical import nodes
from continua.physical.order import key_width, keys_of
from continua.physical.relation import cannot
from continua.physical.rows import RowSet

FINAL = INFINITY - 1
"""The end of time: an epoch up to it is the last one."""

_MOST_POINTS = 5_000_000


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


class Sample:
    """The content of a relation at points in time."""

    def __init__(self, node: nodes.Sample, arena: Arena, codec: Codec) -> None:
        self._node, self._codec = node, codec
        self._hold = hold.Hold(arena, node.id, codec.width)
        self._last = arena.array(f"{node.id}.last", 1)

    @property
    def state_rows(self) -> int:
        """Rows that have points to come."""
        return self._hold.state_rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """An element for each row and point up to the end of the epoch."""
        node = self._node
        fresh = inputs[0].batch
        self._note(fresh)
        batch = coalesce(self._hold.epoch(self._rounded(fresh), until))
        final = until >= FINAL
        last = np.minimum(batch.end - 1, int(self._last[0]) if final else until)
        counts = np.maximum((last - batch.start) // node.step + 1, 0)
        if int(counts.sum()) > _MOST_POINTS:
            raise _endless()
        self._wait(batch, batch.start + counts * node.step, final)
        places = np.repeat(np.arange(len(batch)), counts)
        numbers = np.arange(places.size) - np.repeat(np.cumsum(counts) - counts, counts)
        times = batch.start[places] + numbers * node.step
        found = Batch(batch.words[:, places], times, times + node.chronon, batch.weight[places])
        return RowSet.of_batch(self._codec, coalesce(found, node.chronon))

    def _wait(self, batch: Batch, rest: Int64s, final: bool) -> None:
        """Keeps what has points to come, without what was taken back; at the end of time nothing may."""
        waiting = rest < batch.end
        kept = coalesce(Batch(batch.words[:, waiting], rest[waiting], batch.end[waiting], batch.weight[waiting]))
        if final and len(kept) and not self._node.endless:
            raise _endless()
        self._hold.epoch(kept, -INFINITY)

    def _rounded(self, batch: Batch) -> Batch:
        """Rows from their first point on."""
        first = batch.start + (self._node.offset - batch.start) % self._node.step
        kept = first < batch.end
        return Batch(batch.words[:, kept], first[kept], batch.end[kept], batch.weight[kept])

    def _note(self, batch: Batch) -> None:
        """Remembers the last instant at which anything changes."""
        if len(batch):
            ends = batch.end[batch.end < INFINITY]
            latest = max(int(batch.start.max()), int(ends.max()) if ends.size else 0)
            self._last[0] = max(int(self._last[0]), latest)

    def interned(self) -> list[Int64s]:
        """The strings of rows that have points to come."""
        return self._hold.interned(self._codec.string_columns)


def _endless() -> EvaluationError:
    what = "a window over a stream that goes on for ever"
    return EvaluationError(
        Diagnostic(
            "TOO_MANY_INSTANTS",
            f"the answer changes at too many instants: {what}",
            hint="SET chronon = '1 second' for a coarser time domain, or SET start_time nearer to the data",
            parameters={"what": what},
        )
    )

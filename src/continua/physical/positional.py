"""Operators that depend on order: row windows, top-k, views of tagged streams, samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc
import pyarrow.types as types

from continua.errors import Diagnostic, EvaluationError
from continua.instants import INFINITY
from continua.kernels import hold, top_k
from continua.kernels.arena import Arena
from continua.kernels.batch import Batch
from continua.kernels.coalesce import coalesce
from continua.kernels.columns import NULLS_PER_WORD, Codec
from continua.kernels.jit import Int64s
from continua.kernels.rows_window import RowsWindowSweep
from continua.physical import nodes
from continua.physical.relation import cannot
from continua.physical.rows import RowSet
from continua.windows.spec import Axis
from continua.windows.spec import RowsWindow as RowsSpec

FINAL = INFINITY - 1
"""The end of time: an epoch up to it is the last one."""

_MOST_POINTS = 5_000_000
_TAGS = {"+": 0, "-": 1, "u": 2}


def keys_of(rows: RowSet, columns: Sequence[int]) -> Int64s:
    """The key words of rows; none for no key."""
    if not columns:
        return np.empty((0, len(rows)), np.int64)
    return rows.codec.key_words(rows.words, columns)


def key_width(codec: Codec, keys: Sequence[int]) -> int:
    """How many words a key has."""
    if not keys:
        return 0
    return sum(len(codec.columns[k]) for k in keys) + -(-len(keys) // NULLS_PER_WORD)


def string_keys(codec: Codec, keys: Sequence[int]) -> list[int]:
    """The words of a key that are interned."""
    found: list[int] = []
    place = 0
    for key in keys:
        if codec.columns[key][0] in codec.string_columns:
            found.append(place)
        place += len(codec.columns[key])
    return found


class RowsWindow:
    """A window over positions."""

    def __init__(self, node: nodes.Rows, arena: Arena, codec: Codec) -> None:
        spec = node.spec
        if not isinstance(spec, RowsSpec):
            raise cannot(f"the window {spec.text}")
        self._node, self._codec = node, codec
        slide = spec.slide
        self._kernel = RowsWindowSweep(
            arena,
            node.id,
            key_width(codec, node.partition),
            codec.width,
            spec.rows,
            spec.size,
            slide.amount if slide is not None and slide.axis is Axis.ROWS else 0,
            slide.amount if slide is not None and slide.axis is Axis.TIME else 0,
            spec.lag,
        )

    @property
    def state_rows(self) -> int:
        """Rows in the window, and those that wait."""
        return self._kernel.state_rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:
        """The elements, each during its time in the window."""
        rows = _in_order(inputs[0], self._node.by_value)
        keys = keys_of(rows, self._node.partition)
        return RowSet.of_batch(self._codec, self._kernel.epoch(keys, rows.batch, after, until))

    def interned(self) -> list[Int64s]:
        """The strings of rows and keys."""
        keys = self._kernel.interned_keys(string_keys(self._codec, self._node.partition))
        return [*self._kernel.interned(self._codec.string_columns), *keys]


def _in_order(rows: RowSet, by_value: bool) -> RowSet:
    """Elements in the order of their positions."""
    if not by_value:
        if bool((rows.start[1:] >= rows.start[:-1]).all()):
            return rows
        return rows.take(np.argsort(rows.start, kind="stable"))
    names = [nodes.START, *rows.codec.schema.names]
    order = pc.sort_indices(rows.table, [(n, "ascending", "at_start") for n in names])
    return rows.take(order.to_numpy())


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


class TaggedView:
    """The relation that a tagged stream modifies."""

    def __init__(self, node: nodes.TaggedView, arena: Arena, codec: Codec, below: Codec) -> None:
        self._node, self._codec, self._below = node, codec, below
        self._columns = list(range(len(below.schema) - 1))
        width = key_width(below, node.key)
        from continua.kernels import tagged_view

        self._kernel = tagged_view.TaggedView(arena, node.id, width, codec.width, node.timestamp, node.has_key)

    @property
    def state_rows(self) -> int:
        """Rows of the relation."""
        return self._kernel.state_rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:
        """The rows that come and go."""
        rows = inputs[0]
        order = np.argsort(rows.start, kind="stable")
        rows = rows.take(order)
        tags = np.array([_TAGS[t] for t in rows.payload.column(len(self._columns)).to_pylist()], np.int8)
        payload = rows.payload.select(self._columns)
        if self._node.timestamp:
            stamp = np.asarray(rows.start)
            kind = self._codec.schema.field(len(self._columns)).type
            payload = payload.append_column(f"c{len(self._columns)}", _array(stamp, kind))
        words = self._codec.encode(payload)
        keys = keys_of(rows, self._node.key)
        batch = self._kernel.epoch(keys, words, tags, rows.start, after, until)
        return RowSet.of_batch(self._codec, batch)

    def interned(self) -> list[Int64s]:
        """The strings of the rows."""
        return self._kernel.interned(self._codec.string_columns)


def _array(values: Int64s, kind: object) -> object:
    import pyarrow as pa

    return pa.array(values).cast(kind)


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
        if until >= FINAL:
            if not node.endless and bool((batch.end >= INFINITY).any()):
                raise _endless()
            until = int(self._last[0])
        last = np.minimum(batch.end - 1, until)
        counts = np.maximum((last - batch.start) // node.step + 1, 0)
        if int(counts.sum()) > _MOST_POINTS:
            raise _endless()
        places = np.repeat(np.arange(len(batch)), counts)
        numbers = np.arange(places.size) - np.repeat(np.cumsum(counts) - counts, counts)
        times = batch.start[places] + numbers * node.step
        rest = batch.start + counts * node.step
        waiting = rest < batch.end
        self._hold.epoch(
            Batch(batch.words[:, waiting], rest[waiting], batch.end[waiting], batch.weight[waiting]), -INFINITY
        )
        found = Batch(batch.words[:, places], times, times + node.chronon, batch.weight[places])
        return RowSet.of_batch(self._codec, found.sorted())

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

"""Operators that hold nothing from epoch to epoch: each works on the rows of the epoch alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from continua.instants import INFINITY
from continua.kernels.aggregate.leaders import leaders
from continua.kernels.aggregate.partial_aggregation import PartialAggregation
from continua.kernels.jit import Int64s
from continua.kernels.words.assemble import assemble
from continua.kernels.words.batch import Batch
from continua.kernels.words.columns import Codec
from continua.physical import leading, nodes, partial, point_nodes
from continua.physical.evaluator import Evaluator
from continua.physical.point_operators import bare_points
from continua.physical.rows import RowSet
from continua.physical.split_nodes import Side
from continua.physical.split_nodes import Split as SplitNode


class Stateless:
    """An operator without state."""

    @property
    def state_rows(self) -> int:
        """It holds no rows."""
        return 0

    def interned(self) -> list[Int64s]:
        """It holds no interned values."""
        return []


class Queried(Stateless):
    """Rows by a query over those of the epoch: filters and projections, the largest value of an expression."""

    def __init__(self, duckdb: str, codec: Codec, evaluator: Evaluator) -> None:
        self._duckdb = duckdb
        self._codec = codec
        self._evaluator = evaluator
        times = [(nodes.START, pa.int64()), (nodes.END, pa.int64()), (nodes.WEIGHT, pa.int64())]
        self._schema = pa.schema([*((f.name, f.type) for f in codec.schema), *times])

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """The rows of the query."""
        rows = inputs[0]
        if not len(rows):
            return RowSet.empty(self._codec)
        return RowSet.of_table(self._codec, self._evaluator.run(self._duckdb, rows.table, self._schema))


class Picked(Stateless):
    """Columns picked from the input, which need no evaluation."""

    def __init__(self, node: nodes.Evaluate, codec: Codec) -> None:
        self._places = [p for p in node.passes if p is not None]
        self._codec = codec

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """All rows with these columns."""
        rows = inputs[0]
        if not len(rows):
            return RowSet.empty(self._codec)
        if rows.encoded:
            words = assemble(self._codec, [(rows.codec, rows.words, self._places)])
            return RowSet(self._codec, rows.start, rows.end, rows.weight, words=words)
        payload = rows.payload.select(self._places).rename_columns(self._codec.schema.names)
        return RowSet(self._codec, rows.start, rows.end, rows.weight, payload=payload)


class Validity(Stateless):
    """A window by arithmetic on instants."""

    def __init__(self, node: nodes.Validity) -> None:
        self._spec = node.spec

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """The elements, each during its time in the window."""
        rows = inputs[0]
        start, end, kept = self._spec.intervals(rows.start)
        endless = rows.end >= INFINITY
        if endless.any():
            end = np.where(endless, INFINITY, end)
            kept = None if kept is None else kept | endless
        moved = rows.during(start, end)
        return moved if kept is None else moved.take(kept)


class ToPoints(Stateless):
    """Both ends of rows at the next of instants that recur."""

    def __init__(self, node: point_nodes.ToPoints) -> None:
        self._points = node.points

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """The rows that do not vanish between two of them."""
        rows = inputs[0]
        start = self._points.ceils(rows.start)
        end = np.where(rows.end >= INFINITY, INFINITY, self._points.ceils(np.minimum(rows.end, INFINITY - 1)))
        moved = RowSet(
            rows.codec, start, end, rows.weight, None if rows.encoded else rows.payload,
            rows.words if rows.encoded else None,
        )  # fmt: skip
        return moved.take(start < end)


class LastChange(Stateless):
    """How far rows make a difference to a window: the latest of them furthest."""

    def __init__(self, node: point_nodes.LastChange, codec: Codec) -> None:
        self._spec, self._codec = node.spec, codec

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """One row, if there are any: the instant up to which answers are followed."""
        rows = inputs[0]
        if not len(rows):
            return RowSet.empty(self._codec)
        latest = int(rows.start.max())
        reached = pa.table([[min(self._spec.last_change(latest), INFINITY - 1)]], schema=self._codec.schema)
        start = np.array([latest])
        return RowSet(self._codec, start, start + 1, np.ones(1, np.int64), payload=reached)


class Earliest(Stateless):
    """The first instant at which any row starts."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """One row without columns, if there are any."""
        return bare_points(self._codec, inputs[0].start.min(keepdims=True) if len(inputs[0]) else inputs[0].start)


class Union(Stateless):
    """The rows of all inputs."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """All rows."""
        return RowSet.concat(self._codec, [r.under(self._codec) for r in inputs])


class Split(Stateless):
    """One side of a split time."""

    def __init__(self, node: SplitNode) -> None:
        self._node = node

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """The rows on that side, or their parts."""
        rows, instant = inputs[0], self._node.instant
        before = self._node.side is Side.BEFORE
        ends = rows.end if self._node.cuts and not before else rows.start + 1
        kept = rows.start < instant if before else ends > instant
        if not kept.all():
            rows = rows.take(kept)
        if not self._node.cuts or not len(rows):
            return rows
        start = rows.start if before else np.maximum(rows.start, instant)
        end = np.minimum(rows.end, instant) if before else rows.end
        return rows.during(start, end)


class Partial(Stateless):
    """Partial aggregation."""

    def __init__(self, node: partial.Partial, codec: Codec, below: Codec) -> None:
        self._codec = codec
        self._kernel = PartialAggregation(below, node.keys, node.specs, codec)

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """The partial results."""
        return RowSet.of_batch(self._codec, self._kernel.rows(inputs[0].batch))


class Leaders(Stateless):
    """Rows that may have the greatest or the least value."""

    def __init__(self, node: leading.Leaders, codec: Codec) -> None:
        self._codec = codec
        self._node = node
        self._column = Codec(codec.key_schema([node.column]), codec.interner)

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """The rows that may."""
        rows, column = inputs[0], self._node.column
        if not len(rows):
            return rows
        if rows.encoded:
            words = rows.codec.key_words(rows.words, [column])
        else:
            words = self._column.encode(rows.payload.select([column]))
        batch = Batch(words, rows.start, rows.end, rows.weight)
        return rows.take(leaders(batch, not self._node.retracts, self._node.greatest))

"""Physical nodes as running operators: each calls its kernel on words, or the evaluator on columns."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from continua.instants import INFINITY
from continua.kernels.aggregate.aggregation import Aggregation
from continua.kernels.aggregate.leaders import leaders
from continua.kernels.aggregate.partial_aggregation import PartialAggregation
from continua.kernels.jit import Int64s
from continua.kernels.join import gate, pairing
from continua.kernels.relation import changes, multiplicity
from continua.kernels.store import hold
from continua.kernels.store.arena import Arena
from continua.kernels.words.assemble import assemble
from continua.kernels.words.batch import Batch
from continua.kernels.words.columns import Codec
from continua.physical import leading, nodes, partial, point_nodes, point_operators, view_nodes
from continua.physical.evaluator import Evaluator
from continua.physical.key_words import key_width, keys_of, string_keys
from continua.physical.ordered_operators import Chronons, TopK
from continua.physical.rows import RowSet
from continua.physical.swept_windows import SweptWindow
from continua.physical.tagging import TaggedView, Tagger
from continua.physical.window_rhythms import Rhythm

Codecs = Callable[[pa.Schema], Codec]


class Operator(Protocol):
    """A node at work in one partition."""

    @property
    def state_rows(self) -> int:
        """How many rows its state holds."""
        ...

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:
        """The rows that start in (after, until]."""
        ...

    def interned(self) -> list[Int64s]:
        """The interned values that its state still needs."""
        ...


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
        moved = RowSet(
            rows.codec, start, end, rows.weight, None if rows.encoded else rows.payload,
            rows.words if rows.encoded else None,
        )  # fmt: skip
        return moved if kept is None else moved.take(kept)


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


class Union(Stateless):
    """The rows of all inputs."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """All rows."""
        return RowSet.concat(self._codec, [r.under(self._codec) for r in inputs])


class Hold:
    """Rows that wait for their epoch."""

    def __init__(self, node: nodes.Hold, arena: Arena, codec: Codec) -> None:
        self._codec = codec
        self._kernel = hold.Hold(arena, node.id, codec.width)

    @property
    def state_rows(self) -> int:
        """How many wait."""
        return self._kernel.state_rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """Those whose epoch has come."""
        rows = inputs[0]
        if not self._kernel.state_rows and (not len(rows) or int(rows.start.max()) <= until):
            return rows
        return RowSet.of_batch(self._codec, self._kernel.epoch(rows.batch, until))

    def interned(self) -> list[Int64s]:
        """The strings of rows that wait."""
        return self._kernel.interned(self._codec.string_columns)


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


class Aggregate:
    """Grouping with aggregation."""

    def __init__(self, node: nodes.Aggregate, arena: Arena, codec: Codec, below: Codec, at_once: bool) -> None:
        self._codec = codec
        keys = list(range(node.keys))
        self._kernel = Aggregation(arena, node.id, below, keys, node.specs, codec, node.empty_row, node.start, at_once)

    @property
    def state_rows(self) -> int:
        """Rows that the aggregates still need."""
        return self._kernel.state_rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:
        """The groups' results."""
        return RowSet.of_batch(self._codec, self._kernel.epoch(inputs[0].batch, after, until))

    def interned(self) -> list[Int64s]:
        """The strings of keys, arguments and results."""
        return self._kernel.interned()


class Multiplicity:
    """Duplicate elimination and set operations."""

    def __init__(self, node: nodes.Multiplicity, arena: Arena, codec: Codec) -> None:
        self._codec = codec
        self._kernel = multiplicity.Multiplicity(arena, node.id, codec.width, multiplicity.Rule[node.rule])

    @property
    def state_rows(self) -> int:
        """Rows that are valid."""
        return self._kernel.state_rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:
        """The rows with their new multiplicities."""
        right = inputs[1].batch if len(inputs) > 1 else None
        return RowSet.of_batch(self._codec, self._kernel.epoch(inputs[0].batch, right, after, until))

    def interned(self) -> list[Int64s]:
        """The strings of the rows."""
        return self._kernel.interned(self._codec.string_columns)


class Changes:
    """Relation to stream, and net changes."""

    def __init__(self, node: nodes.Changes, arena: Arena, codec: Codec, are_net: bool) -> None:
        self._codec = codec
        self._kernel = changes.Changes(arena, node.id, codec.width, changes.Kind[node.kind], node.chronon, are_net)

    @property
    def state_rows(self) -> int:
        """Ends that wait."""
        return self._kernel.state_rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:
        """The changes."""
        return RowSet.of_batch(self._codec, self._kernel.epoch(inputs[0].batch, after, until))

    def interned(self) -> list[Int64s]:
        """The strings of rows whose end waits."""
        return self._kernel.interned(self._codec.string_columns)


class Join:
    """Pairs of rows, then the residual predicate."""

    def __init__(
        self, node: nodes.Join, arena: Arena, codec: Codec, left: Codec, right: Codec, evaluator: Evaluator
    ) -> None:
        self._node, self._codec, self._left, self._right = node, codec, left, right
        first, second = node.inputs
        self._kernel = pairing.Join(
            arena, node.id, key_width(left, node.left_keys), left.width, right.width, first.retracts, second.retracts
        )
        # keys that were computed stand behind the payload, and do not come out
        self._lefts = list(range(node.left_columns))
        self._rights = list(range(len(codec.schema) - len(self._lefts)))
        self._asked = None if node.residual is None else Queried(node.residual_duckdb, codec, evaluator)

    @property
    def state_rows(self) -> int:
        """Rows of both sides."""
        return self._kernel.state_rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:
        """The pairs."""
        left, right = inputs
        keys = keys_of(left, self._node.left_keys), keys_of(right, self._node.right_keys)
        found: list[RowSet] = []
        for pairs in self._kernel.epoch(keys[0], left.batch, keys[1], right.batch, after, until):
            words = assemble(
                self._codec,
                [
                    (self._left, pairs.words[: self._left.width], self._lefts),
                    (self._right, pairs.words[self._left.width :], self._rights),
                ],
            )
            rows = RowSet(self._codec, pairs.start, pairs.end, pairs.weight, words=words)
            if self._asked is not None:
                rows = self._asked.epoch([rows], after, until)
            if len(rows):
                found.append(rows)
        return RowSet.concat(self._codec, found)

    def interned(self) -> list[Int64s]:
        """The strings of both sides."""
        right = [self._left.width + c for c in self._right.string_columns]
        return self._kernel.interned([*self._left.string_columns, *right])


class Gate:
    """Left rows with a partner, or without."""

    def __init__(self, node: nodes.Gate, arena: Arena, codec: Codec, right: Codec) -> None:
        self._node, self._codec, self._right = node, codec, right
        width = key_width(codec, node.left_keys)
        self._kernel = gate.Gate(
            arena, node.id, width, codec.width, node.inputs[0].retracts, gate.Mode[node.mode], node.limit_one
        )

    @property
    def state_rows(self) -> int:
        """Left rows, and keys of the right."""
        return self._kernel.state_rows

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:
        """The rows that pass."""
        left, right = inputs
        left_keys, right_keys = keys_of(left, self._node.left_keys), keys_of(right, self._node.right_keys)
        never = None
        if not self._node.null_safe and len(self._node.left_keys):
            never = (left_keys[_value_words(self._codec, self._node.left_keys) :] != 0).any(axis=0)
        passed = self._kernel.epoch(left_keys, left.batch, right_keys, right.batch, after, until, never)
        return RowSet.of_batch(self._codec, passed)

    def interned(self) -> list[Int64s]:
        """The strings of left rows and of keys, which rows of the right may have alone."""
        keys = self._kernel.interned_keys(string_keys(self._codec, self._node.left_keys))
        return [*self._kernel.interned(self._codec.string_columns), *keys]


def _value_words(codec: Codec, keys: Sequence[int]) -> int:
    return sum(len(codec.columns[k]) for k in keys)


def operator_for(
    node: nodes.Node,
    arena: Arena,
    codec: Codec,
    codecs: Codecs,
    evaluator: Evaluator,
    as_changes: Container[str] = (),
) -> Operator:
    """The operator that runs a node; ``as_changes``: the nodes whose rows are read only to make changes of them."""
    below = [codecs(n.schema) for n in node.inputs]
    match node:
        case nodes.Evaluate() if node.whole:
            return Picked(node, codec)
        case nodes.Evaluate() | point_nodes.Latest():
            return Queried(node.duckdb, codec, evaluator)
        case nodes.Validity():
            return Validity(node)
        case point_nodes.LastChange():
            return LastChange(node, codec)
        case nodes.Union():
            return Union(codec)
        case nodes.Hold():
            return Hold(node, arena, codec)
        case partial.Partial():
            return Partial(node, codec, below[0])
        case leading.Leaders():
            return Leaders(node, codec)
        case nodes.Aggregate():
            return Aggregate(node, arena, codec, below[0], node.id in as_changes)
        case nodes.Multiplicity():
            return Multiplicity(node, arena, codec)
        case nodes.Changes():
            source = node.inputs[0]
            return Changes(node, arena, codec, isinstance(source, nodes.Aggregate) and source.id in as_changes)
        case nodes.Join():
            return Join(node, arena, codec, below[0], below[1], evaluator)
        case nodes.Gate():
            return Gate(node, arena, codec, below[1])
        case nodes.SweptWindow():
            return SweptWindow(node, arena, codec)
        case nodes.TopK():
            return TopK(node, arena, codec)
        case view_nodes.TaggedView():
            return TaggedView(node, arena, codec, below[0], codecs)
        case view_nodes.Tagger():
            return Tagger(node, arena, codec, below[0])
        case nodes.Chronons():
            return Chronons(node, arena, codec)
        case point_nodes.RoundUp():
            return point_operators.RoundUp(node, arena, codec, below[1])
        case point_nodes.Clock():
            return point_operators.Clock(node, arena, codec)
        case point_nodes.Ticks():
            return point_operators.Ticks(node, arena, codec)
        case point_nodes.EveryNth():
            return point_operators.EveryNth(node, arena, codec)
        case point_nodes.Rhythm():
            return Rhythm(node, arena, codec)
        case point_nodes.At():
            return point_operators.At(node, arena, codec)
        case point_nodes.Moments():
            return point_operators.Moments(node, arena, codec)
        case _:
            raise TypeError(type(node).__name__)

"""Operators over kernels that hold state: aggregation, joins, set operations, changes, rows that wait."""

from __future__ import annotations

from collections.abc import Sequence

from continua.kernels.aggregate.aggregation import Aggregation
from continua.kernels.jit import Int64s
from continua.kernels.join import gate, pairing
from continua.kernels.relation import changes, multiplicity
from continua.kernels.store import hold
from continua.kernels.store.arena import Arena
from continua.kernels.words.assemble import assemble
from continua.kernels.words.columns import Codec
from continua.physical import nodes
from continua.physical.evaluator import Evaluator
from continua.physical.key_words import key_width, keys_of, string_keys
from continua.physical.rows import RowSet
from continua.physical.stateless_operators import Queried


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

    def __init__(self, node: nodes.Multiplicity, arena: Arena, codec: Codec, at_once: bool) -> None:
        self._codec = codec
        self._kernel = multiplicity.Multiplicity(arena, node.id, codec.width, multiplicity.Rule[node.rule], at_once)

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
        self._kernel = changes.Changes(
            arena, node.id, codec.width, changes.ChangeKind[node.kind], node.chronon, are_net
        )

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

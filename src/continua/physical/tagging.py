"""Tagged streams at work: the relation that modifications leave, and the tagger."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from continua.instants import INFINITY
from continua.kernels.jit import Int64s
from continua.kernels.relation import tagged_view
from continua.kernels.store import hold
from continua.kernels.store.arena import Arena
from continua.kernels.store.keytable import KeyTable
from continua.kernels.words.assemble import assemble
from continua.kernels.words.batch import Batch
from continua.kernels.words.columns import Codec
from continua.physical import nodes, view_nodes
from continua.physical.key_words import key_width, keys_of, rows_in_order, string_keys
from continua.physical.rows import RowSet

INSERT, DELETE, UPDATE = tagged_view.INSERT, tagged_view.DELETE, tagged_view.UPDATE
TAGS = ("+", "-", "u")
"""How operations are written, by their numbers."""
_NUMBERS = {tag: number for number, tag in enumerate(TAGS)}
Codecs = Callable[[pa.Schema], Codec]
Operations = NDArray[np.int8]


class Ends:
    """Elements that last delete at their end what they inserted: the deletions wait until then."""

    def __init__(self, arena: Arena, name: str, width: int, chronon: int) -> None:
        self._hold = hold.Hold(arena, f"{name}.ends", width)
        self._chronon = chronon

    @property
    def state_rows(self) -> int:
        """How many deletions wait."""
        return self._hold.state_rows

    def epoch(self, batch: Batch, until: int) -> tuple[Batch, Operations]:
        """Insertions at the starts and deletions at the ends up to ``until``; at one instant deletions come first."""
        lasting = self.lasting(batch)
        ended = self._hold.epoch(Batch(batch.words[:, lasting], batch.end[lasting], batch.end[lasting],
                                       batch.weight[lasting]), until)  # fmt: skip
        both = Batch.concat([ended, batch], batch.width)
        operation = np.full(len(both), INSERT, np.int8)
        operation[: len(ended)] = DELETE
        order = np.argsort(both.start, kind="stable")
        return both.take(order), operation[order]

    def lasting(self, batch: Batch) -> NDArray[np.bool_]:
        """Which elements are of more than one instant, and end."""
        return (batch.end - batch.start > self._chronon) & (batch.end < INFINITY)

    def interned(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of some words in all rows that wait."""
        return self._hold.interned(columns)


class TaggedView:
    """The relation that modifications leave."""

    def __init__(self, node: view_nodes.TaggedView, arena: Arena, codec: Codec, below: Codec, codecs: Codecs) -> None:
        self._node, self._codec, self._below = node, codec, below
        self._columns = list(range(len(below.schema) - (node.origin == "TAGS")))
        self._payload = codecs(below.key_schema(self._columns))
        self._stamp = codecs(pa.schema([(nodes.START, pa.int64())]))
        width = key_width(self._payload, node.key)
        self._kernel = tagged_view.TaggedView(
            arena, node.id, width, self._payload.width, node.timestamp, bool(node.key)
        )
        self._ends = Ends(arena, node.id, self._payload.width, node.chronon) if node.origin == "ELEMENTS" else None

    @property
    def state_rows(self) -> int:
        """Rows of the relation, and deletions that wait."""
        return self._kernel.state_rows + (self._ends.state_rows if self._ends is not None else 0)

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:
        """The rows that come and go."""
        batch, operations = self._modifications(inputs[0], until)
        keys = self._payload.key_words(batch.words, self._node.key) if self._node.key else batch.words[:0]
        found = self._kernel.epoch(keys, batch.words, operations, batch.start, after, until)
        return RowSet.of_batch(self._codec, self._stamped(found))

    def _modifications(self, rows: RowSet, until: int) -> tuple[Batch, Operations]:
        """What happens, in order: a row for each copy."""
        rows = rows_in_order(rows, self._node.origin == "CHANGES")
        if self._ends is not None:
            batch, operations = self._ends.epoch(self._plain(rows), until)
        else:
            batch = self._plain(rows)
            operations = self._tags(rows) if self._node.origin == "TAGS" else _signs(batch)
        copies = np.repeat(np.arange(len(batch)), np.abs(batch.weight))
        return batch.take(copies), operations[copies]

    def _plain(self, rows: RowSet) -> Batch:
        """The rows without the tag."""
        words = assemble(self._payload, [(rows.codec, rows.words, self._columns)])
        return Batch(words, rows.start, rows.end, rows.weight)

    def _tags(self, rows: RowSet) -> Operations:
        written = rows.payload.column(len(self._columns)).to_pylist()
        return np.array([_NUMBERS[tag] for tag in written], np.int8)

    def _stamped(self, found: Batch) -> Batch:
        """The rows with the instants that put them there as last column."""
        if not self._node.timestamp:
            return found
        width = self._payload.width
        stamps = np.vstack([found.words[width:], np.zeros((1, len(found)), np.int64)])
        words = assemble(self._codec, [(self._payload, found.words[:width], self._columns), (self._stamp, stamps, [0])])
        return Batch(words, found.start, found.end, found.weight)

    def interned(self) -> list[Int64s]:
        """The strings of the rows and of keys."""
        columns = self._payload.string_columns
        keys = self._kernel.interned_keys(
            string_keys(self._payload, self._node.key) if self._node.key else list(columns)
        )
        waiting = self._ends.interned(columns) if self._ends is not None else []
        return [*self._kernel.interned(columns), *keys, *waiting]


def _signs(batch: Batch) -> Operations:
    return np.where(batch.weight < 0, DELETE, INSERT).astype(np.int8)


class Tagger:
    """Elements as modifications."""

    def __init__(self, node: view_nodes.Tagger, arena: Arena, codec: Codec, below: Codec) -> None:
        self._node, self._codec, self._below = node, codec, below
        self._ends = Ends(arena, node.id, below.width, node.chronon)
        self._arena = arena
        self._keys = KeyTable(arena, f"{node.id}.keys", key_width(below, node.key)) if node.key else None

    @property
    def state_rows(self) -> int:
        """Keys that were seen, and deletions that wait."""
        return self._ends.state_rows + (self._keys.live if self._keys is not None else 0)

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """A modification for each element, and for the end of each that lasts."""
        rows = rows_in_order(inputs[0], False)
        batch, operation = self._ends.epoch(rows.batch, until)
        if self._keys is not None:
            self._update(self._keys, RowSet.of_batch(self._below, batch), operation)
        tags = pa.array(np.array(TAGS)[operation], pa.string())
        payload = self._below.decode(batch.words).append_column(self._codec.schema.names[-1], tags)
        end = batch.start + self._node.chronon
        return RowSet(self._codec, batch.start, end, batch.weight, payload=payload.cast(self._codec.schema))

    def _update(self, table: KeyTable, rows: RowSet, operation: Operations) -> None:
        """Insertions of keys that were seen become updates."""
        slots = table.upsert(np.ascontiguousarray(keys_of(rows, self._node.key)))
        known: Int64s = self._arena.array(f"{self._node.id}.known", table.capacity)
        places = np.arange(len(rows))
        inserts = operation == INSERT
        first = np.full(table.capacity, len(rows), np.int64)
        seen = inserts & ~self._ends.lasting(rows.batch)
        np.minimum.at(first, slots[seen], places[seen])
        operation[inserts & ((known[slots] > 0) | (first[slots] < places))] = UPDATE
        known[slots[seen]] = 1

    def interned(self) -> list[Int64s]:
        """The strings of keys and of rows that wait."""
        found = self._ends.interned(self._below.string_columns)
        if self._keys is not None:
            words = self._keys.words(self._keys.in_use())
            found += [words[c] for c in string_keys(self._below, self._node.key)]
        return found

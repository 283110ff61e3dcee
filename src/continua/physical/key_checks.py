"""Checks at work: which rows of a source break what it says of its keys.

A check stands directly above its source, before anything that a query does, and judges rows in the order of time: by
instant, source partition and offset. So what it rejects does not depend on queries, nor on how the input is cut.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from continua.algebra.leaves import Rule
from continua.instants import INFINITY
from continua.kernels.jit import Int64s
from continua.kernels.relation import key_checks
from continua.kernels.store.arena import Arena
from continua.kernels.store.keytable import KeyTable
from continua.kernels.words.columns import Codec
from continua.physical import check_nodes
from continua.physical.key_words import key_width, keys_of, rows_in_order, string_keys
from continua.physical.rows import RowSet

REASON = "#reason"
"""The column that says what was found of a rejected row."""
_FEW = 1 << 10


class Checked:
    """Rows that pass a check, in the order of time; those that do not are in ``rejected`` until the next epoch."""

    def __init__(self, node: check_nodes.Checked, arena: Arena, codec: Codec, below: Codec) -> None:
        self._node, self._arena, self._codec, self._below = node, arena, codec, below
        self._key = node.identity
        self._keys = KeyTable(arena, f"{node.id}.keys", key_width(below, self._key))
        self._meta: Int64s = arena.array(f"{node.id}.meta", 8)
        self.rejected: pa.Table | None = None

    @property
    def state_rows(self) -> int:
        """Keys that are remembered."""
        return self._keys.live

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """The rows that pass."""
        rows = rows_in_order(inputs[0], False)
        self.rejected = None
        if not len(rows):
            return RowSet.empty(self._codec)
        slots = self._keys.upsert(np.ascontiguousarray(keys_of(rows, self._key)))
        known: Int64s = self._arena.array(f"{self._node.id}.known", 2 * self._keys.capacity)
        found = self._judged(rows, slots, known)
        self._release(slots, known, until)
        wrong = found != key_checks.FINE
        if bool(wrong.any()):
            places = np.flatnonzero(wrong)
            self.rejected = rows.take(places).table.append_column(REASON, pa.array(found[places]))
            rows = rows.take(np.flatnonzero(~wrong))
        payload = rows.payload.select(list(range(len(self._codec.schema)))).rename_columns(self._codec.schema.names)
        return RowSet(self._codec, rows.start, rows.end, rows.weight, payload=payload)

    def _judged(self, rows: RowSet, slots: Int64s, known: Int64s) -> key_checks.Found:
        match self._node.check.rule:
            case Rule.TAGS:
                tags = rows.payload.column(len(self._node.columns) - 1).to_pylist()
                operations = np.array(["+-u".index(tag) for tag in tags], np.int8)
                return key_checks.tagged(slots, operations, bool(self._node.check.key), known)
            case Rule.WITHIN:
                return key_checks.within(slots, rows.start, self._node.check.within, known)
            case Rule.DISJOINT:
                return key_checks.disjoint(slots, rows.start, rows.end, INFINITY, known)

    def _release(self, slots: Int64s, known: Int64s, until: int) -> None:
        """Forgets keys that reject no row any more.

        By tags these are among the keys that have come. Otherwise time ends them, and all keys are looked through
        whenever there are twice as many as were left the last time: so most that are remembered are of use.
        """
        if self._node.check.rule is Rule.TAGS:
            candidates = np.unique(slots)
            self._keys.release(candidates[known[candidates] == 0])
            return
        if self._keys.live < max(2 * int(self._meta[0]), _FEW):
            return
        candidates = np.sort(self._keys.in_use())
        over = candidates[known[2 * candidates + 1] <= until + 1]
        known[2 * over] = 0
        self._keys.release(over)
        self._meta[0] = self._keys.live

    def interned(self) -> list[Int64s]:
        """The strings of keys."""
        words = self._keys.words(self._keys.in_use())
        return [words[c] for c in string_keys(self._below, self._key)]

"""Joins: pairs of rows with equal keys, valid where both are (PIPES 2009, 7.5.1).

An epoch is worked off in pieces of time. The rows of a piece are put under their keys on both sides; then each row
meets the rows of the other side that began before it, and what has expired is dropped. Without key words all rows have
the same key: a product, on which a caller decides any condition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from continua.kernels.jit import Int64s, compiled
from continua.kernels.store.arena import Arena
from continua.kernels.store.keytable import KeyTable
from continua.kernels.store.rowstore import RowStore, slots_without_rows
from continua.kernels.words.batch import Batch
from continua.kernels.words.pieces import check_epoch, cut, in_order, part, pieces


class Join:
    """The inner join on equal keys of two streams."""

    def __init__(
        self, arena: Arena, name: str, key_width: int, left_width: int, right_width: int,
        left_retracts: bool, right_retracts: bool,
    ) -> None:  # fmt: skip
        self.width = left_width + right_width
        self._keys = KeyTable(arena, f"{name}.keys", key_width)
        self._left = RowStore(arena, f"{name}.left", left_width, left_retracts)
        self._right = RowStore(arena, f"{name}.right", right_width, right_retracts)

    @property
    def state_rows(self) -> int:
        """How many live rows both sides hold."""
        return len(self._left) + len(self._right)

    @property
    def state_keys(self) -> int:
        """How many keys have live rows."""
        return self._keys.live

    def interned(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of words, numbered as in the output, in all rows that are held."""
        border = self._left.width
        return [self._left.live_words(c) if c < border else self._right.live_words(c - border) for c in columns]

    def interned_keys(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of key words in all keys that are held."""
        words = self._keys.words(self._keys.in_use())
        return [words[c] for c in columns]

    def epoch(
        self, left_keys: Int64s, left: Batch, right_keys: Int64s, right: Batch, after: int, until: int
    ) -> Iterator[Batch]:
        """The pairs that start in (after, until], in batches. All batches must be taken before the next epoch."""
        check_epoch(left, after, until)
        check_epoch(right, after, until)
        left_keys, left = in_order(left_keys, left)
        right_keys, right = in_order(right_keys, right)
        # lists are as long as what is live and what a piece brings: these are kept of like size
        for a, b, edge in pieces(left.start, right.start, until, lambda: max(_LEAST_PIECE, self.state_rows)):
            yield from self._piece(cut(left_keys, a), part(left, a), cut(right_keys, b), part(right, b), edge)

    def _piece(self, left_keys: Int64s, left: Batch, right_keys: Int64s, right: Batch, until: int) -> Iterator[Batch]:
        left_slots, right_slots = self._keys.upsert(left_keys), self._keys.upsert(right_keys)
        self._left.make_slots(self._keys.capacity)
        self._right.make_slots(self._keys.capacity)
        left_rows, right_rows = self._left.link(left_slots, left), self._right.link(right_slots, right)
        for places, rows in self._right.probe(left_slots, left.start, True):
            yield self._pairs(left, places, 0, self._right, rows, left.width)
        for places, rows in self._left.probe(right_slots, right.start, False):
            yield self._pairs(right, places, self._left.width, self._left, rows, 0)
        lost = [self._left.settle(left_rows), self._right.settle(right_rows)]
        lost += [self._left.purge(until), self._right.purge(until)]
        self._keys.release(slots_without_rows(lost, self._left, self._right))

    def _pairs(self, batch: Batch, places: Int64s, at: int, other: RowStore, rows: Int64s, other_at: int) -> Batch:
        """The pairs of rows of a batch with rows of the other side; their words stand from ``at`` and ``other_at``."""
        words = np.empty((self.width, places.size), np.int64)
        start, end, weight = (np.empty(places.size, np.int64) for _ in range(3))
        other.fetch(rows, words[other_at : other_at + other.width], end, weight)
        own = words[at : at + batch.width]
        _combine(places, batch.words, batch.start, batch.end, batch.weight, own, start, end, weight)
        return Batch(words, start, end, weight)


_LEAST_PIECE = 2_048


@compiled
def _combine(
    places: Int64s, words: Int64s, start: Int64s, end: Int64s, weight: Int64s,
    out_words: Int64s, out_start: Int64s, out_end: Int64s, out_weight: Int64s,
) -> None:  # fmt: skip
    """Puts rows to the partners whose end and weight the outputs have."""
    for i in range(places.size):
        place = places[i]
        out_start[i] = start[place]
        out_end[i] = min(out_end[i], end[place])
        out_weight[i] *= weight[place]
        for j in range(words.shape[0]):
            out_words[j, i] = words[j, place]

"""The distinct values of groups: a table of entries, one per group, input and value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from continua.kernels.aggregate.aggregation_plan import AggregationPlan, Input
from continua.kernels.aggregate.aggregation_sweep import announce
from continua.kernels.aggregate.members import ENTRY_CELLS, ENTRY_COUNT, ENTRY_WAITING, Values
from continua.kernels.jit import Int64s
from continua.kernels.store.arena import Arena
from continua.kernels.store.keytable import KeyTable
from continua.kernels.words.columns import NULLS_PER_WORD, Codec


class Keys(KeyTable):
    """A key table whose keys can be read by compiled functions."""

    @property
    def flat(self) -> Int64s:
        """The keys, one behind the other. They may move when a key is added."""
        return self._keys


class ValueTable:
    """The entries of values. The first word of a key tells the group and the input, the others are the value."""

    def __init__(self, arena: Arena, name: str, plan: AggregationPlan, codec: Codec) -> None:
        self._arena = arena
        self._name = name
        self._plan = plan
        self._codec = codec
        self._sources = [source for source in plan.inputs if source.valued]
        self._width = 1 + max((len(plan.lines(source)) + source.optional for source in self._sources), default=0)
        self._keys = Keys(arena, name, self._width)
        self._entries = arena.array(f"{name}.entries", self._keys.capacity * ENTRY_CELLS)

    def __len__(self) -> int:
        return self._keys.live

    def enter(self, source: Input, words: Int64s, slots: Int64s, nulls: Int64s, end: Int64s) -> Int64s:
        """The entry of each row's value, -1 where it is NULL; the events of the rows are announced to them."""
        present = np.flatnonzero(nulls == 0)
        lines = self._plan.lines(source)
        keys = np.zeros((self._width, present.size), np.int64)
        keys[0] = slots[present] * len(self._sources) + self._sources.index(source)
        for place, line in enumerate(lines):
            keys[1 + place] = words[line, present]
        if source.optional:
            keys[1 + len(lines)] = null_rows(self._codec, words, source.columns[-1:])[present]
        found = np.full(slots.size, -1, np.int64)
        found[present] = self._keys.upsert(keys)
        self._entries = self._arena.array(f"{self._name}.entries", self._keys.capacity * ENTRY_CELLS)
        announce(found, end, self._entries, ENTRY_CELLS, ENTRY_WAITING)
        return found

    def release(self, entries: Int64s) -> None:
        """Gives entries up."""
        self._keys.release(entries)
        cells = self._entries[: self._keys.capacity * ENTRY_CELLS].reshape(-1, ENTRY_CELLS)
        cells[entries] = 0

    @property
    def capacity(self) -> int:
        """Entries are below this number."""
        return self._keys.capacity

    def view(self) -> Values:
        """The entries, for compiled functions; it holds until something is entered."""
        return Values(self._entries, self._keys.flat, self._width)

    def counts(self, entries: Int64s) -> Int64s:
        """How often the values of entries count."""
        return self._entries[entries * ENTRY_CELLS + ENTRY_COUNT]

    def words(self, source: Input, entries: Int64s) -> Int64s:
        """The values of entries of an input."""
        return self._keys.words(entries)[1 : 1 + len(self._plan.lines(source))]

    def decode(self, source: Input, entries: Int64s) -> pa.Table:
        """The values of entries of an input, as columns."""
        codec = Codec(self._codec.key_schema(source.columns), self._codec.interner)
        words = self.words(source, entries)
        nulls = np.zeros((codec.width - words.shape[0], entries.size), np.int64)
        if source.optional:
            nulls[0] = self._keys.words(entries)[1 + words.shape[0]] << (len(source.columns) - 1)
        return codec.decode(np.concatenate([words, nulls]))

    def interned(self) -> list[Int64s]:
        """The interned ids among the values."""
        entries = self._keys.in_use()
        keys = self._keys.words(entries)
        sources = keys[0] % max(len(self._sources), 1)
        found: list[Int64s] = []
        for number, source in enumerate(self._sources):
            for place, line in enumerate(self._plan.lines(source)):
                if line in self._codec.string_columns:
                    found.append(keys[1 + place, sources == number])
        return found


def null_rows(codec: Codec, words: Int64s, columns: Sequence[int]) -> Int64s:
    """1 for each row with a NULL in one of the columns, 0 for the others."""
    found = np.zeros(words.shape[1], np.int64)
    for number, line in enumerate(codec.null_words):
        mask = sum(1 << (c % NULLS_PER_WORD) for c in set(columns) if c // NULLS_PER_WORD == number)
        if mask & int(np.bitwise_or.reduce(words[line])):
            found |= (words[line] & mask) != 0
    return found

"""The relation that a tagged stream describes: what its inserts, updates and deletes leave.

With a key there is one row for each value of the key, and any operation replaces or removes it. Without a key an insert
adds a row, a delete removes the oldest equal one, and an update replaces all rows. Only what is left at the end of an
instant is seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from continua.kernels.jit import Int64s, compiled
from continua.kernels.store.arena import Arena
from continua.kernels.store.keytable import KeyTable
from continua.kernels.words.batch import INFINITY, Batch

INSERT, DELETE, UPDATE = 0, 1, 2
"""Operations."""
_NEXT, _BEFORE, _BEHIND, _PLACE, _OWNER, _INSTANT, _WORDS = 0, 1, 2, 3, 4, 5, 6
_HEAD, _TAIL, _GONE, _SLOT = 0, 1, 2, 3
_TOP, _LIVE, _FREE, _BASE = 0, 1, 2, 3
_NOT_WRITTEN, _DONE = -1, -2


class TaggedView:
    """Rows by key, or equal rows in the order in which they came; each perhaps with the instant that put it there."""

    def __init__(
        self, arena: Arena, name: str, key_width: int, width: int, with_timestamp: bool, has_key: bool
    ) -> None:
        self._arena, self._name, self._width = arena, name, width
        self._stamped, self._keyed = with_timestamp, has_key
        self._keys = KeyTable(arena, f"{name}.keys", key_width if has_key else width)
        self._meta: Int64s = arena.array(f"{name}.meta", 8)
        self._reserve(1)

    def _reserve(self, more: int) -> None:
        """Room for so many more rows; node 0 is both ends of the list of all rows."""
        self._meta[_TOP] = max(self._meta[_TOP], 1)
        room = (int(self._meta[_TOP]) + more) * (_WORDS + self._width)
        self._nodes: Int64s = self._arena.array(f"{self._name}.nodes", room)
        self._slots: Int64s = self._arena.array(f"{self._name}.slots", self._keys.capacity * _SLOT)

    @property
    def state_rows(self) -> int:
        """How many rows the relation has."""
        return int(self._meta[_LIVE])

    def epoch(
        self, keys: Int64s, words: Int64s, op: NDArray[np.int8], instant: Int64s, after: int, until: int  # noqa: ARG002
    ) -> Batch:  # fmt: skip
        """How the relation changes by modifications in their order."""
        words = np.ascontiguousarray(words)
        slots = self._keys.upsert(np.ascontiguousarray(keys) if self._keyed else words)
        self._reserve(instant.size)
        rows, emptied = _sweep(
            slots, words, op, instant, self._keyed, self._stamped, self._nodes, self._slots, self._meta
        )
        candidates = np.unique(np.concatenate([slots, emptied]))
        self._keys.release(candidates[self._slots[candidates * _SLOT + _HEAD] == 0])
        last = 3 + self._width + int(self._stamped)
        start, end, weight = (rows[:, column].copy() for column in range(3))
        return Batch(np.ascontiguousarray(rows[:, 3:last].T), start, end, weight)

    def interned(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of some words in all rows of the relation."""
        size = _WORDS + self._width
        nodes = _all_nodes(self._nodes, size, self.state_rows)
        return [self._nodes[nodes * size + (_WORDS + column)] for column in columns]

    def interned_keys(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of some words in all keys that are remembered."""
        known = self._keys.words(self._keys.in_use())
        return [known[column] for column in columns]


@compiled
def _put(words: Int64s, row: int, slot: int, t: int, nodes: Int64s, slots: Int64s, meta: Int64s) -> int:
    """Adds a row behind all others."""
    size = _WORDS + words.shape[0]
    if meta[_FREE] > 0:
        node = meta[_FREE]
        meta[_FREE] = nodes[node * size + _NEXT]
    else:
        node = meta[_TOP]
        meta[_TOP] += 1
    meta[_LIVE] += 1
    at = node * size
    last = nodes[_BEFORE]
    nodes[at + _NEXT], nodes[at + _BEFORE], nodes[at + _BEHIND] = 0, last, 0
    nodes[at + _PLACE], nodes[at + _OWNER], nodes[at + _INSTANT] = _NOT_WRITTEN, slot, t
    for j in range(words.shape[0]):
        nodes[at + _WORDS + j] = words[j, row]
    nodes[last * size + _BEHIND] = node
    nodes[_BEFORE] = node
    if slots[slot * _SLOT + _HEAD] == 0:
        slots[slot * _SLOT + _HEAD] = node
    else:
        nodes[slots[slot * _SLOT + _TAIL] * size + _NEXT] = node
    slots[slot * _SLOT + _TAIL] = node
    return int(node)


@compiled
def _take(slot: int, nodes: Int64s, size: int, slots: Int64s, meta: Int64s) -> int:
    """Takes the oldest row of a slot out of the lists; it stays in its place until the instant is over."""
    node = slots[slot * _SLOT + _HEAD]
    at = node * size
    slots[slot * _SLOT + _HEAD] = nodes[at + _NEXT]
    nodes[nodes[at + _BEFORE] * size + _BEHIND] = nodes[at + _BEHIND]
    nodes[nodes[at + _BEHIND] * size + _BEFORE] = nodes[at + _BEFORE]
    meta[_LIVE] -= 1
    return int(node)


@compiled
def _free(node: int, nodes: Int64s, size: int, meta: Int64s) -> None:
    nodes[node * size + _NEXT] = meta[_FREE]
    meta[_FREE] = node


@compiled
def _same(a: int, b: int, nodes: Int64s, size: int) -> bool:
    for j in range(_WORDS, size):  # noqa: SIM110
        if nodes[a * size + j] != nodes[b * size + j]:
            return False
    return True


@compiled
def _write(out: Int64s, count: int, t: int, weight: int, node: int, nodes: Int64s, size: int) -> None:
    out[count, 0], out[count, 1], out[count, 2] = t, INFINITY, weight
    for j in range(_WORDS, size):
        out[count, 3 + j - _WORDS] = nodes[node * size + j]
    out[count, 3 + size - _WORDS] = nodes[node * size + _INSTANT]


@compiled
def _settle(
    t: int, fresh: Int64s, gone: Int64s, stamped: bool, nodes: Int64s, size: int, slots: Int64s, meta: Int64s,
    out: Int64s, count: int,
) -> int:  # fmt: skip
    """Writes what an instant has changed; a row that goes and comes back is as if nothing had happened."""
    base = meta[_BASE]
    for node in fresh:
        at = node * size
        if nodes[at + _PLACE] == _DONE:
            _free(node, nodes, size, meta)
            continue
        slot = nodes[at + _OWNER] * _SLOT
        old = slots[slot + _GONE]
        if old != 0 and not stamped and _same(old, node, nodes, size):
            slots[slot + _GONE] = nodes[old * size + _NEXT]
            nodes[at + _PLACE] = nodes[old * size + _PLACE]
            nodes[old * size + _PLACE] = _DONE
        else:
            _write(out, count, t, 1, node, nodes, size)
            nodes[at + _PLACE] = base + count
            count += 1
    for node in gone:
        place = nodes[node * size + _PLACE]
        slots[nodes[node * size + _OWNER] * _SLOT + _GONE] = 0
        if place >= base:
            out[place - base, 1] = t
        elif place != _DONE:
            _write(out, count, t, -1, node, nodes, size)
            count += 1
        _free(node, nodes, size, meta)
    return count


@compiled
def _sweep(
    row_slots: Int64s, words: Int64s, op: NDArray[np.int8], instant: Int64s, keyed: bool, stamped: bool,
    nodes: Int64s, slots: Int64s, meta: Int64s,
) -> tuple[Int64s, Int64s]:  # fmt: skip
    """The rows of an epoch (start, end, weight, words, instant), and slots out of which rows were taken."""
    size = _WORDS + words.shape[0]
    most = meta[_LIVE] + row_slots.size
    out = np.empty((most + row_slots.size, 4 + words.shape[0]), np.int64)
    fresh, gone, emptied = np.empty(row_slots.size, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    i, count, left = 0, 0, 0
    while i < row_slots.size:
        t = instant[i]
        come, went = 0, 0
        while i < row_slots.size and instant[i] == t:
            slot = row_slots[i]
            everything = op[i] == UPDATE and not keyed
            more = everything or op[i] != INSERT or keyed
            while more:
                victim = nodes[nodes[_BEHIND] * size + _OWNER] if everything else slot
                if nodes[_BEHIND] == 0 or slots[victim * _SLOT + _HEAD] == 0:
                    break
                node = _take(victim, nodes, size, slots, meta)
                if nodes[node * size + _PLACE] == _NOT_WRITTEN:
                    nodes[node * size + _PLACE] = _DONE
                else:
                    nodes[node * size + _NEXT] = slots[victim * _SLOT + _GONE]
                    slots[victim * _SLOT + _GONE] = node
                    gone[went] = node
                    went += 1
                    emptied[left] = victim
                    left += 1
                more = everything
            if op[i] != DELETE:
                fresh[come] = _put(words, i, slot, t, nodes, slots, meta)
                come += 1
            i += 1
        count = _settle(t, fresh[:come], gone[:went], stamped, nodes, size, slots, meta, out, count)
    meta[_BASE] += count
    return out[:count], emptied[:left]


@compiled
def _all_nodes(nodes: Int64s, size: int, count: int) -> Int64s:
    """The nodes of the list of all rows."""
    found = np.empty(count, np.int64)
    node = nodes[_BEHIND]
    for i in range(count):
        found[i] = node
        node = nodes[node * size + _BEHIND]
    return found

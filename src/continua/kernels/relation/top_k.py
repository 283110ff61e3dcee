"""The first rows of each partition in an order, at every instant.

The live rows of a partition are an ordered tree (a treap) with a node per distinct row. At an instant with changes only
the first ``offset + limit`` rows are walked over, and a node's row is written where its part in the answer differs.
Without a limit the answer is all but the first ``offset`` rows, so these are what is walked over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from continua.kernels.jit import Bytes, Int64s, compiled
from continua.kernels.relation.timeline import Events, Timeline
from continua.kernels.store.arena import Arena
from continua.kernels.store.interner import compare_strings
from continua.kernels.store.keytable import KeyTable
from continua.kernels.words.batch import INFINITY, Batch

INT, STRING, WIDE_DECIMAL = 0, 1, 2
"""Kinds of columns: a signed word, an id of a string, a signed word and an unsigned one."""
_LEFT, _RIGHT, _COUNT, _MARK, _SHOWN, _PLACE, _LISTED, _WORDS = 0, 1, 2, 3, 4, 5, 6, 7
_ROOT, _MARKED, _TOUCHED, _SLOT = 0, 1, 2, 3
_TOP, _LIVE, _FREE, _INSTANT, _WRITTEN, _BASE = 0, 1, 2, 3, 4, 5
_DEPTH = 1 << 10
_NO_STRINGS = (np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.uint8))


@dataclass(frozen=True, slots=True)
class OrderKey:
    """A column to order by: its words, where its null bit is (``null_word`` -1: it has none), and the direction."""

    words: tuple[int, ...]
    null_word: int
    null_bit: int
    descending: bool = False
    nulls_first: bool = True
    kind: int = INT

    def encoded(self) -> list[int]:
        """The key as numbers."""
        return [
            self.words[0], self.words[-1], self.null_word, self.null_bit,
            int(self.descending), int(self.nulls_first), self.kind,
        ]  # fmt: skip


class TopK:
    """Rows number offset + 1 to offset + limit of each partition; without a limit all behind the offset."""

    def __init__(
        self, arena: Arena, name: str, partition_width: int, width: int,
        order: Sequence[OrderKey], limit: int | None, offset: int,
    ) -> None:  # fmt: skip
        self._arena, self._name = arena, name
        self._split, self._width = partition_width, width
        self._order = np.array([key.encoded() for key in order], np.int64).reshape(-1, 7)
        self._inverted = limit is None
        self._low, self._high = (0, offset) if limit is None else (offset, min(offset + limit, INFINITY))
        self._keys = KeyTable(arena, f"{name}.keys", partition_width)
        self._timeline = Timeline(arena, f"{name}.time", partition_width + width)
        self._meta: Int64s = arena.array(f"{name}.meta", 8)
        self._reserve(1)

    def _reserve(self, more: int) -> None:
        """Room for so many more nodes; node 0 stands above the root."""
        room = max(int(self._meta[_TOP]), 1) + more
        self._meta[_TOP] = max(self._meta[_TOP], 1)
        self._nodes: Int64s = self._arena.array(f"{self._name}.nodes", room * (_WORDS + self._width))
        self._slots: Int64s = self._arena.array(f"{self._name}.slots", self._keys.capacity * _SLOT)

    @property
    def state_rows(self) -> int:
        """How many rows are remembered: distinct ones that are there, and ends that are known."""
        return int(self._meta[_LIVE]) + len(self._timeline.pending)

    def epoch(
        self, keys: Int64s, batch: Batch, after: int, until: int,  # noqa: ARG002
        strings: tuple[Int64s, Int64s, Bytes] = _NO_STRINGS,
    ) -> Batch:  # fmt: skip
        """How the answer changes up to ``until``; ``strings`` are where each string starts, its length, the bytes."""
        words = np.vstack([keys, batch.words])
        nowhere = np.zeros(len(batch), np.int64)
        events = self._timeline.events(nowhere, words, batch.start, batch.end, batch.weight, until)
        slots = self._keys.upsert(np.ascontiguousarray(events.words[: self._split]))
        self._reserve(len(events) + 1)
        rows = self._sweep(events, slots, strings)
        touched = np.unique(slots)
        self._keys.release(touched[self._slots[touched * _SLOT + _ROOT] == 0])
        return Batch(np.ascontiguousarray(rows[:, 3:].T), rows[:, 0].copy(), rows[:, 1].copy(), rows[:, 2].copy())

    def _sweep(self, events: Events, slots: Int64s, strings: tuple[Int64s, Int64s, Bytes]) -> Int64s:
        return _sweep(
            events.time, slots, events.weight, np.ascontiguousarray(events.words[self._split :]),
            self._order, *strings, self._low, self._high, self._inverted,
            self._nodes, self._slots, self._meta,
        )  # fmt: skip

    def interned(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of some words in all rows that are remembered."""
        ends = self._timeline.pending.records()
        nodes = _nodes_of(self._keys.in_use(), self._nodes, self._slots, self._width, int(self._meta[_LIVE]))
        size = _WORDS + self._width
        live = (self._nodes[nodes * size + (_WORDS + column)] for column in columns)
        return [np.concatenate([ends[2 + self._split + c], one]) for c, one in zip(columns, live, strict=True)]

    def interned_keys(self, columns: Sequence[int]) -> list[Int64s]:
        """The values of some words in all keys of partitions that are remembered."""
        ends, known = self._timeline.pending.records(), self._keys.words(self._keys.in_use())
        return [np.concatenate([ends[2 + column], known[column]]) for column in columns]


@compiled
def _compare(
    a: int, b: int, nodes: Int64s, width: int, order: Int64s, start: Int64s, length: Int64s, data: Bytes
) -> int:
    """-1, 0 or 1: how the rows of two nodes compare; rows that are not equal are never 0."""
    size = _WORDS + width
    p, q = a * size + _WORDS, b * size + _WORDS
    for k in range(order.shape[0]):
        word, second, null_word, kind = order[k, 0], order[k, 1], order[k, 2], order[k, 6]
        if null_word >= 0:
            first_null = (nodes[p + null_word] >> order[k, 3]) & 1
            if first_null != (nodes[q + null_word] >> order[k, 3]) & 1:
                return -1 if (first_null == 1) == (order[k, 5] == 1) else 1
            if first_null == 1:
                continue
        x, y = nodes[p + word], nodes[q + word]
        if x == y and kind != WIDE_DECIMAL:
            continue
        if kind == STRING:
            result = compare_strings(x, y, start, length, data)
        elif x != y:
            result = -1 if x < y else 1
        else:
            low, high = np.uint64(nodes[p + second]), np.uint64(nodes[q + second])
            result = 0 if low == high else (-1 if low < high else 1)
        if result != 0:
            return -result if order[k, 4] == 1 else result
    for j in range(width):
        if nodes[p + j] != nodes[q + j]:
            return -1 if nodes[p + j] < nodes[q + j] else 1
    return 0


@compiled
def _priority(node: int) -> int:
    """A number of the node that looks random: a node stands above those with a lower one."""
    h = np.uint64(node) * np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64(h ^ (h >> np.uint64(31)))  # type: ignore[return-value]


@compiled
def _fresh_node(words: Int64s, row: int, nodes: Int64s, meta: Int64s) -> int:
    """A node for a row; there is room."""
    width = words.shape[0]
    size = _WORDS + width
    if meta[_FREE] > 0:
        node = meta[_FREE]
        meta[_FREE] = nodes[node * size + _LEFT]
    else:
        node = meta[_TOP]
        meta[_TOP] += 1
    meta[_LIVE] += 1
    nodes[node * size : node * size + _WORDS] = 0
    nodes[node * size + _PLACE] = -1
    for j in range(width):
        nodes[node * size + _WORDS + j] = words[j, row]
    return int(node)


@compiled
def _free_node(node: int, nodes: Int64s, size: int, meta: Int64s) -> None:
    nodes[node * size + _LEFT] = meta[_FREE]
    meta[_FREE] = node
    meta[_LIVE] -= 1


@compiled
def _find_path(
    node: int, root: int, nodes: Int64s, width: int, order: Int64s, start: Int64s, length: Int64s, data: Bytes,
    path: Int64s, sides: Int64s,
) -> tuple[int, int]:  # fmt: skip
    """The way down to a row like the node's: how long it is, and the node that was found (0: none)."""
    size = _WORDS + width
    path[0], sides[0] = 0, _RIGHT
    depth, current = 1, root
    while current != 0:
        result = _compare(node, current, nodes, width, order, start, length, data)
        if result == 0:
            return depth, current
        path[depth], sides[depth] = current, _LEFT if result < 0 else _RIGHT
        current = nodes[current * size + sides[depth]]
        depth += 1
    return depth, 0


@compiled
def _insert(node: int, depth: int, nodes: Int64s, size: int, path: Int64s, sides: Int64s) -> None:
    """Puts a node on its way above those of lower priority, which it parts in two."""
    top, own = 1, _priority(node)
    while top < depth and _priority(path[top]) > own:
        top += 1
    nodes[path[top - 1] * size + sides[top - 1]] = node
    left, right = node * size + _LEFT, node * size + _RIGHT
    for k in range(top, depth):
        if sides[k] == _RIGHT:
            nodes[left] = path[k]
            left = path[k] * size + _RIGHT
        else:
            nodes[right] = path[k]
            right = path[k] * size + _LEFT
    nodes[left], nodes[right] = 0, 0


@compiled
def _remove(node: int, hook: int, nodes: Int64s, size: int) -> None:
    """Takes a node out: what is below it is merged and hangs from ``hook``."""
    a, b = nodes[node * size + _LEFT], nodes[node * size + _RIGHT]
    while a != 0 and b != 0:
        if _priority(a) > _priority(b):
            nodes[hook] = a
            hook = a * size + _RIGHT
            a = nodes[hook]
        else:
            nodes[hook] = b
            hook = b * size + _LEFT
            b = nodes[hook]
    nodes[hook] = a if a != 0 else b


@compiled
def _write(node: int, t: int, weight: int, nodes: Int64s, size: int, out: Int64s, meta: Int64s) -> Int64s:
    """Adds an open row to those of the epoch."""
    count = meta[_WRITTEN]
    if count == out.shape[0]:
        wider = np.empty((2 * count, out.shape[1]), np.int64)
        wider[:count] = out
        out = wider
    out[count, 0], out[count, 1], out[count, 2] = t, INFINITY, weight
    for j in range(size - _WORDS):
        out[count, 3 + j] = nodes[node * size + _WORDS + j]
    meta[_WRITTEN] = count + 1
    return out


@compiled
def _settle(
    node: int, t: int, first: int, inverted: bool, nodes: Int64s, size: int, out: Int64s, meta: Int64s
) -> Int64s:
    """Writes how a node's part in the answer changes; ``first`` is the number of the first row of this epoch.

    A row that was written in this epoch is closed, as far as its weight goes.
    """
    at = node * size
    wanted = max(nodes[at + _COUNT], 0) - nodes[at + _MARK] if inverted else nodes[at + _MARK]
    change = wanted - nodes[at + _SHOWN]
    nodes[at + _SHOWN] = wanted
    if change > 0:
        nodes[at + _PLACE] = first + meta[_WRITTEN]
        return _write(node, t, change, nodes, size, out, meta)
    place = nodes[at + _PLACE] - first
    if change < 0 and place >= 0 and out[place, 1] == INFINITY:
        rest = out[place, 2] + change
        if rest <= 0:
            out[place, 1] = t
            nodes[at + _PLACE] = -1
            change = rest
        else:
            out[place, 2] = rest
            out = _write(node, out[place, 0], -change, nodes, size, out, meta)
            out[meta[_WRITTEN] - 1, 1] = t
            change = 0
    if change < 0:
        out = _write(node, t, change, nodes, size, out, meta)
    return out


@compiled
def _walk(
    slot: int, t: int, first: int, low: int, high: int, inverted: bool,
    nodes: Int64s, slots: Int64s, size: int, stack: Int64s, out: Int64s, meta: Int64s,
) -> Int64s:  # fmt: skip
    """Marks the rows number ``low`` + 1 to ``high`` of a partition; goes on until all that were marked are seen."""
    remaining, seen, depth = slots[slot * _SLOT + _MARKED], 0, 0
    current = slots[slot * _SLOT + _ROOT]
    while current != 0 or depth > 0:
        while current != 0:
            stack[depth] = current
            depth += 1
            current = nodes[current * size + _LEFT]
        depth -= 1
        node = stack[depth]
        if seen >= high and remaining == 0:
            break
        at = node * size
        behind = seen + max(nodes[at + _COUNT], 0)
        mark = max(min(behind, high) - max(seen, low), 0)
        seen = behind
        remaining -= nodes[at + _MARK]
        if mark != nodes[at + _MARK]:
            slots[slot * _SLOT + _MARKED] += mark - nodes[at + _MARK]
            nodes[at + _MARK] = mark
            out = _settle(node, t, first, inverted, nodes, size, out, meta)
        current = nodes[at + _RIGHT]
    return out


@compiled
def _sweep(
    time: Int64s, row_slots: Int64s, weight: Int64s, words: Int64s,
    order: Int64s, start: Int64s, length: Int64s, data: Bytes, low: int, high: int, inverted: bool,
    nodes: Int64s, slots: Int64s, meta: Int64s,
) -> Int64s:  # fmt: skip
    """The rows of an epoch: start, end, weight, words. All changes of one instant are made before it is looked at."""
    width = words.shape[0]
    size = _WORDS + width
    first = meta[_BASE]
    meta[_WRITTEN] = 0
    out = np.empty((2 * time.size + 8, 3 + width), np.int64)
    path, sides = np.empty(_DEPTH, np.int64), np.empty(_DEPTH, np.int64)
    changed, owners = np.empty(time.size, np.int64), np.empty(time.size, np.int64)
    touched = np.empty(time.size, np.int64)
    i = 0
    while i < time.size:
        t = time[i]
        meta[_INSTANT] += 1
        count, partitions = 0, 0
        while i < time.size and time[i] == t:
            slot = row_slots[i] * _SLOT
            node = _fresh_node(words, i, nodes, meta)
            depth, known = _find_path(node, slots[slot + _ROOT], nodes, width, order, start, length, data, path, sides)
            if known == 0:
                nodes[_RIGHT] = slots[slot + _ROOT]
                _insert(node, depth, nodes, size, path, sides)
                slots[slot + _ROOT] = nodes[_RIGHT]
            else:
                _free_node(node, nodes, size, meta)
                node = known
            nodes[node * size + _COUNT] += weight[i]
            if nodes[node * size + _LISTED] != meta[_INSTANT]:
                nodes[node * size + _LISTED] = meta[_INSTANT]
                changed[count], owners[count] = node, slot
                count += 1
            if slots[slot + _TOUCHED] != meta[_INSTANT]:
                slots[slot + _TOUCHED] = meta[_INSTANT]
                touched[partitions] = row_slots[i]
                partitions += 1
            i += 1
        for k in range(partitions):
            out = _walk(touched[k], t, first, low, high, inverted, nodes, slots, size, path, out, meta)
        for k in range(count):
            node, slot = changed[k], owners[k]
            out = _settle(node, t, first, inverted, nodes, size, out, meta)
            if nodes[node * size + _COUNT] == 0:
                depth, _ = _find_path(node, slots[slot + _ROOT], nodes, width, order, start, length, data, path, sides)
                nodes[_RIGHT] = slots[slot + _ROOT]
                _remove(node, path[depth - 1] * size + sides[depth - 1], nodes, size)
                slots[slot + _ROOT] = nodes[_RIGHT]
                _free_node(node, nodes, size, meta)
    meta[_BASE] = first + meta[_WRITTEN]
    return out[: meta[_WRITTEN]]


@compiled
def _nodes_of(in_use: Int64s, nodes: Int64s, slots: Int64s, width: int, count: int) -> Int64s:
    """The nodes of the trees of slots."""
    size = _WORDS + width
    found = np.empty(count + 1, np.int64)
    out, end = 0, 0
    for slot in in_use:
        if slots[slot * _SLOT + _ROOT] != 0:
            found[end] = slots[slot * _SLOT + _ROOT]
            end += 1
    while out < end:
        for side in (_LEFT, _RIGHT):
            if nodes[found[out] * size + side] != 0:
                found[end] = nodes[found[out] * size + side]
                end += 1
        out += 1
    return found[:end]

"""The least or greatest value of a group: a heap of rows in a block of a pool.

A row stands in the heap with its end. As long as all rows of a group count positively nothing needs to be taken out:
rows whose end has come are dropped when they reach the top, or all at once when the block is full. The first row that
takes others back changes that: from then on there is a second heap, of what was taken away, and equal tops cancel.
Either way an event costs, over time, at most the height of a heap.
"""

from __future__ import annotations

from typing import NamedTuple

from continua.kernels.aggregate.sweep_jit import inlined, lean
from continua.kernels.aggregate.value_pool import BLOCK, BLOCK_CELLS, COUNT, ROOM, give_room, take_room
from continua.kernels.jit import Bytes, Int64s
from continua.kernels.store.interner import compare_strings

LEAST, GREATEST, MEMBERS, BYTES = range(4)
"""What is held: a heap with the least or the greatest value first, a list of entries, or bytes."""
BY_WORD, BY_TWO_WORDS, BY_STRING, PAIRS = range(4)
"""How values are ordered. From PAIRS on: by two values, of which the second may be NULL; see ``pair_order``."""
HOLDER, ORDER, HELD = range(3)
"""The columns of a table of holders: kind, order, and its cells of a group."""
TAKEN, CANCELS = BLOCK_CELLS, 2 * BLOCK_CELLS
"""The cells of a heap behind those of its block: the block of what was taken away, and whether anything ever was."""
HEAP_CELLS = 2 * BLOCK_CELLS + 1

_TOP_BIT = -(1 << 63)


class Strings(NamedTuple):
    """Where the strings of ids are."""

    start: Int64s
    length: Int64s
    data: Bytes


def pair_order(first: int, second: int) -> int:
    """How pairs of values are ordered, each in its own way. A row is both values, and whether the second is NULL."""
    return PAIRS + PAIRS * first + second


@inlined
def second_word(order: int) -> int:
    """Where in a row of a pair the second value begins."""
    return 2 if (order - PAIRS) // PAIRS == BY_TWO_WORDS else 1


@inlined
def null_word(order: int) -> int:
    """Where in a row of a pair it stands whether the second value is NULL."""
    return second_word(order) + (2 if order % PAIRS == BY_TWO_WORDS else 1)


@inlined
def _precedes(pool: Int64s, p: int, q: int, kind: int, order: int, strings: Strings) -> bool:
    """Whether the row at ``p`` comes before the row at ``q``."""
    if order >= PAIRS:
        return _pair_precedes(pool, p, q, kind, order, strings)
    if kind == GREATEST:
        p, q = q, p
    return _below(pool, p, q, order, strings)


@lean
def _pair_precedes(pool: Int64s, p: int, q: int, kind: int, order: int, strings: Strings) -> bool:
    """The same for pairs; of equal first values the second decides, and NULL is the last of these either way."""
    first, place = (order - PAIRS) // PAIRS, second_word(order)
    x, y = (q, p) if kind == GREATEST else (p, q)
    if _below(pool, x, y, first, strings):
        return True
    if _below(pool, y, x, first, strings):
        return False
    no_value = null_word(order)
    if pool[p + no_value] or pool[q + no_value]:
        return bool(pool[p + no_value] < pool[q + no_value])
    return _below(pool, x + place, y + place, order % PAIRS, strings)


@inlined
def _below(pool: Int64s, p: int, q: int, order: int, strings: Strings) -> bool:
    """Whether the value at ``p`` is less than the one at ``q``."""
    x, y = pool[p], pool[q]
    if order == BY_STRING:
        return compare_strings(x, y, strings.start, strings.length, strings.data) < 0
    if order == BY_TWO_WORDS and x == y:
        x, y = pool[p + 1] ^ _TOP_BIT, pool[q + 1] ^ _TOP_BIT
    return bool(x < y)


@inlined
def _width(order: int) -> int:
    """How many words a row in a heap has: its value, its weight and its end."""
    if order >= PAIRS:
        return null_word(order) + 3
    return 4 if order == BY_TWO_WORDS else 3


@inlined
def _swap(pool: Int64s, p: int, q: int, width: int) -> None:
    for i in range(width):
        word = pool[p + i]
        pool[p + i] = pool[q + i]
        pool[q + i] = word


@lean
def _rise(pool: Int64s, block: int, at: int, kind: int, order: int, strings: Strings) -> None:
    """Moves a row up to where it belongs."""
    width = _width(order)
    while at > 0:
        above = (at - 1) // 2
        if not _precedes(pool, block + at * width, block + above * width, kind, order, strings):
            break
        _swap(pool, block + at * width, block + above * width, width)
        at = above


@lean
def _sink(pool: Int64s, block: int, at: int, count: int, kind: int, order: int, strings: Strings) -> None:
    """Moves a row down to where it belongs."""
    width = _width(order)
    while 2 * at + 1 < count:
        below = 2 * at + 1
        right = block + (below + 1) * width
        if below + 1 < count and _precedes(pool, right, right - width, kind, order, strings):
            below += 1
        if not _precedes(pool, block + below * width, block + at * width, kind, order, strings):
            break
        _swap(pool, block + at * width, block + below * width, width)
        at = below


@lean
def _pop(groups: Int64s, held: int, pool: Int64s, kind: int, order: int, strings: Strings) -> None:
    """Drops the first row of a heap."""
    width, block = _width(order), groups[held + BLOCK]
    groups[held + COUNT] -= 1
    last = groups[held + COUNT]
    for i in range(width):
        pool[block + i] = pool[block + last * width + i]
    _sink(pool, block, 0, last, kind, order, strings)


@lean
def _expire(groups: Int64s, held: int, pool: Int64s, now: int, kind: int, order: int, strings: Strings) -> None:
    """Drops all rows whose end has come."""
    width, block, count = _width(order), groups[held + BLOCK], 0
    for at in range(groups[held + COUNT]):
        row = block + at * width
        if pool[row + width - 1] > now:
            for i in range(width):
                pool[block + count * width + i] = pool[row + i]
            count += 1
    groups[held + COUNT] = count
    for at in range(count // 2 - 1, -1, -1):
        _sink(pool, block, at, count, kind, order, strings)


@lean
def _cancel(groups: Int64s, held: int, pool: Int64s, kind: int, order: int, strings: Strings) -> None:
    """Drops what was taken away, as long as the tops of both heaps are equal."""
    width = _width(order)
    while groups[held + COUNT] and groups[held + TAKEN + COUNT]:
        there, taken = groups[held + BLOCK], groups[held + TAKEN + BLOCK]
        for i in range(width - 2):
            if pool[there + i] != pool[taken + i]:
                return
        both = min(pool[there + width - 2], pool[taken + width - 2])
        pool[there + width - 2] -= both
        pool[taken + width - 2] -= both
        if pool[taken + width - 2] == 0:
            _pop(groups, held + TAKEN, pool, kind, order, strings)
        if pool[there + width - 2] == 0:
            _pop(groups, held, pool, kind, order, strings)


@lean
def _cancel_all(groups: Int64s, held: int, pool: Int64s, kind: int, order: int, strings: Strings) -> None:
    """Drops all that was taken away: the heap is emptied in order, and what stays gathers at the end of its block."""
    width, block, end = _width(order), groups[held + BLOCK], groups[held + COUNT]
    first = end
    while True:
        _cancel(groups, held, pool, kind, order, strings)
        if groups[held + COUNT] == 0:
            break
        first -= 1
        last = groups[held + COUNT] - 1
        _swap(pool, block, block + last * width, width)
        groups[held + COUNT] = last
        _sink(pool, block, 0, last, kind, order, strings)
        if first != last:
            for i in range(width):
                pool[block + first * width + i] = pool[block + last * width + i]
    groups[held + COUNT] = end - first
    for at in range((end - first) // 2):
        _swap(pool, block + (first + at) * width, block + (end - 1 - at) * width, width)
    if first:
        for i in range((end - first) * width):
            pool[block + i] = pool[block + first * width + i]


@lean
def prepare_heap(
    groups: Int64s, held: int, pool: Int64s, meta: Int64s, weight: int, end: int, now: int,
    kind: int, order: int, strings: Strings,
) -> bool:  # fmt: skip
    """Makes room for an event of a row with that end; false when the pool has none."""
    if weight < 0 and not groups[held + CANCELS]:
        if end == now:
            return True
        _expire(groups, held, pool, now, kind, order, strings)
        groups[held + CANCELS] = 1
    width = _width(order)
    if (groups[held + COUNT] + 1) * width > groups[held + ROOM]:
        if not groups[held + CANCELS]:
            _expire(groups, held, pool, now, kind, order, strings)
        elif 4 * groups[held + TAKEN + COUNT] > groups[held + COUNT]:
            _cancel_all(groups, held, pool, kind, order, strings)
        if not _at_most_half_full(groups, held, pool, meta, width):
            return False
    if weight < 0 and (groups[held + TAKEN + COUNT] + 1) * width > groups[held + TAKEN + ROOM]:
        if groups[held + TAKEN + ROOM] >= groups[held + ROOM]:
            _cancel_all(groups, held, pool, kind, order, strings)
        return _at_most_half_full(groups, held + TAKEN, pool, meta, width)
    return True


@lean
def _at_most_half_full(groups: Int64s, held: int, pool: Int64s, meta: Int64s, width: int) -> bool:
    """Takes a larger block where more than half of it would be in use; false when the pool has none."""
    wanted = 2 * (groups[held + COUNT] + 1) * width
    return wanted <= groups[held + ROOM] or take_room(groups, held, pool, meta, wanted)


@lean
def change_heap(
    groups: Int64s, held: int, pool: Int64s, words: Int64s, line: int, event: int, weight: int, now: int,
    kind: int, order: int, strings: Strings,
) -> None:  # fmt: skip
    """Changes a heap that has room by an event, whose words have a value from a line on and the row's end as last."""
    end = words[-1, event]
    if weight < 0:
        if not groups[held + CANCELS] and end == now:
            return
        held, weight = held + TAKEN, -weight
    width, at = _width(order), groups[held + COUNT]
    row = groups[held + BLOCK] + at * width
    for i in range(width - 2):
        pool[row + i] = words[line + i, event]
    pool[row + width - 2], pool[row + width - 1] = weight, end
    groups[held + COUNT] = at + 1
    _rise(pool, groups[held + BLOCK], at, kind, order, strings)


@lean
def top_of_heap(groups: Int64s, held: int, pool: Int64s, now: int, kind: int, order: int, strings: Strings) -> int:
    """Where the first row of a heap is in the pool at this instant; -1 of an empty heap."""
    if groups[held + CANCELS]:
        _cancel(groups, held, pool, kind, order, strings)
    else:
        last = _width(order) - 1
        while groups[held + COUNT] and pool[groups[held + BLOCK] + last] <= now:
            _pop(groups, held, pool, kind, order, strings)
    return int(groups[held + BLOCK]) if groups[held + COUNT] else -1


@lean
def give_heap(groups: Int64s, held: int, pool: Int64s, meta: Int64s) -> None:
    """Takes the blocks of a heap back."""
    give_room(groups, held, pool, meta)
    give_room(groups, held + TAKEN, pool, meta)
    groups[held + CANCELS] = 0


@lean
def heap_words(
    slots: Int64s, groups: Int64s, stride: int, cell: int, pool: Int64s, order: int, place: int, out: Int64s
) -> int:
    """Writes a word of all rows in the heaps of groups, as far as there is room; how many there are."""
    width, count = _width(order), 0
    for slot in slots:
        for held in (slot * stride + cell, slot * stride + cell + TAKEN):
            for at in range(groups[held + COUNT]):
                if count < out.size:
                    out[count] = pool[groups[held + BLOCK] + at * width + place]
                count += 1
    return count


def string_words(order: int) -> list[int]:
    """Which words of a row in a heap are ids of strings."""
    if order < PAIRS:
        return [0] if order == BY_STRING else []
    first = [0] if (order - PAIRS) // PAIRS == BY_STRING else []
    return first + ([int(second_word(order))] if order % PAIRS == BY_STRING else [])

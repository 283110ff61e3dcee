"""The distinct values of a group, in heaps and in plain lists, in blocks of one pool.

A value of a group is an entry: how often it counts, how many events it still has to come, and where it stands in each
heap or list that holds it. Because an entry knows its places, a value that goes is taken out at once: a heap holds
nothing but values that count, its first is the least (or the greatest), and a change costs at most its height.
"""

from __future__ import annotations

from typing import NamedTuple

from continua.kernels.arena import Arena
from continua.kernels.interner import compare_strings
from continua.kernels.jit import Bytes, Int64s, compiled

LEAST, GREATEST, MEMBERS, BYTES = range(4)
"""What a block holds: a heap with the least or the greatest value first, a list of values in no order, or bytes."""
BY_WORD, BY_TWO_WORDS, BY_STRING = range(3)
"""How values are ordered."""
HOLDER, ORDER, HELD, PLACE = range(4)
"""The columns of a table of holders: kind, order, the group's cells for it, and the entry's cell for the place in it."""
BLOCK, ROOM, COUNT = range(3)
"""The cells of a group for a holder: where its block is, how long that is, and how many entries there are."""
HELD_CELLS = 3
ENTRY_COUNT, ENTRY_WAITING, ENTRY_PLACES = range(3)
"""The cells of an entry; the last ones are its places."""

_FIRST_ROOM = 4
_TOP_BIT = -(1 << 63)
_USED, _HEADS = 0, 1
_CLASSES = 48


class Pool:
    """Blocks of words, of sizes that are powers of two; what is given back is used again."""

    def __init__(self, arena: Arena, name: str) -> None:
        self._arena = arena
        self._name = name
        self.meta: Int64s = arena.array(f"{name}.meta", _HEADS + _CLASSES)
        self.cells: Int64s = arena.array(f"{name}.cells", 64)

    def grow(self) -> None:
        """Makes the pool twice as long."""
        self.cells = self._arena.array(f"{self._name}.cells", 2 * self.cells.size)

    def take(self, room: int) -> tuple[int, int]:
        """A block with at least that room: where it is, and how long."""
        size = block_size(room)
        while (block := take_block(self.cells, self.meta, size)) < 0:
            self.grow()
        return block, size

    def give(self, block: int, size: int) -> None:
        """Gives a block back."""
        give_block(self.cells, self.meta, block, size)


@compiled
def block_size(room: int) -> int:
    """The size of the smallest block with that room."""
    size = _FIRST_ROOM
    while size < room:
        size *= 2
    return size


@compiled
def _class_of(size: int) -> int:
    number = 0
    while _FIRST_ROOM << number < size:
        number += 1
    return number


@compiled
def take_block(pool: Int64s, meta: Int64s, size: int) -> int:
    """A block of a size, -1 when the pool has no room for it."""
    head = _HEADS + _class_of(size)
    if meta[head]:
        block = meta[head] - 1
        meta[head] = pool[block]
        return int(block)
    block = meta[_USED]
    if block + size > pool.size:
        return -1
    meta[_USED] += size
    return int(block)


@compiled
def give_block(pool: Int64s, meta: Int64s, block: int, size: int) -> None:
    """Gives a block back."""
    head = _HEADS + _class_of(size)
    pool[block] = meta[head]
    meta[head] = block + 1


@compiled
def make_room(groups: Int64s, held: int, pool: Int64s, meta: Int64s) -> bool:
    """Makes room for one more entry in a holder; false when the pool has none."""
    room = groups[held + ROOM]
    if groups[held + COUNT] < room:
        return True
    size = max(2 * room, _FIRST_ROOM)
    block = take_block(pool, meta, size)
    if block < 0:
        return False
    old = groups[held + BLOCK]
    for i in range(room):
        pool[block + i] = pool[old + i]
    if room:
        give_block(pool, meta, old, room)
    groups[held + BLOCK], groups[held + ROOM] = block, size
    return True


@compiled
def give_room(groups: Int64s, held: int, pool: Int64s, meta: Int64s) -> None:
    """Gives the block of a holder back."""
    if groups[held + ROOM]:
        give_block(pool, meta, groups[held + BLOCK], groups[held + ROOM])
        groups[held + BLOCK] = groups[held + ROOM] = groups[held + COUNT] = 0


class Values(NamedTuple):
    """The entries, as compiled functions see them: their cells, their words, and the strings behind the words."""

    entries: Int64s
    stride: int
    words: Int64s
    width: int
    start: Int64s
    length: Int64s
    data: Bytes


@compiled
def _precedes(a: int, b: int, kind: int, order: int, values: Values) -> bool:
    """Whether entry ``a`` stands before entry ``b`` in a heap of that kind."""
    if kind == GREATEST:
        a, b = b, a
    x, y = values.words[a * values.width + 1], values.words[b * values.width + 1]
    if order == BY_STRING:
        return compare_strings(x, y, values.start, values.length, values.data) < 0
    if order == BY_TWO_WORDS and x == y:
        x, y = values.words[a * values.width + 2] ^ _TOP_BIT, values.words[b * values.width + 2] ^ _TOP_BIT
    return bool(x < y)


@compiled
def _rise(kind: int, order: int, place: int, block: int, at: int, pool: Int64s, values: Values) -> int:
    """Moves the entry at a position up to where it belongs; its position then."""
    entry = pool[block + at]
    while at > 0:
        above = (at - 1) // 2
        other = pool[block + above]
        if not _precedes(entry, other, kind, order, values):
            break
        pool[block + at] = other
        values.entries[other * values.stride + place] = at
        at = above
    pool[block + at] = entry
    values.entries[entry * values.stride + place] = at
    return at


@compiled
def _sink(kind: int, order: int, place: int, block: int, at: int, count: int, pool: Int64s, values: Values) -> None:
    """Moves the entry at a position down to where it belongs."""
    entry = pool[block + at]
    while True:
        below = 2 * at + 1
        if below >= count:
            break
        other = pool[block + below]
        if below + 1 < count:
            right = pool[block + below + 1]
            if _precedes(right, other, kind, order, values):
                below, other = below + 1, right
        if not _precedes(other, entry, kind, order, values):
            break
        pool[block + at] = other
        values.entries[other * values.stride + place] = at
        at = below
    pool[block + at] = entry
    values.entries[entry * values.stride + place] = at


@compiled
def put_in(holders: Int64s, h: int, entry: int, groups: Int64s, base: int, pool: Int64s, values: Values) -> None:
    """Puts an entry into a holder that has room."""
    held, kind, order, place = base + holders[h, HELD], holders[h, HOLDER], holders[h, ORDER], holders[h, PLACE]
    block, at = groups[held + BLOCK], groups[held + COUNT]
    groups[held + COUNT] += 1
    pool[block + at] = entry
    values.entries[entry * values.stride + place] = at
    if kind != MEMBERS:
        _rise(kind, order, place, block, at, pool, values)


@compiled
def take_out(holders: Int64s, h: int, entry: int, groups: Int64s, base: int, pool: Int64s, values: Values) -> None:
    """Takes an entry out of a holder: the last one fills its place."""
    held, kind, order, place = base + holders[h, HELD], holders[h, HOLDER], holders[h, ORDER], holders[h, PLACE]
    block, at = groups[held + BLOCK], values.entries[entry * values.stride + place]
    groups[held + COUNT] -= 1
    count = groups[held + COUNT]
    if at == count:
        return
    last = pool[block + count]
    pool[block + at] = last
    values.entries[last * values.stride + place] = at
    if kind != MEMBERS and _rise(kind, order, place, block, at, pool, values) == at:
        _sink(kind, order, place, block, at, count, pool, values)

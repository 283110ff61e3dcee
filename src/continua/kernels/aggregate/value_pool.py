"""Blocks of words for what groups hold in number: values and bytes."""

from __future__ import annotations

from continua.kernels.aggregate.sweep_jit import lean
from continua.kernels.jit import Int64s
from continua.kernels.store.arena import Arena

BLOCK, ROOM, COUNT = range(3)
"""The cells of a group for a block: where it is, how many words it has, and how much there is in it."""
BLOCK_CELLS = 3

_FIRST_ROOM = 8
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

    def move(self, held: Int64s, room: int) -> None:
        """Gives a group's block back and takes one with at least that room; none for no room."""
        give_room(held, 0, self.cells, self.meta)
        while room and not take_room(held, 0, self.cells, self.meta, room):
            self.grow()


@lean
def _class_of(room: int) -> int:
    """The number of the smallest size of blocks with that room."""
    number = 0
    while _FIRST_ROOM << number < room:
        number += 1
    return number


@lean
def take_room(groups: Int64s, held: int, pool: Int64s, meta: Int64s, room: int) -> bool:
    """Gives a group a block with that room, and its old content; false when the pool has none."""
    number = _class_of(room)
    size, head = _FIRST_ROOM << number, _HEADS + number
    if meta[head]:
        block = meta[head] - 1
        meta[head] = pool[block]
    elif meta[_USED] + size <= pool.size:
        block = meta[_USED]
        meta[_USED] += size
    else:
        return False
    old, count = groups[held + BLOCK], groups[held + COUNT]
    for i in range(groups[held + ROOM]):
        pool[block + i] = pool[old + i]
    give_room(groups, held, pool, meta)
    groups[held + BLOCK], groups[held + ROOM], groups[held + COUNT] = block, size, count
    return True


@lean
def give_room(groups: Int64s, held: int, pool: Int64s, meta: Int64s) -> None:
    """Takes the block of a group back."""
    if groups[held + ROOM]:
        head = _HEADS + _class_of(groups[held + ROOM])
        pool[groups[held + BLOCK]] = meta[head]
        meta[head] = groups[held + BLOCK] + 1
    groups[held + BLOCK] = groups[held + ROOM] = groups[held + COUNT] = 0

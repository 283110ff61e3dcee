"""Lists of a group's distinct values, in no order, for aggregates that need them all.

A value of a group is an entry: how often it counts, how many events it still has to come, and where it stands in the
list that holds it, so that it can be taken out at once.
"""

from __future__ import annotations

from typing import NamedTuple

from continua.kernels.aggregate.sweep_jit import lean
from continua.kernels.aggregate.value_pool import BLOCK, COUNT, ROOM, take_room
from continua.kernels.jit import Int64s

ENTRY_COUNT, ENTRY_WAITING, ENTRY_PLACE = range(3)
"""The cells of an entry."""
ENTRY_CELLS = 3


class Values(NamedTuple):
    """The entries: their cells, and their words, the first of which tells the group."""

    entries: Int64s
    words: Int64s
    width: int


@lean
def list_has_room(groups: Int64s, held: int, pool: Int64s, meta: Int64s) -> bool:
    """Makes room for one more entry in a list; false when the pool has none."""
    count = groups[held + COUNT]
    return count < groups[held + ROOM] or take_room(groups, held, pool, meta, 2 * count + 1)


@lean
def put_in(groups: Int64s, held: int, pool: Int64s, entry: int, entries: Int64s) -> None:
    """Puts an entry into a list that has room."""
    at = groups[held + COUNT]
    groups[held + COUNT] = at + 1
    pool[groups[held + BLOCK] + at] = entry
    entries[entry * ENTRY_CELLS + ENTRY_PLACE] = at


@lean
def take_out(groups: Int64s, held: int, pool: Int64s, entry: int, entries: Int64s) -> None:
    """Takes an entry out of a list: the last one fills its place."""
    groups[held + COUNT] -= 1
    at, last = entries[entry * ENTRY_CELLS + ENTRY_PLACE], pool[groups[held + BLOCK] + groups[held + COUNT]]
    pool[groups[held + BLOCK] + at] = last
    entries[last * ENTRY_CELLS + ENTRY_PLACE] = at

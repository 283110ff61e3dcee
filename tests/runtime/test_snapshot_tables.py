"""Snapshots in segments: whatever happens to an arena, what is loaded is what was written, and what is shared is."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from continua.kernels.store.arena import Arena
from continua.runtime.checkpoint.snapshot_tables import CHUNK, Segment, Table, drafted, loaded


@dataclass
class Kept:
    """Segments by their number, and which of them were read."""

    segments: dict[int, bytes] = field(default_factory=dict)
    read: list[int] = field(default_factory=list)

    def write(self, number: int, arena: Arena, base: Table | None) -> Table:
        """A snapshot, as it is read back."""
        draft = drafted(arena, base)
        table = draft.table
        if draft.size:
            self.segments[number] = b"".join(draft.content)
            table = draft.after(Segment(number, "", draft.size))
        return Table.of(table.packed())

    def load(self, table: Table, before: Arena | None = None, path: Path | None = None) -> Arena:
        """The arena of a snapshot."""

        def fetched(segment: Segment) -> bytes:
            self.read.append(segment.number)
            return self.segments[segment.number]

        return loaded(table, path, before, fetched)


def assert_same(found: Arena, expected: Arena) -> None:
    assert found.names == expected.names
    for name in expected.names:
        assert found.array(name, 0).dtype == expected.array(name, 0).dtype
        assert np.array_equal(found.array(name, 0), expected.array(name, 0))


@pytest.mark.parametrize("seed", range(8))
def test_every_snapshot_is_loaded_as_it_was(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    arena, kept = Arena(), Kept()
    base: Table | None = None
    others: list[Arena] = []
    for number in range(1, 20):
        for _ in range(rng.randrange(1, 5)):
            which = rng.randrange(5)
            array = arena.array(f"array {which}", rng.randrange(1, 60_000), np.int64 if which else np.uint8)
            place = rng.randrange(array.size)
            array[place : place + rng.randrange(1, 3000)] = rng.randrange(200)
        if rng.random() < 0.1:
            arena.drop(f"array {rng.randrange(5)}")
        base = kept.write(number, arena, base)
        found = kept.load(base, path=tmp_path / f"arena {number}")
        assert_same(found, arena)
        assert_same(kept.load(base, rng.choice(others) if others else None), arena)
        others.append(found)
        assert sum(s.size for s in base.segments) <= 2 * arena.size + CHUNK * len(base.segments)


def test_what_has_not_changed_is_neither_written_nor_read_again() -> None:
    arena, kept = Arena(), Kept()
    content = arena.array("content", 100 * CHUNK // 8)
    content[:] = np.arange(content.size)
    first = kept.write(1, arena, None)
    before = kept.load(first)
    content[5] = -1
    second = kept.write(2, arena, first)
    assert len(kept.segments[2]) == CHUNK
    kept.read.clear()
    assert_same(kept.load(second, before), arena)
    assert kept.read == [2]
    third = kept.write(3, arena, second)
    assert 3 not in kept.segments, "nothing has changed"
    assert_same(kept.load(third), arena)


def test_room_that_is_not_used_takes_no_place() -> None:
    arena, kept = Arena(), Kept()
    arena.array("roomy", 1 << 22)[7] = 1
    table = kept.write(1, arena, None)
    assert [s.size for s in table.segments] == [CHUNK]
    assert_same(kept.load(table), arena)


def test_segments_of_which_little_is_left_are_given_up() -> None:
    arena, kept = Arena(), Kept()
    content = arena.array("content", 10 * CHUNK // 8)
    content[:] = 1
    table = kept.write(1, arena, None)
    for number in range(2, 8):
        content[(number - 2) * CHUNK // 8] = number
        table = kept.write(number, arena, table)
    assert 1 not in {s.number for s in table.segments}
    assert_same(kept.load(table), arena)


def test_segments_do_not_become_many() -> None:
    arena, kept = Arena(), Kept()
    table: Table | None = None
    for number in range(1, 100):
        content = arena.array("content", number * CHUNK // 8)
        content[(number - 1) * CHUNK // 8 : number * CHUNK // 8] = number
        table = kept.write(number, arena, table)
        assert len(table.segments) <= 16
        assert_same(kept.load(table), arena)

"""Rows that wait for their start: none is lost, and their order is kept."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.kernels.store.arena import Arena
from continua.kernels.store.hold import Hold
from continua.kernels.words.batch import Batch

Rows = list[tuple[int, int]]
"""The epoch in which a row comes, and its start."""


def batch_of(numbers: list[int], rows: Rows) -> Batch:
    start = np.array([rows[n][1] for n in numbers], np.int64)
    words = np.array([numbers, [7] * len(numbers)], np.int64)
    return Batch(words, start, start + 3, np.full(start.size, 2))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 12)), max_size=40), st.booleans())
def test_rows_come_in_the_epoch_of_their_start(rows: Rows, in_file: bool) -> None:
    rows.sort(key=lambda r: r[0])
    seen: list[int] = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "arena" if in_file else None
        arena = Arena(path)
        hold = Hold(arena, "h", 2)
        for epoch in range(13):
            out = hold.epoch(batch_of([n for n, r in enumerate(rows) if r[0] == epoch], rows), epoch)
            due = [n for n, r in enumerate(rows) if r[0] <= epoch and r[1] <= epoch and n not in seen]
            assert out.words[0].tolist() == sorted(due, key=lambda n: (rows[n][1], n))
            assert out.start.tolist() == [rows[n][1] for n in out.words[0].tolist()]
            assert (out.end == out.start + 3).all()
            assert (out.weight == 2).all()
            seen += due
            waiting = [n for n, r in enumerate(rows) if r[0] <= epoch and n not in seen]
            assert hold.state_rows == len(waiting)
            assert sorted(hold.interned([0])[0].tolist()) == waiting
            if path:
                arena.save()
                arena = Arena(path)
                hold = Hold(arena, "h", 2)
    assert sorted(seen) == list(range(len(rows)))

"""Rounding up to synchronization points: at every instant what the last point saw, however the input is cut."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.kernels.relation.round_up import RoundUp
from continua.kernels.store.arena import Arena
from continua.kernels.words.batch import INFINITY, Batch

Rows = list[tuple[tuple[int, ...], int, int, int]]
"""Words, start, end, weight."""


@st.composite
def histories(draw: st.DrawFn) -> Rows:
    found: Rows = []
    for _ in range(draw(st.integers(0, 12))):
        row, start = (draw(st.integers(0, 1)), draw(st.integers(0, 1))), draw(st.integers(0, 20))
        end, weight = draw(st.none() | st.integers(start + 1, 25)), draw(st.sampled_from([1, 1, 2, -1]))
        found.append((row, start, INFINITY if end is None else end, weight))
    return sorted(found, key=lambda r: r[1])


def at(rows: Rows, t: int) -> Counter[tuple[int, ...]]:
    found: Counter[tuple[int, ...]] = Counter()
    for row, start, end, weight in rows:
        found[row] += weight * (start <= t < end)
    return Counter({row: count for row, count in found.items() if count})


def batch_of(rows: Rows) -> Batch:
    words = np.array([r[0] for r in rows], np.int64).reshape(-1, 2).T
    rest = np.array([r[1:] for r in rows], np.int64).reshape(-1, 3).T
    return Batch(np.ascontiguousarray(words), rest[0].copy(), rest[1].copy(), rest[2].copy())


def rows_of(batch: Batch) -> Rows:
    words = [tuple(w) for w in batch.words.T.tolist()]
    return list(zip(words, batch.start.tolist(), batch.end.tolist(), batch.weight.tolist(), strict=True))


instants = st.sets(st.integers(0, 26))


@settings(max_examples=200, deadline=None)
@given(histories(), instants, st.sets(st.integers(0, 26), max_size=8), st.booleans())
def test_what_the_last_point_saw(rows: Rows, points: set[int], cuts: set[int], in_file: bool) -> None:
    found: Rows = []
    after = -1
    with TemporaryDirectory() as folder:
        path = Path(folder) / "arena" if in_file else None
        arena = Arena(path)
        rounding = RoundUp(arena, "r", 2)
        for until in [*sorted(cuts), 30]:
            inside = np.array(sorted(p for p in points if after < p <= until), np.int64)
            out = rounding.epoch(batch_of([r for r in rows if after < r[1] <= until]), inside, after, until)
            assert np.isin(out.start, inside).all()
            assert (out.start < out.end).all()
            found += rows_of(out)
            after = until
            if path:
                arena.save()
                arena = Arena(path)
                rounding = RoundUp(arena, "r", 2)
        for t in range(30):
            last = max((p for p in points if p <= t), default=-1)
            assert at(found, t) == at(rows, last), t
        waiting = at(rows, 30)
        waiting.subtract(at(rows, max(points, default=-1)))
        distinct = sorted(row for row, count in waiting.items() if count)
        assert rounding.state_rows == len(distinct)
        assert sorted(zip(*(c.tolist() for c in rounding.interned([0, 1])), strict=True)) == distinct


def test_changes_net_out_while_they_wait() -> None:
    rounding = RoundUp(Arena(), "r", 2)
    none = np.empty(0, np.int64)
    for t in range(50):
        rounding.epoch(batch_of([((t, 0), t, t + 1, 1)]), none, t - 1, t)
        assert rounding.state_rows <= 2
    out = rounding.epoch(Batch.empty(2), np.array([60]), 49, 60)
    assert (len(out), rounding.state_rows) == (0, 0)


def test_an_interval_between_points_of_one_epoch_is_one_row() -> None:
    rounding = RoundUp(Arena(), "r", 2)
    out = rounding.epoch(batch_of([((1, 2), 3, 12, 1)]), np.array([5, 10, 15]), 0, 20)
    assert rows_of(out) == [((1, 2), 5, 15, 1)]

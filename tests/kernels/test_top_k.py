"""The first rows in an order: at every instant what sorting the live bag gives, however the input is cut."""

from __future__ import annotations

from collections import Counter
from functools import cmp_to_key, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.kernels.jit import Bytes, Int64s
from continua.kernels.relation.top_k import INT, STRING, WIDE_DECIMAL, OrderKey, TopK
from continua.kernels.store.arena import Arena
from continua.kernels.words.batch import INFINITY, Batch

Row = tuple[int, ...]
Rows = list[tuple[Row, int, int, int]]
"""Words, start, end, weight."""
WIDTH = 6
"""An integer, a string, a wide decimal of two words, the partition, and the null bits."""
TEXTS = [b"b", b"", b"ab", b"a", b"\xff", b"aa"]
STRINGS: tuple[Int64s, Int64s, Bytes] = (
    np.array([0, 1, 1, 3, 4, 5]),
    np.array([len(t) for t in TEXTS]),
    np.frombuffer(b"".join(TEXTS), np.uint8).copy(),
)
COLUMNS = [((0,), INT), ((1,), STRING), ((2, 3), WIDE_DECIMAL), ((4,), INT)]


def value(row: Row, column: int) -> object:
    """What the words of a column mean; None for NULL."""
    words, kind = COLUMNS[column]
    if row[5] >> column & 1:
        return None
    if kind == STRING:
        return TEXTS[row[words[0]]]
    return (row[2] << 64) + row[3] % (1 << 64) if kind == WIDE_DECIMAL else row[words[0]]


@st.composite
def payloads(draw: st.DrawFn) -> Row:
    nulls = draw(st.sampled_from([0, 0, 0, 1, 2, 4, 7]))
    high = draw(st.integers(-1, 1))
    row = [draw(st.integers(-2, 2)), draw(st.integers(0, 5)), high, draw(st.sampled_from([0, 1, -1]))]
    for column, (words, _) in enumerate(COLUMNS[:3]):
        for word in words:
            row[word] = 0 if nulls >> column & 1 else row[word]
    return (*row, draw(st.integers(0, 1)), nulls)


@st.composite
def histories(draw: st.DrawFn) -> Rows:
    """Rows with known ends, with copies, and with ends that come later as retractions."""
    found: Rows = []
    for row in draw(st.lists(payloads(), max_size=14)):
        start, weight = draw(st.integers(0, 20)), draw(st.sampled_from([1, 1, 2]))
        end = draw(st.none() | st.integers(start + 1, 25))
        if end is not None and draw(st.booleans()):
            found += [(row, start, INFINITY, weight), (row, end, INFINITY, -weight)]
        else:
            found.append((row, start, INFINITY if end is None else end, weight))
    return sorted(found, key=lambda r: r[1])


@st.composite
def orders(draw: st.DrawFn) -> list[OrderKey]:
    chosen = draw(st.lists(st.sampled_from([0, 1, 2]), max_size=2))
    keys = [(column, draw(st.booleans()), draw(st.booleans())) for column in chosen]
    return [
        OrderKey(COLUMNS[column][0], 5, column, descending, nulls_first, COLUMNS[column][1])
        for column, descending, nulls_first in [*keys, *((column, False, True) for column in range(4))]
    ]


def before(order: list[OrderKey], a: Row, b: Row) -> int:
    for key in order:
        x, y = value(a, key.null_bit), value(b, key.null_bit)
        if x == y:
            continue
        if x is None or y is None:
            return -1 if (x is None) == key.nulls_first else 1
        return -1 if (x < y) != key.descending else 1  # type: ignore[operator]
    return 0


def at(rows: Rows, t: int) -> Counter[Row]:
    found: Counter[Row] = Counter()
    for row, start, end, weight in rows:
        found[row] += weight * (start <= t < end)
    return Counter({row: count for row, count in found.items() if count})


def expected(rows: Rows, order: list[OrderKey], split: int, limit: int | None, offset: int, t: int) -> Counter[Row]:
    parts: dict[object, list[Row]] = {}
    for row in at(rows, t).elements():
        parts.setdefault(row[4] if split else None, []).append(row)
    found: Counter[Row] = Counter()
    for part in parts.values():
        part.sort(key=cmp_to_key(partial(before, order)))
        found.update(part[offset:] if limit is None else part[offset : offset + limit])
    return found


def batch_of(rows: Rows) -> Batch:
    words = np.array([r[0] for r in rows], np.int64).reshape(-1, WIDTH).T
    rest: Int64s = np.array([r[1:] for r in rows], np.int64).reshape(-1, 3).T
    return Batch(np.ascontiguousarray(words), rest[0].copy(), rest[1].copy(), rest[2].copy())


def rows_of(batch: Batch) -> Rows:
    words = [tuple(w) for w in batch.words.T.tolist()]
    return list(zip(words, batch.start.tolist(), batch.end.tolist(), batch.weight.tolist(), strict=True))


limits = st.none() | st.integers(0, 4)


@settings(max_examples=250, deadline=None)
@given(
    histories(),
    orders(),
    st.integers(0, 1),
    limits,
    st.integers(0, 3),
    st.sets(st.integers(0, 26), max_size=8),
    st.booleans(),
)
def test_the_first_rows_at_every_instant(
    rows: Rows, order: list[OrderKey], split: int, limit: int | None, offset: int, cuts: set[int], in_file: bool
) -> None:
    found: Rows = []
    after = -1
    with TemporaryDirectory() as folder:
        path = Path(folder) / "arena" if in_file else None
        arena = Arena(path)
        top = TopK(arena, "k", split, WIDTH, order, limit, offset)
        for until in [*sorted(cuts), 30]:
            part = batch_of([r for r in rows if after < r[1] <= until])
            out = top.epoch(part.words[4 : 4 + split], part, after, until, STRINGS)
            assert ((out.start > after) & (out.start <= until) & (out.start < out.end)).all()
            found += rows_of(out)
            after = until
            if path:
                arena.save()
                arena = Arena(path)
                top = TopK(arena, "k", split, WIDTH, order, limit, offset)
        for t in range(30):
            assert at(found, t) == expected(rows, order, split, limit, offset, t), t
        assert top.state_rows == len(at(rows, 30))
        assert sorted(top.interned([1])[0].tolist()) == sorted(row[1] for row in at(rows, 30))


ASCENDING = [OrderKey((0,), -1, 0)]


def plain(values: list[int], start: Int64s, end: Int64s) -> Batch:
    words = np.array([values], np.int64)
    return Batch(words, start, end, np.ones(words.shape[1], np.int64))


def test_only_differences_are_written() -> None:
    top = TopK(Arena(), "k", 0, 1, ASCENDING, 3, 0)
    forever = np.full(10, INFINITY)
    top.epoch(np.empty((0, 10), np.int64), plain(list(range(10, 20)), np.zeros(10, np.int64), forever), -1, 0)
    out = top.epoch(np.empty((0, 2), np.int64), plain([5, 30], np.array([4, 5]), forever[:2]), 0, 9)
    assert rows_of(out) == [((5,), 4, INFINITY, 1), ((12,), 4, INFINITY, -1)]


def test_both_ends_in_one_epoch_make_one_row() -> None:
    top = TopK(Arena(), "k", 0, 1, ASCENDING, 1, 0)
    out = top.epoch(np.empty((0, 2), np.int64), plain([5, 3], np.array([1, 4]), np.array([9, 6])), 0, 10)
    assert sorted(rows_of(out)) == [((3,), 4, 6, 1), ((5,), 1, 4, 1), ((5,), 6, 9, 1)]


@pytest.mark.parametrize("rising", [True, False])
def test_a_large_partition_in_order(rising: bool) -> None:
    """Rows that come in order make the tree no deeper."""
    count = 20_000
    top = TopK(Arena(), "k", 0, 1, ASCENDING, 2, count // 2)
    values = np.arange(count) if rising else np.arange(count)[::-1]
    start = np.zeros(count, np.int64)
    out = top.epoch(np.empty((0, count), np.int64), plain(values.tolist(), start, start + 5), -1, 4)
    assert sorted(out.words[0].tolist()) == [count // 2, count // 2 + 1]
    assert top.state_rows == 2 * count
    none = Batch.empty(1)
    top.epoch(none.words[:0], none, 4, 9)
    assert top.state_rows == 0


def test_partitions_without_rows_are_forgotten() -> None:
    top = TopK(Arena(), "k", 1, 1, ASCENDING, 2, 0)
    start = np.arange(100)
    keys = (start // 2).reshape(1, -1).copy()
    top.epoch(keys, plain(start.tolist(), start, start + 3), -1, 99)
    assert set(top.interned_keys([0])[0].tolist()) == {48, 49}

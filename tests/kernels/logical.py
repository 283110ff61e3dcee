"""Streams as their definition has them: how often each payload counts, instant by instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st

from continua.kernels.jit import Int64s
from continua.kernels.store import rowstore
from continua.kernels.store.arena import Arena
from continua.kernels.words import pieces
from continua.kernels.words.batch import INFINITY, Batch

Payload = tuple[int, ...]
Row = tuple[Payload, int, int, int]
Rows = list[Row]

LAST_START = 10
LAST_END = 14
HORIZON = 17
"""All finite rows have ended by then."""


def content(rows: Rows, instant: int) -> Counter[Payload]:
    """How often each payload counts at an instant."""
    found: Counter[Payload] = Counter()
    for payload, start, end, weight in rows:
        if start <= instant < end:
            found[payload] += weight
    return Counter({p: n for p, n in found.items() if n})


def batch_of(rows: Rows, width: int) -> Batch:
    """Rows as the kernels take them."""
    words = np.array([r[0] for r in rows], np.int64).reshape(len(rows), width).T
    start, end, weight = (np.array([r[i] for r in rows], np.int64) for i in (1, 2, 3))
    return Batch(np.ascontiguousarray(words), start, end, weight)


def rows_of(batch: Batch) -> Rows:
    """Rows as the definition takes them."""
    columns = (batch.start.tolist(), batch.end.tolist(), batch.weight.tolist())
    payloads = [tuple(w) for w in batch.words.T.tolist()] if batch.width else [()] * len(batch)
    return [(p, *rest) for p, rest in zip(payloads, zip(*columns, strict=True), strict=True)]


def keys_of(rows: Rows, width: int) -> Int64s:
    """The first words of the payloads."""
    return np.ascontiguousarray(batch_of([(r[0][:width], *r[1:]) for r in rows], width).words)


def within(rows: Rows, after: int, until: int) -> Rows:
    """The rows that start in an epoch."""
    return [r for r in rows if after < r[1] <= until]


@st.composite
def streams(draw: st.DrawFn, payloads: int = 3, width: int = 1, retract: bool = True, most: int = 12) -> Rows:
    """Rows with few payloads and instants; some are taken back, at once or later, whole or in part."""
    rows: Rows = []
    word = st.integers(0, payloads - 1)
    for _ in range(draw(st.integers(0, most))):
        payload = tuple(draw(word) for _ in range(width))
        start = draw(st.integers(1, LAST_START))
        end = draw(st.one_of(st.just(INFINITY), st.integers(start + 1, LAST_END)))
        weight = draw(st.integers(1, 2))
        rows.append((payload, start, end, weight))
        if retract and draw(st.booleans()):
            back = draw(st.integers(start, min(end - 1, LAST_START)))
            rows.append((payload, back, end, -draw(st.integers(1, weight))))
    return draw(st.permutations(rows))


epochs = st.sets(st.integers(1, HORIZON - 1), max_size=6).map(lambda s: [0, *sorted(s), HORIZON])
"""Where epochs end."""
sizes = st.sampled_from([1, 3, 1 << 16])
"""How many rows a piece of an epoch has."""


@contextmanager
def small(size: int) -> Iterator[None]:
    """Epochs are worked off in pieces of so many rows, and probes give so many pairs at once."""
    with patch.object(pieces, "PIECE", size), patch.object(rowstore, "MOST_PAIRS", size):
        yield


def run(edges: list[int], step: Callable[[Arena, int, int], Rows]) -> Rows:
    """What a step writes, epoch by epoch, on an arena that is opened anew for each; all rows start in their epoch."""
    output: Rows = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "state"
        for after, until in pairwise(edges):
            arena = Arena(path)
            rows = step(arena, after, until)
            assert within(rows, after, until) == rows
            output += rows
            arena.save()
    return output


def assert_same(rows: Rows, expected: Callable[[int], Counter[Payload]]) -> None:
    """The rows are what is expected at every instant."""
    for instant in range(HORIZON + 2):
        wanted = Counter({p: n for p, n in expected(instant).items() if n})
        assert content(rows, instant) == wanted, instant

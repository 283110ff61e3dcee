"""Rows in pieces of time that fit the caches, for kernels that get more of them at once.

A partition cuts what it has received already (``physical/time_pieces.py``); since then a join or a map below a kernel
may have made many rows of few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from continua.kernels.jit import Int64s
from continua.kernels.words.batch import Batch

PIECE = 1 << 16
"""About how many rows of a side are worked off at once."""


def check_epoch(batch: Batch, after: int, until: int) -> None:
    """Raises if a row does not start in (after, until]."""
    if len(batch) and not (after < int(batch.start.min()) and int(batch.start.max()) <= until):
        raise ValueError(f"a row starts outside the epoch ({after}, {until}]")


def in_order(keys: Int64s, batch: Batch) -> tuple[Int64s, Batch]:
    """Rows and their keys, ordered by start."""
    start = batch.start
    if start.size < 2 or bool((start[1:] >= start[:-1]).all()):
        return keys, batch
    order = np.argsort(start, kind="stable")
    return keys[:, order], batch.take(order)


def part(batch: Batch, places: slice) -> Batch:
    """A range of the rows."""
    rows = (batch.start[places], batch.end[places], batch.weight[places])
    return Batch(cut(batch.words, places), *(np.ascontiguousarray(column) for column in rows))


def cut(words: Int64s, places: slice) -> Int64s:
    """A range of the columns."""
    return np.ascontiguousarray(words[:, places])


def in_pieces(batch: Batch, until: int, size: int | None = None) -> Iterator[tuple[Batch, int]]:
    """The rows by start in pieces of about ``size`` rows, each with the instant it goes up to."""
    start = batch.start
    order = None if bool((start[1:] >= start[:-1]).all()) else np.argsort(start, kind="stable")
    if order is not None:
        start = start[order]
    for places, _, edge in pieces(start, start[:0], until, lambda: size or PIECE):
        yield part(batch, places) if order is None else batch.take(order[places]), edge


def pieces(
    left: Int64s, right: Int64s, until: int, size: Callable[[], int] = lambda: PIECE
) -> Iterator[tuple[slice, slice, int]]:
    """Cuts starts that are in order to ranges of time: the rows of each side, and the end.

    A piece has about as many rows of a side as ``size`` says when it begins, and at most ``PIECE``.
    """
    a = b = 0
    while True:
        most = min(size(), PIECE)
        edges = [int(s[k + most]) for s, k in ((left, a), (right, b)) if k + most < s.size]
        edge = min(edges, default=until)
        c, d = (int(np.searchsorted(s, edge, side="right")) for s in (left, right))
        last = c == left.size and d == right.size
        yield slice(a, c), slice(b, d), until if last else edge
        if last:
            return
        a, b = c, d

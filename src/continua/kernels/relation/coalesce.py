"""Coalesce and split: the same logical stream with fewer rows, or with shorter ones (PIPES 2005, 4.2.5)."""

from __future__ import annotations

import numpy as np

from continua.kernels.jit import Int64s, compiled
from continua.kernels.store.arena import Arena
from continua.kernels.store.keytable import KeyTable
from continua.kernels.words.batch import INFINITY, Batch


def coalesce(batch: Batch, max_length: int | None = None) -> Batch:
    """One row for equal rows, and for rows of equal payload and weight whose intervals meet.

    Rows are not merged to more than ``max_length`` instants.
    """
    if len(batch) < 2:
        return batch.take(batch.weight != 0)
    slots = KeyTable(Arena(), "payloads", batch.width).upsert(np.ascontiguousarray(batch.words))
    batch, slots = _summed(batch, slots)
    merged, slots = _merged(batch, slots, INFINITY if max_length is None else max_length)
    return merged if len(merged) == len(batch) else _summed(merged, slots)[0]


def _summed(batch: Batch, slots: Int64s) -> tuple[Batch, Int64s]:
    """Adds the weights of rows with equal payload and interval; rows of weight 0 go. Ordered by start."""
    order = np.lexsort((batch.end, slots, batch.start))
    rows, slots = batch.take(order), slots[order]
    if not len(rows):
        return rows, slots
    fresh = np.ones(len(rows), np.bool_)
    for column in (slots, rows.start, rows.end):
        fresh[1:] &= column[1:] == column[:-1]
    fresh[1:] = ~fresh[1:]
    first = np.flatnonzero(fresh)
    weight = np.add.reduceat(rows.weight, first)
    kept = first[weight != 0]
    result = Batch(rows.words[:, kept], rows.start[kept], rows.end[kept], weight[weight != 0])
    return result, slots[kept]


def _merged(batch: Batch, slots: Int64s, max_length: int) -> tuple[Batch, Int64s]:
    """Follows each row to one of equal payload and weight that begins where it ends, as long as there is one."""
    by_start = np.lexsort((batch.start, batch.weight, slots))
    by_end = np.lexsort((batch.end, batch.weight, slots))
    end = batch.end.copy()
    first = np.ones(len(batch), np.bool_)
    _chain(slots, batch.weight, batch.start, end, by_start, by_end, max_length, first)
    rows = np.flatnonzero(first)
    return Batch(batch.words[:, rows], batch.start[rows], end[rows], batch.weight[rows]), slots[rows]


@compiled
def _chain(
    slots: Int64s, weight: Int64s, start: Int64s, end: Int64s, by_start: Int64s, by_end: Int64s, max_length: int,
    first: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> None:  # fmt: skip
    """Gives the first row of each chain the end of its last. Rows that meet are paired off in both orders."""
    follower = np.full(start.size, -1, np.int64)
    b = 0
    for a in range(by_end.size):
        row = by_end[a]
        while b < by_start.size and _before(slots, weight, start, by_start[b], row, end[row]):
            b += 1
        if b < by_start.size:
            other = by_start[b]
            if slots[other] == slots[row] and weight[other] == weight[row] and start[other] == end[row]:
                follower[row] = other
                first[other] = False
                b += 1
    for row in range(start.size):
        other = follower[row] if first[row] else -1
        while other >= 0:
            if end[other] - start[row] > max_length or (end[other] == INFINITY and max_length < INFINITY):
                first[other] = True
                break
            end[row] = end[other]
            other = follower[other]


@compiled
def _before(slots: Int64s, weight: Int64s, start: Int64s, row: int, other: int, end: int) -> bool:
    """Whether a row comes, by payload, weight and start, before what could follow another row."""
    if slots[row] != slots[other]:
        return bool(slots[row] < slots[other])
    if weight[row] != weight[other]:
        return bool(weight[row] < weight[other])
    return bool(start[row] < end)


def split(batch: Batch, length: int, offset: int = 0, until: int | None = None) -> Batch:
    """Cuts finite intervals at the instants offset + k * length, so that no piece is longer than ``length``.

    With ``until`` there are no cuts behind it: all pieces start by then, and the last has what is left.
    """
    last = batch.end - 1 if until is None else np.minimum(batch.end - 1, until)
    first = (batch.start - offset) // length
    count = np.where(batch.end == INFINITY, 1, np.maximum((last - offset) // length - first, 0) + 1)
    if not (count > 1).any():
        return batch
    row = np.repeat(np.arange(len(batch)), count)
    step = np.arange(row.size) - np.repeat(np.cumsum(count) - count, count)
    edge = (first[row] + step) * length + offset
    start = np.maximum(edge, batch.start[row])
    end = np.where(step + 1 == count[row], batch.end[row], edge + length)
    return Batch(batch.words[:, row], start, end, batch.weight[row])

"""Leaders: rows that may have the greatest, or least, value of all rows that are valid at some instant.

A row has not if another one that is valid for the same time has a greater, or smaller, one. Only rows that stand beside
each other are compared, and those that would if they were in the order of their intervals: a row too many does no harm.
"""

from __future__ import annotations

import numpy as np

from continua.kernels.jit import Int64s, compiled
from continua.kernels.words.batch import INFINITY, Batch
from continua.kernels.words.columns import Mask


def leaders(rows: Batch, are_certain: bool, greatest: bool) -> Mask:
    """Which rows may lead: their words are a value, in the order of integers, and whether it is NULL.

    ``are_certain``: whether no row is ever taken back. Where some are, those are compared that have ended.
    """
    start, end = rows.start, rows.end
    certain = (rows.weight > 0) & (rows.words[-1] == 0)
    if not are_certain:
        certain &= end < INFINITY
    ranks = rows.words[0] if greatest else ~rows.words[0]
    keep = np.empty(start.size, np.bool_)
    if 2 * _runs(start, end) > start.size:
        order = np.lexsort((start, end))
        sorted_keep = np.empty(start.size, np.bool_)
        _lead(ranks[order], start[order], end[order], certain[order], sorted_keep)
        keep[order] = sorted_keep
    else:
        _lead(ranks, start, end, certain, keep)
    return keep


@compiled
def _runs(start: Int64s, end: Int64s) -> int:
    """How many times rows beside each other have another interval."""
    count = 0
    for i in range(1, start.size):
        count += start[i] != start[i - 1] or end[i] != end[i - 1]
    return count


@compiled
def _lead(ranks: Int64s, start: Int64s, end: Int64s, certain: Mask, keep: Mask) -> None:
    first = 0
    while first < start.size:
        last, best, found = first, ranks[first], False
        while last < start.size and start[last] == start[first] and end[last] == end[first]:
            if certain[last] and (not found or ranks[last] > best):
                best, found = ranks[last], True
            last += 1
        for i in range(first, last):
            keep[i] = not certain[i] or ranks[i] >= best
        first = last

"""A long epoch in pieces of time: what a partition has received of it is worked off piece by piece.

The answer does not depend on how time is cut, but its cost does. The arrays of a piece fit the caches, and the memory
that a piece gives back is what the next one takes: pages that are touched for the first time cost more than what is
done with them. Kernels cut once more where operators of the same level have made many rows of few
(:mod:`continua.kernels.words.pieces`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from continua.kernels.jit import Int64s
from continua.kernels.words.partition import divided
from continua.physical.epoch import Arrived, Epoch, Received
from continua.physical.nodes import START
from continua.stages import stage

ROWS = 1 << 16
"""About how many rows a piece has."""
_SAMPLES = 1 << 10
"""About how many rows of a piece are asked for their start to find out where to cut."""


def time_pieces(epoch: Epoch, received: Received) -> Iterator[tuple[Epoch, Received]]:
    """The epoch in pieces of about ``ROWS`` rows, each with the rows that start in it, in the order of arrival.

    Rows that start behind the epoch are in its last piece. Where it is cut follows from the rows alone, so that an
    epoch that is run again is cut in the same way.
    """
    with stage("divide"):
        starts = {id(part): _starts(part.table) for parts in received.values() for part in parts}
        edges = _edges(epoch, list(starts.values()))
    if not edges.size:
        yield epoch, received
        return
    with stage("divide"):
        cut = {name: [_cut(part, starts[id(part)], edges) for part in parts] for name, parts in received.items()}
    bounds = [epoch.after, *edges.tolist(), epoch.until]
    for number, (after, until) in enumerate(pairwise(bounds)):
        mine = {name: [p[number] for p in parts if p[number].table.num_rows] for name, parts in cut.items()}
        yield Epoch(epoch.number, after, until), mine


def _starts(table: pa.Table) -> Int64s:
    return np.asarray(table.column(START).to_numpy(), np.int64)


def _edges(epoch: Epoch, starts: Sequence[Int64s]) -> Int64s:
    """The instants up to which the pieces but the last one go."""
    if sum(s.size for s in starts) < 2 * ROWS:
        return np.empty(0, np.int64)
    every = max(ROWS // _SAMPLES, 1)
    sample = np.sort(np.concatenate([s[::every] for s in starts]))
    found = np.unique(sample[:: ROWS // every][1:])
    return found[(found > epoch.after) & (found < epoch.until)]


def _cut(part: Arrived, starts: Int64s, edges: Int64s) -> list[Arrived]:
    """The rows of each piece."""
    table = part.table
    if bool((starts[1:] >= starts[:-1]).all()):
        bounds = np.searchsorted(starts, edges, side="right")
    else:
        pieces = np.searchsorted(edges, starts, side="left")
        order = np.concatenate([places for _, places in divided(pieces, edges.size + 1)])
        table = table.take(pa.array(order))
        bounds = np.cumsum(np.bincount(pieces, minlength=edges.size + 1))[:-1]
    ends = [0, *bounds.tolist(), table.num_rows]
    return [Arrived(table.slice(a, b - a), part.origin) for a, b in pairwise(ends)]

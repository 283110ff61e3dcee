"""Sweep areas: the state of an operator, which is probed by payload and evicted by time (PIPES 2009, 7.3.1).

A sweep area has an order relation (in which expired rows come out), a query predicate (which rows a probe finds) and a
remove predicate (which rows are no longer needed). Here rows are held under the slot of their key, so that equality of
keys is settled before a probe; an operator's remaining condition is decided on the pairs that it writes.

Who plays it: ``RowStore`` for both sides of ``Join`` and for the left side of ``Gate``; elsewhere a key table with a
count per key takes its place, and the ends that wait in a ``TimeQueue`` do the removing. ``SWEEP_AREAS`` is table V.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from continua.kernels.jit import Int64s
from continua.kernels.words.batch import Batch

PIECE = 1 << 16
"""About how many rows of a side are worked off at once."""


@runtime_checkable
class SweepArea(Protocol):
    """Rows under slots, probed by slot and instant, evicted by their ends."""

    def insert(self, slots: Int64s, batch: Batch) -> Int64s:
        """Takes rows in. The slots of rows that cancelled out."""

    def probe(self, slots: Int64s, time: Int64s, ties: bool) -> Iterator[tuple[Int64s, Int64s]]:
        """Pairs (place in ``slots``, row) where the row of that slot is valid at ``time`` and began before it.

        With ``ties`` a row that began at ``time`` is found too.
        """

    def extract_expired(self, until: int) -> tuple[Int64s, Batch]:
        """Takes out the rows that end by an instant, in the order of their ends: their slots, and the rows."""

    def purge(self, until: int) -> Int64s:
        """Drops the rows that end by an instant. Their slots."""

    def __len__(self) -> int:
        """How many rows there are."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """A line of table V: (e, [t_S, t_E)) is the probing row, (ê, [t̂_S, t̂_E)) one in the sweep area."""

    order: str
    query: str
    remove: str
    played_by: str


_OVERLAP = "[t_S, t_E) ∩ [t̂_S, t̂_E) ≠ ∅"
_EXPIRED = "t_S ≥ t̂_E"

SWEEP_AREAS: dict[str, Parameters] = {
    "theta-join": Parameters(
        "t_E", f"θ(e, ê) ∧ {_OVERLAP}", _EXPIRED,
        "join.Join: a rowstore.RowStore for each side; the key is equal, the rest of θ is decided on the pairs",
    ),
    "duplicate elimination": Parameters(
        "t_E", f"e = ê ∧ {_OVERLAP}", _EXPIRED,
        "multiplicity.Multiplicity(DISTINCT): a count for each payload, and the ends that wait",
    ),
    "difference": Parameters(
        "t_S", f"e = ê ∧ {_OVERLAP}", _EXPIRED,
        "multiplicity.Multiplicity(DIFFERENCE): two counts for each payload, and the ends that wait",
    ),
    "scalar aggregation": Parameters("t_S", _OVERLAP, _EXPIRED, "the aggregate of the one key, and the ends that wait"),
    "grouping with aggregation": Parameters(
        "t_S", _OVERLAP, _EXPIRED, "an aggregate for each key, and the ends that wait"
    ),
    "count-based window": Parameters("t_S", "", "SA.size() = N", "the last N rows"),
    "partitioned window": Parameters("t_S", "", "SA.size() = N", "the last N rows of each key"),
    "split": Parameters("t_E", "", "true", "coalesce.split: within a batch, so that nothing is held"),
    "coalesce": Parameters(
        "t_S", "e = ê ∧ t̂_E = t_S", f"{_EXPIRED} ∨ t̂_E - t̂_S ≥ l_max",
        "coalesce.coalesce: within a batch, so that nothing is held",
    ),
    "semijoin": Parameters(
        "t_E", f"e.key = ê.key ∧ {_OVERLAP}", _EXPIRED,
        "gate.Gate: a rowstore.RowStore for the left side, a count for each key of the right side",
    ),
}  # fmt: skip
"""Operator to the parameters of its sweep area: table V, and the semijoin, which the paper does not have."""


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

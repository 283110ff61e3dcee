"""Sweep areas: the state of an operator, which is probed by payload and evicted by time (PIPES 2009, 7.3.1).

A sweep area has an order relation (in which expired rows come out), a query predicate (which rows a probe finds) and a
remove predicate (which rows are no longer needed). Here rows are held under the slot of their key, so that equality of
keys is settled before a probe; an operator's remaining condition is decided on the pairs that it writes.

Who plays it: ``RowStore`` for both sides of ``Join`` and for the left side of ``Gate``; elsewhere a key table with a
count per key takes its place, and the ends that wait in a ``TimeQueue`` do the removing. ``SWEEP_AREAS`` is table V.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from continua.kernels.jit import Int64s
from continua.kernels.words.batch import Batch


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
        "pairing.Join: a rowstore.RowStore for each side; the key is equal, the rest of θ is decided on the pairs",
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

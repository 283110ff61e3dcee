"""Aggregates that need all values of a group: medians, percentiles, lists, and what users define (PIPES 2009, 7.5.2).

The sweep keeps the values of each group; whenever a result is read it is computed here from all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from continua.kernels.aggregate.aggregation_plan import Call
from continua.kernels.aggregate.aggregation_state import AggregateState
from continua.kernels.aggregate.user_aggregates import UserStates, fold
from continua.kernels.aggregate.value_order import ordered, sort_key
from continua.kernels.aggregate.value_pool import BLOCK, COUNT
from continua.kernels.jit import Int64s
from continua.kernels.relation.timeline import Events
from continua.kernels.words.columns import Codec


class Computer:
    """Computes the results of a plan's calls for groups that changed at an instant."""

    def __init__(self, state: AggregateState, output: Codec, keys: int) -> None:
        self._state = state
        self._users = UserStates(state)
        self._codecs = [
            Codec(pa.schema([output.schema.field(keys + call.number)]), output.interner) for call in state.plan.calls
        ]

    def results(self, slots: Int64s, happened: Events) -> Int64s:
        """A line per group, after the events of an instant: the words of each call's result, and whether it is NULL."""
        plan = self._state.plan
        found = np.zeros((slots.size, plan.computed_width), np.int64)
        for call, codec in zip(plan.calls, self._codecs, strict=True):
            user = call.spec.user
            if user is not None and user.inverse is not None:
                results = pa.array(self._users.results(call, user, slots, happened), codec.schema.field(0).type)
            else:
                results = self._from_all_values(call, slots, codec.schema.field(0).type)
            words = codec.encode(pa.Table.from_arrays([results], schema=codec.schema))
            found[:, call.place : call.place + call.words + 1] = words.T
        return found

    def end(self) -> None:
        """Stores what user aggregates keep, at the end of an epoch."""
        self._users.store()

    def _from_all_values(self, call: Call, slots: Int64s, kind: pa.DataType) -> pa.Array:
        entries, bounds = self._members(call, slots)
        columns = self._state.values.decode(call.source, entries)
        distinct = call.spec.distinct or call.spec.name == "COLLECT_SET"
        counts = np.ones(entries.size, np.int64) if distinct else self._state.values.counts(entries)
        column = columns.column(0).combine_chunks()
        match call.spec.name:
            case "MEDIAN":
                return pa.array(quantiles(_doubles(column), counts, bounds, 0.5), kind)
            case "PERCENTILE":
                return pa.array(quantiles(_doubles(column), counts, bounds, call.spec.parameters[0]), kind)
            case "COLLECT_LIST" | "COLLECT_SET":
                return lists(column, counts, bounds, kind)
            case "MIN" | "MAX" as name:
                return extremes(column, bounds, 0 if name == "MIN" else -1)
            case "MIN_BY" | "MAX_BY" as name:
                return firsts(column, columns.column(1).combine_chunks(), bounds, name == "MAX_BY")
            case _:
                assert call.spec.user is not None
                rows = list(zip(*(c.to_pylist() for c in columns.columns), strict=True))
                pieces = [(rows[a:b], counts[a:b].tolist()) for a, b in _pairs(bounds)]
                return pa.array([fold(call.spec.user, part, often) for part, often in pieces], kind)

    def _members(self, call: Call, slots: Int64s) -> tuple[Int64s, list[int]]:
        """The entries of groups, one group behind the other, and where each group begins and ends."""
        parts: list[Int64s] = []
        bounds = [0]
        for slot in slots.tolist():
            held = self._state.held(call.holder, slot)
            parts.append(self._state.pool.cells[held[BLOCK] : held[BLOCK] + held[COUNT]])
            bounds.append(bounds[-1] + int(held[COUNT]))
        return np.concatenate(parts), bounds


def _pairs(bounds: Sequence[int]) -> list[tuple[int, int]]:
    return list(pairwise(bounds))


def _doubles(column: pa.Array) -> NDArray[np.float64]:
    found: NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return found


def quantiles(
    values: NDArray[np.float64], counts: Int64s, bounds: Sequence[int], fraction: float
) -> list[float | None]:
    """The value at a fraction of the way through the sorted values of each group, between two of them by weight."""
    found: list[float | None] = []
    for a, b in _pairs(bounds):
        if a == b:
            found.append(None)
            continue
        order = a + np.argsort(values[a:b], kind="stable")
        upto = np.cumsum(counts[order])
        place = fraction * float(upto[-1] - 1)
        below, above = int(np.floor(place)), int(np.ceil(place))
        low, high = (float(values[order[np.searchsorted(upto, p, side="right")]]) for p in (below, above))
        found.append(low if below == above else _between(low, high, place - below))
    return found


def _between(low: float, high: float, part: float) -> float:
    """``low * (1 - part) + high * part`` with the first product not rounded, as a fused multiply-add has it."""
    if math.isinf(low) or high != high or math.isinf(high):
        return low * (1.0 - part) + high * part
    return float(Fraction(low) * Fraction(1.0 - part) + Fraction(high * part))


def lists(column: pa.Array, counts: Int64s, bounds: Sequence[int], kind: pa.DataType) -> pa.Array:
    """The values of each group as a list in their order, each as often as it counts."""
    places = [a + ordered(column[a:b]) for a, b in _pairs(bounds)]
    repeated = [np.repeat(place, counts[place]) for place in places]
    offsets = np.cumsum([0, *(r.size for r in repeated)]).astype(np.int32)
    values = column.take(pa.array(np.concatenate(repeated)))
    return pa.ListArray.from_arrays(pa.array(offsets), values).cast(kind)


def firsts(by: pa.Array, values: pa.Array, bounds: Sequence[int], greatest: bool) -> pa.Array:
    """The value of the row of each group that is first by another value; NULL is the last of several that are."""
    keys = [
        (sort_key(b), (v is None) != greatest, sort_key(v))
        for b, v in zip(by.to_pylist(), values.to_pylist(), strict=True)
    ]
    first = max if greatest else min
    places = [first(range(a, b), key=keys.__getitem__) if a < b else None for a, b in _pairs(bounds)]
    return values.take(pa.array(places, pa.int64()))


def extremes(column: pa.Array, bounds: Sequence[int], which: int) -> pa.Array:
    """The first (0) or last (-1) value of each group."""
    places = [a + int(ordered(column[a:b])[which]) if a < b else None for a, b in _pairs(bounds)]
    return column.take(pa.array(places, pa.int64()))

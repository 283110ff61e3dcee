"""Functions that need all values of a group: each is computed anew from the values whenever a result is read.

The sweep keeps, for every group, its different values and how often each of them counts; rows that come and go change
nothing else. So a function is one that makes results of such values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from continua.kernels.aggregate.value_order import ordered, sort_key
from continua.kernels.jit import Int64s


@dataclass(frozen=True, slots=True)
class GroupValues:
    """The different values of groups, one group behind the other, and how often each of them counts."""

    values: pa.Array
    counts: Int64s
    bounds: Sequence[int]
    """Where the groups begin, and where the last one ends."""
    result: pa.DataType
    """The type of the results."""
    parameters: tuple[float, ...] = ()

    @property
    def stretches(self) -> list[tuple[int, int]]:
        """Where each group begins and ends."""
        return list(pairwise(self.bounds))


@dataclass(frozen=True, slots=True)
class FromAllValues:
    """A family of functions that keep all values of a group; NULLs are no values."""

    results: Callable[[GroupValues], pa.Array]
    """The results of groups, one for each."""
    only_different: bool = False
    """Whether each value counts once, with or without DISTINCT."""


def _medians(groups: GroupValues) -> pa.Array:
    return _quantiles(groups, 0.5)


def _percentiles(groups: GroupValues) -> pa.Array:
    return _quantiles(groups, groups.parameters[0])


def _quantiles(groups: GroupValues, fraction: float) -> pa.Array:
    """The value at a fraction of the way through the sorted values of each group, between two of them by weight."""
    values: NDArray[np.float64] = groups.values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    found: list[float | None] = []
    for a, b in groups.stretches:
        if a == b:
            found.append(None)
            continue
        order = a + np.argsort(values[a:b], kind="stable")
        upto = np.cumsum(groups.counts[order])
        place = fraction * float(upto[-1] - 1)
        below, above = int(np.floor(place)), int(np.ceil(place))
        low, high = (float(values[order[np.searchsorted(upto, p, side="right")]]) for p in (below, above))
        found.append(low if below == above else _between(low, high, place - below))
    return pa.array(found, groups.result)


def _between(low: float, high: float, part: float) -> float:
    """``low * (1 - part) + high * part`` with the first product not rounded, as a fused multiply-add has it."""
    if math.isinf(low) or high != high or math.isinf(high):
        return low * (1.0 - part) + high * part
    return float(Fraction(low) * Fraction(1.0 - part) + Fraction(high * part))


def _lists(groups: GroupValues) -> pa.Array:
    """The values of each group as a list in their order, each as often as it counts."""
    places = [a + ordered(groups.values[a:b]) for a, b in groups.stretches]
    repeated = [np.repeat(place, groups.counts[place]) for place in places]
    offsets = np.cumsum([0, *(r.size for r in repeated)]).astype(np.int32)
    values = groups.values.take(pa.array(np.concatenate(repeated)))
    return pa.ListArray.from_arrays(pa.array(offsets), values).cast(groups.result)


def _modes(groups: GroupValues) -> pa.Array:
    """The value of each group that counts most; of several such values the first in their order."""
    places: list[int | None] = []
    for a, b in groups.stretches:
        if a == b:
            places.append(None)
            continue
        counts = groups.counts[a:b]
        most = a + np.flatnonzero(counts == counts.max())
        places.append(int(most[ordered(groups.values.take(pa.array(most)))[0]]))
    return groups.values.take(pa.array(places, pa.int64()))


FROM_ALL_VALUES: dict[str, FromAllValues] = {
    "MEDIAN": FromAllValues(_medians),
    "PERCENTILE": FromAllValues(_percentiles),
    "MODE": FromAllValues(_modes),
    "COLLECT_LIST": FromAllValues(_lists),
    "COLLECT_SET": FromAllValues(_lists, only_different=True),
}
"""The functions of this family, by name."""


# What other families fall back on where the words of values say nothing about their order.


def extremes(groups: GroupValues, greatest: bool) -> pa.Array:
    """The least or the greatest value of each group."""
    which = -1 if greatest else 0
    places = [a + int(ordered(groups.values[a:b])[which]) if a < b else None for a, b in groups.stretches]
    return groups.values.take(pa.array(places, pa.int64()))


def firsts(groups: GroupValues, others: pa.Array, greatest: bool) -> pa.Array:
    """The other value of the row of each group that is first by its value; NULL is the last of several that are."""
    keys = [
        (sort_key(by), (other is None) != greatest, sort_key(other))
        for by, other in zip(groups.values.to_pylist(), others.to_pylist(), strict=True)
    ]
    first = max if greatest else min
    places = [first(range(a, b), key=keys.__getitem__) if a < b else None for a, b in groups.stretches]
    return others.take(pa.array(places, pa.int64()))

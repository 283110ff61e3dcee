"""Partial aggregation where rows are read: which aggregations it serves, and what is left to do behind the exchange."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa

from continua.functions.aggregates import Parts
from continua.kernels.aggregate.aggregate_calls import AggregateSpec
from continua.kernels.aggregate.state_families import Count, Extreme, FirstBy, Sum
from continua.kernels.aggregate.word_values import is_ordered
from continua.physical import nodes
from continua.windows.change_points import Points


@dataclass(frozen=True)
class Partial(nodes.Node):
    """Rows with equal keys and intervals as one row of partial results, before they move: keys first, then results."""

    stateful: ClassVar[bool] = False
    keys: int
    specs: tuple[AggregateSpec, ...]

    @property
    def is_fed(self) -> bool:
        return False

    def keeps(self, column: int) -> int | None:
        return column if column < self.keys else None


def partial(
    below: nodes.Node, keys: int, calls: Sequence[tuple[AggregateSpec, Parts | None]], chronon: int
) -> Merge | None:
    """Partial results of the rows of a node, where these are worth while and give the same answer.

    With each call comes how it is put together from partial results.
    """
    if not calls or below.retracts or not _shares(below, chronon, bool(keys)):
        return None
    parts = _PartialResults(below.schema, keys)
    merged = [parts.merged(spec, how) for spec, how in calls]
    found = tuple(spec for spec in merged if spec is not None)
    if len(found) < len(merged):
        return None
    columns = [(f"c{number}", kind) for number, kind in enumerate(parts.types)]
    return Merge(Partial(pa.schema(columns), (below,), keys, tuple(parts.specs)), found)


@dataclass(frozen=True)
class Merge:
    """A node with partial results, and the calls that merge them."""

    node: Partial
    specs: tuple[AggregateSpec, ...]


def _shares(node: nodes.Node, chronon: int, keyed: bool) -> bool:
    """Whether a node runs where rows are read, and many of its rows are valid for the same time."""
    match node:
        case nodes.Validity(spec=spec, inputs=(below,)):
            # Where a window slides, elements of different instants enter it together and leave it together.
            points = spec.points("")
            rounds = isinstance(points, Points) and points.step > chronon
            return below.is_fed and (rounds or (chronon > 1 and not keyed))
        case nodes.Hold() | nodes.Evaluate() | nodes.Union():
            return all(_shares(below, chronon, keyed) for below in node.inputs)
        case _:
            return False


@dataclass
class _PartialResults:
    """The partial results that calls need; equal ones are there once."""

    schema: pa.Schema
    keys: int
    specs: list[AggregateSpec] = field(default_factory=list)
    types: list[pa.DataType] = field(default_factory=list)
    _places: dict[AggregateSpec, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.types += [self.schema.field(key).type for key in range(self.keys)]

    def merged(self, spec: AggregateSpec, how: Parts | None) -> AggregateSpec | None:
        """The call that gives, of partial results, what a call gives of rows; None if there is none."""
        if how is None or (spec.distinct and not how.of_distinct):
            return None
        kinds = [self.schema.field(column).type for column in spec.arguments]
        columns: list[int] = []
        for function in how.functions:
            part = AggregateSpec(function, spec.arguments)
            types = _result_types(part, kinds)
            if types is None:
                return None
            place = self._place(part, types)
            columns += range(place, place + len(types))
        return AggregateSpec(how.merged_by, tuple(columns))

    def _place(self, spec: AggregateSpec, kinds: Sequence[pa.DataType]) -> int:
        """The first column of a partial result; it is added if it is not there."""
        if spec not in self._places:
            self._places[spec] = len(self.types)
            self.specs.append(spec)
            self.types += kinds
        return self._places[spec]


def _result_types(spec: AggregateSpec, kinds: Sequence[pa.DataType]) -> list[pa.DataType] | None:
    """The types of the columns of a partial result, by those of its arguments; None if it has none of such values."""
    match spec.family:
        case Count():
            return [pa.int64()]
        case Sum():
            summed = _summed(kinds[0])
            return None if summed is None else [summed]
        case Extreme() | FirstBy() if all(map(is_ordered, kinds)):
            return list(kinds)
        case _:
            return None


def _summed(kind: pa.DataType) -> pa.DataType | None:
    """The type of a partial sum; sums of doubles are exact, since they may take several rows."""
    if pa.types.is_floating(kind):
        return pa.float64()
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_decimal128(kind):
        return pa.decimal128(18 if kind.precision <= 18 else 38, kind.scale)
    return None

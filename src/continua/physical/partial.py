"""Partial aggregation where rows are read: which aggregations it serves, and what is left to do behind the exchange."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa

from continua.kernels.aggregate.aggregate_calls import AggregateSpec
from continua.kernels.aggregate.aggregation_plan import is_ordered
from continua.physical import nodes
from continua.windows.points import Points

_EXTREMES = {"BOOL_AND": "MIN", "BOOL_OR": "MAX", "MIN": "MIN", "MAX": "MAX"}
"""What a function of single values keeps of several."""


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


def partial(below: nodes.Node, keys: int, specs: Sequence[AggregateSpec], chronon: int) -> Merge | None:
    """Partial results of the rows of a node, where these are worth while and give the same answer."""
    if not specs or below.retracts or not _shares(below, chronon, bool(keys)):
        return None
    parts = _Parts(below.schema, keys)
    merged = [parts.merged(spec) for spec in specs]
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
class _Parts:
    """The partial results that calls need; equal ones are there once."""

    schema: pa.Schema
    keys: int
    specs: list[AggregateSpec] = field(default_factory=list)
    types: list[pa.DataType] = field(default_factory=list)
    _places: dict[AggregateSpec, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.types += [self.schema.field(key).type for key in range(self.keys)]

    def merged(self, spec: AggregateSpec) -> AggregateSpec | None:
        """The call that gives, of partial results, what a call gives of rows; None if there is none."""
        kinds = [self.schema.field(column).type for column in spec.arguments]
        match spec.name:
            case "MIN" | "MAX" | "BOOL_AND" | "BOOL_OR" as name if is_ordered(kinds[0]):
                return AggregateSpec(name, (self._place(_EXTREMES[name], spec.arguments, kinds),))
            case "MIN_BY" | "MAX_BY" as name if all(map(is_ordered, kinds)):
                place = self._place(name, spec.arguments, kinds)
                return AggregateSpec(name, (place, place + 1))
            case _ if spec.distinct:
                return None
            case "COUNT_ALL" | "COUNT" as name:
                return AggregateSpec("COUNT_MERGED", (self._place(name, spec.arguments, [pa.int64()]),))
            case "SUM" if _summed(kinds[0]):
                return AggregateSpec("SUM", (self._place("SUM", spec.arguments, [_summed(kinds[0])]),))
            case "AVG" if _summed(kinds[0]):
                sums = self._place("SUM", spec.arguments, [_summed(kinds[0])])
                return AggregateSpec("AVG_MERGED", (sums, self._place("COUNT", spec.arguments, [pa.int64()])))
            case _:
                return None

    def _place(self, name: str, arguments: tuple[int, ...], kinds: Sequence[pa.DataType]) -> int:
        """The first column of a partial result; it is added if it is not there."""
        spec = AggregateSpec(name, arguments)
        if spec not in self._places:
            self._places[spec] = len(self.types)
            self.specs.append(spec)
            self.types += kinds
        return self._places[spec]


def _summed(kind: pa.DataType) -> pa.DataType | None:
    """The type of a partial sum; sums of doubles are exact, since they may take several rows."""
    if pa.types.is_floating(kind):
        return pa.float64()
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_decimal128(kind):
        return pa.decimal128(18 if kind.precision <= 18 else 38, kind.scale)
    return None

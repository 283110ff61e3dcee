"""Rows that have the greatest or least value of their own relation: most of the others need not move.

``WHERE price = (SELECT MAX(price) FROM ...)`` over one and the same relation is a semijoin of its rows with their
greatest value. A row is no partner of it while another one of the same relation has a greater value. So of rows that
are valid for the same time only those with the greatest one have to be looked at, and that is seen where they are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from continua.kernels.aggregate.aggregate_calls import AggregateSpec
from continua.kernels.aggregate.partial_aggregation import width
from continua.kernels.aggregate.state_families import Extreme
from continua.kernels.words.columns import fixed_width, is_interned
from continua.physical import nodes
from continua.physical.partial import Partial


@dataclass(frozen=True)
class Leaders(nodes.Node):
    """Rows but for such that another one of the same time exceeds in a column, or falls short of."""

    stateful: ClassVar[bool] = False
    column: int
    greatest: bool

    @property
    def retracts(self) -> bool:
        return self.inputs[0].retracts

    @property
    def is_fed(self) -> bool:
        return False


def leading(
    first: nodes.Node, left_keys: tuple[int, ...], second: nodes.Node, right_keys: tuple[int, ...]
) -> nodes.Node:
    """The left side of a semijoin; where the right side is its greatest or least value, without rows that are not."""
    if len(left_keys) != 1 or not _has_order(first.schema.field(left_keys[0]).type):
        return first
    found = _extreme(second, right_keys[0])
    if found is None:
        return first
    greatest, of, column = found
    theirs = {(node.id, place) for node, place in _origins(of, column, whole=True)}
    for node, place in _origins(first, left_keys[0], whole=False):
        if (node.id, place) in theirs:
            certain = not node.retracts or isinstance(node, nodes.Aggregate)
            return Leaders(first.schema, (first,), left_keys[0], greatest) if certain else first
    return first


def _has_order(kind: pa.DataType) -> bool:
    """Whether values are one word each, in the order of integers."""
    return not is_interned(kind) and fixed_width(kind) == 1


def _extreme(node: nodes.Node, column: int) -> tuple[bool, nodes.Node, int] | None:
    """Of which node and column a column is the greatest value, or the least; None if of none."""
    while isinstance(node, nodes.Evaluate) and node.keeps_times and (place := node.passes[column]) is not None:
        node, column = node.inputs[0], place
    if not isinstance(node, nodes.Aggregate) or node.keys or not 0 <= column < len(node.specs):
        return None
    spec, below = node.specs[column], node.inputs[0]
    family = spec.family
    if not isinstance(family, Extreme):
        return None
    argument = spec.arguments[0]
    if isinstance(below, Partial):
        part = next(s for place, s in _placed(below) if place == argument)
        if part.family != family:
            return None
        below, argument = below.inputs[0], part.arguments[0]
    return family.greatest, below, argument


def _placed(node: Partial) -> Iterator[tuple[int, AggregateSpec]]:
    """The calls of partial results, each with its first column."""
    place = node.keys
    for spec in node.specs:
        yield place, spec
        place += width(spec)


def _origins(node: nodes.Node, column: int, whole: bool) -> Iterator[tuple[nodes.Node, int]]:
    """The nodes from which a column comes as it is, with the intervals of rows; with ``whole``, those of all rows."""
    while True:
        yield node, column
        match node:
            case nodes.Hold():
                node = node.inputs[0]
            case nodes.Evaluate() if node.whole or (node.keeps_times and not whole):
                place = node.passes[column]
                if place is None:
                    return
                node, column = node.inputs[0], place
            case _:
                return

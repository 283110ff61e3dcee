"""One aggregation for several queries: those that group the same rows by the same keys, whatever they compute of them.

A query that needs SUM and one that needs MAX of the same groups become two choices of columns from one operator. It
yields a row whenever one of its results changes; that a query's own columns did not is no change of its relation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from continua.algebra.expr import Expr
from continua.algebra.identity import identity
from continua.kernels.aggregate.aggregate_calls import AggregateSpec
from continua.physical import nodes
from continua.physical.placement import in_order
from continua.physical.steps import Step, column
from continua.types import UNKNOWN


@dataclass(frozen=True, slots=True)
class _Grouping:
    """An aggregation and what its keys and arguments are computed from."""

    node: nodes.Aggregate
    below: nodes.Node
    before: tuple[Step, ...]
    """What is done to the rows first."""
    last: Step
    """Its columns are the keys and arguments; intervals stay."""

    @property
    def rows(self) -> tuple[object, ...]:
        """What must be equal in aggregations that are merged: the rows, the keys, what an empty input yields."""
        keys = replace(self.last, columns=self.last.columns[: self.node.keys])
        return self.below.id, self.before, keys, self.node.empty_row, self.node.start

    @property
    def items(self) -> list[str]:
        """What the keys and arguments are, as texts that are equal for equal ones."""
        return list(map(identity, self.last.columns))


def with_merged_aggregations(graphs: Sequence[nodes.QueryResult]) -> list[nodes.QueryResult]:
    """The graphs of queries with such aggregations merged."""
    found: dict[tuple[object, ...], dict[str, _Grouping]] = {}
    for node in in_order(graphs):
        if isinstance(node, nodes.Aggregate) and (grouping := _grouping(node)) is not None:
            found.setdefault(grouping.rows, {})[node.id] = grouping
    changed: dict[str, nodes.Node] = {}
    for groupings in found.values():
        if len(groupings) > 1:
            changed.update(_merged(list(groupings.values())))
    return [_rebuilt(graph, changed) for graph in graphs] if changed else list(graphs)  # type: ignore[misc]


def _grouping(node: nodes.Aggregate) -> _Grouping | None:
    rows = node.inputs[0]
    if any(spec.user is not None for spec in node.specs):
        return None
    if isinstance(rows, nodes.Evaluate):
        *before, last = rows.steps
        return _Grouping(node, rows.inputs[0], tuple(before), last) if last.same_times else None
    if isinstance(rows, nodes.Source | nodes.Validity | nodes.Join | nodes.Aggregate):
        return _Grouping(node, rows, (), _picking(range(len(rows.schema))))
    return None


def _merged(groupings: list[_Grouping]) -> dict[str, nodes.Node]:
    """For each aggregation its choice of columns from the one that serves all."""
    first = groupings[0]
    keys = first.node.keys
    items: dict[str, tuple[pa.DataType, Expr]] = {}
    for grouping in groupings:
        types = grouping.node.inputs[0].schema.types
        for item, kind, expr in zip(grouping.items, types, grouping.last.columns, strict=True):
            items.setdefault(item, (kind, expr))
    places = {item: place for place, item in enumerate(items)}
    last = replace(first.last, columns=tuple(expr for _, expr in items.values()))
    schema = _schema(kind for kind, _ in items.values())
    rows = nodes.Evaluate(schema, (first.below,), (*first.before, last))
    specs: dict[AggregateSpec, pa.DataType] = {}
    chosen: dict[str, list[AggregateSpec]] = {}
    for grouping in groupings:
        mine = grouping.items
        results = grouping.node.schema.types[keys:]
        for spec, kind in zip(grouping.node.specs, results, strict=True):
            moved = replace(spec, arguments=tuple(places[mine[a]] for a in spec.arguments))
            specs.setdefault(moved, kind)
            chosen.setdefault(grouping.node.id, []).append(moved)
    schema = _schema([*first.node.schema.types[:keys], *specs.values()])
    together = replace(first.node, schema=schema, inputs=(rows,), specs=tuple(specs))
    order = {spec: keys + i for i, spec in enumerate(specs)}
    return {
        g.node.id: _picked(together, [*range(keys), *(order[s] for s in chosen.get(g.node.id, []))], g.node.schema)
        for g in groupings
    }


def _schema(kinds: Iterable[pa.DataType]) -> pa.Schema:
    return pa.schema([(f"c{i}", kind) for i, kind in enumerate(kinds)])


def _picked(below: nodes.Node, places: Sequence[int], schema: pa.Schema) -> nodes.Node:
    return nodes.Evaluate(schema, (below,), (_picking(places),))


def _picking(places: Iterable[int]) -> Step:
    """A step that picks columns; their types are those of the node that has them."""
    return Step(tuple(column(place, UNKNOWN) for place in places))


def _rebuilt(node: nodes.Node, changed: dict[str, nodes.Node]) -> nodes.Node:
    """A node over changed inputs; what is shared stays shared."""
    known = changed.get(node.id)
    if known is not None:
        return known
    inputs = tuple(_rebuilt(below, changed) for below in node.inputs)
    same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
    result = node if same else replace(node, inputs=inputs)
    changed[node.id] = result
    return result

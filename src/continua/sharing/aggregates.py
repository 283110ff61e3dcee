"""One aggregation for several queries: those that group the same rows by the same keys, whatever they compute of them.

A query that needs SUM and one that needs MAX of the same groups become two choices of columns from one operator. It
yields a row whenever one of its results changes; that a query's own columns did not is no change of its relation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from continua.kernels.aggregate_specs import AggregateSpec
from continua.physical import nodes
from continua.physical.stages import in_order
from continua.sqltext.expressions import in_duckdb


@dataclass(frozen=True, slots=True)
class _Grouping:
    """An aggregation and what its keys and arguments are computed from."""

    node: nodes.Aggregate
    below: nodes.Node
    items: tuple[str, ...]
    passes: tuple[int | None, ...]
    rest: str

    @property
    def rows(self) -> tuple[object, ...]:
        """What must be equal in aggregations that are merged: the rows, the keys, what an empty input yields."""
        keys = self.items[: self.node.keys]
        return self.below.id, self.rest, keys, self.node.empty_row, self.node.start


def with_merged_aggregations(sinks: Sequence[nodes.Sink]) -> list[nodes.Sink]:
    """The graphs of queries with such aggregations merged."""
    found: dict[tuple[object, ...], dict[str, _Grouping]] = {}
    for node in in_order(sinks):
        if isinstance(node, nodes.Aggregate) and (grouping := _grouping(node)) is not None:
            found.setdefault(grouping.rows, {})[node.id] = grouping
    changed: dict[str, nodes.Node] = {}
    for groupings in found.values():
        if len(groupings) > 1:
            changed.update(_merged(list(groupings.values())))
    return [_rebuilt(sink, changed) for sink in sinks] if changed else list(sinks)  # type: ignore[misc]


def _grouping(node: nodes.Aggregate) -> _Grouping | None:
    rows = node.inputs[0]
    if any(spec.user is not None for spec in node.specs):
        return None
    if isinstance(rows, nodes.Evaluate):
        return _Grouping(node, rows.inputs[0], rows.items, rows.passes, rows.rest) if rows.rest else None
    if isinstance(rows, nodes.Source | nodes.Validity | nodes.Join | nodes.Aggregate):
        columns = rows.schema.names
        return _Grouping(node, rows, tuple(f"`{c}`" for c in columns), tuple(range(len(columns))), "input")
    return None


def _merged(groupings: list[_Grouping]) -> dict[str, nodes.Node]:
    """For each aggregation its choice of columns from the one that serves all."""
    first = groupings[0]
    keys = first.node.keys
    items: dict[str, tuple[pa.DataType, int | None]] = {}
    for grouping in groupings:
        types = grouping.node.inputs[0].schema.types
        for item, kind, place in zip(grouping.items, types, grouping.passes, strict=True):
            items.setdefault(item, (kind, place))
    places = {item: place for place, item in enumerate(items)}
    kinds, passes = zip(*items.values(), strict=True) if items else ((), ())
    rows = _evaluate(first.below, list(items), kinds, passes, first.rest)
    specs: dict[AggregateSpec, pa.DataType] = {}
    chosen: dict[str, list[AggregateSpec]] = {}
    for grouping in groupings:
        results = grouping.node.schema.types[keys:]
        for spec, kind in zip(grouping.node.specs, results, strict=True):
            moved = replace(spec, arguments=tuple(places[grouping.items[a]] for a in spec.arguments))
            specs.setdefault(moved, kind)
            chosen.setdefault(grouping.node.id, []).append(moved)
    columns = enumerate([*first.node.schema.types[:keys], *specs.values()])
    schema = pa.schema([(f"c{i}", kind) for i, kind in columns])
    together = replace(first.node, schema=schema, inputs=(rows,), specs=tuple(specs))
    order = {spec: keys + i for i, spec in enumerate(specs)}
    return {
        g.node.id: _picked(together, [*range(keys), *(order[s] for s in chosen.get(g.node.id, []))], g.node.schema)
        for g in groupings
    }


def _evaluate(
    below: nodes.Node, items: Sequence[str], types: Sequence[pa.DataType], passes: Sequence[int | None], rest: str
) -> nodes.Node:
    columns = [f"{item} AS `c{i}`" for i, item in enumerate(items)]
    sql = f"SELECT {', '.join([*columns, nodes.SAME_TIMES])} FROM {rest}"
    schema = pa.schema([(f"c{i}", kind) for i, kind in enumerate(types)])
    whole = rest == "input" and None not in passes
    return nodes.Evaluate(schema, (below,), sql, in_duckdb(sql), tuple(passes), whole, tuple(items), rest)


def _picked(below: nodes.Node, places: Sequence[int], schema: pa.Schema) -> nodes.Node:
    return _evaluate(below, [f"`c{p}`" for p in places], schema.types, places, "input")


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

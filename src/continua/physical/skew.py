"""Keys that most rows have: their rows go to one partition, which then has more to do than the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from continua.physical import nodes
from continua.physical.distribution import ByKey
from continua.physical.partial import Partial
from continua.physical.placement import Placement

MUCH = 0.2
"""From this share of the rows on, a key is told."""
_ENOUGH = 100
"""So many rows have to be known."""


@dataclass(frozen=True, slots=True)
class Skew:
    """A key of a source by which rows move, and the share of its rows that have the most frequent value."""

    level: int
    source: str
    columns: tuple[int, ...]
    share: float
    partial: bool
    """Whether only partial results move, so that it does no harm."""


def skews(placement: Placement, rows: Mapping[str, pa.Table]) -> list[Skew]:
    """The keys by which rows move of which one value is frequent in some rows of the sources."""
    found: dict[Skew, None] = {}
    for number, level in enumerate(placement.levels):
        for channel in level.receives:
            if isinstance(channel.distribution, ByKey):
                for skew in _of(placement.nodes[channel.node], channel.distribution.columns, number, rows):
                    found[skew] = None
    return list(found)


def _of(node: nodes.Node, columns: tuple[int, ...], level: int, rows: Mapping[str, pa.Table]) -> Iterator[Skew]:
    source, places, partial = _origin(node, columns)
    table = rows.get(source)
    if table is None or not places or table.num_rows < _ENOUGH:
        return
    names = [str(i) for i in range(len(places))]
    chosen = pa.Table.from_arrays([table.column(p) for p in places], names=names)
    counts = chosen.group_by(names).aggregate([([], "count_all")]).column("count_all")
    share = max(counts.to_pylist()) / table.num_rows
    if share >= MUCH:
        yield Skew(level, source, places, share, partial)


def _origin(node: nodes.Node, columns: tuple[int, ...]) -> tuple[str, tuple[int, ...], bool]:
    """The source and its columns that some columns of a node are, if so; and whether they are of partial results."""
    partial = False
    while not isinstance(node, nodes.Source):
        match node:
            case nodes.Evaluate():
                passed = [node.passes[c] for c in columns]
            case Partial(keys=keys):
                partial, passed = True, [c if c < keys else None for c in columns]
            case nodes.Validity() | nodes.Hold():
                passed = list(columns)
            case _:
                return "", (), False
        if any(c is None for c in passed):
            return "", (), False
        columns, node = tuple(c for c in passed if c is not None), node.inputs[0]
    return node.name, columns, partial

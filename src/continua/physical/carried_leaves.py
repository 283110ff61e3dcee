"""Leaves whose content goes over to queries that join later: streams of rows that last, and tagged relations.

Such a query sees no earlier element of a stream, but rows that are still valid have elements at its start; and a
relation is what its modifications so far have made of it. So what there is at the start is fed as a table, and the
query goes on with the rows that start from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.leaves import Source, TaggedSource
from continua.algebra.relational import Window
from continua.algebra.streaming import RelationalView
from continua.algebra.traverse import nodes_of
from continua.windows.over_time import NOW


def leaf_key(plan: Plan) -> str | None:
    """What tells the content of a leaf from that of others; None where none goes over."""
    match plan:
        case Source(name=name, interval=True, checks=checks, sample=sample):
            marks = [c.told_as.casefold() for c in checks] + ([] if sample is None else [sample.text.casefold()])
            return " of ".join((*marks, name.casefold()))
        case RelationalView(input=TaggedSource(name=name), timestamp=timestamp):
            return name.casefold() if timestamp is None else f"{name.casefold()} stamped"
        case _:
            return None


def carried_leaves(plan: Plan, chronon: int) -> Iterator[tuple[str, str, Plan]]:
    """The leaves of a plan whose content goes over: their keys, the sources they are of, and plans for the content."""
    for node in nodes_of(plan):
        key = leaf_key(node)
        match node:
            case Source(name=name) if key is not None:
                yield key, name, Window(node, replace(NOW, size=chronon))
            case RelationalView(input=TaggedSource(name=name) as below, timestamp=timestamp) if key is not None:
                yield key, name, RelationalView(below, None, timestamp)

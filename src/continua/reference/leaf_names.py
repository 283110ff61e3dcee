"""By which names the leaves of a plan find what they read."""

from __future__ import annotations

from collections.abc import Iterable

from continua.algebra.base import Plan
from continua.algebra.leaves import BaseRelation, Source, TaggedSource
from continua.algebra.traverse import all_inputs


def input_name(leaf: Source | TaggedSource) -> str:
    """The name of what a leaf reads: that of its source, and what it has of it, if that is not all."""
    name = leaf.name.casefold()
    sample = leaf.sample if isinstance(leaf, Source) else None
    return f"{name} {leaf.checks!r} {sample!r}" if leaf.checks or sample else name


def used_inputs(plan: Plan) -> Iterable[Plan]:
    """The base streams, relations and tagged sources of a plan."""
    if isinstance(plan, Source | BaseRelation | TaggedSource):
        yield plan
    for part in all_inputs(plan):
        yield from used_inputs(part)

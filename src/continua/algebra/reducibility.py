"""Snapshot reducibility: the operators that do at every instant what their relational counterparts do at one."""

from __future__ import annotations

from collections.abc import Iterator

from continua.algebra.base import Kind, Plan, kind_of, remembered
from continua.algebra.monotonicity import uses_now
from continua.algebra.relational import (
    Aggregate,
    DuplicateElimination,
    Filter,
    Group,
    Join,
    Project,
    SetOperation,
    TopK,
)
from continua.algebra.streaming import Coalesce, Split
from continua.algebra.traverse import all_inputs, expressions_of

_STANDARD = (Filter, Project, Join, SetOperation, DuplicateElimination, Aggregate, TopK, Group, Split, Coalesce)


@remembered
def is_snapshot_reducible(plan: Plan) -> bool:
    """Whether the topmost operator is snapshot-reducible (PIPES 2009 definition 6.2, lemma 6.3).

    The standard operators are, unless they ask for the instant (NOW) or work on tags, which are no snapshots. Windows,
    everything between relations and streams, and the leaves are not. A subquery counts as one more input.
    """
    return (
        isinstance(plan, _STANDARD)
        and kind_of(plan) is not Kind.TAGGED
        and not any(uses_now(expr) for expr in expressions_of(plan))
    )


def snapshot_reducible_subplans(plan: Plan) -> list[Plan]:
    """The roots of the maximal parts in which conventional rules hold, from the leaves up (PIPES 2009, 6.4.1).

    A part starts at the first snapshot-reducible operator above a leaf or a window and ends below the first operator
    that is not.
    """
    return list(_roots(plan, above=False))


def _roots(plan: Plan, above: bool) -> Iterator[Plan]:
    own = is_snapshot_reducible(plan)
    for part in all_inputs(plan):
        yield from _roots(part, own)
    if own and not above:
        yield plan

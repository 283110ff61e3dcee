"""How the rows of a join come together: both sides by their keys, or one of them on every partition.

Without equalities there are no keys, and the lighter side goes everywhere, so that every partition has its part of the
pairs. With equalities it goes there if it is small and slow, and the other side can stay where it is then.
"""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.leaves import BaseRelation
from continua.algebra.traverse import nodes_of
from continua.physical import nodes
from continua.physical.distribution import Alone
from continua.physical.placement import Place, placement_of
from continua.physical.relation import Load, Relation
from continua.rules.cost import estimate
from continua.rules.rule import Facts

SEVERAL = 8
"""A row that is sent everywhere counts as so many: the number of partitions is not known when plans are made."""
MANY = 100_000
"""So many rows are not kept on every partition if that can be helped."""


def load_of(plan: Plan, facts: Facts, may_go_everywhere: bool = True) -> Load:
    """What is thought of a side of a join."""
    found = estimate(plan, facts)
    stored = (n.name.casefold() for n in nodes_of(plan) if isinstance(n, BaseRelation))
    return Load(found.size, found.rate, all(name in facts.statistics.rows for name in stored), may_go_everywhere)


def weight(side: Relation) -> tuple[bool, float, float]:
    """By this, sides are compared: those that can be held everywhere go by how fast they change."""
    return side.load.size > MANY, side.load.rate, side.load.size


def sent_everywhere(heavy: Relation, light: Relation, by_keys: nodes.Node) -> bool:
    """Whether one side of a join should be on every partition, instead of both by their keys."""
    if not light.load.may_go_everywhere:
        return False
    here, there = level_and_distribution(heavy.node), level_and_distribution(light.node)
    if any(isinstance(r, Alone) for r in by_keys.requires):
        return not (_is_alone(here) and _is_alone(there))
    moves = here.level > there.level and level_and_distribution(by_keys).level > here.level
    return moves and light.load.sure and light.load.size <= MANY and SEVERAL * light.load.rate <= heavy.load.rate


def level_and_distribution(node: nodes.Node) -> Place:
    """Where a node's rows are."""
    return placement_of([node]).places[node.id]


def _is_alone(place: Place) -> bool:
    return isinstance(place.distribution, Alone)

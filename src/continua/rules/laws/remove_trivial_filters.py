"""A condition that always holds, or that stands there twice, is left out: σ_TRUE(R) = R (PIPES 2009 lemma 6.7).

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT label FROM Category WHERE item_id > 1 AND TRUE AND item_id > 1"))
Filter Category.item_id > 1 AND TRUE AND Category.item_id > 1
└─ Relation Category
becomes
Filter Category.item_id > 1
└─ Relation Category
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.expr import Call, Expr, conjuncts
from continua.algebra.relational import Filter, Join
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import combined, filtered


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Filter(input=below, predicate=predicate) if _has_less(predicate):  # (1)
            return filtered(below, conjuncts(predicate))
        case Join(predicate=predicate) if predicate is not None and _has_less(predicate):  # (1)
            return replace(plan, predicate=combined(conjuncts(predicate)))
        case _:
            return None


def _has_less(predicate: Expr) -> bool:
    """Whether fewer parts are left of a condition without TRUE and what stands there twice."""
    return len(set(conjuncts(predicate))) < _parts(predicate)


def _parts(predicate: Expr) -> int:
    """How many parts a condition has."""
    match predicate:
        case Call(function="AND", arguments=arguments):
            return sum(map(_parts, arguments))
        case _:
            return 1


RULE = Rule(
    "remove_trivial_filters",
    "PIPES 2009 lemma 6.7: filter by TRUE",
    ("1. The condition of a filter or join is TRUE, has TRUE among its parts, or has a part twice.",),
    _rewrite,
    tops=(Filter, Join),
    conventional=True,
)

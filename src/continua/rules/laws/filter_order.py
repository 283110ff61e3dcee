"""Of several conditions the one is asked first that lets few rows through and costs little (PIPES 2009, lemma 6.7).

A condition with selectivity s and price c comes before another one where (1 - s) / c is greater.

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT name FROM Person [RANGE 60] WHERE name LIKE '%a%' AND state = 'OR'"))
Filter Person.name LIKE '%a%' AND Person.state = 'OR'
└─ Window [RANGE 60]
   └─ Source Person KEY Person.id
becomes
Filter Person.state = 'OR' AND Person.name LIKE '%a%'
└─ Window [RANGE 60]
   └─ Source Person KEY Person.id
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.expr import Expr, conjunction, conjuncts
from continua.algebra.relational import Filter
from continua.algebra.safety import cannot_fail
from continua.rules.cost import estimate
from continua.rules.rule import Facts, Rule
from continua.rules.selectivity import price, selectivity


def _rewrite(plan: Plan, facts: Facts) -> Plan | None:
    if not isinstance(plan, Filter):
        return None
    parts = conjuncts(plan.predicate)
    if len(parts) < 2:
        return None
    distinct, measured = estimate(plan.input, facts).distinct, facts.statistics.conditions
    passes = {part: selectivity(part, distinct, measured) for part in parts}
    ordered = _ordered(parts, passes)
    if _price(ordered, passes) > 0.9 * _price(parts, passes):  # (2)
        return None
    predicate = conjunction(ordered)
    assert predicate is not None
    return replace(plan, predicate=predicate)


def _ordered(parts: Sequence[Expr], passes: Mapping[Expr, float]) -> list[Expr]:
    """The best ones first; one that can fail stays behind those that guard it."""
    ranks = [(1 - passes[p]) / max(price(p), 0.1) for p in parts]
    safe = [cannot_fail(p) for p in parts]
    left = list(range(len(parts)))
    found: list[Expr] = []
    while left:
        free = [i for i in left if safe[i] or i == left[0]]  # (1)
        best = max(free, key=lambda i: (ranks[i], -i))
        left.remove(best)
        found.append(parts[best])
    return found


def _price(parts: Sequence[Expr], passes: Mapping[Expr, float]) -> float:
    """What a row costs on average: a condition is asked where those before it hold."""
    total, reached = 0.0, 1.0
    for part in parts:
        total += reached * price(part)
        reached *= passes[part]
    return total


RULE = Rule(
    "filter_order",
    "PIPES 2009 lemma 6.7: a conjunction is the same in any order",
    (
        "1. No condition that can fail is asked of rows of which it was not asked before.",
        "2. The estimated price of a row drops by a tenth at least.",
    ),
    _rewrite,
    tops=(Filter,),
    conventional=True,
)

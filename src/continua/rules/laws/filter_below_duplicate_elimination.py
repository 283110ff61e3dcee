"""A filter over duplicate elimination may stand below it: σ_p(δ(R)) = δ(σ_p(R)) (PIPES 2009 lemma 6.7).

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT q.a FROM (SELECT DISTINCT item_id AS a FROM Bid [RANGE 9]) AS q WHERE q.a > 1"))
Filter q.a > 1
└─ DuplicateElimination
   └─ Map Bid.item_id AS q.a
      └─ Window [RANGE 9]
         └─ Source Bid
becomes
DuplicateElimination
└─ Filter q.a > 1
   └─ Map Bid.item_id AS q.a
      └─ Window [RANGE 9]
         └─ Source Bid
"""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.expr import conjuncts
from continua.algebra.relational import DuplicateElimination, Filter
from continua.algebra.safety import cannot_fail
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import divided, filtered


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Filter(input=DuplicateElimination(input=below), predicate=predicate):
            moved, kept = divided(conjuncts(predicate), cannot_fail)  # (1)
            return filtered(DuplicateElimination(filtered(below, moved)), kept) if moved else None
        case _:
            return None


RULE = Rule(
    "filter_below_duplicate_elimination",
    "PIPES 2009 lemma 6.7: filter and duplicate elimination",
    ("1. The condition cannot fail and is the same of equal rows: 0.0 and -0.0 are equal, their texts are not.",),
    _rewrite,
    tops=(Filter,),
    conventional=True,
)

"""Subqueries in conditions become joins: IN a semijoin, NOT IN the null-aware antijoin (Dayal's cases; PIPES 2009 5.3).

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT label FROM Category WHERE item_id NOT IN (SELECT item_id FROM Close)"))
Map Category.label AS label
└─ Filter Category.item_id NOT IN (subquery 1)
   ├─ Relation Category
   └─ subquery 1: Map Close.item_id AS sub.item_id
      └─ Window [RANGE UNBOUNDED]
         └─ Source Close KEY Close.item_id
becomes
Map Category.label AS label
└─ NullAwareAntijoin NULL-AWARE Category.item_id = sub.item_id
   ├─ Relation Category
   └─ Map Close.item_id AS sub.item_id
      └─ Window [RANGE UNBOUNDED]
         └─ Source Close KEY Close.item_id
"""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.traverse import has_subplans
from continua.algebra.unnest import unnest
from continua.rules.rule import Facts, Rule


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    return unnest(plan) if has_subplans(plan) else None  # (1), (2): unnest frees them


RULE = Rule(
    "subquery_decorrelation",
    "Dayal's cases, PIPES 2009 5.3 and lemma 6.7: flattening of subqueries",
    (
        "1. The plan has subqueries in expressions; all of them become joins at once, so that new names are unique.",
        "2. A subquery that names columns of the query around it is freed of them: its conditions are pulled up, or it "
        "is an extreme that is found for all values at once, or it is computed for every combination of these columns "
        "that there is.",
    ),
    _rewrite,
    required=True,
)
"""It starts at the root of a plan, whatever that is; the joins that it makes are snapshot-reducible."""

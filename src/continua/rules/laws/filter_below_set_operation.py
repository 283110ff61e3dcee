"""A filter over a difference or intersection may stand on both sides: σ_p(R − S) = σ_p(R) − σ_p(S).

PIPES 2009 lemma 6.7, as all conventional rules.

>>> from continua.rules.examples import shown
>>> query = "SELECT q.a FROM (SELECT item_id AS a FROM Open EXCEPT ALL SELECT item_id FROM Close) AS q WHERE q.a > 1"
>>> print(shown(RULE, query))
Filter q.a > 1
└─ Difference
   ├─ Map Open.item_id AS q.a
   │  └─ Window [RANGE UNBOUNDED]
   │     └─ Source Open KEY Open.item_id
   └─ Map Close.item_id AS right.item_id
      └─ Window [RANGE UNBOUNDED]
         └─ Source Close KEY Close.item_id
becomes
Difference
├─ Filter q.a > 1
│  └─ Map Open.item_id AS q.a
│     └─ Window [RANGE UNBOUNDED]
│        └─ Source Open KEY Open.item_id
└─ Filter right.item_id > 1
   └─ Map Close.item_id AS right.item_id
      └─ Window [RANGE UNBOUNDED]
         └─ Source Close KEY Close.item_id
"""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.expr import conjuncts
from continua.algebra.relational import Filter, SetOperation, SetOperator
from continua.algebra.safety import cannot_fail
from continua.rules.laws.filter_below_union import keeps_types, on_both_sides
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import divided, filtered


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Filter(input=SetOperation(operator=operator) as below, predicate=predicate):
            if operator is SetOperator.UNION:  # (3)
                return None
            moved, kept = divided(
                conjuncts(predicate),
                lambda part: cannot_fail(part) and keeps_types(part, below),  # (1), (2)
            )
            return filtered(on_both_sides(below, moved), kept) if moved else None
        case _:
            return None


RULE = Rule(
    "filter_below_set_operation",
    "PIPES 2009 lemma 6.7: filter and difference, intersection; with and without duplicates",
    (
        "1. The condition cannot fail: it is asked of rows that the other side takes away.",
        "2. It uses columns, and these have the same types on both sides.",
        "3. It is no union: for that there is a rule of its own, which asks for less.",
    ),
    _rewrite,
    tops=(Filter,),
    conventional=True,
)

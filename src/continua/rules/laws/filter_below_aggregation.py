"""A condition on grouping keys is asked before grouping: σ_p(γ_k(R)) = γ_k(σ_p(R)) for p on k (PIPES 2009 lemma 6.7).

>>> from continua.rules.examples import shown
>>> query = "SELECT item_id FROM Bid [RANGE 9] GROUP BY item_id HAVING item_id > 1 AND COUNT(*) > 2"
>>> print(shown(RULE, query))
Filter Bid.item_id > 1 AND count > 2
└─ Grouping COUNT(*) AS count BY Bid.item_id
   └─ Window [RANGE 9]
      └─ Source Bid
becomes
Filter count > 2
└─ Grouping COUNT(*) AS count BY Bid.item_id
   └─ Filter Bid.item_id > 1
      └─ Window [RANGE 9]
         └─ Source Bid
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.expr import conjuncts
from continua.algebra.relational import Aggregate, Filter
from continua.algebra.safety import cannot_fail
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import divided, filtered, substituted, uses_only


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Filter(input=Aggregate(input=below, keys=keys) as grouping, predicate=predicate):
            computed = dict(keys)
            moved, kept = divided(
                conjuncts(predicate),
                # (1), (2), (3): what uses keys, and only these, needs that there are some
                lambda part: uses_only(part, computed) and cannot_fail(substituted(part, computed)),
            )
            if not moved:
                return None
            lower = filtered(below, [substituted(part, computed) for part in moved])
            return filtered(replace(grouping, input=lower), kept)
        case _:
            return None


RULE = Rule(
    "filter_below_aggregation",
    "PIPES 2009 lemma 6.7: filter and grouping",
    (
        "1. The condition is on grouping keys alone: a group is kept or dropped as a whole.",
        "2. There are keys: a scalar aggregation has a row for no rows.",
        "3. The condition cannot fail, and the keys in it do not ask for NOW.",
    ),
    _rewrite,
    tops=(Filter,),
    conventional=True,
)

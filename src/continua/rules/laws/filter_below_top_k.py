"""A condition on the partition of a top-k is asked before it: other partitions stay as they are (PIPES 2009 lemma 6.7).

No query is bound to a filter over such a top-k; it comes from conditions that meet a correlated LIMIT.

>>> from continua.algebra.expr import Call, Literal
>>> from continua.algebra.relational import Filter, TopK
>>> from continua.algebra.printer import tree
>>> from continua.rules.examples import plan_of
>>> from continua.types import BOOLEAN, INT
>>> relation = plan_of("SELECT item_id, price FROM Bid [NOW]")
>>> item = relation.schema.fields[0].column
>>> before = Filter(TopK(relation, (), 2, 0, (item,)), Call(">", (item, Literal(1, INT)), BOOLEAN))
>>> print(tree(before))
Filter item_id > 1
└─ Limit LIMIT 2 PARTITION BY item_id
   └─ Map Bid.item_id AS item_id, Bid.price AS price
      └─ Window [NOW]
         └─ Source Bid
>>> print(tree(RULE.rewrite(before, Facts())))
Limit LIMIT 2 PARTITION BY item_id
└─ Filter item_id > 1
   └─ Map Bid.item_id AS item_id, Bid.price AS price
      └─ Window [NOW]
         └─ Source Bid
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.expr import Column, conjuncts
from continua.algebra.relational import Filter, TopK
from continua.algebra.safety import cannot_fail
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import divided, filtered, uses_only


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Filter(input=TopK(input=below, partition=partition) as top, predicate=predicate):
            columns = [e.name for e in partition if isinstance(e, Column)]
            moved, kept = divided(
                conjuncts(predicate),
                lambda part: cannot_fail(part) and uses_only(part, columns),  # (1), (2)
            )
            return filtered(replace(top, input=filtered(below, moved)), kept) if moved else None
        case _:
            return None


RULE = Rule(
    "filter_below_top_k",
    "PIPES 2009 lemma 6.7: filter and top-k",
    (
        "1. The condition is on columns of the partition alone: it keeps a partition or drops it as a whole.",
        "2. It cannot fail.",
    ),
    _rewrite,
    tops=(Filter,),
    conventional=True,
)

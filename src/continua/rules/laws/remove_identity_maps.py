"""A map that gives every row as it is does nothing: μ_id(R) = R (PIPES 2009 lemma 6.7).

>>> from continua.rules.examples import shown
>>> from continua.rules.laws.mark_to_semijoin import RULE as MARK_TO_SEMIJOIN
>>> query = "SELECT COUNT(*) FROM Category WHERE (item_id IN (SELECT item_id FROM Close)) IS TRUE"
>>> print(shown(RULE, query, first=(MARK_TO_SEMIJOIN,)))
Map Category.item_id, Category.label
└─ Semijoin Category.item_id = sub.item_id
   ├─ Relation Category
   └─ Map Close.item_id AS sub.item_id
      └─ Window [RANGE UNBOUNDED]
         └─ Source Close KEY Close.item_id
becomes
Semijoin Category.item_id = sub.item_id
├─ Relation Category
└─ Map Close.item_id AS sub.item_id
   └─ Window [RANGE UNBOUNDED]
      └─ Source Close KEY Close.item_id
"""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.expr import Column
from continua.algebra.relational import Project
from continua.rules.rule import Facts, Rule


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Project(input=below, outputs=outputs) if plan.schema.names == below.schema.names:  # (1)
            same = all(isinstance(e, Column) and e.name == name for name, e in outputs)  # (1)
            alike = plan.schema.types == below.schema.types and not any(f.hidden for f in below.schema)  # (1), (2)
            return below if same and alike else None
        case _:
            return None


RULE = Rule(
    "remove_identity_maps",
    "PIPES 2009 lemma 6.7: the identity map",
    (
        "1. The map hands on all columns, in their order, under their names, with their types.",
        "2. None of them is a hidden one: the map makes it visible.",
    ),
    _rewrite,
    tops=(Project,),
    conventional=True,
)

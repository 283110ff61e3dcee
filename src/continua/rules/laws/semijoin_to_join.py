"""A semijoin whose rows have one partner at most is a join: R ⋉_θ S = π_R(R ⋈_θ S) (PIPES 2009 lemma 6.7).

A semijoin by more than equalities is a join whose pairs are compared with all rows of the left side once more, since a
row may have several partners. Where it has only one there is nothing to be compared.

>>> from continua.rules.examples import shown
>>> from continua.rules.laws.subquery_decorrelation import RULE as SUBQUERY_DECORRELATION
>>> least = "SELECT MIN(price) FROM Bid [NOW] AS b WHERE b.item_id = c.item_id"
>>> query = f"SELECT label FROM Category AS c WHERE item_id > ({least})"
>>> print(shown(RULE, query, first=(SUBQUERY_DECORRELATION,)))
Semijoin c.item_id = `key#1` AND c.item_id > `sub.min(price)`
├─ Relation Category AS c
└─ Map min AS `sub.min(price)`, `key#1`
   └─ Grouping MIN(b.price) AS min BY `key#1`
      └─ Map b.item_id, b.bidder_id, b.price, b.ts, b.item_id AS `key#1`
         └─ Window [NOW]
            └─ Source Bid AS b
becomes
Map c.item_id, c.label
└─ Join c.item_id = `key#1` AND c.item_id > `sub.min(price)`
   ├─ Relation Category AS c
   └─ Map min AS `sub.min(price)`, `key#1`
      └─ Grouping MIN(b.price) AS min BY `key#1`
         └─ Map b.item_id, b.bidder_id, b.price, b.ts, b.item_id AS `key#1`
            └─ Window [NOW]
               └─ Source Bid AS b
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.expr import Call, Column, Expr, conjuncts
from continua.algebra.keys import keys
from continua.algebra.relational import Join, JoinKind, Project
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import uses_only


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Join(join=JoinKind.SEMI, left=left, right=right, predicate=predicate):
            parts = conjuncts(predicate)
            equated = [_partner(part, left, right) for part in parts]
            if None not in equated:  # (1)
                return None
            known = frozenset(name for name in equated if name is not None)
            if not any(key <= known for key in keys(right)):  # (2)
                return None
            pairs = replace(plan, join=JoinKind.INNER)
            return Project(pairs, tuple((f.name, f.column) for f in left.schema))
        case _:
            return None


def _partner(part: Expr, left: Plan, right: Plan) -> str | None:
    """The column of the right side that a condition equates with something of the left one."""
    match part:
        case Call(function="=", arguments=(a, b)):
            for one, other in ((a, b), (b, a)):
                if isinstance(other, Column) and other.name in right.schema.names and uses_only(one, left.schema.names):
                    return other.name
        case _:
            pass
    return None


RULE = Rule(
    "semijoin_to_join",
    "PIPES 2009 lemma 6.7: semijoin and join",
    (
        "1. A condition is asked besides equalities of columns of the right side with something of the left one: by "
        "equalities alone a semijoin keeps less.",
        "2. At every instant a row has one partner at most: columns that are equated are a key of the right side.",
    ),
    _rewrite,
    tops=(Join,),
    conventional=True,
)

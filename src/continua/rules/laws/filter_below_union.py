"""A filter over a union may stand on both sides: σ_p(R ∪ S) = σ_p(R) ∪ σ_p(S) (PIPES 2009 rule (10)).

>>> from continua.rules.examples import shown
>>> query = "SELECT q.a FROM (SELECT item_id AS a FROM Open UNION ALL SELECT item_id FROM Close) AS q WHERE q.a > 1"
>>> print(shown(RULE, query))
Filter q.a > 1
└─ Union
   ├─ Map Open.item_id AS q.a
   │  └─ Window [RANGE UNBOUNDED]
   │     └─ Source Open KEY Open.item_id
   └─ Map Close.item_id AS right.item_id
      └─ Window [RANGE UNBOUNDED]
         └─ Source Close KEY Close.item_id
becomes
Union
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

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.expr import Expr, columns_of, conjuncts, has_subquery
from continua.algebra.relational import Filter, SetOperation, SetOperator
from continua.algebra.safety import cannot_fail, going_first
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import filtered, substituted


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Filter(input=SetOperation(operator=SetOperator.UNION) as union, predicate=predicate):
            moved, kept = going_first(conjuncts(predicate), lambda part: _fits(part, union))  # (2)
            return filtered(on_both_sides(union, moved), kept) if moved else None
        case _:
            return None


def _fits(part: Expr, union: SetOperation) -> bool:
    return (
        keeps_types(part, union)  # (1)
        and not has_subquery(part)  # (4)
        and (not union.distinct or cannot_fail(part))  # (3)
    )


def keeps_types(part: Expr, plan: SetOperation) -> bool:
    """Whether a condition uses columns, and these have on both sides the type that they have in the result."""
    used = columns_of(part)
    columns = zip(plan.schema, plan.left.schema, plan.right.schema, strict=True)
    return bool(used) and all(whole.type == a.type == b.type for whole, a, b in columns if whole.name in used)


def on_both_sides(plan: SetOperation, parts: list[Expr]) -> Plan:
    """The operation on rows that meet the conditions; the columns of the right side go by their places."""
    names = {a.name: b.column for a, b in zip(plan.schema, plan.right.schema, strict=True)}
    right = filtered(plan.right, [substituted(part, names) for part in parts])
    return replace(plan, left=filtered(plan.left, parts), right=right)


RULE = Rule(
    "filter_below_union",
    "PIPES 2009 rule (10)",
    (
        "1. The condition uses columns, and these have the same types on both sides: it means the same of both.",
        "2. It cannot fail, or all conditions before it move too: every row is asked, before and after.",
        "3. Over a union without duplicates it cannot fail, and so is a function of values alone.",
        "4. It holds no subquery.",
    ),
    _rewrite,
    tops=(Filter,),
    conventional=True,
)

"""A condition on one side of a join is asked there: σ_p(R ⋈ S) = σ_p(R) ⋈ S (PIPES 2009 lemma 6.7, PIPES 2005 5.3).

>>> from continua.rules.examples import shown
>>> query = "SELECT name FROM Bid [NOW], Person WHERE id = bidder_id AND price > 9 AND state = 'CA'"
>>> print(shown(RULE, query))
Filter Person.id = Bid.bidder_id AND Bid.price > 9 AND Person.state = 'CA'
└─ Product
   ├─ Window [NOW]
   │  └─ Source Bid
   └─ Window [RANGE UNBOUNDED]
      └─ Source Person KEY Person.id
becomes
Join Person.id = Bid.bidder_id
├─ Filter Bid.price > 9
│  └─ Window [NOW]
│     └─ Source Bid
└─ Filter Person.state = 'CA'
   └─ Window [RANGE UNBOUNDED]
      └─ Source Person KEY Person.id
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.expr import Expr, conjuncts
from continua.algebra.relational import Filter, Join, JoinKind
from continua.algebra.safety import cannot_fail
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import combined, divided, filtered, uses_only

_LEFT_ONLY = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.NULL_AWARE_ANTI, JoinKind.MARK)
"""Joins that hand on columns of their left side alone."""
_MATCHING = (JoinKind.INNER, JoinKind.SEMI)
"""Joins whose rows all satisfy the join's own condition."""


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Filter(input=Join(join=JoinKind.INNER) as join, predicate=predicate):
            inside, kept = divided(
                conjuncts(predicate),
                lambda part: cannot_fail(part) and uses_only(part, join.schema.names),  # (1), (2)
            )
            if not inside:
                return None
            whole = replace(join, predicate=combined((*conjuncts(join.predicate), *inside)))
            return filtered(_sides(whole) or whole, kept)
        case Filter(input=Join(join=kind) as join, predicate=predicate) if kind in _LEFT_ONLY:  # (3)
            moved, kept = divided(conjuncts(predicate), lambda part: _movable(part, join.left))
            return filtered(replace(join, left=filtered(join.left, moved)), kept) if moved else None
        case Join():
            return _sides(plan)
        case _:
            return None


def _sides(join: Join) -> Plan | None:
    """The join with those parts of its own condition on one side that use columns of that side only."""
    parts: list[Expr] = list(conjuncts(join.predicate))
    left: list[Expr] = []
    right: list[Expr] = []
    if join.join in _MATCHING:  # (2), (3)
        left, parts = divided(parts, lambda part: _movable(part, join.left))
    if join.join in (*_MATCHING, JoinKind.ANTI, JoinKind.NULL_AWARE_ANTI):  # (2), (3)
        right, parts = divided(parts, lambda part: _movable(part, join.right))
    if not left and not right:
        return None
    sides = filtered(join.left, left), filtered(join.right, right)
    return replace(join, left=sides[0], right=sides[1], predicate=combined(parts))


def _movable(part: Expr, side: Plan) -> bool:
    return cannot_fail(part) and uses_only(part, side.schema.names)  # (1), (2), (3)


RULE = Rule(
    "filter_below_join",
    "PIPES 2009 lemma 6.7, PIPES 2005 5.3: filter and join",
    (
        "1. The condition cannot fail: it is asked of rows that may have no partner.",
        "2. Inner join: it moves to the side whose columns it uses, or becomes part of the join's condition.",
        "3. Semijoin, antijoin and mark join: a filter above moves to the left side. A part of the join's condition "
        "on the right moves there (not of a mark join: NULL is not FALSE), one on the left only of a semijoin.",
    ),
    _rewrite,
    tops=(Filter, Join),
    conventional=True,
)

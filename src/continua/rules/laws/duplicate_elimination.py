"""δ(R × S) = δ(R) × δ(S) (PIPES 2009 rule (11)); and it is left out where there are no duplicates, or none matter.

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT DISTINCT item_id, seller_id FROM Open [RANGE 9]"))
DuplicateElimination
└─ Map Open.item_id AS item_id, Open.seller_id AS seller_id
   └─ Window [RANGE 9]
      └─ Source Open KEY Open.item_id
becomes
Map Open.item_id AS item_id, Open.seller_id AS seller_id
└─ Window [RANGE 9]
   └─ Source Open KEY Open.item_id
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.expr import Column
from continua.algebra.keys import keys
from continua.algebra.relational import DuplicateElimination, Join, JoinKind, Project, SetOperation, SetOperator
from continua.algebra.safety import cannot_fail
from continua.algebra.traverse import expressions_of
from continua.rules.rule import Facts, Rule

_EXISTENCE = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.NULL_AWARE_ANTI, JoinKind.MARK)
"""Joins that ask whether there is a partner, not how many there are."""
_BAG_UNIONS = (SetOperator.UNION, SetOperator.MAX_UNION)


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Join(join=kind, right=DuplicateElimination(input=right)) if kind in _EXISTENCE and _by_value(plan):  # (1)
            return replace(plan, right=right)
        case DuplicateElimination(input=below):
            return below if keys(below) else _over(below)  # (2)
        case _:
            return None


def _over(below: Plan) -> Plan | None:
    match below:
        case Join(join=JoinKind.INNER, left=left, right=right) if _by_value(below):  # (1)
            return replace(below, left=DuplicateElimination(left), right=DuplicateElimination(right))
        case Join(join=kind, left=left) if kind in _EXISTENCE and _by_value(below):  # (1)
            return replace(below, left=DuplicateElimination(left))
        case Project(input=source, outputs=outputs) if _renames_all(below):  # (4)
            return Project(DuplicateElimination(source), outputs)
        case SetOperation(operator=operator, left=left, right=right) if operator in _BAG_UNIONS:  # (3)
            sides = tuple(s.input if isinstance(s, DuplicateElimination) else s for s in (left, right))
            plain = replace(below, left=sides[0], right=sides[1])
            return DuplicateElimination(plain) if sides != (left, right) else None
        case SetOperation(operator=SetOperator.INTERSECTION | SetOperator.STRICT_DIFFERENCE):  # (3)
            return replace(below, distinct=True)
        case _:
            return None


def _by_value(join: Join) -> bool:
    """Whether equal rows meet the same partners."""
    return all(map(cannot_fail, expressions_of(join)))


def _renames_all(plan: Project) -> bool:
    """Whether different rows stay different because every column is handed on."""
    kept = {e.name for _, e in plan.outputs if isinstance(e, Column)}
    return len(kept) == len(plan.outputs) and kept == set(plan.input.schema.names)


RULE = Rule(
    "duplicate_elimination",
    "PIPES 2009 rule (11), lemma 6.7",
    (
        "1. Over an inner join it moves to both sides, over a semijoin, antijoin or mark join to the left one. The "
        "condition cannot fail, and so is a function of values. On the right side of the latter duplicates do not "
        "matter, and it is left out.",
        "2. Over a relation with a key it is left out: there are no duplicates.",
        "3. Over a union it is left out on the sides. An intersection or strict difference of bags becomes that of "
        "sets, not so a difference of bags: a row that is taken away once may be left.",
        "4. Over a map it moves below, if that hands on every column once.",
    ),
    _rewrite,
    tops=(Join, DuplicateElimination),
    conventional=True,
)

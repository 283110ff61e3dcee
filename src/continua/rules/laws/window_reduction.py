"""Window reduction: what enters an unbounded window is what is in it now (CQL 7.2.1).

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT ISTREAM(*) FROM Open [RANGE UNBOUNDED] WHERE start_price > 100"))
Istream
└─ Map Open.item_id AS item_id, Open.seller_id AS seller_id, Open.start_price AS start_price
   └─ Filter Open.start_price > 100
      └─ Window [RANGE UNBOUNDED]
         └─ Source Open KEY Open.item_id
becomes
Rstream
└─ Map Open.item_id AS item_id, Open.seller_id AS seller_id, Open.start_price AS start_price
   └─ Filter Open.start_price > 100
      └─ Window [NOW]
         └─ Source Open KEY Open.item_id
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.instant_rows import has_moments, is_momentary
from continua.algebra.leaves import BaseRelation, Values
from continua.algebra.relational import (
    Aggregate,
    DuplicateElimination,
    Filter,
    Group,
    Join,
    JoinKind,
    Project,
    SetOperation,
    SetOperator,
    TopK,
    Window,
)
from continua.algebra.streaming import StreamOperator, ToStream
from continua.rules.conditions import now_spec, of_the_row
from continua.rules.rule import Facts, Rule

_OF_LEFT_ROWS = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.NULL_AWARE_ANTI, JoinKind.LEFT, JoinKind.MARK, JoinKind.SINGLE)
"""Joins that make of each left row something that depends on the right side alone."""
_OPERATORS = (Filter, Project, Group, Join, SetOperation, DuplicateElimination, Aggregate, TopK)
"""What may stand over stored relations in a part that never changes."""


def _rewrite(plan: Plan, facts: Facts) -> Plan | None:
    match plan:
        case ToStream(operator=StreamOperator.ISTREAM, input=below):
            reduced = _reduced(below, facts)
            if reduced is None or not is_momentary(reduced, facts.chronon):  # (4)
                return None
            return ToStream(StreamOperator.RSTREAM, reduced)
        case _:
            return None


def _reduced(plan: Plan, facts: Facts) -> Plan | None:
    """What a relation that only grows gains at each instant: the same over now-windows; None where that is not so."""
    if not of_the_row(plan):  # (2)
        return None
    match plan:  # (1)
        case Window(input=stream, spec=spec) if spec.holds_everything and has_moments(
            stream, facts.chronon
        ):  # (3), (4)
            return replace(plan, spec=now_spec(facts.chronon))
        case Filter(input=below) | Project(input=below) | Group(input=below):
            reduced = _reduced(below, facts)
            return None if reduced is None else replace(plan, input=reduced)
        case SetOperation(operator=SetOperator.UNION, distinct=False, left=left, right=right):
            first, second = _reduced(left, facts), _reduced(right, facts)
            return replace(plan, left=first, right=second) if first is not None and second is not None else None
        case Join(join=kind, left=left, right=right) if never_changes(right):  # (1)
            reduced = _reduced(left, facts) if kind is JoinKind.INNER or kind in _OF_LEFT_ROWS else None  # (1)
            return None if reduced is None else replace(plan, left=reduced)
        case Join(join=JoinKind.INNER, left=left, right=right) if never_changes(left):  # (1)
            reduced = _reduced(right, facts)
            return None if reduced is None else replace(plan, right=reduced)
        case _:
            return None


def never_changes(plan: Plan) -> bool:
    """Whether it is made of stored relations and constants alone, and does not ask for the instant."""
    if isinstance(plan, BaseRelation | Values):
        return True
    return isinstance(plan, _OPERATORS) and of_the_row(plan) and all(map(never_changes, plan.inputs))  # (1), (2)


RULE = Rule(
    "window_reduction",
    "CQL 7.2.1",
    (
        "1. Istream stands over filters, maps and bag unions of windows, or over their joins with parts that never "
        "change; in an antijoin or outer join these parts are on the other side.",
        "2. Nothing in them asks for NOW.",
        "3. The windows are unbounded: no element leaves them, so that what is new in them is what has just come.",
        "4. No element of the streams lasts: each comes once.",
    ),
    _rewrite,
    tops=(ToStream,),
)

"""Istream(R) = Rstream(R) where no row of R was there an instant before (CQL 7.2.1, footnote 4).

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT ISTREAM(item_id, start_price) FROM Open [NOW]"))
Istream
└─ Map Open.item_id AS item_id, Open.start_price AS start_price
   └─ Window [NOW]
      └─ Source Open KEY Open.item_id
becomes
Rstream
└─ Map Open.item_id AS item_id, Open.start_price AS start_price
   └─ Window [NOW]
      └─ Source Open KEY Open.item_id
"""

from __future__ import annotations

from collections.abc import Iterable

from continua.algebra.base import Plan
from continua.algebra.expr import Column, Expr
from continua.algebra.instant_rows import has_moments, is_momentary
from continua.algebra.keys import NO_KEYS, Keys, keys
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
from continua.algebra.synchronization import synchronization
from continua.rules.rule import Facts, Rule
from continua.windows.over_time import UNBOUNDED


def _rewrite(plan: Plan, facts: Facts) -> Plan | None:
    match plan:
        case ToStream(operator=StreamOperator.ISTREAM, input=below):
            momentary = is_momentary(below, facts.chronon) and not synchronization(below).is_synchronized  # (1)
            disjoint = momentary and bool(passing_keys(below, facts.chronon))  # (2)
            return ToStream(StreamOperator.RSTREAM, below) if disjoint else None
        case _:
            return None


def passing_keys(plan: Plan, chronon: int) -> Keys:
    """Sets of columns whose values, when a row has them at one instant, no row has at any other."""
    match plan:
        case Window(input=stream, spec=spec) if spec.is_now(chronon) and has_moments(stream, chronon):  # (1)
            return keys(Window(stream, UNBOUNDED))  # (2): a key of all elements, not only of those of one instant
        case Filter(input=below) | Group(input=below) | DuplicateElimination(input=below) | TopK(input=below):
            return passing_keys(below, chronon)
        case Project(input=below, outputs=outputs) | Aggregate(input=below, keys=outputs):
            return _kept(passing_keys(below, chronon), outputs)
        case Join(join=JoinKind.INNER, left=left, right=right):
            return passing_keys(left, chronon) | passing_keys(right, chronon)
        case Join(join=join, left=left) if join not in (JoinKind.RIGHT, JoinKind.FULL):
            return passing_keys(left, chronon)
        case SetOperation(operator=operator, left=left) if operator not in (SetOperator.UNION, SetOperator.MAX_UNION):
            # (2): a column that is widened can make different values equal
            same = {a.name for a, b in zip(left.schema, plan.schema, strict=True) if a.type == b.type}
            return frozenset(key for key in passing_keys(left, chronon) if key <= same)
        case _:
            return NO_KEYS


def _kept(found: Keys, outputs: Iterable[tuple[str, Expr]]) -> Keys:
    """The keys all of whose columns are handed on, under their new names."""
    names = {e.name: name for name, e in outputs if isinstance(e, Column)}
    return frozenset(frozenset(names[c] for c in key) for key in found if key <= names.keys())


RULE = Rule(
    "istream_of_disjoint",
    "CQL 7.2.1, footnote 4",
    (
        "1. Every row is there for one instant: the relation stands on now-windows of streams whose elements do not "
        "last, and changes at every instant, not only when a slide is due.",
        "2. The rows hold a key of one of these streams that holds for the whole stream, not only for one instant: "
        "none comes a second time.",
    ),
    _rewrite,
    tops=(ToStream,),
)

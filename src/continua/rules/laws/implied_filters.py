"""What is known of one side of an equality holds for the other: a = b AND a < 5 gives b < 5 (PIPES 2009 lemma 6.7).

>>> from continua.rules.examples import shown
>>> from continua.rules.laws.filter_below_join import RULE as FILTER_BELOW_JOIN
>>> query = "SELECT label FROM Bid [NOW], Category WHERE Bid.item_id = Category.item_id AND Bid.item_id < 5"
>>> print(shown(RULE, query, first=(FILTER_BELOW_JOIN,)))
Join Bid.item_id = Category.item_id
├─ Filter Bid.item_id < 5
│  └─ Window [NOW]
│     └─ Source Bid
└─ Relation Category
becomes
Join Bid.item_id = Category.item_id
├─ Filter Bid.item_id < 5
│  └─ Window [NOW]
│     └─ Source Bid
└─ Filter Category.item_id < 5
   └─ Relation Category
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.expr import Call, Column, Expr, Literal, conjuncts
from continua.algebra.leaves import BaseRelation, Source
from continua.algebra.relational import (
    Aggregate,
    DuplicateElimination,
    Filter,
    Join,
    JoinKind,
    Project,
    SetOperation,
    SetOperator,
    Window,
)
from continua.algebra.streaming import RelationalView, ToStream
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import filtered
from continua.types import BOOLEAN, DataType

_FLIPPED = {"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_TO_RIGHT = (JoinKind.INNER, JoinKind.SEMI, JoinKind.LEFT, JoinKind.SINGLE, JoinKind.ANTI)
"""Joins that need no row of the right side without partner."""
_TO_LEFT = (JoinKind.INNER, JoinKind.SEMI, JoinKind.RIGHT)
"""Joins that need no row of the left side without partner."""
_LEAVES = (Source, BaseRelation, RelationalView)

Bound = tuple[str, Literal]
"""A comparison with a constant."""


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Join(join=kind, left=left, right=right, predicate=predicate):
            to_left: list[Expr] = []
            to_right: list[Expr] = []
            for a, b in _equalities(predicate, left, right):
                if kind in _TO_RIGHT:  # (3)
                    to_right += _implied(left, a, right, b)
                if kind in _TO_LEFT:  # (3)
                    to_left += _implied(right, b, left, a)
            changed = replace(plan, left=filtered(left, to_left), right=filtered(right, to_right))
            return changed if to_left or to_right else None
        case _:
            return None


def _equalities(predicate: Expr | None, left: Plan, right: Plan) -> Iterator[tuple[Column, Column]]:
    """Equal columns of the left and right side."""
    for part in conjuncts(predicate):
        match part:
            case Call(function="=", arguments=(Column() as a, Column() as b)) if _alike(a.type, b.type):  # (1)
                if a.name in right.schema.names:
                    a, b = b, a
                if a.name in left.schema.names and b.name in right.schema.names:  # (1)
                    yield a, b
            case _:
                pass


def _alike(a: DataType, b: DataType) -> bool:
    """Whether values of these types are compared exactly."""
    return (a.is_integer and b.is_integer) or (a == b and a.name in ("STRING", "BOOLEAN", "DATE", "TIMESTAMP"))


def _implied(known: Plan, a: Column, other: Plan, b: Column) -> list[Expr]:
    """The conditions on a column of one side that are not there yet for its equal on the other."""
    found, theirs = _bounds(known, a.name), _bounds(other, b.name)
    if found is None or theirs is None:  # (4)
        return []
    new = [bound for bound in dict.fromkeys(found) if bound not in theirs and _alike(bound[1].type, b.type)]  # (1), (2)
    return [Call(op, (b, value), BOOLEAN, b.nullable) for op, value in new]


def _bounds(plan: Plan, name: str) -> list[Bound] | None:
    """The comparisons of a column with constants on its way from the leaf; None where its way is not clear.

    Every place is looked at to which a filter on the column can be moved: else the same one would be added for ever.
    """
    match plan:
        case Filter(input=below, predicate=predicate):
            lower = _bounds(below, name)
            return None if lower is None else lower + [b for p in conjuncts(predicate) for b in _bound(p, name)]
        case Project(input=below, outputs=outputs) | Aggregate(input=below, keys=outputs):
            origin = dict(outputs).get(name)
            return _bounds(below, origin.name) if isinstance(origin, Column) else None
        case Window(input=below) | DuplicateElimination(input=below) | ToStream(input=below):
            return _bounds(below, name)
        case Join(join=JoinKind.INNER, left=left, right=right):
            return _bounds(left if name in left.schema.names else right, name)
        case Join(left=left) if name in left.schema.names and plan.join not in (JoinKind.RIGHT, JoinKind.FULL):
            return _bounds(left, name)
        case SetOperation():
            return _of_set_operation(plan, name)
        case _:
            return [] if isinstance(plan, _LEAVES) else None  # (4)


def _of_set_operation(plan: SetOperation, name: str) -> list[Bound] | None:
    """What holds on the left, and of a union on the right as well."""
    place = plan.schema.names.index(name)
    a, b = plan.left.schema.fields[place], plan.right.schema.fields[place]
    left, right = _bounds(plan.left, a.name), _bounds(plan.right, b.name)
    if left is None or right is None or a.type != b.type:  # (1), (4)
        return None
    united = plan.operator in (SetOperator.UNION, SetOperator.MAX_UNION)
    return [bound for bound in left if bound in right] if united else left


def _bound(part: Expr, name: str) -> Iterator[Bound]:
    """The comparison of a column with a constant, if a condition is one."""
    match part:
        case Call(function=op, arguments=(Column(name=used), Literal() as value)) if op in _FLIPPED and used == name:
            yield op, value
        case Call(function=op, arguments=(Literal() as value, Column(name=used))) if op in _FLIPPED and used == name:
            yield _FLIPPED[op], value
        case _:
            pass


RULE = Rule(
    "implied_filters",
    "PIPES 2009 lemma 6.7: conditions that follow from equalities",
    (
        "1. Columns of both sides are equal in the join, and these and the constant are compared exactly: as integers, "
        "or as values of one type.",
        "2. One is compared with a constant below the join, and the other is not yet compared with it in the same way.",
        "3. The condition goes to a side of which the join needs only rows with a partner.",
        "4. It is known from which leaf each of the two columns comes, and by which operators: a condition that stands "
        "further down would else be added again and again.",
    ),
    _rewrite,
    tops=(Join,),
    conventional=True,
)

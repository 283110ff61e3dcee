"""A condition on the side that an outer join preserves is asked there; one that no NULL meets makes it an inner join.

σ_p(R ⟕ S) = σ_p(R) ⟕ S for p on R, and σ_p(R ⟕ S) = σ_p(R ⋈ S) where p rejects NULLs of S (PIPES 2009 lemma 6.7).

>>> from continua.rules.examples import shown
>>> query = "SELECT name FROM Bid [NOW] LEFT JOIN Person ON id = bidder_id WHERE price > 9"
>>> print(shown(FILTER_BELOW_OUTER_JOIN, query))
Filter Bid.price > 9
└─ LeftOuterJoin Person.id = Bid.bidder_id
   ├─ Window [NOW]
   │  └─ Source Bid
   └─ Window [RANGE UNBOUNDED]
      └─ Source Person KEY Person.id
becomes
LeftOuterJoin Person.id = Bid.bidder_id
├─ Filter Bid.price > 9
│  └─ Window [NOW]
│     └─ Source Bid
└─ Window [RANGE UNBOUNDED]
   └─ Source Person KEY Person.id
>>> print(shown(OUTER_TO_INNER, query.replace("price > 9", "state = 'CA'")))
Filter Person.state = 'CA'
└─ LeftOuterJoin Person.id = Bid.bidder_id
   ├─ Window [NOW]
   │  └─ Source Bid
   └─ Window [RANGE UNBOUNDED]
      └─ Source Person KEY Person.id
becomes
Filter Person.state = 'CA'
└─ Join Person.id = Bid.bidder_id
   ├─ Window [NOW]
   │  └─ Source Bid
   └─ Window [RANGE UNBOUNDED]
      └─ Source Person KEY Person.id
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.expr import Call, Cast, Column, Expr, InList, Literal, conjuncts
from continua.algebra.relational import Filter, Join, JoinKind
from continua.algebra.safety import cannot_fail
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import combined, divided, filtered, uses_only

_PRESERVES_LEFT = (JoinKind.LEFT, JoinKind.SINGLE)
_PRESERVES_ONE = (*_PRESERVES_LEFT, JoinKind.RIGHT)
_STRICT = ("=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "DIV", "LIKE", "ILIKE", "NOT")
"""What is NULL as soon as one of its arguments is."""


def _below(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Filter(input=Join(join=kind) as join, predicate=predicate) if kind in _PRESERVES_ONE:  # (2)
            side = "left" if kind in _PRESERVES_LEFT else "right"  # (2)
            below: Plan = getattr(join, side)
            moved, kept = divided(conjuncts(predicate), lambda part: _movable(part, below))
            return filtered(_with(join, side, moved), kept) if moved else None
        case Join(join=kind, predicate=predicate) if kind in _PRESERVES_ONE:  # (3)
            side = "right" if kind in _PRESERVES_LEFT else "left"  # (3)
            other: Plan = getattr(plan, side)
            moved, kept = divided(conjuncts(predicate), lambda part: _movable(part, other))
            return replace(_with(plan, side, moved), predicate=combined(kept)) if moved else None
        case _:
            return None


def _with(join: Join, side: str, parts: list[Expr]) -> Join:
    """The join with conditions on one of its sides."""
    if side == "left":
        return replace(join, left=filtered(join.left, parts))
    return replace(join, right=filtered(join.right, parts))


def _movable(part: Expr, side: Plan) -> bool:
    return cannot_fail(part) and uses_only(part, side.schema.names)  # (1), (2), (3)


def _inner(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Filter(input=Join(join=JoinKind.LEFT | JoinKind.RIGHT | JoinKind.FULL) as join, predicate=predicate):
            null_left = join.join is JoinKind.LEFT or not _rejected(predicate, join.left)  # (1)
            null_right = join.join is JoinKind.RIGHT or not _rejected(predicate, join.right)  # (1)
            kind = _kind(join.join, null_left, null_right)
            return replace(plan, input=replace(join, join=kind)) if kind is not join.join else None
        case _:
            return None


def _kind(kind: JoinKind, null_left: bool, null_right: bool) -> JoinKind:
    """The join for a filter that may keep rows without left partner (``null_left``), or without right partner."""
    match kind:
        case JoinKind.LEFT:
            return kind if null_right else JoinKind.INNER
        case JoinKind.RIGHT:
            return kind if null_left else JoinKind.INNER
        case _:
            if null_left and null_right:
                return kind
            return JoinKind.LEFT if null_right else JoinKind.RIGHT if null_left else JoinKind.INNER


def _rejected(predicate: Expr, side: Plan) -> bool:
    """Whether no row is kept whose columns of one side are all NULL."""
    names = frozenset(side.schema.names)
    return any(_never_true(part, names) for part in conjuncts(predicate))


def _never_true(expr: Expr, names: frozenset[str]) -> bool:
    """Whether a condition is surely FALSE or NULL when the named columns are NULL."""
    match expr:
        case Call(function="AND", arguments=arguments):
            return any(_never_true(a, names) for a in arguments)
        case Call(function="OR", arguments=arguments):
            return all(_never_true(a, names) for a in arguments)
        case Call(function="IS TRUE", arguments=(operand,)):
            return _never_true(operand, names)
        case Call(function="IS FALSE", arguments=(operand,)):
            return _is_null(operand, names)
        case Call(function="NOT", arguments=(Call(function="IS NULL", arguments=(operand,)),)):
            return _is_null(operand, names)
        case Literal(value=value):
            return value in (None, False)
        case _:
            return _is_null(expr, names)


def _is_null(expr: Expr, names: frozenset[str]) -> bool:
    """Whether it is surely NULL when the named columns are."""
    match expr:
        case Column(name=name):
            return name in names
        case Literal(value=value):
            return value is None
        case Call(function=function, arguments=arguments) if function in _STRICT:
            return any(_is_null(a, names) for a in arguments)
        case Call(function="AND" | "OR", arguments=arguments):
            return all(_is_null(a, names) for a in arguments)
        case Cast(operand=operand) | InList(operand=operand):
            return _is_null(operand, names)
        case _:
            return False


FILTER_BELOW_OUTER_JOIN = Rule(
    "filter_below_outer_join",
    "PIPES 2009 lemma 6.7: filter and outer join",
    (
        "1. The condition cannot fail.",
        "2. A filter above moves to the side that the join preserves; a full outer join preserves both, and filters "
        "on either would not keep the other's rows without partner.",
        "3. A part of the join's own condition moves to the other side, never to the preserved one.",
    ),
    _below,
    tops=(Filter, Join),
    conventional=True,
)
OUTER_TO_INNER = Rule(
    "outer_to_inner",
    "PIPES 2009 lemma 6.7: outer joins under a filter that rejects NULLs",
    ("1. No row passes the filter whose columns of the other side are all NULL: that follows from its form alone.",),
    _inner,
    tops=(Filter,),
    conventional=True,
)

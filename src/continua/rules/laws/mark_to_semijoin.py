"""A mark that only decides whether a row is kept needs no mark: σ_m(R mark S) = R ⋉ S (PIPES 2009 lemma 6.7; Dayal).

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT label FROM Category WHERE NOT (item_id > ANY (SELECT item_id FROM Close))"))
Map Category.item_id, Category.label
└─ Filter NOT `mark#1`
   └─ MarkJoin Category.item_id > sub.item_id AS mark#1
      ├─ Relation Category
      └─ Map Close.item_id AS sub.item_id
         └─ Window [RANGE UNBOUNDED]
            └─ Source Close KEY Close.item_id
becomes
Map Category.item_id, Category.label
└─ Antijoin (Category.item_id > sub.item_id) IS NOT FALSE
   ├─ Relation Category
   └─ Map Close.item_id AS sub.item_id
      └─ Window [RANGE UNBOUNDED]
         └─ Source Close KEY Close.item_id
"""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.expr import Call, Column, Expr, columns_of, conjuncts, negation
from continua.algebra.relational import Filter, Join, JoinKind, Project
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import combined, divided, filtered, uses_only
from continua.types import BOOLEAN


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case Project(input=Filter(input=Join(join=JoinKind.MARK) as join, predicate=predicate), outputs=outputs):
            if any(join.mark in columns_of(e) for _, e in outputs):  # (1)
                return None
            marked, others = divided(conjuncts(predicate), lambda part: join.mark in columns_of(part))
            joined = _joined(join, marked[0]) if len(marked) == 1 else None  # (1)
            return None if joined is None else replace(plan, input=filtered(joined, others))
        case _:
            return None


def _joined(join: Join, test: Expr) -> Plan | None:
    """The join that keeps the rows whose mark passes the test; None where it is no test of the mark alone."""
    plain = replace(join, mark="")
    sought = combined(part for whole in conjuncts(join.predicate) for part in _true_parts(whole))
    accepted = [value for value in (True, False, None) if _value(test, join.mark, value) is True]
    match accepted:
        case [True]:  # (2)
            return replace(plain, join=JoinKind.SEMI, predicate=sought)
        case [True, None]:  # (2)
            return replace(plain, join=JoinKind.SEMI, predicate=_possible(plain))
        case [False]:  # (3)
            return _without(plain)
        case [False, None]:  # (2)
            return replace(plain, join=JoinKind.ANTI, predicate=sought)
        case _:
            return None


def _value(test: Expr, mark: str, value: bool | None) -> bool | str | None:
    """What the test says of a mark; something else where it is no test of the mark alone."""
    match test:
        case Column(name=name) if name == mark:
            return value
        case Call(function="NOT" | "IS TRUE" | "IS FALSE" | "IS NULL" as word, arguments=(operand,)):
            inner = _value(operand, mark, value)
            if isinstance(inner, str):
                return inner
            if word == "NOT":
                return None if inner is None else not inner
            return inner is {"IS TRUE": True, "IS FALSE": False, "IS NULL": None}[word]
        case _:  # (1)
            return "no test"


def _true_parts(part: Expr) -> tuple[Expr, ...]:
    """The parts of a condition that must be true: whether they are unknown or false makes no difference."""
    match part:
        case Call(function="IS TRUE", arguments=(operand,)):
            return conjuncts(operand)
        case _:
            return (part,)


def _possible(join: Join) -> Expr | None:
    """Whether the condition is true or unknown."""
    parts: list[Expr] = []
    for part in conjuncts(join.predicate):
        unsure = Call("IS FALSE", (part,), BOOLEAN, nullable=False)
        parts += (negation(unsure),) if part.nullable else _true_parts(part)
    return combined(parts)


def _without(join: Join) -> Plan:
    """The rows for which the condition is false of every row of the right side: neither true nor unknown."""
    sure, unsure = divided(conjuncts(join.predicate), lambda part: not part.nullable)
    pairs = [_pair(join, part) for part in unsure]
    if pairs and all(pairs):  # (3)
        found = tuple(pair for pair in pairs if pair is not None)
        known = combined(part for whole in sure for part in _true_parts(whole))
        return replace(join, join=JoinKind.NULL_AWARE_ANTI, predicate=known, null_aware=found)
    return replace(join, join=JoinKind.ANTI, predicate=_possible(join))


def _pair(join: Join, part: Expr) -> tuple[Expr, Expr] | None:
    """What an equality compares, first on the left side and then on the right; None for any other condition."""
    match part:
        case Call(function="=", arguments=(a, b)):
            if uses_only(a, join.left.schema.names) and uses_only(b, join.right.schema.names):  # (3)
                return a, b
        case _:
            pass
    return None


RULE = Rule(
    "mark_to_semijoin",
    "PIPES 2009 lemma 6.7: subqueries; Dayal's cases",
    (
        "1. One condition of a filter tests the mark, nothing else uses it, and a map above drops it.",
        "2. If the mark must be TRUE: a semijoin. If anything but TRUE will do: an antijoin. If anything but FALSE "
        "will do: a semijoin that also takes what is unknown for a partner.",
        "3. If it must be FALSE: an antijoin that also takes what is unknown for a partner; where only equalities can "
        "be unknown, the null-aware antijoin.",
    ),
    _rewrite,
    tops=(Project,),
    conventional=True,
)

"""Columns that nothing above needs are dropped below joins and windows: π_A(R ⋈ S) = π_A(π_B(R) ⋈ π_C(S)).

PIPES 2009 lemma 6.7; a map commutes with windows over time by rule (14), and one that only drops columns with all.

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT name FROM Bid [ROWS 9] JOIN Person ON id = bidder_id"))
Map Person.name AS name
└─ Join Person.id = Bid.bidder_id
   ├─ Window [ROWS 9]
   │  └─ Source Bid
   └─ Window [RANGE UNBOUNDED]
      └─ Source Person KEY Person.id
becomes
Map Person.name AS name
└─ Join Person.id = Bid.bidder_id
   ├─ Window [ROWS 9]
   │  └─ Map Bid.bidder_id
   │     └─ Source Bid
   └─ Window [RANGE UNBOUNDED]
      └─ Map Person.id, Person.name
         └─ Source Person KEY Person.id
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from continua.algebra.base import Plan
from continua.algebra.expr import Column, Expr, columns_of
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
from continua.algebra.traverse import expressions_of, with_parts
from continua.rules.conditions import in_order_of_arrival
from continua.rules.rule import Facts, Rule

Names = frozenset[str]
Item = TypeVar("Item", bound=tuple[str, object])
_PAIRS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL, JoinKind.SINGLE)
"""Joins that hand on columns of their right side."""


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    return _narrowed(plan, frozenset(plan.schema.names))


@lru_cache(maxsize=4096)
def _narrowed(plan: Plan, needed: Names) -> Plan:
    """The plan without columns that are not needed, as far down as can be; some may be left at the top."""
    match plan:
        case Filter(input=below) | Group(input=below):
            return with_parts(plan, input=_narrowed(below, needed | _used(expressions_of(plan))))  # (1)
        case Project():
            return _project(plan, needed)
        case Window(input=stream, spec=spec):
            if not (spec.ignores_order or in_order_of_arrival(stream)):  # (4)
                return plan
            partition = frozenset(spec.partition)  # (1)
            return with_parts(plan, input=_mapped(stream, needed | partition))
        case Join():
            return _join(plan, needed)
        case SetOperation():
            return _set_operation(plan, needed)
        case Aggregate():
            return _aggregate(plan, needed)
        case DuplicateElimination(input=below) | TopK(input=below):
            return with_parts(plan, input=_narrowed(below, frozenset(below.schema.names)))  # (2)
        case _:  # (3): the driver comes to the relation below a stream operator by itself, with all its columns
            return plan


def _mapped(plan: Plan, needed: Names) -> Plan:
    """The plan with no column that is not needed; at least one is left."""
    below = _narrowed(plan, needed)
    names = [f.name for f in below.schema if f.name in needed] or list(below.schema.names[:1])  # (5)
    if len(names) == len(below.schema):  # (5)
        return below
    match below:
        case Project(outputs=outputs):
            return replace(below, outputs=tuple((n, e) for n, e in outputs if n in names))
        case _:
            return Project(below, tuple((f.name, f.column) for f in below.schema if f.name in names))


def _project(plan: Project, needed: Names) -> Plan:
    kept = _needed(plan.outputs, needed) or plan.outputs[:1]  # (5)
    below = _narrowed(plan.input, _used(e for _, e in kept))  # (1)
    if isinstance(below, Project) and all(isinstance(e, Column) and n == e.name for n, e in below.outputs):
        below = below.input  # a map that only drops columns has nothing to do below another map
    return with_parts(plan, input=below, outputs=kept)


def _join(plan: Join, needed: Names) -> Plan:
    wanted = needed | _used(expressions_of(plan))  # (1)
    left = _mapped(plan.left, wanted)
    right = _mapped(plan.right, wanted if plan.join in _PAIRS else _used(expressions_of(plan)))
    return with_parts(plan, left=left, right=right)


def _set_operation(plan: SetOperation, needed: Names) -> Plan:
    sides = plan.left, plan.right
    places = list(range(len(plan.schema)))
    if plan.operator is SetOperator.UNION and not plan.distinct:  # (2)
        places = [i for i in places if plan.schema.names[i] in needed] or [0]  # (5)
    left, right = (_at(side, [side.schema.names[i] for i in places]) for side in sides)
    return with_parts(plan, left=left, right=right)


def _at(side: Plan, names: list[str]) -> Plan:
    """The side with exactly these columns."""
    return _mapped(side, frozenset(names))


def _aggregate(plan: Aggregate, needed: Names) -> Plan:
    calls = _needed(plan.aggregates, needed)
    if not plan.keys and not calls:  # (5)
        calls = plan.aggregates[:1]
    smaller = with_parts(plan, aggregates=calls)  # (1): it groups by all its keys as before
    return with_parts(smaller, input=_narrowed(plan.input, _used(expressions_of(smaller))))


def _needed(items: tuple[Item, ...], needed: Names) -> tuple[Item, ...]:
    """Those of named things that are needed; the same object if all are."""
    found = tuple(item for item in items if item[0] in needed)
    return items if len(found) == len(items) else found


def _used(expressions: Iterable[Expr]) -> Names:
    return frozenset(name for expr in expressions for name in columns_of(expr))


RULE = Rule(
    "projection_pruning",
    "PIPES 2009 lemma 6.7: projection and join; rule (14)",
    (
        "1. No operator above uses the column: not in an expression, a partition, an order, or a key.",
        "2. Duplicate elimination, top-k and all set operations but the union of bags go by all columns: theirs stay.",
        "3. The relation below a stream operator stays whole: the order of its elements goes by all columns.",
        "4. A window that counts positions of a derived stream keeps all columns: they give the elements of one "
        "instant their order.",
        "5. One column is left at least. A map is added below windows, joins and set operations only, where it drops a "
        "column.",
    ),
    _rewrite,
    conventional=True,
)

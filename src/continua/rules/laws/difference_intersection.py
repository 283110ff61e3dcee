"""R − R = ∅, R ∩ R = R, (R − S) − T = R − (S ∪ T), (R ∪ S) − S = R, σ_p(R) ∩ σ_q(R) = σ_(p AND q)(R) (PIPES 2005 5.3).

>>> from continua.rules.examples import shown
>>> query = "(SELECT item_id FROM Open EXCEPT ALL SELECT item_id FROM Close) EXCEPT ALL SELECT item_id FROM Category"
>>> print(shown(RULE, query))
Difference
├─ Difference
│  ├─ Map Open.item_id AS item_id
│  │  └─ Window [RANGE UNBOUNDED]
│  │     └─ Source Open KEY Open.item_id
│  └─ Map Close.item_id AS right.item_id
│     └─ Window [RANGE UNBOUNDED]
│        └─ Source Close KEY Close.item_id
└─ Map Category.item_id AS right_2.item_id
   └─ Relation Category
becomes
Difference
├─ Map Open.item_id AS item_id
│  └─ Window [RANGE UNBOUNDED]
│     └─ Source Open KEY Open.item_id
└─ Union
   ├─ Map Close.item_id AS right.item_id
   │  └─ Window [RANGE UNBOUNDED]
   │     └─ Source Close KEY Close.item_id
   └─ Map Category.item_id AS right_2.item_id
      └─ Relation Category
"""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.expr import Call, Column, Expr, columns_of, conjuncts, negation
from continua.algebra.leaves import Values
from continua.algebra.monotonicity import uses_now
from continua.algebra.relational import DuplicateElimination, Filter, Project, SetOperation, SetOperator
from continua.algebra.safety import cannot_fail
from continua.algebra.traverse import expressions_of, nodes_of
from continua.rules.likeness import alike
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import filtered, substituted
from continua.types import BOOLEAN

_DIFFERENCES = (SetOperator.DIFFERENCE, SetOperator.STRICT_DIFFERENCE)


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    match plan:
        case SetOperation(operator=operator, left=left, right=right, distinct=distinct):
            if left.schema.types != right.schema.types:  # (1)
                return None
            found = None
            if operator is SetOperator.DIFFERENCE:
                found = _repeated(plan) or _taken_back(plan)
            if operator in (SetOperator.INTERSECTION, *_DIFFERENCES):
                found = found or _of_one(plan)
            if found is None or not distinct or _is_set(found):  # (4)
                return found
            return DuplicateElimination(found)
        case _:
            return None


def _is_set(plan: Plan) -> bool:
    """Whether no row is there twice, because of the topmost operator."""
    return isinstance(plan, Values) or (isinstance(plan, SetOperation) and plan.distinct)


def _repeated(plan: SetOperation) -> Plan | None:
    """(R − S) − T = R − (S ∪ T), of bags or of sets."""
    match plan.left:
        case SetOperation(operator=SetOperator.DIFFERENCE, left=first, right=second, distinct=distinct):
            if distinct is not plan.distinct or first.schema.types != second.schema.types:  # (1), (3)
                return None
            united = SetOperation(SetOperator.UNION, second, plan.right)
            return SetOperation(SetOperator.DIFFERENCE, first, united, distinct)
        case _:
            return None


def _taken_back(plan: SetOperation) -> Plan | None:
    """(R ∪ S) − S = R, of bags."""
    if plan.distinct:  # (3)
        return None
    match plan.left:
        case SetOperation(operator=SetOperator.UNION, distinct=False, left=first, right=second):  # (3)
            if first.schema.types != second.schema.types:  # (1)
                return None
            if _same(second, plan.right):  # (2)
                return first
            if _same(first, plan.right):  # (2)
                pairs = zip(first.schema, second.schema, strict=True)
                return Project(second, tuple((a.name, b.column) for a, b in pairs))
        case _:
            pass
    return None


def _of_one(plan: SetOperation) -> Plan | None:
    """Both sides are of one relation, under conditions: so is the result."""
    base, ours = _conditions(plan.left)
    other, theirs = _conditions(plan.right)
    if not _same(base, other) or not all(map(cannot_fail, (*ours, *theirs))):  # (2)
        return None
    names = {b.name: a.column for a, b in zip(base.schema, other.schema, strict=True)}
    renamed = [substituted(part, names) for part in theirs]
    if plan.operator is SetOperator.INTERSECTION:
        return filtered(base, (*ours, *renamed))
    if set(renamed) <= set(ours):
        return Values(plan.schema.fields, ())
    whole = renamed[0]
    for part in renamed[1:]:
        whole = Call("AND", (whole, part), BOOLEAN)
    taken_away = Call("IS TRUE", (whole,), BOOLEAN, nullable=False)  # (5)
    return filtered(base, (*ours, negation(taken_away)))


def _conditions(side: Plan) -> tuple[Plan, tuple[Expr, ...]]:
    """A relation and the conditions on its own columns under which its rows are taken."""
    match side:
        case Filter(input=below, predicate=predicate):
            return below, conjuncts(predicate)
        case Project(input=Filter(input=below, predicate=predicate), outputs=outputs):
            names = {e.name: Column(n, e.type, e.nullable) for n, e in reversed(outputs) if isinstance(e, Column)}
            if columns_of(predicate) <= names.keys() and all(cannot_fail(e) for _, e in outputs):  # (2)
                return Project(below, outputs), tuple(substituted(part, names) for part in conjuncts(predicate))
        case _:
            pass
    return side, ()


def _same(left: Plan, right: Plan) -> bool:
    """Whether both are the same relation, under whatever names."""
    asks_for_now = any(uses_now(e) for node in nodes_of(left) for e in expressions_of(node))
    return not asks_for_now and alike(left, right)  # (2)


RULE = Rule(
    "difference_intersection",
    "PIPES 2005 5.3, PIPES 2009 lemma 6.7: difference and intersection",
    (
        "1. All sides have the same types, so that rows are equal before and after.",
        "2. R on both sides is the same but for its names, and nothing in it asks for NOW. Conditions on it use only "
        "columns that are there, and cannot fail, nor can what is computed beside them for the rows that they keep.",
        "3. (R − S) − T: both differences are of bags, or both of sets. (R ∪ S) − S: of bags only.",
        "4. Of sets, duplicates are eliminated in the end.",
        "5. A condition that is unknown takes no row away.",
    ),
    _rewrite,
    tops=(SetOperation,),
    conventional=True,
)

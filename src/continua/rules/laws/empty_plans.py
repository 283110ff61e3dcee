"""What is surely empty is not computed: σ_FALSE(R) = ∅, R × ∅ = ∅, R ∪ ∅ = R (PIPES 2009 lemma 6.7).

>>> from continua.rules.examples import shown
>>> print(shown(RULE, "SELECT label FROM Category WHERE item_id > 1 AND FALSE"))
Filter Category.item_id > 1 AND FALSE
└─ Relation Category
becomes
Values
"""

from __future__ import annotations

from continua.algebra.aggregate_facts import of_nothing
from continua.algebra.base import Kind, Plan, kind_of
from continua.algebra.expr import FALSE, Cast, Expr, Literal, conjuncts
from continua.algebra.leaves import Values
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
)
from continua.functions.aggregates import AGGREGATES
from continua.rules.rule import Facts, Rule
from continua.rules.substitution import is_rejecting
from continua.types import Value

_SUBTRACTING = (SetOperator.DIFFERENCE, SetOperator.STRICT_DIFFERENCE)


def _rewrite(plan: Plan, _: Facts) -> Plan | None:
    if kind_of(plan) is not Kind.RELATION:  # (1)
        return None
    match plan:
        case Filter(input=below, predicate=predicate):
            return _empty(plan) if is_empty(below) or _never(predicate) else None  # (1)
        case TopK(input=below, limit=limit):
            return _empty(plan) if is_empty(below) or limit == 0 else None  # (1)
        case Project(input=below) | DuplicateElimination(input=below) | Group(input=below) if is_empty(below):  # (1)
            return _empty(plan)
        case Aggregate(input=below) if is_empty(below):  # (1)
            return _aggregate(plan)
        case Join():
            return _join(plan)
        case SetOperation():
            return _set_operation(plan)
        case _:
            return None


def is_empty(plan: Plan) -> bool:
    """Whether it is a constant relation without rows."""
    return isinstance(plan, Values) and not plan.rows


def _never(predicate: Expr | None) -> bool:
    """Whether no row meets a condition, because a part of it is FALSE or NULL."""
    return any(map(is_rejecting, conjuncts(predicate)))


def _is_false(predicate: Expr | None) -> bool:
    """Whether a condition is FALSE, and not unknown, because a part of it is."""
    return FALSE in conjuncts(predicate)


def _empty(plan: Plan) -> Plan:
    return Values(plan.schema.fields, ())


def _aggregate(plan: Aggregate) -> Plan | None:
    if not plan.scalar or not plan.empty_row:  # (2)
        return _empty(plan)
    if not plan.aggregates or any(call.function not in AGGREGATES for _, call in plan.aggregates):  # (2)
        return None
    row: list[Value] = []
    for _, call in plan.aggregates:
        match of_nothing(call):
            case None:
                row.append(None)
            case Literal(value=value):
                row.append(value)
            case _:
                return None
    return Values(plan.schema.fields, (tuple(row),))


def _join(plan: Join) -> Plan | None:
    no_left, no_right = is_empty(plan.left), is_empty(plan.right)
    never = _is_false if plan.join is JoinKind.MARK else _never  # (4)
    if not (no_left or no_right or never(plan.predicate)):  # (1)
        return None
    match plan.join:  # (3)
        case JoinKind.INNER | JoinKind.SEMI:
            return _empty(plan)
        case JoinKind.RIGHT:
            return _empty(plan) if no_right else _padded(plan, plan.right)
        case JoinKind.FULL:
            return _padded(plan, plan.right) if no_left else _padded(plan, plan.left) if no_right else None
        case _:
            return _empty(plan) if no_left else _padded(plan, plan.left)


def _padded(plan: Join, side: Plan) -> Plan:
    """The rows of one side, with what a join adds to a row that meets no other: NULLs, or the mark FALSE."""
    if plan.schema.names == side.schema.names:
        return side
    own = {f.name: f.column for f in side.schema}
    mark = {plan.mark: FALSE} if plan.join is JoinKind.MARK else {}
    return Project(
        side, tuple((f.name, own.get(f.name) or mark.get(f.name) or Literal(None, f.type)) for f in plan.schema)
    )


def _set_operation(plan: SetOperation) -> Plan | None:
    left, right = plan.left, plan.right
    if plan.operator is SetOperator.INTERSECTION:
        return _empty(plan) if is_empty(left) or is_empty(right) else None  # (1)
    if is_empty(right):  # (1), (3)
        return _alone(plan, left)
    if is_empty(left):  # (1), (3)
        return _empty(plan) if plan.operator in _SUBTRACTING else _alone(plan, right)
    return None


def _alone(plan: SetOperation, side: Plan) -> Plan:
    """One side, under the names and types of both."""
    result = side
    if (side.schema.names, side.schema.types) != (plan.schema.names, plan.schema.types):
        pairs = zip(plan.schema, side.schema, strict=True)
        result = Project(
            side, tuple((f.name, g.column if f.type == g.type else Cast(g.column, f.type)) for f, g in pairs)
        )
    return DuplicateElimination(result) if plan.distinct else result


RULE = Rule(
    "empty_plans",
    "PIPES 2009 lemma 6.7: the empty relation",
    (
        "1. A condition is FALSE or NULL, a limit is 0, or an input has no rows: and it is a relation, not a stream.",
        "2. A scalar aggregation of nothing has a row, unless the dialect says otherwise; what is in it is known of "
        "all aggregates but arrays and those of users.",
        "3. An outer join, antijoin or mark join keeps its own side; a union or difference keeps the other.",
        "4. The condition of a mark join is FALSE: where it is NULL the mark is unknown.",
    ),
    _rewrite,
    conventional=True,
)

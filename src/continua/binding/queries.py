"""Queries: from syntax to algebra. Subqueries stay inside expressions here; unnesting is a step of its own."""

from __future__ import annotations

from typing import TypeAlias

from sqlglot import exp

from continua.algebra.base import Kind, Plan, kind_of
from continua.algebra.expr import MOST_IN_A_CHAIN, Cast
from continua.algebra.keys import keys
from continua.algebra.relational import DuplicateElimination, Project, SetOperation, SetOperator
from continua.algebra.streaming import Complete, StreamOperator, Tag, ToStream
from continua.binding.context import Context, Item, Scope
from continua.binding.from_items import FromBinder
from continua.binding.select import Outputs, SelectBinder, limited, sort_keys
from continua.binding.stream_forms import formed
from continua.binding.syntax import has_modifiers
from continua.errors import PlanError
from continua.lang.stream_nodes import StreamForm, StreamList, StreamQuery
from continua.types import common_type

CTEs: TypeAlias = dict[str, tuple[exp.Expr, "CTEs"]]
"""The named queries of WITH, each with those that stand before it."""

_SET_OPERATORS: dict[type[exp.Expr], SetOperator] = {
    exp.Union: SetOperator.UNION,
    exp.Except: SetOperator.DIFFERENCE,
    exp.Intersect: SetOperator.INTERSECTION,
}
_MULTIPLICITIES = {"MAX": SetOperator.MAX_UNION, "STRICT": SetOperator.STRICT_DIFFERENCE}


class QueryBinder:
    """Binds the queries of one statement."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.from_items = FromBinder(context, self)
        self.ctes: CTEs = {}

    def query(self, node: exp.Expr, outer: Scope | None, qualifier: str | None) -> Plan:
        """A query, with its relation-to-stream operator if it has one. Its columns are named after ``qualifier``."""
        outside = dict(self.ctes)
        self._collect_ctes(node)
        try:
            return self._query(node, outer, qualifier)
        finally:
            self.ctes = outside

    def _query(self, node: exp.Expr, outer: Scope | None, qualifier: str | None) -> Plan:
        if isinstance(node, StreamForm):
            return formed(self, node, outer, qualifier)
        operator, body = split_operator(node)
        if operator is None:
            return self.relation(body, outer, qualifier)
        bind = self.query if body is not node else self.relation
        plan = bind(body, outer, qualifier)
        if kind_of(plan) is not Kind.RELATION:
            self.context.fail("TWO_OPERATORS", f"{operator} around a query that is a stream already", node)
        return apply_operator(operator, plan)

    def relation(self, node: exp.Expr, outer: Scope | None, qualifier: str | None) -> Plan:
        """A query without relation-to-stream operator."""
        try:
            match node:
                case StreamQuery() | StreamForm():
                    return self.query(node, outer, qualifier)
                case exp.Subquery():
                    return self._parenthesised(node, outer, qualifier)
                case exp.SetOperation():
                    return self._set_operation(node, outer, qualifier)
                case exp.Select():
                    with self.context.deeper(node):
                        return SelectBinder(self, node, outer, qualifier).bind()
                case exp.Values():
                    return self.from_items.values(node, qualifier)
                case _:
                    self.context.fail("NOT_SUPPORTED", f"{node.key.upper()} is not a query", node, feature=node.key)
        except PlanError as error:
            first = error.diagnostics[0]
            self.context.fail(first.condition, first.message, node, first.hint, **first.parameters)

    def subquery(self, node: exp.Query, scope: Scope) -> Plan:
        """A subquery in an expression."""
        plan = self.query(node, scope, self.context.fresh("sub"))
        if kind_of(plan) is not Kind.RELATION:
            self.context.fail(
                "STREAM_IN_EXPRESSION",
                "a subquery in an expression is a relation: leave its stream operator out",
                node,
            )
        return plan

    def _collect_ctes(self, node: exp.Expr) -> None:
        with_ = node.args.get("with_")
        if with_ is None:
            return
        for cte in with_.expressions:
            self.ctes[cte.alias.casefold()] = cte, dict(self.ctes)

    def _parenthesised(self, node: exp.Subquery, outer: Scope | None, qualifier: str | None) -> Plan:
        if not has_modifiers(node):
            return self.query(node.this, outer, qualifier)
        plan = self.query(node.this, outer, qualifier)
        return self._ordered(node, plan)

    def _set_operation(self, node: exp.SetOperation, outer: Scope | None, qualifier: str | None) -> Plan:
        operator = _MULTIPLICITIES.get(node.args.get("multiplicity") or "", _SET_OPERATORS[type(node)])
        name = node.key.upper()
        if (union := self._long_union(node, outer, qualifier)) is not None:
            return self._ordered(node, union)
        with self.context.deeper(node):
            left = self._operand(node.this, outer, qualifier, name)
        right = self._operand(node.expression, outer, self.context.fresh("right"), name)
        if len(left.schema) == len(right.schema):
            left, right = self._widened(left, right, node)
        distinct = node.args.get("distinct") is not False
        plan: Plan
        if operator is SetOperator.UNION and distinct:
            plan = DuplicateElimination(SetOperation(operator, left, right))
        else:
            plan = SetOperation(operator, left, right, distinct)
        return self._ordered(node, plan)

    def _long_union(self, node: exp.SetOperation, outer: Scope | None, qualifier: str | None) -> Plan | None:
        """A chain of many UNIONs, or UNION ALLs, of like rows as a tree of halves, which is flat; else None."""
        parts = _chain_of_unions(node)
        if len(parts) <= MOST_IN_A_CHAIN:
            return None
        first = self._operand(parts[0], outer, qualifier, "UNION")
        others = [self._operand(part, outer, self.context.fresh("right"), "UNION") for part in parts[1:]]
        plans = [first]
        for part, plan in zip(parts[1:], others, strict=True):
            if len(plan.schema) == len(first.schema):
                whole, plan = self._widened(plans[0], plan, part)
                if whole is not plans[0]:
                    plans = [self._widened(earlier, plan, part)[0] for earlier in plans]
            plans.append(plan)
        together = _united(plans)
        return DuplicateElimination(together) if node.args.get("distinct") is not False else together

    def _operand(self, node: exp.Expr, outer: Scope | None, qualifier: str | None, name: str) -> Plan:
        plan = self.query(node, outer, qualifier)
        if kind_of(plan) is not Kind.RELATION:
            self.context.fail(
                "STREAM_IN_SET_OPERATION",
                f"{name} combines relations: put the stream operator around the whole query",
                node,
                f"ISTREAM(... {name} ...)",
            )
        return plan

    def _widened(self, left: Plan, right: Plan, node: exp.Expr) -> tuple[Plan, Plan]:
        """Both sides with columns of equal types."""
        types = []
        for a, b in zip(left.schema, right.schema, strict=True):
            common = common_type(a.type, b.type)
            if common is None:
                self.context.fail(
                    "TYPE_MISMATCH",
                    f"column {a.short} is {a.type} on one side and {b.type} on the other",
                    node,
                    left=str(a.type),
                    right=str(b.type),
                )
            types.append(common)

        def widened(side: Plan) -> Plan:
            if side.schema.types == tuple(types):
                return side
            pairs = zip(side.schema, types, strict=True)
            return Project(side, tuple((f.name, f.column if f.type == t else Cast(f.column, t)) for f, t in pairs))

        return widened(left), widened(right)

    def _ordered(self, node: exp.Expr, plan: Plan) -> Plan:
        """ORDER BY and LIMIT over the output of a query."""
        if not has_modifiers(node):
            return plan
        scope = Scope((Item("", tuple((f.short, f) for f in plan.schema)),))
        outputs: Outputs = [(f.short, f.column) for f in plan.schema]
        return limited(self.context, node, plan, sort_keys(self, node, scope, outputs, None))


def _chain_of_unions(node: exp.SetOperation) -> list[exp.Expr]:
    """What a chain of UNIONs unites, all of them of all rows or all of different ones."""
    found: list[exp.Expr] = []
    part: exp.Expr = node
    while isinstance(part, exp.Union) and part.args.get("distinct") == node.args.get("distinct"):
        if part.args.get("multiplicity"):
            break
        if part is not node and (has_modifiers(part) or part.args.get("with_")):
            break
        found.append(part.expression)
        part = part.this
    return [part, *reversed(found)]


def _united(plans: list[Plan]) -> Plan:
    """The union of all rows of plans that are alike."""
    if len(plans) == 1:
        return plans[0]
    half = len(plans) // 2
    return SetOperation(SetOperator.UNION, _united(plans[:half]), _united(plans[half:]), False)


def split_operator(node: exp.Expr) -> tuple[str | None, exp.Expr]:
    """The relation-to-stream operator of a query, around it or on its select list, and the query."""
    if isinstance(node, StreamQuery):
        return node.args["operator"], node.this
    if isinstance(node, exp.Select) and len(node.expressions) == 1 and isinstance(node.expressions[0], StreamList):
        return node.expressions[0].this, node
    return None, node


def apply_operator(operator: str, plan: Plan) -> Plan:
    """ISTREAM, DSTREAM, RSTREAM, STREAMED or COMPLETE over a relation."""
    match operator:
        case "STREAMED":
            return tagged(plan)
        case "COMPLETE":
            return Complete(plan)
        case _:
            return ToStream(StreamOperator[operator], plan)


def tagged(plan: Plan) -> Tag:
    """The changes of a relation, told by its smallest key: an update keeps the key and changes the rest."""
    candidates = sorted(keys(plan), key=lambda k: (len(k), sorted(k)))
    key = tuple(name for name in plan.schema.names if candidates and name in candidates[0])
    return Tag(plan, key, single=frozenset() in candidates)

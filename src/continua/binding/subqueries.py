"""Subqueries in expressions, and IN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from continua.algebra.base import Plan
from continua.algebra.expr import (
    Cast,
    Exists,
    Expr,
    InList,
    InSubquery,
    Quantified,
    Quantifier,
    ScalarSubquery,
    connected,
)
from continua.binding.syntax import has_modifiers

if TYPE_CHECKING:
    from continua.binding.expressions import ExpressionBinder


class SubqueryExpressions:
    """Binds the subqueries of one clause's expressions."""

    def __init__(self, outer: ExpressionBinder) -> None:
        self.outer = outer
        self.context = outer.context

    def exists(self, node: exp.Exists) -> Expr:
        """EXISTS (query)."""
        return Exists(self.outer.subquery(self._query(node.this, node), self.outer.scope))

    def membership(self, node: exp.In) -> Expr:
        """IN, of values or of a subquery."""
        operands = tuple(
            self.outer.value(o) for o in (node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this])
        )
        query = node.args.get("query")
        if query is None and not node.expressions:
            self.context.fail("SYNTAX", "IN needs at least one value", node, expected="a value")
        if query is None:
            if len(operands) > 1:
                parts = [self.outer.compare("=", node.this, item, node) for item in node.expressions]
                return connected("OR", parts)
            items = []
            operand = operands[0]
            for item in node.expressions:
                operand, bound = self.outer.comparable(operands[0], self.outer.value(item), item)
                items.append(bound)
            return InList(operand, tuple(items))
        plan = self.outer.subquery(self._query(query, node), self.outer.scope)
        if len(plan.schema) != len(operands):
            self.context.fail(
                "COLUMN_COUNT",
                f"IN compares {len(operands)} value(s) with a subquery of {len(plan.schema)} columns",
                node,
                left=len(operands),
                right=len(plan.schema),
            )
        compared = [
            self.outer.comparable(operand, column.column, node)
            for operand, column in zip(operands, plan.schema, strict=True)
        ]
        if any(isinstance(column, Cast) for _, column in compared):
            self.context.fail(
                "TYPE_MISMATCH", "text in the subquery is compared with a date or timestamp", node, "CAST it there"
            )
        return InSubquery(tuple(operand for operand, _ in compared), plan)

    def quantified(self, operator: str, left: exp.Expr, right: exp.Expr, node: exp.Expr) -> Expr:
        """A comparison with ANY or ALL of a subquery."""
        quantifier = Quantifier.ALL if isinstance(right, exp.All) else Quantifier.ANY
        operand = self.outer.value(left)
        plan = self.outer.subquery(self._query(right.this, node), self.outer.scope)
        if len(plan.schema) != 1:
            self._one_column(plan, node)
        self.outer.comparable(operand, plan.schema.fields[0].column, node)
        return Quantified(operator, quantifier, operand, plan)

    def scalar(self, node: exp.Expr) -> Expr:
        """A subquery that stands for a value."""
        plan = self.outer.subquery(self._query(node, node), self.outer.scope)
        if len(plan.schema) != 1:
            self._one_column(plan, node)
        return ScalarSubquery(plan, plan.schema.fields[0].type)

    def _query(self, node: exp.Expr, where: exp.Expr) -> exp.Query:
        while isinstance(node, exp.Paren) or (isinstance(node, exp.Subquery) and not has_modifiers(node)):
            node = node.this
        if not isinstance(node, exp.Query):
            self.context.fail("SYNTAX", "a subquery is expected here", where, expected="a subquery")
        return node

    def _one_column(self, plan: Plan, node: exp.Expr) -> None:
        self.context.fail(
            "COLUMN_COUNT",
            f"a subquery used as a value has one column, not {len(plan.schema)}",
            node,
            left=1,
            right=len(plan.schema),
        )

"""Joins in FROM: comma, JOIN ... ON, USING and NATURAL."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from continua.algebra.base import Plan
from continua.algebra.expr import Expr, conjunction, equal
from continua.algebra.relational import Join, JoinKind
from continua.algebra.schema import Field
from continua.binding.context import Context, Item, Scope
from continua.binding.expressions import ExpressionBinder, SubqueryBinder
from continua.types import comparable

if TYPE_CHECKING:
    from continua.binding.from_items import FromBinder


class JoinBinder:
    """Binds the joins of one query."""

    def __init__(self, context: Context, items: FromBinder, subquery: SubqueryBinder) -> None:
        self.context = context
        self.items = items
        self.subquery = subquery

    def join(self, left: Plan, scope: Scope, node: exp.Join) -> tuple[Plan, Scope]:
        """The plan and scope with one more item joined."""
        right, added = self.items.item(node.this, scope.outer)
        joined = Scope(scope.items + added.items, scope.outer, scope.merged + added.merged)
        kind = _join_kind(node)
        if kind is None:
            self.context.fail("NOT_SUPPORTED", "this kind of join is not supported", node, feature="JOIN")
        predicate: Expr | None = None
        names = _shared_names(node, scope, added)
        if names:
            predicate, merged = self._using(names, scope, added, kind, node)
            old = tuple(m for m in joined.merged if m[0].casefold() not in {n.casefold() for n in names})
            joined = replace(joined, merged=old + merged)
        elif on := node.args.get("on"):
            predicate = ExpressionBinder(self.context, joined, self.subquery, "ON").condition(on)
        plan = Join(kind, left, right, predicate)
        if kind in (JoinKind.SEMI, JoinKind.ANTI):
            return plan, scope
        fields = {f.name: f for f in plan.schema}
        items = tuple(Item(i.alias, tuple((n, fields[f.name]) for n, f in i.fields)) for i in joined.items)
        refreshed = tuple((n, fields[f.name]) for n, f in joined.merged)
        return plan, replace(joined, items=items, merged=refreshed)

    def _comparable(self, left: Field, right: Field, name: str, node: exp.Join) -> None:
        if not comparable(left.type, right.type):
            self.context.error(
                "TYPE_MISMATCH",
                f"column {name} is {left.type} on one side and {right.type} on the other",
                _place(node, name),
                left=str(left.type),
                right=str(right.type),
            )

    def _using(
        self, names: list[str], left: Scope, right: Scope, kind: JoinKind, node: exp.Join
    ) -> tuple[Expr | None, tuple[tuple[str, Field], ...]]:
        """The equalities of USING, and one column for each of its names."""
        if kind is JoinKind.FULL:
            self.context.fail("NOT_SUPPORTED", "FULL JOIN takes ON, not USING", node, feature="USING")
        parts: list[Expr] = []
        merged: list[tuple[str, Field]] = []
        for name in names:
            a, b = (_columns(side, name) for side in (left, right))
            if not a or not b:
                self.context.fail(
                    "UNKNOWN_COLUMN", f"column {name} is not on both sides of the join", _place(node, name), column=name
                )
            self._comparable(a[0], b[0], name, node)
            parts.append(equal(a[0].column, b[0].column))
            merged.append((name, b[0] if kind is JoinKind.RIGHT else a[0]))
        return conjunction(parts), tuple(merged)


def _shared_names(node: exp.Join, left: Scope, right: Scope) -> list[str]:
    if using := node.args.get("using"):
        return [u.name for u in using]
    if node.args.get("method") == "NATURAL":
        theirs = {n.casefold() for i in right.items for n, f in i.fields if not f.hidden}
        return [n for i in left.items for n, f in i.fields if not f.hidden and n.casefold() in theirs]
    return []


def _join_kind(node: exp.Join) -> JoinKind | None:
    side, kind = node.args.get("side") or "", node.args.get("kind") or ""
    if kind in ("SEMI", "ANTI"):
        return JoinKind[kind] if side in ("", "LEFT") else None
    if kind not in ("", "INNER", "OUTER", "CROSS"):
        return None
    return {"": JoinKind.INNER, "LEFT": JoinKind.LEFT, "RIGHT": JoinKind.RIGHT, "FULL": JoinKind.FULL}.get(side)


def _columns(scope: Scope, name: str) -> list[Field]:
    """The column that a name of USING means: the merged one of an earlier join, if there is one."""
    merged = [f for n, f in scope.merged if n.casefold() == name.casefold()]
    return merged or [f for i in scope.items for f in i.find(name)]


def _place(node: exp.Join, name: str) -> exp.Expr:
    """Where a name of USING stands."""
    return next((u for u in node.args.get("using") or [] if u.name == name), node)

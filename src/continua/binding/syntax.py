"""Small questions about syntax trees."""

from __future__ import annotations

from sqlglot import exp


def has_modifiers(node: exp.Expr) -> bool:
    """Whether ORDER BY, LIMIT or OFFSET stand on a query."""
    return any(node.args.get(part) for part in ("order", "limit", "offset"))


def order_terms(node: exp.Expr) -> list[exp.Ordered]:
    """The terms of ORDER BY."""
    order = node.args.get("order")
    if order is None:
        return []
    return [t if isinstance(t, exp.Ordered) else exp.Ordered(this=t) for t in order.expressions]

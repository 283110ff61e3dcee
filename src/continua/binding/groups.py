"""GROUP(item, function, j OF k) in FROM: the group operator of PIPES, with its projection (PIPES 2005, 3.2.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from continua.algebra.base import Plan
from continua.algebra.relational import Group
from continua.binding.context import Item, Scope
from continua.binding.expressions import ExpressionBinder
from continua.lang.stream_nodes import StreamGroup
from continua.types import NULL, UNKNOWN

if TYPE_CHECKING:
    from continua.binding.from_items import FromBinder


def group(items: FromBinder, node: StreamGroup, outer: Scope | None) -> tuple[Plan, Item]:
    """The rows of an item of FROM for which a function gives the number of the group."""
    context, function_node = items.context, node.args["function"]
    plan, scope = items.item(node.this, outer)
    function = ExpressionBinder(context, scope, items.queries.subquery, "GROUP").bind(function_node)
    if not function.type.is_integer and function.type not in (NULL, UNKNOWN):
        context.fail(
            "TYPE_MISMATCH",
            f"GROUP goes by the number of a group, and this is {function.type}",
            function_node,
            left="INT",
            right=str(function.type),
        )
    count, index = (int(node.args[part].name) for part in ("count", "index"))
    (item,) = scope.items
    return Group(plan, function, count, index), Item(node.alias or item.alias, item.fields)

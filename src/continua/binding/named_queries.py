"""Queries with names that others read: bound again wherever they are named, as they were defined."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from continua.algebra.base import Plan
from continua.binding.context import Context, UnbindableError
from continua.catalog import ViewInfo
from continua.lang.places import Positions


def rebound(context: Context, info: ViewInfo, unique: str, node: exp.Expr) -> Plan:
    """The view's query under fresh names; ``node`` is where the view is named."""
    from continua.binding.defaults import bind_view

    catalog, here = context.catalog, context.settings
    inner = Context(catalog, Positions(""), uses=context.uses, size=context.size, _names=context._names)
    catalog.settings = replace(info.settings, chronon=here.chronon, start_time=here.start_time)
    try:
        plan: Plan | None = bind_view(inner, info.query, info.kind, unique, info.columns)[0]
    except UnbindableError:
        plan = None
    finally:
        catalog.settings = here
    for found in inner.errors:
        if found.condition == "TOO_COMPLEX":
            context.too_complex(str(found.parameters["what"]), int(str(found.parameters["limit"])), node)
    if plan is None or inner.errors:
        reasons = "; ".join(d.message for d in inner.errors)
        context.fail("BROKEN_VIEW", f"{info.name} no longer makes sense: {reasons}", node, name=info.name)
    context.note_domain(inner.domain, node)
    return plan

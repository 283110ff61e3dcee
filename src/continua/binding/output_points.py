"""SET output_points: a query that is refreshed at its full synchronization points alone (SyncSQL 4.2.2)."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from continua.algebra.base import Kind, Plan, kind_of
from continua.algebra.full_points import full_points
from continua.algebra.streaming import Complete, Synchronize, Tag, ToStream
from continua.algebra.synchronization import synchronization
from continua.binding.context import Context
from continua.windows.change_points import Points


def with_output_points(context: Context, plan: Plan, query: exp.Query) -> Plan:
    """The plan of a query that is refreshed at the points which the settings ask for."""
    if context.settings.output_points != "full":
        return plan
    if isinstance(plan, Tag | ToStream | Complete):
        return replace(plan, input=with_output_points(context, plan.input, query))
    found = synchronization(plan)
    if kind_of(plan) is not Kind.RELATION or len(found.leaves) <= 1:
        return plan
    points = full_points(found)
    if not isinstance(points, Points):
        context.fail(
            "NO_FULL_POINTS",
            "it is not known that all inputs of the query are refreshed together at regular points",
            query,
            "SET output_points = all tells the partial ones too",
        )
    return Synchronize(plan, points.step, points.offset)

"""Plans of a query with start t0: the windows whose description depends on that (Astral 6.1.1)."""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.expr import Exists, Expr, InSubquery, Quantified, ScalarSubquery, transform
from continua.algebra.relational import Window
from continua.algebra.traverse import nodes_of, subplans_of, with_inputs
from continua.rules.substitution import with_all_expressions


def starting_at(plan: Plan, start: int, chronon: int) -> Plan:
    """The plan with its windows, those in subqueries included, as they are for a query that starts at an instant."""
    windows = [node.spec for node in nodes_of(plan) if isinstance(node, Window)]
    if all(spec.starting_at(start, chronon) == spec for spec in windows):
        return plan

    def change(below: Plan) -> Plan:
        found = with_inputs(below, change)
        if subplans_of(found):
            found = with_all_expressions(found, lambda expr: transform(expr, in_subquery))
        return replace(found, spec=found.spec.starting_at(start, chronon)) if isinstance(found, Window) else found

    def in_subquery(expr: Expr) -> Expr:
        match expr:
            case Exists() | InSubquery() | Quantified() | ScalarSubquery():
                return replace(expr, plan=change(expr.plan))
            case _:
                return expr

    return change(plan)

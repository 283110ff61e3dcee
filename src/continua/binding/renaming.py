"""New names for the columns of a query."""

from __future__ import annotations

from dataclasses import replace

from continua.algebra.base import Plan
from continua.algebra.relational import Project
from continua.algebra.streaming import Tag, ToStream


def renamed(plan: Plan, qualifier: str | None, columns: tuple[str, ...]) -> Plan:
    """The plan with its columns named anew; below the operator that makes a stream of a relation."""
    prefix = f"{qualifier}." if qualifier else ""
    match plan:
        case ToStream(input=below):
            return replace(plan, input=renamed(below, qualifier, columns))
        case Tag(input=below, key=key):
            names = dict(zip(plan.schema.names, columns, strict=True))
            inner = renamed(below, qualifier, columns)
            return replace(plan, input=inner, key=tuple(prefix + names[k] for k in key))
        case _:
            pairs = zip(columns, plan.schema, strict=True)
            return Project(plan, tuple((prefix + name, f.column) for name, f in pairs))

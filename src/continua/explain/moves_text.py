"""Whether and how plans move while queries run (PIPES 6.4.3), for readers."""

from __future__ import annotations

from collections.abc import Sequence

from continua.answers.query import Query
from continua.errors import NotSupportedError
from continua.instants import TimeDomain, show_instant
from continua.physical.migration import bound_to
from continua.rules.order import EVERYTHING, PLAN_MIGRATION
from continua.runs.plans import graph_of
from continua.runs.sampling import has_choice
from continua.runtime.checkpoint.registrations import Moved
from continua.runtime.fingerprints import Function


def moves_text(query: Query, functions: Sequence[Function]) -> str | None:
    """Whether a query's plan may give way to a better one while it runs, or why not; None where it has no choice."""
    if not has_choice(query) or query.rewritten is None:
        return None
    if not query.rewritten.disabled.isdisjoint((EVERYTHING, PLAN_MIGRATION)):
        return "its plan stays while it runs: plan_migration is switched off"
    try:
        why = bound_to(graph_of(query, functions, changes=True))
    except NotSupportedError:
        return None
    return "its plan may move while it runs" if why is None else f"its plan stays while it runs: {why}"


def moved_text(how: Moved | None, why: str, domain: TimeDomain) -> str:
    """What a live query's plan has done."""
    if how is None:
        return f"stays: {why}" if why else ""
    instant = show_instant(how.split, domain)
    if how.leaving:
        return f"moves at {instant}"
    return f"moved at {instant}" + (f", {how.count} times" if how.count > 1 else "")

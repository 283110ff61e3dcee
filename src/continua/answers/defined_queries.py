"""Queries as they are defined: bound to a catalog, by the plans that the rules make of them."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from continua.algebra.leaves import BaseRelation, Source, TaggedSource
from continua.answers.query import Query, begun
from continua.binding.asked_instants import bound_instant
from continua.binding.context import Context
from continua.binding.defaults import bind_query
from continua.binding.permissions import check_sink
from continua.catalog import Catalog, RelationInfo, StreamInfo, ViewInfo
from continua.errors import did_you_mean
from continua.instants import INFINITY, TimeDomain
from continua.lang.parse import parse_script
from continua.lang.places import Positions
from continua.lang.statements import Name, QueryStatement, SourceCall, StartingAt
from continua.reference.leaf_names import used_inputs
from continua.rules.order import EVERYTHING, NAMES, optimize
from continua.rules.rule import Facts
from continua.rules.statistics import statistics_of


def defined_query(context: Context, name: str, tree: exp.Query, sink: SourceCall | None = None) -> Query:
    """The query that a text defines."""
    check_sink(context, sink)
    bound, settings = bind_query(context, tree), context.settings
    chronon = settings.chronon if bound.domain is TimeDomain.MICROSECONDS else 1
    bound = begun(bound, settings.start_time, chronon)
    used = {p.name for p in used_inputs(bound.plan) if isinstance(p, Source | BaseRelation | TaggedSource)}
    found = {context.catalog.table(name) for name in used}
    sources = tuple(s for s in found if isinstance(s, StreamInfo | RelationInfo))
    declared = statistics_of(e for e in context.catalog.entries() if isinstance(e, StreamInfo | RelationInfo))
    rewritten = optimize(bound.plan, Facts(chronon, declared), settings.disabled_rules)
    written = Query(name, bound, settings.start_time, chronon, sources, sink, uses=frozenset(context.uses))
    return written.rewritten_as(rewritten)


def starting(context: Context, query: Query, asked: StartingAt | None) -> Query:
    """A query with the start that it asks for: over bounded inputs the earliest is that of all queries."""
    if asked is None:
        return query
    if asked.instant is None:
        return replace(query, earliest=-INFINITY)
    start = bound_instant(context, asked.instant, asked.span, query.domain)
    return replace(query.starting_at(start), earliest=start)


def content_query(catalog: Catalog, view: ViewInfo, name: str) -> Query:
    """A query for what a view holds."""
    text = f"SELECT COMPLETE * FROM `{view.name.replace('`', '``')}`"
    body = parse_script(text).statements[0].body
    assert isinstance(body, QueryStatement)
    return defined_query(Context(catalog, Positions(text)), name, body.query)


def check_rules(context: Context, name: Name) -> None:
    """Refuses to switch off a rule that there is not; ``name`` is that of the setting."""
    for rule in sorted(context.settings.disabled_rules - {*NAMES, EVERYTHING}):
        hint = did_you_mean(rule, NAMES) or "docs/language.md lists the rules, under Plans"
        context.fail("UNKNOWN_RULE", f"there is no rule {rule}", name.span, hint, name=rule)

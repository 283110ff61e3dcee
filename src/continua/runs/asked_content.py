"""SELECT ... AT an instant: a query over what live queries, views and sources hold then.

In its FROM the name of a registered query stands for the content of that query, as that of a COMPLETE view stands for
the view's. These are known at closed instants, as far as history is kept; what the query makes of them is plain SQL
over relations that do not change, since its content at an instant depends on the contents at that instant alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from continua.algebra.schema import Field
from continua.algebra.streaming import Tag, ToStream
from continua.algebra.unnest import unnest
from continua.answers.by_reference import read_for, reference_content
from continua.answers.defined_queries import defined_query
from continua.answers.outcome import AskedContent
from continua.answers.query import Query, floored
from continua.binding.asked_instants import bound_instant
from continua.binding.context import Context
from continua.catalog import RelationInfo
from continua.instants import floor_to
from continua.lang.statements import SelectAt
from continua.reference.elements import Inputs
from continua.reference.semantics import Reference
from continua.runs.bounded import BoundedOptions, content_at
from continua.runs.plans import why_not
from continua.runtime.executors.executor import InProcess
from continua.runtime.fingerprints import Function
from continua.runtime.inputs import InputReader
from continua.windows.occurrences import Row

_OF_STREAMS = ("DEFAULT_OPERATOR", "EXPANDED_QUERY")
"""What is told of queries whose answers are streams."""
Contents = Callable[[int | None], tuple[int, list[Row]]]
"""Gives what something holds at an instant, or at the latest one that is closed, and which that is."""


@dataclass(frozen=True)
class KnownContent:
    """A query or view whose content is known, and how that is found."""

    query: Query
    contents: Contents


@dataclass(frozen=True)
class Asked:
    """A query that is asked at an instant, bound; None: at the latest instant that is closed."""

    query: Query
    instant: int | None
    kept: Mapping[str, KnownContent]
    """By their names in lower case, what it reads of queries and views."""
    same: Contents | None = None
    """Where a live query means the same, what that holds."""

    def answered(self, inputs: InputReader, functions: list[Function]) -> AskedContent:
        """What it holds."""
        if self.same is not None:
            instant, rows = self.same(self.instant)
        elif self.kept:
            instant, rows = self._over_contents(inputs, functions)
        else:
            instant, rows = content_over_sources(self.query, self.instant, inputs, functions)
        return AskedContent(_as_content(self.query), instant, tuple(rows))

    def _over_contents(self, inputs: InputReader, functions: list[Function]) -> tuple[int, list[Row]]:
        instant, relations = self.instant, dict[str, tuple[Row, ...]]()
        for name, kept in self.kept.items():
            instant, rows = kept.contents(instant)
            relations[name] = tuple(rows)
        assert instant is not None
        others = inputs.read(s for s in self.query.sources if s.name.casefold() not in self.kept)
        read = Inputs(others.streams, {**others.relations, **relations}, others.tagged, others.places)
        read = read_for(self.query, inputs, read)
        query = replace(self.query, start=min(self.query.start, instant))
        reference = Reference(floored(read, query.chronon), functions, query.start, query.chronon, query.domain)
        return instant, reference_content(query, instant, reference)


def asked(context: Context, name: str, statement: SelectAt, find: Callable[[str], KnownContent | None]) -> Asked:
    """Binds SELECT ... AT. ``find`` gives what is kept under a name."""
    kept = {found.casefold(): what for found in _named(statement.query) if (what := find(found)) is not None}
    catalog = context.catalog.copy()
    for found, what in kept.items():
        catalog.add(_as_relation(found, what.query))
        context.note_domain(what.query.domain, statement.query)
    inner = replace(context, catalog=catalog)
    query = defined_query(inner, name, statement.query)
    instant = None
    if statement.instant is not None:
        instant = floor_to(bound_instant(context, statement.instant, statement.span, query.domain), query.chronon)
    told = tuple(n for n in query.bound.notices if n.condition not in _OF_STREAMS)
    return Asked(replace(query, bound=replace(query.bound, notices=told)), instant, kept)


def _as_content(query: Query) -> Query:
    """The query of a relation: whatever it makes of its changes, what it holds is asked for."""
    plan = query.bound.plan
    if not isinstance(plan, ToStream | Tag):
        return query
    return replace(query, bound=replace(query.bound, plan=plan.input, logical=unnest(plan.input)), rewritten=None)


def _named(tree: exp.Query) -> list[str]:
    """The names in FROM, each once, but for those of WITH."""
    own = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
    names = [table.name for table in tree.find_all(exp.Table) if not table.args.get("db")]
    return list(dict.fromkeys(name for name in names if name and name.casefold() not in own))


def _as_relation(name: str, query: Query) -> RelationInfo:
    """A relation with the columns of a query."""
    fields = tuple(Field(f.short, f.type) for f in query.bound.plan.schema)
    return RelationInfo(name, fields, domain=query.domain)


def content_over_sources(
    query: Query, instant: int | None, inputs: InputReader, functions: list[Function]
) -> tuple[int, list[Row]]:
    """What a query holds at an instant over the rows of its sources as they are; at the last if none is named."""
    if (
        instant is not None
        and why_not(query, functions) is None
        and all(inputs.frame(s) is None for s in query.sources)
    ):
        given = inputs.given(query.sources)
        return instant, content_at(query, instant, given, functions, InProcess(), BoundedOptions())
    read = floored(read_for(query, inputs), query.chronon)
    reference = Reference(read, functions, query.start, query.chronon)
    if instant is None:
        plan = query.bound.plan
        instant = reference.instants(plan.input if isinstance(plan, ToStream | Tag) else plan)[-1]
    return instant, reference_content(query, instant, reference)

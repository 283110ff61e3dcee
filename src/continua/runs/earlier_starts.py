"""Queries that ask to start before they join a live run: at the start of a running query that means the same.

The operators of that one hold all that they need, and what it has answered so far is what they would have answered.
That is told as their own when they join, where history is kept in full.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from continua.algebra.leaves import BaseRelation
from continua.algebra.traverse import nodes_of
from continua.answers.query import Query
from continua.errors import Diagnostic, NotSupportedError
from continua.instants import show_instant
from continua.physical.carried_leaves import carried_leaves
from continua.rules.likeness import canonical
from continua.runs.later_queries import Earlier
from continua.runtime.checkpoint.registrations import GoesOn, Registered
from continua.runtime.engine import Engine
from continua.sharing.recorded_plans import recorded


@dataclass(frozen=True, slots=True)
class Answered:
    """A running query whose answers are known from its start on."""

    name: str
    since: int
    """The first epoch that can hold results of it."""
    operators: Earlier


def reaching_back(
    query: Query, running: Iterable[Answered], before: int, horizon: int
) -> Iterator[tuple[GoesOn, Earlier]]:
    """With which running queries a query may start before an instant, the earliest first, and their operators.

    ``horizon``: the last epoch whose results are not kept.
    """
    if query.earliest is None or query.rewritten is None:
        return
    able = [a for a in running if query.earliest <= a.operators.query.start < before and a.since > horizon]
    for answered in sorted(able, key=lambda a: a.operators.query.start):
        known = answered.operators
        if not _means_the_same(query.starting_at(known.query.start), known.query):
            continue
        try:
            text = recorded(known.query.optimized)
        except NotSupportedError:
            continue
        statistics = None if known.query.rewritten is None else known.query.rewritten.facts.statistics
        start, since, after = known.query.start, known.since, before - 1
        whole = GoesOn(answered.name, start, since, after, text, known.generation, statistics, True, answered.since)
        yield whole, known


def _means_the_same(query: Query, other: Query) -> bool:
    """Whether both have the same answers; a stored relation may be another one by the time a query joins.

    Nor is it so where they are given what their leaves hold when they join.
    """
    if (query.chronon, query.domain) != (other.chronon, other.domain):
        return False
    one, same = canonical(query.bound.logical), canonical(other.bound.logical)
    stored = any(isinstance(node, BaseRelation) for node in nodes_of(query.bound.logical))
    given = next(carried_leaves(query.bound.logical, query.chronon), None)
    return one is not None and one == same and not stored and given is None


def answers_name(query: str, generation: str) -> str:
    """The source by which a query is told what another one has answered before it joined."""
    return f"answers before {query.casefold()}{generation}"


def earlier_answers(engine: Engine, known: Registered) -> dict[str, pa.Table]:
    """What a query is told when it joins."""
    goes_on = known.goes_on
    assert goes_on is not None
    found = engine.results(goes_on.of, goes_on.told, known.since - 1)
    return {} if found is None else {answers_name(known.name, known.generation): found}


def told_starts(queries: Iterable[Query], registered: Mapping[str, Registered]) -> list[Diagnostic]:
    """Tells of queries that asked to start before they join when they do."""
    return [_told(query, registered[query.name].goes_on) for query in queries if query.earliest is not None]


def _told(query: Query, goes_on: GoesOn | None) -> Diagnostic:
    start = show_instant(query.start, query.domain)
    if goes_on is not None and goes_on.told:
        why = f"the operators of {goes_on.of} hold all that it needs from there on, and history what they answered"
    else:
        why = "that is when it joins, since nothing that runs holds what it needs from before"
    return Diagnostic(
        "STARTS_AT", f"{query.name} starts at {start}: {why}", parameters={"query": query.name, "start": query.start}
    )

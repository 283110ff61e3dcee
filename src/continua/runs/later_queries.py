"""Queries that start later than others which are like them: they go on with the operators of those (Astral 5.2).

Up to an instant such a query is answered by operators of its own, which see no element behind it; from then on by those
that started earlier (:mod:`continua.sharing.later_starts`). Once all instants up to there are closed, a live run gives
its own ones up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from continua.algebra.leaves import BaseRelation
from continua.algebra.traverse import nodes_of
from continua.answers.query import Query
from continua.errors import NotSupportedError
from continua.physical.carried_leaves import carried_leaves
from continua.physical.handover import follows_input, handed_over
from continua.physical.nodes import QueryResult
from continua.physical.placement import in_order
from continua.physical.split_nodes import told_by_start
from continua.rules.likeness import canonical
from continua.rules.order import LIGHT_SIDE_EVERYWHERE, TRANSPOSITION, optimize
from continua.runs.plans import Form, by_plan, chosen_forms, graph_of, sink_of
from continua.runtime.checkpoint.registrations import GoesOn, first_epoch
from continua.runtime.fingerprints import Function
from continua.sharing.later_starts import LaterStart, later_start, with_windows_of
from continua.sharing.merged_aggregations import with_merged_aggregations
from continua.sharing.recorded_plans import recalled, recorded
from continua.sharing.transposition import NotTransposedError

MOST = 16
"""So many queries that started earlier are tried for a query."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """Operators that others may go on with: those of a query from its start on."""

    query: Query
    """It has the plan that they were made by."""
    graph: QueryResult
    generation: str = ""
    since: int = 1
    """The first epoch in which they ran."""
    is_there: bool = True
    """Whether what they have told before another query joins is known to that: both run from the first epoch on."""


@dataclass(frozen=True, slots=True)
class NotTransposed:
    """Why a query does not go on with the operators of an earlier one that would serve it otherwise."""

    query: str
    earlier: str
    condition: str
    detail: str


@dataclass(frozen=True, slots=True)
class Continuation:
    """How a query goes on with the operators of an earlier one."""

    later: LaterStart
    goes_on: GoesOn
    graph: QueryResult
    """What it has of those."""


def forms_together(
    queries: Sequence[Query],
    functions: Iterable[Function],
    changes: Collection[str] = (),
    generation: str = "",
    running: Sequence[Earlier] = (),
) -> list[Form]:
    """Queries that join a run together, each by the plan that serves all of them best; ``running``: what they join."""
    known = list(functions)
    forms = chosen_forms(queries, known, changes, generation)
    if len({form.query.start for form in forms}) < 2 and not running:
        return forms
    done: dict[str, Form] = {}
    for form in sorted(forms, key=lambda form: form.query.start):
        name = form.query.name
        found = _continued(form, [*running, *_begun(done.values(), generation)], known, name in changes, generation)
        done[name] = form if found is None else _going_on(form, found, known, name in changes, generation)
    return [done[form.query.name] for form in forms]


def graphs_of(
    queries: Sequence[Query], functions: Iterable[Function], changes: Collection[str] = ()
) -> list[QueryResult]:
    """The graphs of queries that run together, so that they share what they can; ``changes``: as in ``graph_of``.

    Aggregations are merged too, so that none of the queries may leave before the end: a merged one would change, and
    its state is that of the queries it was merged for.
    """
    found = [form.graph for form in forms_together(queries, functions, changes)]
    return with_merged_aggregations(found) if len(found) > 1 else found


def outcomes(queries: Sequence[Query], functions: Iterable[Function]) -> list[tuple[str, Continuation | NotTransposed]]:
    """For queries that run together, by name, with which others they go on, and with which not although nearly so."""
    known = list(functions)
    forms = sorted(chosen_forms(queries, known, {q.name for q in queries}), key=lambda form: form.query.start)
    result: list[tuple[str, Continuation | NotTransposed]] = []
    begun: list[Earlier] = []
    for form in forms:
        found = [_continuation(form.query, earlier, known, True, "") for earlier in begun[:MOST]]
        continued = next((f for f in found if isinstance(f, Continuation)), None)
        told = [continued] if continued is not None else [f for f in found if isinstance(f, NotTransposed)]
        result += [(form.query.name, f) for f in told]
        if continued is None:
            begun += _begun([form], "")
    return result


def _begun(forms: Iterable[Form], generation: str) -> list[Earlier]:
    """The operators of queries that join a run together, each its own."""
    since = first_epoch(generation)
    return [Earlier(form.query, form.graph, generation, since) for form in forms if form.goes_on is None]


def _continued(
    form: Form, earlier: Sequence[Earlier], functions: Sequence[Function], changes: bool, generation: str
) -> Continuation | None:
    """How a query goes on with the first of some earlier ones that it may go on with."""
    for tried in sorted(earlier, key=lambda e: e.query.start)[:MOST]:
        found = _continuation(form.query, tried, functions, changes, generation)
        if isinstance(found, Continuation):
            return found
    return None


def _continuation(
    query: Query, earlier: Earlier, functions: Sequence[Function], changes: bool, generation: str
) -> Continuation | NotTransposed | None:
    """How a query goes on with the operators of an earlier one; None where they are none that it needs."""
    if not _may_fit(query, earlier.query):
        return None
    same = _as_of(query, earlier.query)
    try:
        graph = sink_of(same, same.optimized, functions, changes, earlier.generation)
        text = recorded(same.optimized)
    except NotSupportedError:
        return None
    known = {node.id for node in in_order([earlier.graph])}
    held = [node for node in in_order([graph]) if node.stateful and not isinstance(node, QueryResult)]
    if not held or any(node.id not in known for node in held):
        return None
    try:
        _check(query, graph, earlier, generation)
        starts = query.start, earlier.query.start
        later = later_start(query.bound.logical, same.bound.logical, starts, query.chronon)
    except NotTransposedError as failed:
        return NotTransposed(query.name, earlier.query.name, failed.condition, failed.detail)
    facts = same.rewritten.facts if same.rewritten is not None else None
    goes_on = GoesOn(
        earlier.query.name,
        earlier.query.start,
        earlier.since,
        later.after,
        text,
        earlier.generation,
        None if facts is None else facts.statistics,
    )
    return Continuation(later, goes_on, graph)


def _may_fit(query: Query, earlier: Query) -> bool:
    if query.rewritten is None or earlier.rewritten is None or TRANSPOSITION in query.rewritten.disabled:
        return False
    off = [LIGHT_SIDE_EVERYWHERE in q.rewritten.disabled for q in (query, earlier) if q.rewritten is not None]
    alike = [(q.chronon, q.domain, {s.name.casefold() for s in q.sources}) for q in (query, earlier)]
    return earlier.start < query.start and alike[0] == alike[1] and off[0] == off[1]


def _as_of(query: Query, earlier: Query) -> Query:
    """A query as if it had the start and the windows of an earlier one, by the plan of that where they are alike."""
    moved = query.starting_at(earlier.start)
    bound, done = moved.bound, earlier.rewritten
    assert done is not None
    logical = with_windows_of(bound.logical, earlier.bound.logical)
    if logical != bound.logical:
        bound = replace(bound, plan=logical, logical=logical)
    moved = replace(moved, bound=bound, carried=earlier.carried)
    one, other = canonical(bound.logical), canonical(earlier.bound.logical)
    if one is not None and one == other:
        return replace(moved, rewritten=done)
    return replace(moved, rewritten=optimize(bound.plan, done.facts, done.disabled))


def _check(query: Query, graph: QueryResult, earlier: Earlier, generation: str) -> None:
    """Refuses what cannot be taken over, whatever the windows are."""
    if any(True for _ in carried_leaves(query.bound.logical, query.chronon)):
        raise NotTransposedError("LASTING", "rows in force, and relations, go over to it as they are when it joins")
    stored = [node.name for node in nodes_of(query.bound.logical) if isinstance(node, BaseRelation)]
    if stored and generation != earlier.generation:
        raise NotTransposedError("STORED", f"{stored[0]} was read when each of them joined")
    if not earlier.is_there and not told_by_start(graph):
        raise NotTransposedError("INTERVALS", "its rows are told with their ends, some of them before it joined")


def _going_on(form: Form, found: Continuation, functions: Sequence[Function], changes: bool, generation: str) -> Form:
    graph = combined(form.query, found.goes_on, found.graph, functions, changes, generation)
    return replace(form, graph=graph, own=form.alone, goes_on=found.goes_on)


def combined(
    query: Query,
    goes_on: GoesOn,
    other: QueryResult,
    functions: Sequence[Function],
    changes: bool,
    generation: str = "",
) -> QueryResult:
    """The graph of a query that goes on with other operators: with its own up to an instant, unless these are gone."""
    if goes_on.alone:
        return other
    own = graph_of(query, functions, changes, generation)
    if not follows_input(own):
        own = graph_of(query, functions, changes, generation, goes_on.after)
    return handed_over(own, other, goes_on.after)


def taken_up(query: Query, goes_on: GoesOn) -> Query:
    """A query as it goes on: by the plan, and from the start, of the operators that it goes on with."""
    done = query.rewritten
    assert done is not None
    if goes_on.statistics is not None:
        done = replace(done, facts=replace(done.facts, statistics=goes_on.statistics))
    return by_plan(replace(query, start=goes_on.start, rewritten=done), recalled(goes_on.plan))


def other_graph(query: Query, goes_on: GoesOn, functions: Sequence[Function], changes: bool) -> QueryResult:
    """What a query has of the operators that it goes on with."""
    same = taken_up(query, goes_on)
    return sink_of(same, same.optimized, functions, changes, goes_on.generation)

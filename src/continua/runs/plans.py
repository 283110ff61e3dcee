"""The physical graphs of queries: each by the plan that serves all that run together best."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import lcm

from continua.algebra.base import Plan
from continua.algebra.leaves import BaseRelation, Source, TaggedSource
from continua.algebra.streaming import Tag, ToStream
from continua.algebra.traverse import nodes_of
from continua.answers.query import Query
from continua.catalog import AggregateInfo
from continua.errors import NotSupportedError
from continua.physical.nodes import Node, QueryResult
from continua.physical.placement import in_order
from continua.physical.planner import Planner
from continua.recursion import room_to_recurse
from continua.rules.order import LIGHT_SIDE_EVERYWHERE, QUERY_MATCHING, optimize
from continua.runs.sampling import rewritten_by
from continua.runtime.checkpoint.registrations import GoesOn
from continua.runtime.fingerprints import Function
from continua.sharing.answering import MOST_VIEWS, Answering, answering
from continua.sharing.graph import LESS_WORK, choices, is_less_work, shareable
from continua.sharing.query_matching import Candidate, relation_of, relation_of_plan
from continua.sharing.recorded_plans import recalled, recorded
from continua.types import DataType


def sink_of(
    query: Query,
    plan: Plan,
    functions: Iterable[Function],
    changes: bool = False,
    generation: str = "",
    last: int | None = None,
) -> QueryResult:
    """The physical graph of a query, or of a part of its plan; its result are intervals, or net changes.

    ``generation`` tells stored relations apart that were fed at different times. ``last``: the last instant of which
    elements count, if there is one.
    """
    with room_to_recurse():
        return _planner(query, functions, generation, last).query(query.name, plan, changes)


def operators_of(query: Query, functions: Iterable[Function], changes: bool, generation: str) -> dict[Plan, Node]:
    """Which operators yield which relations of the plan that rules have made of a query."""
    planner = _planner(query, functions, generation)
    with room_to_recurse():
        planner.query(query.name, query.optimized, changes)
    return planner.made


def _planner(query: Query, functions: Iterable[Function], generation: str, last: int | None = None) -> Planner:
    aggregates = {f.name: f for f in functions if isinstance(f, AggregateInfo)}
    done = query.rewritten
    statistics = None if done is None else done.facts.statistics
    light_side_everywhere = done is None or LIGHT_SIDE_EVERYWHERE not in done.disabled
    carried = dict(query.carried)
    return Planner(
        query.start,
        query.chronon,
        query.domain,
        aggregates,
        generation,
        statistics,
        light_side_everywhere,
        carried,
        last,
    )


def graph_of(
    query: Query,
    functions: Iterable[Function],
    changes: bool = False,
    generation: str = "",
    last: int | None = None,
) -> QueryResult:
    """The physical graph of a query as the rules have rewritten it, or as it was written if only that can be run."""
    known = list(functions)
    if query.optimized != query.bound.logical:
        try:
            return sink_of(query, query.optimized, known, changes, generation, last)
        except NotSupportedError:
            pass
    return sink_of(query, query.bound.logical, known, changes, generation, last)


@dataclass(frozen=True, slots=True)
class Form:
    """A query by one of its plans, the graph of that, and the rules that were left out for it."""

    query: Query
    graph: QueryResult
    without: frozenset[str] = frozenset()
    own: QueryResult | None = None
    """The graph that the query has alone, where it is answered from another one or goes on with another one's."""
    recorded: str | None = None
    """Its plan as a text, where it is answered from another one."""
    goes_on: GoesOn | None = None
    """With which operators it goes on that started before it, if it does."""

    @property
    def alone(self) -> QueryResult:
        """The graph that it has by its own plan."""
        return self.graph if self.own is None else self.own


def chosen_forms(
    queries: Sequence[Query], functions: Iterable[Function], changes: Collection[str] = (), generation: str = ""
) -> list[Form]:
    """Queries that start together, each by the plan that serves all of them best."""
    known = list(functions)
    forms = _chosen_alone(queries, known, changes, generation)
    return _answered(forms, matching_of(queries), known, changes, generation)


def _chosen_alone(
    queries: Sequence[Query], functions: Sequence[Function], changes: Collection[str], generation: str
) -> list[Form]:
    """Queries that start together, each by a plan of its own that leaves most to share."""
    if len(queries) == 1:
        return [Form(q, graph_of(q, functions, q.name in changes, generation)) for q in queries]
    forms = [_forms(q, functions, q.name in changes, generation) for q in queries]
    places = choices([[form.graph for form in some] for some in forms])
    return [some[place] for some, place in zip(forms, places, strict=True)]


def matching_of(queries: Sequence[Query], most: int = MOST_VIEWS) -> Answering:
    """Which of the queries can be answered from which."""
    return answering([candidate(query) for query in queries if may_be_matched(query)], most)


def _answered(
    forms: Sequence[Form], found: Answering, functions: Sequence[Function], changes: Collection[str], generation: str
) -> list[Form]:
    """The forms, those of queries that are answered from others by the plans that do so, where it is no more work."""
    if not found.answered:
        return list(forms)
    done = {form.query.name: form for form in forms}
    settled = done.keys() - found.answered.keys()
    commons: dict[str, Plan] = {}

    def settle(name: str) -> Form:
        own = done[name]
        if name in settled:
            return own
        settled.add(name)
        answer = found.answered[name]
        if answer.view in found.clocks:
            if answer.view not in commons:
                commons[answer.view] = _optimized(own.query, relation_of(found.clocks[answer.view]))
            below, view = commons[answer.view], None
        else:
            view = settle(answer.view).graph
            below = _relation(done[answer.view].query)
        other = by_plan(own.query, answer.build(below))
        try:
            graph = sink_of(other, other.optimized, functions, name in changes, generation)
            text = recorded(other.optimized)
        except NotSupportedError:
            return own
        if view is None or is_less_work(graph, own.graph, view):
            done[name] = Form(other, graph, own.without, own.graph, text)
        return done[name]

    return [settle(form.query.name) for form in forms]


def may_be_matched(query: Query) -> bool:
    """Whether a query may be answered from another one, and others from it."""
    return query.rewritten is not None and QUERY_MATCHING not in query.rewritten.disabled


def candidate(query: Query) -> Candidate:
    """A query as matching knows it."""
    return Candidate(query.name, query.bound.logical, query.start, query.chronon)


def as_recorded(query: Query, plan: str | None) -> Query:
    """A query by the plan that was written down for it, if one was."""
    return query if plan is None else by_plan(query, recalled(plan))


def by_plan(query: Query, plan: Plan) -> Query:
    """A query by another plan of it than the rules have made."""
    done = query.rewritten
    assert done is not None
    return replace(query, rewritten=replace(done, plan=plan))


def _relation(view: Query) -> Plan:
    """The relation of a query, as the rules have it; that below a stream need not be the one that the stream is of."""
    if isinstance(view.bound.logical, ToStream | Tag):
        return _optimized(view, relation_of_plan(view.bound.logical))
    return view.optimized


def _optimized(query: Query, relation: Plan) -> Plan:
    """What the rules make of a relation that is not a query's own."""
    done = query.rewritten
    return relation if done is None else optimize(relation, done.facts, done.disabled).plan


def _forms(query: Query, functions: Sequence[Function], changes: bool, generation: str) -> list[Form]:
    """A query's own best plan, then those without rules that keep others from sharing its operators.

    Where leaving such rules out changes nothing, the form before stands there again, so that places match.
    """
    found = [Form(query, graph_of(query, functions, changes, generation))]
    if not shareable(found[0].graph) or not any(off & _applied(query) for off in LESS_WORK):
        return found
    for off in LESS_WORK:
        if not off & _applied(found[-1].query):
            found.append(found[-1])
            continue
        other = rewritten_by(query, without=off)
        try:
            graph = sink_of(other, other.optimized, functions, changes, generation)
        except NotSupportedError:
            break
        found.append(Form(other, graph, off))
    return found


def _applied(query: Query) -> frozenset[str]:
    """The rules that did something to a query."""
    return frozenset() if query.rewritten is None else frozenset(step.rule.name for step in query.rewritten.steps)


def why_not(query: Query, functions: Iterable[Function]) -> str | None:
    """Why the engine cannot run a query; None if it can."""
    try:
        graph_of(query, functions)
    except NotSupportedError as error:
        return error.diagnostics[0].message
    return None


def column_types(queries: Iterable[Query]) -> dict[str, Sequence[DataType]]:
    """The column types of all sources of queries, by name."""
    found: dict[str, Sequence[DataType]] = {}
    for query in queries:
        for node in nodes_of(query.bound.logical):
            if isinstance(node, Source | BaseRelation | TaggedSource):
                found[node.name.casefold()] = node.schema.types
    return found


def grain_of(queries: Iterable[Query]) -> int:
    """The least number of instants that all chronons of queries divide: epochs end between its multiples."""
    return lcm(*(q.chronon for q in queries))


def has_operator(graph: QueryResult, operator: object) -> bool:
    """Whether an operator works for a query."""
    return any(node.id == operator for node in in_order([graph]))

"""Live queries as the checkpoint knows them: what tells one from another, and which go on after a restart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

from continua.answers.query import Query, failed
from continua.answers.query_names import VIEW
from continua.answers.relation_behind import is_behind
from continua.errors import EvaluationError
from continua.instants import INFINITY
from continua.objects.urls import Place
from continua.physical.handover import with_earlier_answers
from continua.physical.nodes import QueryResult
from continua.rules.statistics import Statistics
from continua.runs.carried_content import carried_to, is_keeper
from continua.runs.earlier_starts import Answered, answers_name, reaching_back
from continua.runs.later_queries import Earlier, combined, forms_together, other_graph, taken_up
from continua.runs.live_sources import timed_sources
from continua.runs.moving_plans import Running, again
from continua.runs.plans import Form, as_recorded, graph_of, has_operator
from continua.runs.sampling import has_choice, rewritten_by
from continua.runtime.checkpoint.manifests import Manifests
from continua.runtime.checkpoint.opening import reader_store
from continua.runtime.checkpoint.registrations import Registered, other_queries, registrations_of
from continua.runtime.fingerprints import Function, fingerprint


@dataclass(frozen=True)
class LiveQueries:
    """The queries of a live run at one time."""

    running: Mapping[str, Running]
    """Those that run, each by the plan that was chosen when it joined, or has moved to since. One that needs no
    operators of its own any more, since it goes on with those of others, has the graph of these."""
    registered: Mapping[str, Registered]
    """What the checkpoint knows, of those that have left too."""

    @classmethod
    def begun(
        cls,
        checkpoint: Place | None,
        definitions: Mapping[str, Query],
        functions: Sequence[Function],
        wanted: Collection[str] | None,
        at_once: bool = False,
    ) -> LiveQueries:
        """With which queries a run begins: those of its checkpoint, or the wanted ones; without a choice, all.

        ``at_once``: those of the checkpoint count as soon as they are written down, since others have gone on.
        """
        saved = resumed(checkpoint, definitions, functions, at_once) if checkpoint else None
        if saved is None:
            first = [q for n, q in definitions.items() if wanted is None or n in wanted]
            return cls({}, {}).joined_by(chosen(first, functions))
        running = {r.name: _again(r, definitions[r.name], functions) for r in saved if not r.dropped}
        return cls(running, {r.name: r for r in saved})

    def joined_by(self, new: Sequence[Running]) -> LiveQueries:
        """With others that join."""
        names = {r.query.name: r for r in new}
        others = {name: r for name, r in self.registered.items() if name not in names}
        return LiveQueries({**self.running, **names}, {**others, **{name: r.registered for name, r in names.items()}})

    def without(self, names: Collection[str]) -> LiveQueries:
        """When some have left."""
        left = {name: replace(self.registered[name], dropped=True) for name in names}
        return LiveQueries({n: r for n, r in self.running.items() if n not in left}, {**self.registered, **left})

    def handed_over(self, until: int) -> LiveQueries | None:
        """Without the operators of queries that go on with others, where an instant is closed behind which they do.

        None where there are none such.
        """
        done: dict[str, Running] = {}
        for name, running in self.running.items():
            goes_on, taken = running.registered.goes_on, running.taken
            if goes_on is not None and taken is not None and not goes_on.alone and goes_on.after <= until:
                known = replace(running.registered, goes_on=replace(goes_on, alone=True))
                done[name] = replace(running, registered=known, graph=taken.graph)
        if not done:
            return None
        registered = {name: done[name].registered if name in done else r for name, r in self.registered.items()}
        return LiveQueries({**self.running, **done}, registered)

    @property
    def offered(self) -> list[Earlier]:
        """The operators with which others may go on that join later, those of several queries once."""
        found = [running.offered for running in self.running.values() if running.registered.moved is None]
        return list({earlier.graph.inputs[0].id: earlier for earlier in found}.values())

    @property
    def answered(self) -> list[Answered]:
        """Those whose answers are known from their start on: by operators that began with it, or that were told."""
        known = ((name, r, r.registered.goes_on) for name, r in self.running.items())
        whole = [(n, r) for n, r, goes_on in known if r.registered.moved is None and (goes_on is None or goes_on.told)]
        return [Answered(name, r.registered.since, r.offered) for name, r in whole]

    def with_moved(self, some: Iterable[Running]) -> LiveQueries:
        """When some have another plan."""
        found = {r.query.name: r for r in some}
        registered = {name: found[name].registered if name in found else r for name, r in self.registered.items()}
        return LiveQueries({**self.running, **found}, registered)

    @cached_property
    def queries(self) -> dict[str, Query]:
        """Those that run."""
        return {name: running.query for name, running in self.running.items()}

    @cached_property
    def visible(self) -> dict[str, Query]:
        """Those of them that are the user's, or keep a view: the others only help these, and read no other sources."""
        return {name: query for name, query in self.queries.items() if _tells_changes(name)}

    @property
    def kept(self) -> dict[str, Registered]:
        """What the checkpoint knows of those that run."""
        return {name: self.registered[name] for name in self.running}

    @property
    def graphs(self) -> list[QueryResult]:
        """Their graphs."""
        return [graph for running in self.running.values() for graph in running.graphs]

    @property
    def by_generation(self) -> dict[str, list[Query]]:
        """Those that run, by whose stored relations they read."""
        found: dict[str, list[Query]] = {}
        for running in sorted(self.running.values(), key=lambda r: r.registered.generation):
            found.setdefault(running.registered.generation, []).append(running.query)
        return found

    @cached_property
    def starts(self) -> dict[str, int]:
        """From when on sources are of use to those that run."""
        found: dict[str, int] = {}
        for query in self.queries.values():
            for name in timed_sources([query]):
                found[name] = min(found.get(name, query.start), query.start)
        return found

    def named(self, error: EvaluationError) -> EvaluationError:
        """An error with the name of a query that its operator works for."""
        operator = error.parameters.get("operator")
        running = self.running.values()
        users = [r.query for r in running if any(has_operator(graph, operator) for graph in r.graphs)]
        return failed(users[0], error) if users else error


def chosen(
    queries: Sequence[Query],
    functions: Iterable[Function],
    begin: int = -INFINITY,
    generation: str = "",
    known: Mapping[str, Statistics] | None = None,
    joined: LiveQueries | None = None,
    horizon: int = 0,
) -> list[Running]:
    """Queries that start together, not before an instant: each by the plan that serves all of them best.

    ``known`` has what was observed of the sources of some of them. Of the others it is what is declared, which is kept
    because it may be another by the time of a restart. ``joined`` are those that run already: some of them keep what
    others are given when they join, and with the operators of some others go on. Aggregations are not merged: see
    ``graphs_of``. ``horizon``: the last epoch whose results are not kept.
    """
    running = {} if joined is None else joined.kept
    back = {} if joined is None else _reaching_back(queries, functions, begin, generation, joined, horizon)
    if back:
        others = [q for q in queries if q.name not in back]
        found = {r.query.name: r for r in chosen(others, functions, begin, generation, known, joined)}
        return [(back | found)[q.name] for q in queries]
    functions, known = list(functions), {**_declared(queries), **(known or {})}
    starting = [
        replace(
            rewritten_by(q.starting_at(max(q.start, begin)), known.get(q.name)),
            carried=carried_to(q, running),
        )
        for q in queries
    ]
    changes = {q.name for q in queries if _tells_changes(q.name)}
    forms = forms_together(starting, functions, changes, generation, [] if joined is None else joined.offered)
    return [
        _running(form, _registered(query, form, generation, functions, known.get(query.name)), begun, functions)
        for query, form, begun in zip(queries, forms, starting, strict=True)
    ]


def _reaching_back(
    queries: Iterable[Query],
    functions: Iterable[Function],
    begin: int,
    generation: str,
    joined: LiveQueries,
    horizon: int,
) -> dict[str, Running]:
    """Those that start when a running query did."""
    functions, result = list(functions), dict[str, Running]()
    for query in queries:
        running = [a for a in joined.answered if _tells_changes(a.name) == _tells_changes(query.name)]
        for found, operators in reaching_back(query, running, begin, horizon):
            meaning = meaning_of(query, functions)
            known = Registered(query.name, meaning, query.start, found.start, generation, goes_on=found)
            taken = _again(known, query, functions)
            if taken.operators_are(operators):
                result[query.name] = taken
                break
    return result


def _running(form: Form, known: Registered, begun: Query, functions: Sequence[Function]) -> Running:
    taken = _taken(form.query, known, functions)
    return Running(form.query, known, form.graph, begun, _tells_changes(known.name), taken=taken)


def _taken(query: Query, known: Registered, functions: Sequence[Function]) -> Earlier | None:
    """The operators that a query goes on with."""
    goes_on = known.goes_on
    if goes_on is None:
        return None
    graph = other_graph(query, goes_on, functions, _tells_changes(query.name))
    return Earlier(taken_up(query, goes_on), graph, goes_on.generation, goes_on.since, is_there=False)


def _registered(
    query: Query, form: Form, generation: str, functions: Iterable[Function], known: Statistics | None
) -> Registered:
    return Registered(
        query.name,
        meaning_of(query, functions),
        query.start,
        form.query.start,
        generation,
        without=tuple(sorted(form.without)),
        statistics=known,
        carried=form.query.carried,
        plan=form.recorded,
        goes_on=form.goes_on,
    )


def _again(known: Registered, query: Query, functions: Iterable[Function]) -> Running:
    """A query that goes on as the checkpoint knows it: by the plan that was chosen when it joined, or has moved to."""
    begun, changes, functions = query.starting_at(known.start), _tells_changes(known.name), list(functions)
    if known.goes_on is None:
        return again(known, begun, functions, changes)
    own = rewritten_by(begun, known.statistics, known.without)
    same = replace(as_recorded(own, known.plan), carried=known.carried)
    taken = _taken(same, known, functions)
    assert taken is not None
    if known.goes_on.told:
        told = answers_name(known.name, known.generation)
        return Running(same, known, with_earlier_answers(taken.graph, told), begun, changes, taken=taken)
    graph = combined(same, known.goes_on, taken.graph, functions, changes, known.generation)
    return Running(same, known, graph, begun, changes, taken=taken)


def _tells_changes(name: str) -> bool:
    """Whether a query yields its net changes; of those that keep something for others only the content is asked for."""
    return not is_behind(name) and not is_keeper(name)


def _declared(queries: Iterable[Query]) -> dict[str, Statistics]:
    """What is declared of the sources of queries, where plans depend on it."""
    found = ((q, q.rewritten.facts.statistics) for q in queries if has_choice(q) and q.rewritten is not None)
    return {q.name: known.of(s.name for s in q.sources) for q, known in found}


def meaning_of(query: Query, functions: Iterable[Function]) -> str:
    """A fingerprint of what a query does, whatever its start and whatever is known of its sources."""
    plain = Statistics()
    if has_choice(query) and query.rewritten is not None and query.rewritten.facts.statistics != plain:
        query = rewritten_by(query, plain)
    node = graph_of(query.starting_at(0), functions, True).id
    return sha256(f"{node}|{query.chronon}|{query.domain}".encode()).hexdigest()[:16]


def resumed(
    checkpoint: Place, definitions: Mapping[str, Query], functions: Iterable[Function], at_once: bool = False
) -> tuple[Registered, ...] | None:
    """The queries of a checkpoint, those that have left among them; None if nothing has been done with it.

    Those that run must be among the definitions, as they were. ``at_once``: it counts as well that they are there.
    """
    known = list(functions)
    store = reader_store(checkpoint)
    if store is None:
        return None
    manifests = Manifests(store)
    manifest, _ = manifests.last()
    found = registrations_of(store, manifest)
    if found is None or not (manifests.some or at_once):
        return None
    running = [r for r in found.queries if not r.dropped]
    missing = [r.name for r in running if r.name not in definitions]
    changed = [r.name for r in running if r.name in definitions and not _same(r, definitions[r.name], known)]
    if changed and manifest is not None:
        manifest.same_functions(str(checkpoint), {f.name: fingerprint(f) for f in known})
    if missing or changed:
        raise other_queries(checkpoint, missing, changed)
    return found.queries


def running_in(checkpoint: Place | None) -> set[str]:
    """The names of the queries that run in a checkpoint, if there is one."""
    store = None if checkpoint is None else reader_store(checkpoint)
    found = None if store is None else registrations_of(store, Manifests(store).last()[0])
    return set() if found is None else {r.name for r in found.queries if not r.dropped}


def is_known(checkpoint: Place | None) -> bool:
    """Whether queries were written down for a checkpoint, be it that they have done nothing, or epochs finished."""
    store = None if checkpoint is None else reader_store(checkpoint)
    return store is not None and (registrations_of(store) is not None or Manifests(store).some)


def _same(known: Registered, query: Query, functions: Iterable[Function]) -> bool:
    return (known.meaning, known.declared) == (meaning_of(query, functions), query.start)


def view_name(name: str) -> str:
    """The name of the query that keeps a view; no other query has such a name."""
    return f"{VIEW}{name.casefold()}"


def covered(views: Mapping[str, Query], queries: Mapping[str, Query]) -> list[str]:
    """The views that need no other sources than queries do."""
    sources = {s for q in queries.values() for s in q.sources}
    return [name for name, view in views.items() if sources.issuperset(view.sources)]

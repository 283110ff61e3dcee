"""The queries of a bounded run as its checkpoint knows them: by which plans they run, and which have failed or left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from continua.answers.query import Query
from continua.errors import CheckpointError, Diagnostic
from continua.objects.urls import Place
from continua.runs.later_queries import combined, forms_together, other_graph
from continua.runs.moving_plans import Running, again
from continua.runs.plans import Form, as_recorded, graph_of
from continua.runs.sampling import rewritten_by
from continua.runtime.checkpoint.manifests import Manifest, Manifests
from continua.runtime.checkpoint.opening import reader_store
from continua.runtime.checkpoint.registrations import Registered, other_queries, registrations_of
from continua.runtime.fingerprints import Function, program_name


@dataclass(frozen=True)
class Remembered:
    """What a checkpoint says before it is opened."""

    queries: Mapping[str, Registered] = field(default_factory=dict)
    after: int = 0
    """After which epoch that was written of the queries."""
    last: Manifest | None = None
    """The last epoch that was finished and can be read."""
    begun: bool = False
    """Whether any epoch was finished."""

    @property
    def has_failed(self) -> bool:
        """Whether a query has failed on its data in the epoch behind the last one, which waits since then."""
        waits = self.last is not None and self.last.number == self.after
        return waits and any(q.why and not q.dropped for q in self.queries.values())


def remembered_by(checkpoint: Place) -> Remembered:
    """What a checkpoint says; nothing, where there is none yet."""
    store = reader_store(checkpoint)
    if store is None:
        return Remembered()
    manifests = Manifests(store)
    last = manifests.last()[0]
    found = registrations_of(store, last)
    if found is None:
        return Remembered(last=last, begun=manifests.some)
    return Remembered({q.name: q for q in found.queries}, found.after, last, manifests.some)


def form_again(query: Query, known: Registered, functions: Iterable[Function]) -> Form:
    """A query by the plan that was chosen for it when its checkpoint was begun."""
    own = rewritten_by(query, without=known.without)
    same = as_recorded(own, known.plan)
    graph = graph_of(same, functions, changes=True)
    alone = None if known.plan is None else graph_of(own, functions, changes=True)
    found = Form(same, graph, frozenset(known.without), alone, known.plan, known.goes_on)
    if known.goes_on is None:
        return found
    other = other_graph(query, known.goes_on, list(functions), changes=True)
    together = combined(same, known.goes_on, other, list(functions), changes=True)
    return replace(found, graph=together, own=found.alone)


def running_by(form: Form, known: Registered, begun: Query, functions: Sequence[Function]) -> Running:
    """A query as it runs: by the form that it began with, or by the plan that it has moved to since."""
    return Running(form.query, known, form.graph, begun) if known.moved is None else again(known, begun, functions)


def unrecorded(query: Query) -> Registered:
    """What is known of a query in a run that is done at once: no checkpoint tells it from others."""
    return Registered(query.name, "", query.start, query.start)


def is_same(form: Form, known: Registered, functions: Iterable[Function]) -> bool:
    """Whether a query does what it did."""
    return (known.meaning, known.declared) == (_meaning(form, functions), form.query.start)


def begun_with(
    queries: Sequence[Query], functions: Sequence[Function], checkpoint: Place
) -> tuple[list[Form], dict[str, Registered]]:
    """The forms of queries, and what the checkpoint is to say of them: as it does, once an epoch is finished.

    Before that nothing depends on what was run, and all is decided anew where a query is another one.
    """
    found = remembered_by(checkpoint)
    if found.last is not None and found.last.offsets.live is not None:
        raise _of_live_run(checkpoint)
    if found.queries:
        known = [(q, found.queries[q.name]) for q in queries if q.name in found.queries]
        forms = [form_again(query, registered, functions) for query, registered in known]
        pairs = zip(forms, known, strict=True)
        changed = [q.name for form, (q, registered) in pairs if not is_same(form, registered, functions)]
        names = {q.name for q in queries}
        missing = [q.name for q in found.queries.values() if not q.dropped and q.name not in names]
        added = names - found.queries.keys()
        if not (changed or missing or added):
            return forms, dict(found.queries)
        if found.begun:
            raise other_queries(checkpoint, missing, changed, added)
    forms = forms_together(queries, functions, {q.name for q in queries})
    return forms, {form.query.name: _registered(form, functions) for form in forms}


def _registered(form: Form, functions: Iterable[Function]) -> Registered:
    query, without = form.query, tuple(sorted(form.without))
    meaning = _meaning(form, functions)
    start, plan = query.start, form.recorded
    return Registered(query.name, meaning, start, start, without=without, plan=plan, goes_on=form.goes_on)


def _meaning(form: Form, functions: Iterable[Function]) -> str:
    return program_name([form.alone], 0, functions)


def _of_live_run(checkpoint: Place) -> CheckpointError:
    return CheckpointError(
        Diagnostic(
            "LIVE_CHECKPOINT",
            f"the checkpoint {checkpoint} is of a live run: a run over what is there can not go on from it",
            hint="start its queries in a session, or start with an empty folder",
            parameters={"checkpoint": str(checkpoint)},
        )
    )


def new_notices(registered: Sequence[Query], planned: Sequence[Query]) -> list[Diagnostic]:
    """What is worth knowing of queries since they were planned again, and was not when they were registered."""
    return [
        replace(
            notice, message=f"{query.name}: {notice.message}", parameters={**notice.parameters, "query": query.name}
        )
        for before, query in zip(registered, planned, strict=True)
        for notice in query.bound.notices
        if notice not in before.bound.notices
    ]

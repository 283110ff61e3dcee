"""Queries that were corrected after they had failed on their data: they begin anew, and the others go on.

What an operator of the others holds is of use to them only, since a corrected query needs what it would have held in
the epochs that are finished. So corrected queries get a checkpoint of their own, within that of the run. There they
read the sources from the beginning, in epochs of their own, and their folders are written from the start. The first
checkpoint says in which other one each query is, and all are gone through by every later run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from continua.answers.query import Query
from continua.errors import CheckpointError, Diagnostic
from continua.objects.urls import Place
from continua.runs.bounded_queries import Remembered, form_again, is_same, remembered_by, running_by
from continua.runtime.checkpoint.locks import lock, unlock
from continua.runtime.checkpoint.manifests import Manifest, Manifests
from continua.runtime.checkpoint.opening import (
    corrected_folder,
    corrected_numbers,
    driver_store,
    reader_store,
    remove,
)
from continua.runtime.checkpoint.registrations import Registrations, other_queries
from continua.runtime.checkpoint.succession import take_over
from continua.runtime.fingerprints import Function, program_name
from continua.sinks.sink import Earlier


@dataclass(frozen=True)
class Checked:
    """Queries of a run that have a checkpoint of their own, if there is any."""

    queries: Sequence[Query]
    checkpoint: Place | None = None
    corrected: tuple[str, ...] = ()
    """Those of them that begin anew because they were corrected."""
    earlier: Mapping[str, Earlier] = field(default_factory=dict)
    """The files of their sinks from before: these are not of the answers any more."""


def checked_parts(queries: Sequence[Query], functions: Sequence[Function], checkpoint: Place | None) -> list[Checked]:
    """The queries of a run by their checkpoints: one, unless some were corrected.

    Raises CheckpointError for queries that are others than they were and have not failed, or that are new or gone.
    """
    first = Remembered() if checkpoint is None else remembered_by(checkpoint)
    if checkpoint is None or not first.begun or not first.queries or _is_live(first.last):
        return [Checked(queries, checkpoint)]
    names = {q.name for q in queries}
    missing = [q.name for q in first.queries.values() if q.name not in names and (q.apart or not q.dropped)]
    places, corrected, changed = _placed([q for q in queries if q.name in first.queries], functions, checkpoint, first)
    added = names - first.queries.keys()
    if missing or changed or added:
        raise other_queries(checkpoint, missing, changed, added)
    if corrected:
        _refuse_frames([q for q in queries if q.name in corrected], [q for q in queries if q.name in places], first)
        places |= dict.fromkeys(corrected, 1 + max(q.apart for q in first.queries.values()))
    for number in sorted({*places.values(), *(q.apart for q in first.queries.values())}):
        _take_out(queries, functions, checkpoint, number, places)
    parts = [
        _checked([q for q in queries if places[q.name] == number], checkpoint, number)
        for number in sorted(set(places.values()))
    ]
    if not any(part.corrected for part in parts):
        _forget_left(checkpoint, {0, *places.values()})
    return parts


def _is_live(last: Manifest | None) -> bool:
    return last is not None and last.offsets.live is not None


def _placed(
    queries: Iterable[Query], functions: Sequence[Function], checkpoint: Place, first: Remembered
) -> tuple[dict[str, int], list[str], list[str]]:
    """In which checkpoint each query goes on; those that were corrected; and those that must not be others."""
    found: dict[int, Remembered] = {0: first}
    places: dict[str, int] = {}
    corrected: list[str] = []
    changed: list[str] = []
    for query in queries:
        number = first.queries[query.name].apart
        if number not in found:
            found[number] = remembered_by(corrected_folder(checkpoint, number))
        there = found[number]
        known = there.queries.get(query.name)
        if not there.begun or known is None or is_same(form_again(query, known, functions), known, functions):
            places[query.name] = number
        elif known.dropped or there.has_failed:
            corrected.append(query.name)
        else:
            changed.append(query.name)
    return places, corrected, changed


def _take_out(
    queries: Sequence[Query], functions: Sequence[Function], checkpoint: Place, number: int, places: Mapping[str, int]
) -> None:
    """Has a checkpoint go on without the queries that are in others from now on."""
    folder = corrected_folder(checkpoint, number)
    known = remembered_by(folder)
    moved = {name for name in known.queries if places.get(name, number) != number}
    wanted = tuple(
        replace(q, dropped=True, why="", apart=places[q.name]) if q.name in moved else q for q in known.queries.values()
    )
    if known.last is None or wanted == tuple(known.queries.values()):
        return
    running = [known.queries[q.name] for q in queries if q.name in known.queries and q.name not in moved]
    by_name = {q.name: q for q in queries}
    going_on = [(q, by_name[q.name]) for q in running if not q.dropped]
    forms = [running_by(form_again(query, q, functions), q, query, functions) for q, query in going_on]
    graphs = [graph for form in forms for graph in form.graphs]
    lock(folder)
    try:
        manifests = Manifests(driver_store(folder))
        standing = manifests.standing()
        store = driver_store(folder, standing)
        take_over(store, standing, known.last.name, durable=True)
        program = program_name(graphs, known.last.partitions, functions)
        Registrations(known.last.number, program, wanted).write(store, durable=True)
    finally:
        unlock(folder)


def _checked(queries: Sequence[Query], checkpoint: Place, number: int) -> Checked:
    """The queries of one checkpoint; those of another than the first begin anew until they have finished an epoch."""
    folder = corrected_folder(checkpoint, number)
    if not number or remembered_by(folder).begun:
        return Checked(queries, folder)
    before = [corrected_folder(checkpoint, other) for other in range(number)]
    earlier = {q.name: _earlier(q.name, before) for q in queries}
    return Checked(queries, folder, tuple(earlier), earlier)


def _earlier(query: str, checkpoints: Iterable[Place]) -> Earlier:
    """What checkpoints say of the files of a query's sink."""
    files: set[tuple[str, str]] = set()
    epochs: set[int] = set()
    for store in filter(None, map(reader_store, checkpoints)):
        manifests = Manifests(store)
        last = manifests.last()[0]
        for epoch in range(1, 1 if last is None else last.number + 1):
            found = manifests.results(epoch)
            files |= set(found.staged.get(query, {}).items())
            if query in found.places and query not in found.staged:
                epochs.add(epoch)
    return Earlier(frozenset(files), frozenset(epochs))


def _forget_left(checkpoint: Place, numbers: Collection[int]) -> None:
    """Removes the checkpoints of corrected queries that were corrected again and have begun elsewhere."""
    for number in corrected_numbers(checkpoint):
        if number not in numbers:
            remove(corrected_folder(checkpoint, number))


def _refuse_frames(corrected: Iterable[Query], others: Iterable[Query], known: Remembered) -> None:
    """Refuses what Spark has read for other queries: nobody can tell whether it would read the same again."""
    frames = {} if known.last is None else {n for n, position in known.last.positions.items() if not position.files}
    read = {s.name.casefold() for q in others for s in q.sources}.intersection(frames)
    for query in corrected:
        for name in sorted(s.name for s in query.sources if s.name.casefold() in read):
            raise CheckpointError(
                Diagnostic(
                    "READ_BEFORE",
                    f"query {query.name} was corrected, and Spark has read {name} before, for queries that go on: "
                    "whether it would read the same rows again is not known",
                    query.span,
                    "start with an empty folder",
                    {"query": query.name, "source": name},
                )
            )

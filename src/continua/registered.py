"""Live queries as the checkpoint knows them: what tells one from another, and which go on after a restart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from continua.answers import Query
from continua.catalog import AggregateInfo, FunctionInfo
from continua.physical.nodes import Sink
from continua.running import graph_of
from continua.runtime.files import numbered
from continua.runtime.fingerprints import fingerprint
from continua.runtime.manifests import Manifests
from continua.runtime.registrations import Registered, other_queries, registrations_of

Function = FunctionInfo | AggregateInfo


def live_graph(query: Query, start: int, generation: str, functions: Iterable[Function]) -> Sink:
    """The physical graph of a live query; its results are net changes."""
    return graph_of(replace(query, start=start), functions, True, generation)


def meaning_of(query: Query, functions: Iterable[Function]) -> str:
    """A fingerprint of what a query does, whatever its start."""
    node = live_graph(query, 0, "", functions).id
    return sha256(f"{node}|{query.chronon}|{query.domain}".encode()).hexdigest()[:16]


def registered(
    query: Query, functions: Iterable[Function], start: int | None = None, generation: str = ""
) -> Registered:
    """A query that runs from its start on, or from a later one."""
    t0 = query.start if start is None else start
    return Registered(query.name, meaning_of(query, functions), query.start, t0, generation)


def resumed(
    checkpoint: Path, definitions: Mapping[str, Query], functions: Iterable[Function]
) -> tuple[Registered, ...] | None:
    """The queries of a checkpoint, those that have left among them; None if nothing has been done with it.

    Those that run must be among the definitions, as they were.
    """
    known = list(functions)
    found = registrations_of(checkpoint)
    if found is None or not numbered(checkpoint / "epochs"):
        return None
    running = [r for r in found.queries if not r.dropped]
    missing = [r.name for r in running if r.name not in definitions]
    changed = [r.name for r in running if r.name in definitions and not _same(r, definitions[r.name], known)]
    if changed:
        manifest, _ = Manifests(checkpoint).last()
        if manifest is not None:
            manifest.same_functions(checkpoint, {f.name: fingerprint(f) for f in known})
    if missing or changed:
        raise other_queries(checkpoint, missing, changed)
    return found.queries


def _same(known: Registered, query: Query, functions: Iterable[Function]) -> bool:
    return (known.meaning, known.declared) == (meaning_of(query, functions), query.start)


def view_name(name: str) -> str:
    """The name of the query that keeps a view; no other query has such a name unless it is quoted."""
    return f"view {name.casefold()}"


def covered(views: Mapping[str, Query], queries: Mapping[str, Query]) -> list[str]:
    """The views that need no other sources than queries do."""
    sources = {s for q in queries.values() for s in q.sources}
    return [name for name, view in views.items() if sources.issuperset(view.sources)]

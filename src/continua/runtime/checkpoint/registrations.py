"""Which queries a checkpoint is of: since when each runs, which have left, and which have failed on their data.

A list of them, ``queries/NUMBER-TERM``, is written before the graph changes, between two epochs. It says after which
epoch that was and which program comes next. So a crash before it leaves the queries as they were, and one after it
leaves the new ones. It also has the first epoch of each query: those before it are run again without the query where
state is made again. One that a driver has written which another had taken over from counts for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from continua.errors import CheckpointError, Diagnostic
from continua.objects.urls import Place
from continua.rules.statistics import Statistics
from continua.runtime.checkpoint.manifests import Manifest
from continua.runtime.checkpoint.seals import stale, understood
from continua.runtime.checkpoint.store import Numbered, Store

QUERIES = "queries"


def first_epoch(generation: str) -> int:
    """The first epoch of queries that joined together."""
    return int(generation.removeprefix("@") or 1)


@dataclass(frozen=True, slots=True)
class GoesOn:
    """With which operators a query goes on that started before it, and behind which instant."""

    of: str
    """The query that they were started for; it may have left."""
    start: int
    """Its start t0."""
    since: int
    """The first epoch in which they ran."""
    after: int
    """The last instant that the query answers by operators of its own."""
    plan: str
    """By which plan they were made, as a text."""
    generation: str = ""
    statistics: Statistics | None = None
    alone: bool = False
    """Whether the query has given up its own operators."""
    told: int = 0
    """From which epoch on the answers of that other query were told as its own, if it starts when that did; else 0."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The plan of a query that took over from another one while it ran (PIPES 6.4.3)."""

    split: int
    """The first instant that the plan answers."""
    first: int
    """The first epoch in which it has run."""
    count: int
    """How often the query has moved."""
    since: tuple[tuple[str, int], ...] = ()
    """For operators of the plan, by the ids that they are planned with, since when they hold what is valid."""
    without: tuple[str, ...] = ()
    """Rules that the plan was made without."""
    statistics: Statistics | None = None
    """What was known of the sources, as the plan was made by it."""
    leaving: bool = False
    """Whether the plan before is still at work, since it answers up to the split."""
    before: Moved | None = None
    """That plan, where it had taken over as well."""

    def told(self) -> dict[str, object]:
        """It for those who watch a run."""
        return {"answersFrom": self.split, "moves": self.count, "isMoving": self.leaving}


@dataclass(frozen=True, slots=True)
class Registered:
    """A query that runs, or one that has left."""

    name: str
    meaning: str
    """A fingerprint of what it does, whatever its start."""
    declared: int
    """Its start as it was declared."""
    start: int
    """Its start t0: what was declared, or later if it joined later."""
    generation: str = ""
    """Whose stored relations it reads: those of the first queries, or those it was fed when it joined."""
    dropped: bool = False
    why: str = ""
    """Why it failed, if it did: it was dropped, or the epoch behind the last one waits until it is corrected."""
    apart: int = 0
    """In a bounded run, the number of the checkpoint in which it runs since it was corrected; 0: in this one."""
    without: tuple[str, ...] = ()
    """Rules that its plan was made without, so that it shares operators with queries that started along with it."""
    statistics: Statistics | None = None
    """What is known of its sources, as its plan was made by it; None where that was no more than its definition says.

    Others are known by the time of a restart, which must make the same plan again.
    """
    carried: tuple[tuple[str, int], ...] = ()
    """The leaves of its plan whose content it was given when it joined, and since when that has been kept."""
    plan: str | None = None
    """Its plan as a text, where it is answered from another query: that may have left by the time of a restart."""
    goes_on: GoesOn | None = None
    """With which operators it goes on that started before it, if it does."""
    moved: Moved | None = None
    """Its plan, where that is not the one that it began with."""

    @property
    def since(self) -> int:
        """The first epoch that can hold results of it."""
        return first_epoch(self.generation)

    @property
    def runs_since(self) -> int:
        """The first epoch in which an operator ran that works for it."""
        return self.since if self.goes_on is None else min(self.since, self.goes_on.since)


@dataclass(frozen=True, slots=True)
class Registrations:
    """The queries whose graph runs after an epoch."""

    after: int
    program: str
    queries: tuple[Registered, ...] = ()

    def write(self, store: Store, durable: bool = False) -> str:
        """Makes them those of a checkpoint; returns the digest."""
        content = {"after": self.after, "program": self.program, "queries": [_data(q) for q in self.queries]}
        before = store.numbers(QUERIES)
        name = Numbered(max((n.number for n in before), default=0) + 1, store.address.term)
        digest = store.put(f"{QUERIES}/{name}", json.dumps(content).encode(), durable).digest
        store.delete(*(f"{QUERIES}/{other}" for other in before if other.term <= name.term))
        return digest


def registrations_of(store: Store | None, last: Manifest | None = None) -> Registrations | None:
    """The queries of a checkpoint; None where nothing was written down."""
    found = None if store is None else registered_in(store, last)
    return None if found is None else found[1]


def registered_in(store: Store, last: Manifest | None = None) -> tuple[str, Registrations] | None:
    """The name of the list that counts, and what is in it.

    If the last epoch is known, that is the list which it speaks of, or one that was written after it.
    """
    names = sorted(store.numbers(QUERIES), key=lambda name: (name.term, name.number), reverse=True)
    for name in (f"{QUERIES}/{name}" for name in names):
        content = store.get(name)
        with understood(f"{store.url}/{name}"):
            found = _of_json(json.loads(content))
        if last is None or not last.queries or found.after == last.number:
            return name, found
        try:
            store.get(name, last.queries)
        except CheckpointError:
            continue
        return name, found
    if names and last is not None and last.queries:
        raise stale(f"{store.url}/{QUERIES}/{names[0]}")
    return None


def are_registered(queries: Sequence[Registered], program: str, store: Store, last: Manifest | None) -> bool:
    """Whether the last epoch speaks of the queries that are written down, and these are the same."""
    found = registrations_of(store, last)
    if found is None or last is None or found.after >= last.number:
        return False
    return (found.program, found.queries) == (program, tuple(queries))


def _of_json(content: dict[str, Any]) -> Registrations:
    queries = tuple(_registered(**q) for q in content.pop("queries"))
    return Registrations(**content, queries=queries)


def _data(query: Registered) -> dict[str, Any]:
    """A query as JSON can say it, which has no pairs for keys."""
    going_on = query.goes_on
    plain = replace(query, statistics=None, goes_on=None if going_on is None else replace(going_on, statistics=None))
    data = {**asdict(replace(plain, moved=None)), "moved": _moved_data(query.moved)}
    data["statistics"] = _statistics_data(query.statistics)
    if going_on is not None:
        data["goes_on"]["statistics"] = _statistics_data(going_on.statistics)
    return data


def _moved_data(how: Moved | None) -> dict[str, Any] | None:
    if how is None:
        return None
    data = asdict(replace(how, statistics=None, before=None))
    return {**data, "statistics": _statistics_data(how.statistics), "before": _moved_data(how.before)}


def _statistics_data(known: Statistics | None) -> dict[str, Any] | None:
    if known is None:
        return None
    distinct = [[*place, count] for place, count in known.distinct.items()]
    conditions = {"conditions": dict(known.conditions)} if known.conditions else {}
    return {"rates": dict(known.rates), "rows": dict(known.rows), "distinct": distinct, **conditions}


def _registered(
    without: Iterable[str] = (),
    statistics: Mapping[str, Any] | None = None,
    carried: Iterable[tuple[str, int]] = (),
    goes_on: Mapping[str, Any] | None = None,
    moved: Mapping[str, Any] | None = None,
    **others: Any,
) -> Registered:
    """A query from its data; those of earlier versions have no choices in them."""
    leaves = tuple((key, since) for key, since in carried)
    taken = None
    if goes_on is not None:
        taken = GoesOn(**{**goes_on, "statistics": _statistics(goes_on.get("statistics"))})
    known, how = _statistics(statistics), _moved(moved)
    return Registered(**others, without=tuple(without), statistics=known, carried=leaves, goes_on=taken, moved=how)


def _moved(data: Mapping[str, Any] | None) -> Moved | None:
    if data is None:
        return None
    since = tuple((operator, instant) for operator, instant in data["since"])
    statistics, before = _statistics(data["statistics"]), _moved(data["before"])
    known = {"since": since, "without": tuple(data["without"]), "statistics": statistics, "before": before}
    return Moved(**{**data, **known})


def _statistics(data: Mapping[str, Any] | None) -> Statistics | None:
    if data is None:
        return None
    distinct = {(source, column): count for source, column, count in data["distinct"]}
    return Statistics(data["rates"], data["rows"], distinct, data.get("conditions", {}))


def other_queries(
    checkpoint: Place, missing: Iterable[str], changed: Iterable[str], added: Iterable[str] = ()
) -> CheckpointError:
    """Why a checkpoint is refused: queries that run in it are not there, or are others, or there are more."""
    gone, other, new = sorted(missing), sorted(changed), sorted(added)
    parts = [f"{', '.join(gone)} runs in it and is not defined"] if gone else []
    parts += [f"{', '.join(other)} is not what it was"] if other else []
    parts += [f"{', '.join(new)} is not in it"] if new else []
    return CheckpointError(
        Diagnostic(
            "OTHER_QUERIES",
            f"the checkpoint {checkpoint} belongs to other queries: {'; '.join(parts)}",
            hint="define all its queries as they were before starting, or start with an empty folder",
            parameters={"checkpoint": str(checkpoint), "missing": gone, "changed": other, "added": new},
        )
    )

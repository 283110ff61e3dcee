"""Which queries a checkpoint is of: since when each runs, which have left, and which have failed on their data.

The file ``queries`` is written before the graph changes, between two epochs. It says after which epoch that was and
which program comes next. So a crash before it leaves the queries as they were, and one after it leaves the new ones. It
also has the first epoch of each query: those before it are run again without the query where state is made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from continua.errors import CheckpointError, Diagnostic
from continua.rules.statistics import Statistics
from continua.runtime.checkpoint.files import understood
from continua.runtime.checkpoint.store import Store

_NAME = "queries"


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
        return store.put(_NAME, json.dumps(content).encode(), durable).digest


def registrations_of(store: Store | None, digest: str | None = None) -> Registrations | None:
    """The queries of a checkpoint; None where nothing was written down."""
    if store is None or not store.has(_NAME):
        return None
    found = store.get(_NAME, digest)
    with understood(f"{store.url}/{_NAME}"):
        content = json.loads(found)
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
    checkpoint: Path, missing: Iterable[str], changed: Iterable[str], added: Iterable[str] = ()
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

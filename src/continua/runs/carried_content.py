"""What queries that join a live run are given of what was before: rows in force, and tagged relations as they are.

For every such leaf of a live query another query keeps the content. A query that joins later starts at an instant B;
once B - 1 is closed, and before B is, what that other query holds at B - 1 is fed to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from continua.answers.query import Query
from continua.answers.query_names import CONTENT
from continua.binding.defaults import BoundQuery
from continua.instants import INFINITY
from continua.physical.carried_leaves import carried_leaves
from continua.physical.nodes import END, START, WEIGHT
from continua.physical.rows import as_rows
from continua.runtime.checkpoint.chapters import held_at
from continua.runtime.checkpoint.registrations import Registered
from continua.runtime.engine import Engine
from continua.sources.intervals import FAR

_EVER = -FAR
"""The start of who keeps a content: before all rows, whatever the queries start with that it is for."""


def keeper_name(key: str, query: Query) -> str:
    """The name of the query that keeps the content of a leaf; no other has such a name."""
    return f"{CONTENT}{key} by {query.chronon}"


def is_keeper(name: str) -> bool:
    """Whether a query keeps the content of a leaf for those that join later."""
    return name.startswith(CONTENT)


def keepers(queries: Iterable[Query]) -> dict[str, Query]:
    """For each leaf of queries whose content goes over to others, the query that keeps it."""
    found: dict[str, Query] = {}
    for query in queries:
        for key, source, plan in carried_leaves(query.bound.logical, query.chronon):
            name = keeper_name(key, query)
            if name not in found:
                bound = BoundQuery(plan, plan, query.domain, (), query.bound.tree)
                sources = tuple(s for s in query.sources if s.name.casefold() == source.casefold())
                found[name] = Query(name, bound, _EVER, query.chronon, sources)
    return found


def carried_to(query: Query, running: Mapping[str, Registered]) -> tuple[tuple[str, int], ...]:
    """The leaves whose content a query is given that joins a run: those that somebody keeps."""
    keys = sorted({key for key, _, _ in carried_leaves(query.bound.logical, query.chronon)})
    known = ((key, running.get(keeper_name(key, query))) for key in keys)
    return tuple((key, keeper.start) for key, keeper in known if keeper is not None)


def content_at(engine: Engine, keeper: Registered, instant: int) -> pa.Table | None:
    """What a leaf holds at a closed instant and still after it, as rows that start with the next one."""
    rows = engine.yielded.held(keeper.name, instant, keeper.since, engine.epoch_number)
    if rows is None:
        return None
    held = held_at(rows.filter(pc.field(START) <= instant), instant)
    end, weight = (np.asarray(held.column(name).to_numpy(), np.int64) for name in (END, WEIGHT))
    payload = held.drop_columns([START, END, WEIGHT])
    lasting = end > instant + 1
    table = as_rows(payload, np.full(end.size, instant + 1, np.int64), np.where(end >= INFINITY, INFINITY, end), weight)
    return table.filter(pa.array(lasting))


Fetched = Callable[[], dict[str, pa.Table]]


def to_be_fed(
    engine: Engine, query: Query, generation: str, registered: Mapping[str, Registered]
) -> tuple[dict[str, Registered], Fetched]:
    """The names of the sources by which a query gets what it is given, with who keeps it; and how to fetch it."""
    names = {f"{key}{generation}": registered[keeper_name(key, query)] for key, _ in query.carried}

    def fetched() -> dict[str, pa.Table]:
        found = {name: content_at(engine, keeper, query.start - 1) for name, keeper in names.items()}
        return {name: table for name, table in found.items() if table is not None and table.num_rows}

    return names, fetched

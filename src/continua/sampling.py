"""Plans by what the rows say: a sample of them gives the statistics that nobody declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow as pa

from continua.algebra.plan import Join, nodes_of
from continua.answers import Query
from continua.catalog import RelationInfo, StreamInfo
from continua.physical.nodes import START
from continua.rules.order import optimize
from continua.rules.statistics import Statistics, sampled, statistics_of

ROWS = 10_000
"""So many rows of a source are looked at."""


def by_sample(queries: Iterable[Query], tables: Mapping[str, pa.Table]) -> list[Query]:
    """The queries, those with joins rewritten again by what samples of the sources' rows say."""
    known: dict[str, Statistics] = {}
    found: list[Query] = []
    for query in queries:
        if query.rewritten is None or not any(isinstance(n, Join) for n in nodes_of(query.bound.logical)):
            found.append(query)
            continue
        statistics = Statistics()
        for source in query.sources:
            if source.name not in known:
                known[source.name] = _sampled(source, tables.get(source.name.casefold()))
            statistics = statistics.or_else(known[source.name])
        facts = replace(query.rewritten.facts, statistics=statistics_of(query.sources, statistics))
        rewritten = optimize(query.bound.plan, facts, query.rewritten.disabled)
        found.append(replace(query, rewritten=rewritten))
    return found


def _sampled(source: StreamInfo | RelationInfo, table: pa.Table | None) -> Statistics:
    if table is None or not table.num_rows:
        return Statistics()
    timed = isinstance(source, StreamInfo) or source.order_by is not None
    names = [f.name for f in source.columns if isinstance(source, StreamInfo) or not f.hidden]
    rows = table.slice(0, ROWS) if timed else table
    columns = {name: rows.column(place) for place, name in enumerate(names)}
    return sampled(source.name, pa.table({**columns, START: rows.column(START)}), START if timed else None)

"""Plans by what the rows say: samples of them, and what epochs told, give the statistics that nobody declared."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from continua.algebra.relational import Join
from continua.algebra.traverse import nodes_of
from continua.answers.query import Query
from continua.catalog import RelationInfo, StreamInfo, is_timed
from continua.physical.nodes import START
from continua.rules.order import optimize
from continua.rules.statistics import Epoch, Statistics, observed, sampled, statistics_of

ROWS = 10_000
"""So many rows of a source are looked at."""
ENOUGH = 100
"""From so many rows on, the latest ones tell how fast a stream is."""


def by_sample(queries: Iterable[Query], tables: Mapping[str, pa.Table]) -> list[Query]:
    """The queries, those with joins rewritten again by what samples of the sources' rows say."""
    known: dict[str, Statistics] = {}
    found: list[Query] = []
    for query in queries:
        if not has_choice(query):
            found.append(query)
            continue
        statistics = Statistics()
        for source in query.sources:
            if source.name not in known:
                known[source.name] = _sampled(source, tables.get(source.name.casefold()))
            statistics = statistics.or_else(known[source.name])
        found.append(rewritten_by(query, statistics_of(query.sources, statistics)))
    return found


def rewritten_by(query: Query, statistics: Statistics | None = None, without: Collection[str] = ()) -> Query:
    """A query rewritten again: by other statistics, or without some rules more than its definition says."""
    done = query.rewritten
    if done is None or (statistics is None and not without):
        return query
    facts = done.facts if statistics is None else replace(done.facts, statistics=statistics)
    known = done if statistics is None else None
    return query.rewritten_as(optimize(query.bound.plan, facts, done.disabled.union(without), known))


def has_choice(query: Query) -> bool:
    """Whether its plan depends on statistics so much that it pays to rewrite it again."""
    return query.rewritten is not None and any(isinstance(n, Join) for n in nodes_of(query.bound.logical))


def _sampled(source: StreamInfo | RelationInfo, table: pa.Table | None) -> Statistics:
    if table is None or not table.num_rows:
        return Statistics()
    timed = is_timed(source)
    names = [f.name for f in source.columns if isinstance(source, StreamInfo) or not f.hidden]
    rows = table.slice(0, ROWS) if timed else table
    columns = {name: rows.column(place) for place, name in enumerate(names)}
    return sampled(source.name, pa.table({**columns, START: rows.column(START)}), START if timed else None)


class Recent:
    """The latest rows of the streams of a live run, as far as they come by way of this process."""

    def __init__(self) -> None:
        self._tables: dict[str, deque[pa.Table]] = {}
        self._counts: dict[str, int] = {}

    def add(self, tables: Mapping[str, pa.Table]) -> None:
        """Rows have come; earlier ones that are not needed any more are given up."""
        for name, table in tables.items():
            kept = self._tables.setdefault(name, deque())
            kept.append(_last(table))
            count = self._counts.get(name, 0) + kept[-1].num_rows
            while count - kept[0].num_rows >= ROWS:
                count -= kept.popleft().num_rows
            self._counts[name] = count

    def statistics(
        self, queries: Iterable[Query], epochs: Iterable[Epoch], stored: Mapping[str, pa.Table]
    ) -> dict[str, Statistics]:
        """For queries with joins what is known of their sources, where that is more than their definitions say.

        Streams are as fast as epochs told; stored relations are as large as what the queries are going to read.
        """
        asked = [q for q in queries if has_choice(q)]
        sources = {s.name.casefold(): s for q in asked for s in q.sources}
        seen = observed(epochs) if asked else Statistics()
        samples = Statistics()
        for name, source in sources.items():
            found = self._of_stream(source) if is_timed(source) else _sampled(source, stored.get(name))
            samples = samples.or_else(found)
        result: dict[str, Statistics] = {}
        for query in asked:
            names = [s.name for s in query.sources]
            known = statistics_of(query.sources, samples.of(names), seen.of(names))
            if known != statistics_of(query.sources):
                result[query.name] = known
        return result

    def values_of(self, query: Query) -> Statistics:
        """How many different values the columns of a query's streams have, as far as their rows came this way."""
        found = Statistics()
        for source in query.sources:
            if is_timed(source):
                found = found.or_else(Statistics(distinct=self._of_stream(source).distinct))
        return found

    def rows(self, source: str) -> pa.Table | None:
        """The latest rows of a stream, in the order in which they came."""
        kept = self._tables.get(source.casefold())
        return pa.concat_tables(tuple(kept)) if kept else None

    def _of_stream(self, source: StreamInfo | RelationInfo) -> Statistics:
        rows = self.rows(source.name)
        found = _sampled(source, rows)
        return found if rows is not None and rows.num_rows >= ENOUGH else replace(found, rates={})


def _last(table: pa.Table) -> pa.Table:
    """The last rows of a table; those before them are not kept along with it."""
    count = table.num_rows
    return table if count <= ROWS else table.take(pa.array(np.arange(count - ROWS, count)))

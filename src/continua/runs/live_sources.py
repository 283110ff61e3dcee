"""The streams and relations of live queries: which have an order, how their heartbeats go, what their columns hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from continua.answers.query import Query
from continua.catalog import is_by_arrival, is_timed
from continua.errors import BindError, Diagnostic, SourceError
from continua.runtime.heartbeats import SourceClock
from continua.sources.incoming_connections import is_standard_input
from continua.sources.intervals import Source
from continua.sources.partition_sequences import columns_of_partitions


def check_sources(queries: Iterable[Query], known: Mapping[str, Source]) -> None:
    """Refuses queries over a stream that was defined anew since: rows can have one form only.

    Standard input can be read by one stream only.
    """
    found = dict(known)
    for query in queries:
        for source in filter(is_timed, query.sources):
            if found.setdefault(source.name.casefold(), source) != source:
                message = f"query {query.name} was defined over another {source.name}"
                raise BindError(
                    Diagnostic(
                        "SOURCE_CHANGED",
                        message,
                        hint="define it again",
                        parameters={"query": query.name, "source": source.name},
                    )
                )
    readers = sorted(source.name for source in found.values() if is_standard_input(source.source))
    if len(readers) > 1:
        message = f"{' and '.join(readers)} both read standard input, which is there once"
        hint = "declare one stream of it, and others AS queries over that"
        raise SourceError(Diagnostic("STANDARD_INPUT_TWICE", message, hint=hint, parameters={"sources": readers}))


def sources(queries: Iterable[Query]) -> dict[str, Source]:
    """The sources of queries, by their names in lower case."""
    return {s.name.casefold(): s for q in queries for s in q.sources}


def timed_sources(queries: Iterable[Query]) -> dict[str, Source]:
    """Those whose rows come in an order of time."""
    return {n: s for n, s in sources(queries).items() if is_timed(s)}


def clocks(queries: Iterable[Query]) -> dict[str, SourceClock]:
    """A heartbeat clock for each source whose rows have an order."""
    return {n: _clock_of(s) for n, s in timed_sources(queries).items()}


def _clock_of(source: Source) -> SourceClock:
    return SourceClock(source.slack, is_by_arrival(source), columns=columns_of_partitions(source, payload=True))

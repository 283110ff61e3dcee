"""The streams and relations of live queries: which have an order, how their heartbeats go, what their columns hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from continua.answers.query import Query
from continua.catalog import is_by_arrival, is_timed
from continua.errors import BindError, Diagnostic
from continua.instants import TimeDomain
from continua.runtime.heartbeats import SourceClock
from continua.sources.incoming_connections import check_standard_input
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
    check_standard_input(found.values())


def check_domains(queries: Iterable[Query], running: Iterable[Query], read: Mapping[str, Source]) -> None:
    """Refuses queries of another time domain than others of their run: its sources are complete up to one instant.

    ``read``: what the run has read, although the queries may have left that it was read for.
    """
    live = {query.domain: f"{query.name} is live" for query in reversed([*running]) if domain_of([query]) is not None}
    before = {source.domain: f"{source.name} was read" for source in read.values()}
    for query in queries:
        mine = domain_of([query])
        if mine is None:
            continue
        others = [(domain, known) for domain, known in {**before, **live}.items() if domain is not mine]
        if others:
            domain, known = others[0]
            message = f"{query.name} is timed in {mine.value}, and {known} in {domain.value}"
            parameters: dict[str, object] = {"domains": sorted((mine.value, domain.value)), "query": query.name}
            hint = "live queries of a group count time alike: STOP the others first, or name another GROUP"
            if domain not in live:
                hint = "the live queries of a group count time alike: name another GROUP, or end the run first"
            raise BindError(Diagnostic("MIXED_TIME_DOMAINS", message, query.span, hint, parameters))
        live.setdefault(mine, f"{query.name} is live")


def domain_of(queries: Iterable[Query]) -> TimeDomain | None:
    """How the rows of queries are timed; None where they have no rows that are."""
    return next((source.domain for source in timed_sources(queries).values()), None)


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

"""What can be asked of a live run: answers, contents and late rows, from any thread."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

import pyarrow as pa

from continua.answers.from_results import answers_from
from continua.answers.query import Answer, Query
from continua.answers.relation_behind import behind_name
from continua.errors import BindError, Diagnostic
from continua.instants import asked_instant
from continua.runs.live_answers import content_of, late_rows_of, results_of
from continua.runs.live_queries import LiveQueries, meaning_of
from continua.runs.live_sources import sources
from continua.runtime.engine import Engine
from continua.runtime.fingerprints import Function
from continua.runtime.live import Live
from continua.sources.intervals import Source
from continua.windows.occurrences import Row


class AnsweredRun(ABC):
    """A live run as its readers see it. Its lock is held while something is read, so that no epoch ends meanwhile."""

    engine: Engine
    live: Live
    _members: LiveQueries

    @abstractmethod
    def _source(self, name: str) -> Source: ...

    @property
    def queries(self) -> dict[str, Query]:
        """Those that run, without those that only help them."""
        return self._members.visible

    def late(self, name: str, since: int | datetime | None = None) -> pa.Table:
        """The rows of a source that came too late, since the beginning, or those with times after an instant."""
        source = self._source(name)
        with self.live.lock:
            return late_rows_of(self.engine, source, None if since is None else asked_instant(since, source.domain))

    def results(self, name: str, since: int | datetime | None = None) -> pa.Table | None:
        """The result rows of a query since it runs, or of what happened after an instant."""
        with self.live.lock:
            query = self.running(name)
            after = None if since is None else asked_instant(since, query.domain)
            return results_of(self.engine, query, self.since(name), after)

    def answers(self, name: str, since: int | datetime | None = None) -> list[Answer]:
        """All answers of a query up to the heartbeat, or those after an instant."""
        with self.live.lock:
            return answers_from(self.running(name), self.results(name, since), self.engine.until)

    def content(self, name: str, instant: int | datetime | None = None) -> list[Row]:
        """What a query's relation holds at an instant, by default at the latest that is closed.

        Of a stream that is the relation behind it, which another query keeps unless its own answers tell it.
        """
        with self.live.lock:
            kept = behind_name(name) if behind_name(name) in self._members.queries else name
            query = self.running(kept)
            at = None if instant is None else asked_instant(instant, query.domain)
            return content_of(self.engine, query, self.since(kept), at)

    def reads(self, source: str) -> bool:
        """Whether a query that runs reads a source."""
        return source.casefold() in sources(self._members.queries.values())

    def alike(self, query: Query, functions: Iterable[Function]) -> str | None:
        """The name of a query that runs and means the same as another."""
        known = self._members.registered
        names = (n for n, q in self.queries.items() if q.columns == query.columns and q.domain is query.domain)
        return next((n for n in names if known[n].meaning == meaning_of(replace(query, name=n), functions)), None)

    def since(self, name: str) -> int:
        """The first epoch that can hold results of a query."""
        return self._members.registered[name].since

    def running(self, name: str) -> Query:
        """A query that runs."""
        found = self._members.queries.get(name)
        if found is None:
            message = f"query {name} runs no more"
            raise BindError(Diagnostic("QUERY_LEFT", message, parameters={"query": name}))
        return found

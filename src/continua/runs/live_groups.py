"""Live queries in groups: each group is a live run with epochs of its own, so that a slow one holds up no other.

A run of a group has its own graph, lock and progress and, within that of the whole, its own checkpoint. Each follows
files, generated sources and streams of Spark. What comes once is taken in for all of them together
(:mod:`continua.runtime.intake`). The queries that are in no group are one as well, and views are among them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime

import pyarrow as pa

from continua.answers.query import Answer, Query
from continua.answers.relation_behind import is_behind
from continua.errors import Diagnostic, EvaluationError
from continua.objects.urls import Place
from continua.runs.carried_content import is_keeper, keepers
from continua.runs.live_options import Beside, LiveOptions, Surroundings
from continua.runs.live_run import LiveRun
from continua.runs.live_sources import domain_of, timed_sources
from continua.runtime.checkpoint.files import safe_name
from continua.runtime.checkpoint.manifests import Manifests
from continua.runtime.checkpoint.opening import group_folder, group_names, reader_store
from continua.runtime.engine import Engine
from continua.runtime.fingerprints import Function
from continua.runtime.live import Live
from continua.sinks.sink import Sink
from continua.sources.inserted_rows import Rows
from continua.sources.intervals import Source
from continua.windows.occurrences import Row

NO_GROUP = ""
"""The group of queries that are in none."""


class LiveGroups:
    """All live queries of a session."""

    def __init__(
        self,
        around: Surroundings,
        options: LiveOptions,
        definitions: Mapping[str, Query],
        functions: Sequence[Function],
        wanted: Collection[str] | None = None,
    ) -> None:
        """Starts the wanted ones of the queries, and those that run in the checkpoint."""
        self._around = around
        self.options = options
        self._opening = threading.Lock()
        self._others: Mapping[str, tuple[LiveRun, ThreadPoolExecutor]] = {}
        """The runs of groups that have a name, each with the thread by which it has its part in what all do.

        Threads look at it without a lock: it is replaced by another where a group is opened.
        """
        known = [] if options.checkpoint is None else group_names(options.checkpoint)
        parts = in_groups(definitions)
        mine = parts[NO_GROUP]
        domains = {name: domain_of(parts.get(name, {}).values()) for name in (NO_GROUP, *known, *parts)}
        told = {name: _told(options.checkpoint, name) for name in (NO_GROUP, *known)}

        def beside(group: str) -> Beside | None:
            alike = (None, domains[group])
            return _beside({n: p for n, p in told.items() if domains[n] in alike}, group)

        chosen = _chosen(wanted, mine)
        self.main = LiveRun(self._around_of(NO_GROUP, parts), options, mine, functions, chosen, beside(NO_GROUP))
        """The queries that are in no group."""
        try:
            for name in known + sorted(parts.keys() - {NO_GROUP, *known}):
                mine = parts.get(name, {})
                if name in known or _chosen(wanted, mine) != set():
                    self._open(name, parts, functions, _chosen(wanted, mine), beside(name))
        except BaseException:
            self.stop()
            raise

    def _open(
        self,
        group: str,
        parts: Mapping[str, Mapping[str, Query]],
        functions: Sequence[Function],
        wanted: Collection[str] | None,
        beside: Beside | None,
    ) -> None:
        checkpoint = self.options.checkpoint
        folder = None if checkpoint is None else group_folder(checkpoint, group)
        options = replace(self.options, checkpoint=folder)
        run = LiveRun(self._around_of(group, parts), options, parts.get(group, {}), functions, wanted, beside)
        self._others = {**self._others, group: (run, ThreadPoolExecutor(1, f"continua-group-{group}"))}

    @property
    def runs(self) -> dict[str, LiveRun]:
        """All runs by their groups."""
        return {NO_GROUP: self.main, **{group: run for group, (run, _) in self._others.items()}}

    def _around_of(self, group: str, parts: Mapping[str, Mapping[str, Query]]) -> Surroundings:
        """What is around the run of a group: of streaming frames those that its queries read, and those of nobody."""
        around = self._around
        read = {name: {s.name.casefold() for q in mine.values() for s in q.sources} for name, mine in parts.items()}
        mine = read.get(group, set())
        if group == NO_GROUP:
            elsewhere = {s for name, some in read.items() if name != group for s in some}
            frames = {n: f for n, f in around.frames.items() if n in mine or n not in elsewhere}
            return replace(around, frames=frames)
        frames = {n: f for n, f in around.frames.items() if n in mine}
        rejects = around.rejects / safe_name(group)
        return replace(around, frames=frames, rejects=rejects, intake=self.main.intake, group=group)

    # Queries.

    def start(
        self, definitions: Mapping[str, Query], functions: Sequence[Function], wanted: Collection[str] | None = None
    ) -> list[str]:
        """The wanted queries join, as far as they do not run; without a choice, all but those that have left."""
        names: list[str] = []
        parts = in_groups(definitions)
        for group, mine in parts.items():
            chosen = _chosen(wanted, mine)
            # what others go on to read while it is found out how far they are is held for those that begin after that
            with self.main.intake.holding():
                with self._opening:
                    is_new = group not in self.runs
                    joining = [query for name, query in mine.items() if chosen is None or name in chosen]
                    if is_new and chosen != set():
                        self._open(group, parts, functions, chosen, self._ahead(group, joining))
                if (run := self.runs.get(group)) is not None:
                    names += run.start(mine, functions, chosen, self._ahead(group, joining))
        return names

    def _ahead(self, group: str, joining: Sequence[Query]) -> Beside | None:
        """How far others are: to begin a group all that count time alike, else those that read what queries bring."""
        runs, mine = self.runs, timed_sources(joining)
        if group in runs:
            new = mine.keys() - runs[group].known.keys()
            others = {name: run for name, run in runs.items() if new & run.known.keys()}
        else:
            others = {name: run for name, run in runs.items() if run.domain in (None, domain_of(joining))}
        return _beside({name: _position(run) for name, run in others.items()}, group)

    def run_of(self, name: str) -> LiveRun:
        """The run that a query is part of; of one that does not run, that of queries in no group."""
        return next((run for run in self.runs.values() if name in run.queries), self.main)

    @property
    def queries(self) -> dict[str, Query]:
        """Those that run, without those that only help them."""
        return {name: query for run in self.runs.values() for name, query in run.queries.items()}

    @property
    def at_work(self) -> dict[str, LiveRun]:
        """The runs that have queries, by their groups; where none has, that of queries in no group."""
        return {group: run for group, run in self.runs.items() if run.queries} or {NO_GROUP: self.main}

    @property
    def known(self) -> dict[str, Source]:
        """The sources by which rows are read."""
        return {name: info for run in reversed(self.runs.values()) for name, info in run.known.items()}

    def drop(self, name: str, failure: EvaluationError | None = None) -> None:
        """A query leaves, perhaps because it has failed."""
        self.run_of(name).drop(name, failure)

    @property
    def failed(self) -> dict[str, EvaluationError]:
        """Queries that were dropped because they failed on their data, and why."""
        return {name: error for run in self.runs.values() for name, error in run.failed.items()}

    def reads(self, source: str) -> bool:
        """Whether a query that runs reads a source."""
        return any(run.reads(source) for run in self.runs.values())

    def alike(self, query: Query, functions: Sequence[Function]) -> str | None:
        """The name of a query that runs and means the same as another."""
        return next((name for run in self.runs.values() if (name := run.alike(query, functions)) is not None), None)

    # Rows.

    def insert(self, name: str, rows: Rows) -> None:
        """Rows arrive, from any thread; the next epoch of each group has them."""
        self._reading(name)[0].insert(name, rows)

    def heartbeat(self, name: str, instant: int | datetime) -> None:
        """A source says that it is complete up to an instant."""
        reading = self._reading(name)
        self._in_all(lambda run: run.heartbeat(name, instant) if run in reading else None)

    def _reading(self, name: str) -> list[LiveRun]:
        """The runs that know a source; where none does, that of queries in no group, which says so."""
        return [run for run in self.runs.values() if name.casefold() in run.known] or [self.main]

    def process(self, to_the_end: bool = False) -> None:
        """Runs epochs of all groups at the same time, with the rows that have arrived."""
        self._in_all(lambda run: run.process(to_the_end))

    def step(self, to_the_end: bool = False, called: int | None = None) -> bool:
        """An epoch of each group with what has come; whether anything had."""
        worked: list[bool] = []
        self._in_all(lambda run: worked.append(run.step(to_the_end, called)))
        return any(worked)

    def finish(self) -> None:
        """The sources have ended: every instant is closed."""
        self._in_all(lambda run: run.finish())

    def _in_all(self, work: Callable[[LiveRun], None]) -> None:
        """Does the same in all runs at once; where it fails in some the others do it nevertheless."""
        begun = [worker.submit(work, run) for run, worker in self._others.values()]
        failures: list[BaseException] = []
        try:
            work(self.main)
        except BaseException as error:
            failures.append(error)
        failures += [found for future in begun if (found := future.exception()) is not None]
        if failures:
            raise failures[0]

    def stop(self) -> None:
        """Stops everything, after the epochs that are worked on: what is in no group at last, since others use it."""
        with ExitStack() as ends:
            ends.callback(self.main.stop)
            for run, worker in self._others.values():
                ends.callback(run.stop)
                ends.callback(worker.shutdown, wait=False)

    # Answers.

    @property
    def recovered(self) -> dict[str, int]:
        """How many rows of sources had been taken in when the run before ended, and are not worked on by all."""
        found: dict[str, int] = {}
        for run in self.runs.values():
            found |= {name: max(count, found.get(name, 0)) for name, count in run.recovered.items()}
        return found

    @property
    def engine(self) -> Engine:
        """The engine of queries that are in no group."""
        return self.main.engine

    @property
    def live(self) -> Live:
        """How rows come to them."""
        return self.main.live

    def kept_apart(self, first: bool = False) -> list[Diagnostic]:
        """What of sources was kept apart since that was asked last; ``first``: of those of which nothing was told."""
        return [notice for run in self.runs.values() for notice in run.kept_apart(first)]

    def late(self, name: str, since: int | datetime | None = None) -> pa.Table:
        """The rows of a source that came too late, for the first group that reads it."""
        return self._reading(name)[0].late(name, since)

    def results(self, name: str, since: int | datetime | None = None) -> pa.Table | None:
        """The result rows of a query since it runs, or of what happened after an instant."""
        return self.run_of(name).results(name, since)

    def answers(self, name: str, since: int | datetime | None = None) -> list[Answer]:
        """All answers of a query up to the heartbeat, or those after an instant."""
        return self.run_of(name).answers(name, since)

    def content(self, name: str, instant: int | datetime | None = None) -> list[Row]:
        """What a query's relation holds at an instant, by default at the latest that is closed."""
        return self.run_of(name).content(name, instant)

    def add_sink(self, name: str, sink: Sink) -> None:
        """Gives the answers of a query to a sink, those of finished epochs first."""
        self.run_of(name).add_sink(name, sink)

    def written(self) -> dict[str, int]:
        """By query that writes where INTO says, how many files were written since the process began."""
        return {name: files for run in self.runs.values() for name, files in run.written().items()}


def in_groups(definitions: Mapping[str, Query]) -> dict[str, dict[str, Query]]:
    """Queries by their groups, each with those that help them; that of queries in no group is always there."""
    found: dict[str, dict[str, Query]] = {NO_GROUP: {}}
    for name, query in definitions.items():
        if not is_keeper(name):
            found.setdefault(query.group, {})[name] = query
    if len(found) == 1:
        return {NO_GROUP: dict(definitions)}
    for mine in found.values():
        needed = keepers([q for n, q in mine.items() if not is_behind(n)])
        mine |= {name: definitions.get(name, query) for name, query in needed.items()}
    return found


def _chosen(wanted: Collection[str] | None, mine: Mapping[str, Query]) -> set[str] | None:
    return None if wanted is None else mine.keys() & set(wanted)


def _told(checkpoint: Place | None, group: str) -> Beside | None:
    """How far a group was when its checkpoint was left; None where it had finished nothing."""
    if checkpoint is None:
        return None
    store = reader_store(group_folder(checkpoint, group) if group else checkpoint)
    last = None if store is None else Manifests(store).last()[0]
    if last is None or last.offsets.live is None:
        return None
    return Beside(max(last.until, last.offsets.live.latest), last.offsets.live.taken)


def _position(run: LiveRun) -> Beside | None:
    """How far a run is, although it may go on: first the batches, so that their rows are among what it has read."""
    taken = run.live.taken
    return Beside(max(run.engine.until, run.live.latest), taken) if run.engine.epoch_number else None


def _beside(others: Mapping[str, Beside | None], group: str) -> Beside | None:
    """How far the others are, all together."""
    found = [position for name, position in others.items() if name != group and position is not None]
    return Beside(max(p.latest for p in found), max(p.taken for p in found)) if found else None

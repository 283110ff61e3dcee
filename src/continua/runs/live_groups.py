"""Live queries in groups: each group is a live run with epochs of its own, so that a slow one holds up no other.

A run of a group has its own graph, lock and progress and, within that of the whole, its own checkpoint. Each follows
files, generated sources and streams of Spark. What comes once is taken in for all of them together
(:mod:`continua.runtime.intake`). The queries that are in no group are one as well, and views are among them.

A group that has a name ends when its last query has left, and begins anew with the next one that joins it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial

import pyarrow as pa

from continua.answers.query import Answer, Query
from continua.answers.relation_behind import is_behind
from continua.errors import BindError, Diagnostic, EvaluationError
from continua.runs.carried_content import is_keeper, keepers
from continua.runs.group_positions import EndedGroup, ahead_of, ended_group, position_in, position_of
from continua.runs.live_options import Beside, LiveOptions, Surroundings
from continua.runs.live_run import LiveRun
from continua.runs.live_sources import domain_of, timed_sources
from continua.runtime.checkpoint.files import safe_name
from continua.runtime.checkpoint.opening import group_folder, group_names
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

        Threads look at it without a lock: it is replaced by another where a group is opened or has ended.
        """
        self._ended: Mapping[str, EndedGroup] = {}
        """What is still known of groups that have ended and not begun again; it is replaced too."""
        known = [] if options.checkpoint is None else group_names(options.checkpoint)
        parts = in_groups(definitions)
        mine = parts[NO_GROUP]
        domains = {name: domain_of(parts.get(name, {}).values()) for name in (NO_GROUP, *known, *parts)}
        positions = {name: position_in(options.checkpoint, name) for name in (NO_GROUP, *known)}

        def around_of(group: str) -> Beside | None:
            alike = (None, domains[group])
            return ahead_of([p for n, p in positions.items() if n != group and domains[n] in alike])

        chosen = _chosen(wanted, mine)
        self.main = LiveRun(self._around_of(NO_GROUP, parts), options, mine, functions, chosen, around_of(NO_GROUP))
        """The queries that are in no group."""
        try:
            for name in known + sorted(parts.keys() - {NO_GROUP, *known}):
                mine = parts.get(name, {})
                if name in known or _chosen(wanted, mine) != set():
                    self._open(name, parts, functions, _chosen(wanted, mine), around_of(name))
                    self._end(name)
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
        before = self._ended.get(group)
        if before is not None:
            run.failed |= {name: error for name, error in before.failed.items() if name not in run.queries}
        self._others = {**self._others, group: (run, ThreadPoolExecutor(1, f"continua-group-{group}"))}
        self._ended = {name: ended for name, ended in self._ended.items() if name != group}

    def _emptied(self, group: str) -> None:
        """The last query of a group has left: it ends, in a thread of its own, since this one may be at work there."""
        if group in self._others:
            threading.Thread(target=self._end, args=(group,), name=f"continua-end-{group}").start()

    def _end(self, group: str) -> None:
        """Ends a group, if no query has joined it meanwhile."""
        found = self._others.get(group)
        if found is None:
            return
        run, worker = found
        closed = threading.Event()

        def ended() -> None:
            with self._opening:
                self._ended = {**self._ended, group: ended_group(run, closed)}
                self._others = {name: other for name, other in self._others.items() if name != group}

        try:
            if run.end_if_empty(ended):
                worker.shutdown(wait=False)
        finally:
            closed.set()

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
        emptied = partial(self._emptied, group)
        return replace(around, frames=frames, rejects=rejects, intake=self.main.intake, group=group, emptied=emptied)

    # Queries.

    def start(
        self, definitions: Mapping[str, Query], functions: Sequence[Function], wanted: Collection[str] | None = None
    ) -> list[str]:
        """The wanted queries join, as far as they do not run; without a choice, all but those that have left."""
        names: list[str] = []
        parts = in_groups(definitions)
        for group, mine in parts.items():
            joined = None
            while joined is None:
                joined = self._start_in(group, parts, functions, _chosen(wanted, mine))
            names += joined
        return names

    def _start_in(
        self,
        group: str,
        parts: Mapping[str, Mapping[str, Query]],
        functions: Sequence[Function],
        chosen: Collection[str] | None,
    ) -> list[str] | None:
        """Queries join a group, which is opened for them if need be; None if it has ended just then."""
        mine = parts[group]
        # what others go on to read while it is found out how far they are is held for those that begin after that
        with self.main.intake.holding():
            with self._opening:
                run = self.runs.get(group)
                ended = None if run is not None else self._ended.get(group)
                if ended is not None and chosen is None:
                    chosen = {name for name, query in mine.items() if not ended.has_left(query, functions)}
                joining = [query for name, query in mine.items() if chosen is None or name in chosen]
                if run is None and chosen != set():
                    if ended is not None:
                        ended.closed.wait()
                    self._open(group, parts, functions, chosen, self._ahead(group, joining))
                    run = self.runs[group]
            if run is None:
                return []
            try:
                return run.start(mine, functions, chosen, self._ahead(group, joining))
            except BindError as error:
                if error.condition != "RUN_ENDED" or self.runs.get(group) is run:
                    raise
                return None

    def _ahead(self, group: str, joining: Sequence[Query]) -> Beside | None:
        """How far others are: to begin a group all that count time alike, else those that read what queries bring."""
        runs, mine, domain = self.runs, timed_sources(joining), domain_of(joining)
        if group in runs:
            new = mine.keys() - runs[group].known.keys()
            others = [position_of(run) for name, run in runs.items() if name != group and new & run.known.keys()]
            others += [ended.position for ended in self._ended.values() if new & ended.known]
        else:
            others = [position_of(run) for run in runs.values() if run.domain in (None, domain)]
            others += [ended.position for ended in self._ended.values() if ended.domain in (None, domain)]
        return ahead_of(others)

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
    def has_streams(self) -> bool:
        """Whether streams of Spark bring rows, or have brought some."""
        return any(run.stream is not None for run in self.runs.values()) or any(
            e.has_stream for e in self._ended.values()
        )

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
        found: list[Mapping[str, EvaluationError]] = [run.failed for run in self.runs.values()] + [
            ended.failed for ended in self._ended.values()
        ]
        return {name: error for failed in found for name, error in failed.items()}

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

        def done(run: LiveRun) -> None:
            try:
                work(run)
            except BindError as error:
                if error.condition != "RUN_ENDED" or run in self.runs.values():
                    raise

        begun: list[Future[None]] = []
        for run, worker in self._others.values():
            with suppress(RuntimeError):  # the group ends just now
                begun.append(worker.submit(done, run))
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
            for ended in self._ended.values():
                ends.callback(ended.closed.wait)

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

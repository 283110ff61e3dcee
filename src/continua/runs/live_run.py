"""Live runs: the graph of all queries that go on while rows come, and what the checkpoint knows of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from math import lcm
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from continua.answers.query import Query
from continua.answers.relation_behind import behind_name
from continua.catalog import DAY, is_timed
from continua.errors import BindError, CheckpointError, Diagnostic, EvaluationError
from continua.instants import TimeDomain, ceil_to
from continua.objects.urls import BucketUrl
from continua.physical.nodes import UNIT
from continua.physical.ordered_operators import FINAL
from continua.rules.statistics import Statistics
from continua.runs.carried_content import is_keeper, keepers, to_be_fed
from continua.runs.earlier_starts import answers_name, earlier_answers, told_starts
from continua.runs.ending_run import EndingRun
from continua.runs.fed_run import FedRun
from continua.runs.live_options import Beside, LiveOptions, Surroundings
from continua.runs.live_queries import LiveQueries, chosen, is_known, meaning_of
from continua.runs.live_sources import check_domains, check_sources, clocks, domain_of, timed_sources
from continua.runs.moving_plans import Running
from continua.runs.moving_run import MovingRun
from continua.runs.plan_watch import PlanWatch
from continua.runs.plans import column_types
from continua.runs.sampling import Recent
from continua.runs.side_files import SideFiles
from continua.runs.totals import Totals, by_whom_it_is_for
from continua.runtime.checkpoint.registrations import Moved, Registered
from continua.runtime.engine import Engine
from continua.runtime.executors.executor import Executor, InProcess
from continua.runtime.feed import Feed
from continua.runtime.fingerprints import Function
from continua.runtime.inputs import needs_spark
from continua.runtime.intake import Intake, Reader
from continua.runtime.jobs import ResultWriter
from continua.runtime.live import Live
from continua.runtime.live_files import LiveFiles
from continua.runtime.progress import Progress
from continua.sinks.live_sinks import Deliveries, live_writers
from continua.sinks.sink import Sink
from continua.sources.intervals import Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_RECENT = 100


class LiveRun(FedRun, MovingRun, EndingRun):
    """The graph of all live queries, fed by rows that are inserted or by streaming DataFrames."""

    def __init__(
        self,
        around: Surroundings,
        options: LiveOptions,
        definitions: Mapping[str, Query],
        functions: Sequence[Function],
        wanted: Collection[str] | None = None,
        beside: Beside | None = None,
    ) -> None:
        """Starts the wanted ones of the queries, and those that run in the checkpoint.

        ``beside``: the runs of other groups, if these have begun.
        """
        if around.frames and around.spark is None:
            raise needs_spark(next(iter(around.frames.values()))[0])
        if around.frames and isinstance(options.checkpoint, BucketUrl):
            raise _needs_folder(options.checkpoint)
        self.options = options
        self._around = around
        self.group = around.group
        """The group of its queries, if they are in one."""
        self._durable = options.durable
        self._max_rows = options.max_rows
        self._functions = list(functions)
        self._rows = Recent()
        self.recent: deque[dict[str, object]] = deque(maxlen=_RECENT)
        self.totals = Totals()
        self.watch = PlanWatch(self._rows.values_of, self._moved, self._operators)
        self.failed: dict[str, EvaluationError] = {}
        """Queries that were dropped because they failed on their data, and why."""
        self.spark = around.spark
        self.stream: StreamingQuery | None = None
        self._has_ended = False
        self._last_domain: TimeDomain | None = None
        first = () if beside is not None and not is_known(options.checkpoint) else wanted
        self._members = LiveQueries.begun(options.checkpoint, definitions, functions, first, beside is not None)
        begins_late = beside is not None and not self._members.running
        self._defined = {n: definitions[n] for n in self.queries}
        """The definitions of queries, as far as they are known to be those that run or that have left."""
        self.known: dict[str, Source] = {n: info for n, (info, _) in around.frames.items()}
        """The sources by which rows are read: those of all queries that ran. Stored relations are not among them."""
        check_sources(self.queries.values(), self.known)
        check_domains(self.queries.values(), (), {})
        self.known |= timed_sources(self.queries.values())
        self.engine = self._begun(options)
        self._sinks = Deliveries(self.engine, around.folder, options.durable)
        self._side_files = SideFiles(self.engine, around.rejects, self._source)
        with ExitStack() as undo:
            undo.callback(self.engine.close)
            undo.callback(self._sinks.close)
            self.live = Live(
                self.engine,
                clocks(self.queries.values()),
                idle_timeout=options.idle_timeout,
                clock=around.clock,
                on_epoch=self._finished,
            )
            undo.callback(self.live.stop)
            self.live.last = FINAL if options.until is None else options.until
            lasting, check = self.engine.lasting, self.engine.check_ours
            self.intake = around.intake or Intake(around.inputs, self._refused, lasting, options.durable, check)
            if around.intake is None:
                undo.callback(self.intake.close)
            self.arrivals = self._reader(self.intake)
            undo.callback(self.given_up)
            if begins_late and beside is not None:
                self.live.begin_at(beside.latest, beside.taken)
                self.arrivals.done = self.live.taken
            self.recovered = self.arrivals.waiting
            """How many rows of sources had been taken in when the run before ended, and are not worked on."""
            self._files = LiveFiles(self.engine, partial(around.inputs.files, followed=True))
            self._files.check_unchanged(self.known)
            self._go_on()
            self.start(definitions, functions, wanted, beside)
            if around.frames:
                self.stream = self._start_stream(options.trigger)
            undo.pop_all()

    def _begun(self, options: LiveOptions) -> Engine:
        """The engine, where the checkpoint says."""
        return Engine(
            self._members.graphs,
            _executor(self.spark),
            functions=self._functions,
            checkpoint=options.checkpoint,
            partitions=options.partitions,
            slots=options.slots,
            durable=options.durable,
            queries=tuple(self._members.registered.values()),
            writers=self._writers(self.queries.values()),
            retention=options.retention or DAY,
            clock=self._around.clock,
            where=self._around.inputs.where,
        )

    def _reader(self, intake: Intake) -> Reader:
        """How this run has what is taken in."""
        intent = self.engine.intent()
        # the epoch that was intended is not run again where its queries have left
        offsets = None if intent is None or not self._members.running else intent.offsets.live
        intake.check(self.known)
        reader = intake.reader(self.live.taken, 0 if offsets is None else offsets.taken)
        reader.known = self.known
        return reader

    def _go_on(self) -> None:
        """Takes up what the checkpoint says of stored relations, answers and late rows."""
        self.live.grain = lcm(*(q.chronon for q in self.queries.values()))
        for generation, queries in self._members.by_generation.items():
            self._store(self._stored_rows(queries), generation)
            self._carry(queries, generation)
        self._sinks.go_on({n: (q, self.first_epoch(n)) for n, q in self.queries.items()})
        self.engine.tidy()
        self._side_files.go_on(self.live.late)

    def _stored_rows(self, queries: Sequence[Query]) -> dict[str, pa.Table]:
        """The rows of stored relations of queries, as they are now."""
        stored = [s for q in queries for s in q.sources if not is_timed(s)]
        with self._around.lock:
            feed = Feed.of_inputs(self._around.inputs.read(set(stored)), column_types(queries))
        names = {s.name.casefold() for s in stored} | {UNIT}
        return {n: t for n, t in feed.tables().items() if n in names}

    def _store(self, rows: Mapping[str, pa.Table], generation: str) -> None:
        """Feeds the stored relations of queries that are new."""
        self.live.store({f"{n}{generation}": t for n, t in rows.items()})

    def _carry(self, queries: Iterable[Query], generation: str) -> None:
        """Sees to it that queries which joined are given what their leaves hold where they start."""
        for query in queries:
            names, fetched = to_be_fed(self.engine, query, generation, self._members.registered)
            self.live.store_after(query.start - 1, names, fetched)
            known = self._members.registered[query.name]
            if known.goes_on is not None and known.goes_on.told:
                name = answers_name(known.name, known.generation)
                self.live.store_after(self.engine.until, [name], partial(earlier_answers, self.engine, known))

    def _start_stream(self, trigger: Mapping[str, Any] | None) -> StreamingQuery:
        from continua.runtime.structured_streaming import StreamingSource, start_streaming

        sources = [StreamingSource(n, frame, info) for n, (info, frame) in self._around.frames.items()]
        return start_streaming(self.live, sources, trigger)

    # Queries.

    def start(
        self,
        definitions: Mapping[str, Query],
        functions: Sequence[Function],
        wanted: Collection[str] | None = None,
        beside: Beside | None = None,
    ) -> list[str]:
        """The wanted queries join, as far as they do not run; without a choice, all but those that have left.

        ``beside``: the runs of other groups that have read on in what this one will read for the first time. Returns
        the names of those that were asked for.
        """
        with self._at_work():
            if beside is not None:
                self.live.begin_after(beside.latest)
            if [id(f) for f in self._functions] != [id(f) for f in functions]:
                self._functions, self._defined = list(functions), {}
            names = [n for n, q in definitions.items() if (not self._has_left(q) if wanted is None else n in wanted)]
            for name in names:
                if name in self._members.queries and not self._is(self._members.registered[name], definitions[name]):
                    message, hint = f"another query {name} is live", "stop it first"
                    raise BindError(Diagnostic("ALREADY_EXISTS", message, hint=hint, parameters={"name": name}))
            self._join([definitions[n] for n in names if n not in self._members.queries])
            return names

    def _has_left(self, query: Query) -> bool:
        known = self._members.registered.get(query.name)
        return known is not None and known.dropped and self._is(known, query)

    def _is(self, known: Registered, query: Query) -> bool:
        """Whether a query is the one that is known by its name; of a definition that is asked for once."""
        if self._defined.get(query.name) is not query:
            if known.meaning != meaning_of(query, self._functions):
                return False
            self._defined[query.name] = query
        return True

    def _join(self, queries: Sequence[Query]) -> None:
        """Queries join; they start after all rows that have been read, so that they see all of their own.

        Their plans are chosen by what the run has shown of their sources, and so that they share what they can.
        """
        if not queries:
            return
        self._check(queries)
        self._sinks.start(queries)
        for query in queries:
            self.failed.pop(query.name, None)
        self.live.grain = lcm(self.live.grain, *(q.chronon for q in queries))
        begin = max(map(self.next_start, queries))
        generation = f"@{self.engine.epoch_number + 1}"
        stored = self._stored_rows(queries)
        known = self._rows.statistics(queries, self.engine.progress, stored)
        horizon = self.engine.yielded.past.horizon.epoch
        new = chosen(queries, self._functions, begin, generation, known, self._members, horizon)
        self._change(self._members.joined_by(new))
        self._defined |= {q.name: q for q in queries}
        self._store(stored, generation)
        self._carry((r.query for r in new), generation)
        if self.engine.epoch_number:
            with self._around.lock:
                asked = [r.query for r in new if r.query.name in self.queries]
                self._around.inputs.notices += told_starts(asked, self._members.registered)
        self._sinks.write_to({r.query.name: (r.query, self.first_epoch(r.query.name)) for r in new})

    def next_start(self, query: Query) -> int:
        """When a query would start that joined now: after all rows that have been read."""
        return ceil_to(max(self.engine.until, self.live.latest) + 1, lcm(self.live.grain, query.chronon))

    def _check(self, queries: Sequence[Query]) -> None:
        """Refuses queries that cannot join those that run."""
        read = {name: info for name, info in self.known.items() if name not in self._around.frames}
        check_sources(queries, self.known)
        check_domains(queries, self._members.queries.values(), read)
        self.intake.check(timed_sources(queries))

    @property
    def domain(self) -> TimeDomain | None:
        """How the rows of its queries are timed; when they have left, of those that left last."""
        return domain_of(self._members.queries.values()) or self._last_domain

    def drop(self, name: str, failure: EvaluationError | None = None) -> None:
        """A query leaves, perhaps because it has failed."""
        with self._at_work():
            self.failed.pop(name, None)
            if failure is not None:
                self.failed[name] = failure
            known = self._members.queries
            leaving = {n for n in (name, behind_name(name)) if n in known}
            staying = [q for n, q in self.queries.items() if n not in leaving]
            leaving |= {n for n in known if is_keeper(n)} - keepers(staying).keys()
            if leaving:
                self._last_domain = self.domain
                self._change(self._members.without(leaving))
                self._sinks.drop(name)
            is_empty = bool(leaving) and not self.queries
        if is_empty:
            self._around.emptied()

    def move(self, name: str, statistics: Statistics | None = None, without: Collection[str] = ()) -> str | None:
        """A query moves to the plan that the rules make of it by statistics, or without some rules.

        Returns why it stays where it is, if it does.
        """
        with self._at_work():
            return self._move_by_hand(name, statistics, without)

    def move_of(self, name: str) -> Moved | None:
        """How a query came to the plan that it runs by; None where that is the one that it began with."""
        return self._members.registered[name].moved

    def _at_work_now(self) -> Mapping[str, Running]:
        return self._members.running

    def _latest_read(self) -> int:
        return max(self.engine.until, self.live.latest)

    def _grain_now(self) -> int:
        return self.live.grain

    def _go_on_by(self, some: Sequence[Running]) -> None:
        self._change(self._members.with_moved(some))

    def _change(self, after: LiveQueries) -> None:
        queries = after.queries.values()
        self.engine.change(after.graphs, self._functions, tuple(after.registered.values()), self._writers(queries))
        self._members = after
        self.known = {**self.known, **timed_sources(queries)}
        self.arrivals.known = self.known
        self.live.watch(clocks(queries))
        self._sinks.up_to_date()

    def _writers(self, queries: Iterable[Query]) -> dict[str, ResultWriter]:
        return live_writers(queries, self._around.folder, self._durable)

    # Answers.

    def add_sink(self, name: str, sink: Sink) -> None:
        """Gives the answers of a query to a sink, those of finished epochs first."""
        with self._at_work():
            self._sinks.add(self.running(name), sink, self.first_epoch(name))

    def first_epoch(self, name: str) -> int:
        """The first epoch of a query that can still be told."""
        return max(self.since(name), self.engine.yielded.past.horizon.epoch + 1)

    def _deliver(self) -> None:
        """Gives sinks the answers of finished epochs that they have not."""
        with self.live.lock:
            self._sinks.up_to_date()

    def _finished(self, done: Progress) -> None:
        done.query_seconds = by_whom_it_is_for(done.query_seconds)
        self._side_files.add(done)
        self.totals.add(done)
        group = {"group": self.group} if self.group else {}
        plans = {name: move.told() for name, r in self._members.running.items() if (move := r.registered.moved)}
        entry = {**done.entry(self.engine.placement), **group, "lag": self.live.lag(done.until)}
        costs = {"sources": figures} if (figures := self.intake.figures()) else {}
        self.recent.append({**entry, **costs, "movedPlans": plans} if plans else {**entry, **costs})
        self._deliver()
        if (after := self._members.handed_over(done.until)) is not None:
            self._change(after)
        self._arrive()
        self._rows.add(done.samples)
        self._move(done)

    def written(self) -> dict[str, int]:
        """By query that writes where INTO says, how many files were written since the process began."""
        return self._sinks.files()


def _executor(spark: SparkSession | None) -> Executor:
    if spark is None:
        return InProcess()
    from continua.runtime.executors.on_spark import OnSpark

    return OnSpark(spark)


def _needs_folder(checkpoint: BucketUrl) -> CheckpointError:
    """Why a run on streaming frames is refused: what Spark keeps of them lies beside what is kept here."""
    message = f"Spark keeps what it knows of streaming frames in the checkpoint, and {checkpoint} is no folder"
    hint = "name a folder that all machines see"
    return CheckpointError(Diagnostic("NOT_SUPPORTED", message, hint=hint, parameters={"checkpoint": str(checkpoint)}))

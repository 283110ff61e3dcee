"""Live runs: the graph of all queries that go on while rows come, and what the checkpoint knows of them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from math import lcm
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from continua.answers.query import Query
from continua.answers.relation_behind import behind_name
from continua.catalog import DAY, RelationInfo, Retention, StreamInfo, is_timed
from continua.errors import BindError, Diagnostic, EvaluationError
from continua.instants import asked_instant, ceil_to
from continua.physical.nodes import UNIT
from continua.physical.ordered_operators import FINAL
from continua.runs.answered_run import AnsweredRun
from continua.runs.carried_content import is_keeper, keepers, to_be_fed
from continua.runs.live_queries import LiveQueries, chosen, meaning_of
from continua.runs.live_sources import check_sources, clocks, sources, timed_sources
from continua.runs.plans import column_types
from continua.runs.sampling import Recent
from continua.runs.side_files import SideFiles
from continua.runs.totals import Totals
from continua.runtime.arrivals import Arrivals
from continua.runtime.checkpoint.registrations import Registered
from continua.runtime.engine import DURABLE, Engine
from continua.runtime.executors.executor import Executor, InProcess
from continua.runtime.feed import Feed, arrived
from continua.runtime.fingerprints import Function
from continua.runtime.inputs import InputReader, needs_spark
from continua.runtime.jobs import ResultWriter
from continua.runtime.live import Live
from continua.runtime.live_files import LiveFiles
from continua.runtime.machines import spark_at_work
from continua.runtime.progress import Progress
from continua.sinks.live_sinks import Deliveries, live_writers
from continua.sinks.sink import Sink
from continua.sources.inserted_rows import Rows
from continua.sources.intervals import Source
from continua.sources.source_spec import Malformed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_RECENT = 100


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """How a live run works: its master is a Spark session or, without one, this process."""

    checkpoint: Path | None = None
    partitions: int = 2
    idle_timeout: float | None = None
    """Seconds after which a silent source is not waited for."""
    trigger: Mapping[str, Any] | None = None
    durable: bool = DURABLE
    """Whether a finished epoch is on the disk itself, and so there after the power has failed."""
    retention: Retention | None = None
    """How much history is kept; None: as SET retention says."""
    max_rows: int | None = None
    """At most so many rows of each source are in an epoch."""
    until: int | None = None
    """The last instant that is answered; None: there is none."""


@dataclass(frozen=True)
class Surroundings:
    """Where the rows of a live run come from, and where what it leaves out and what it writes goes."""

    inputs: InputReader
    spark: SparkSession | None = None
    frames: Mapping[str, tuple[StreamInfo, DataFrame]] = field(default_factory=dict)
    """Streaming DataFrames and the streams whose rows they are."""
    clock: Callable[[], int] = lambda: time.time_ns() // 1000
    folder: Path = Path()
    rejects: Path = Path("rejected")
    lock: RLock = field(default_factory=RLock)
    """Held by whoever works on the run, and by its session while it changes what is defined."""


class LiveRun(AnsweredRun):
    """The graph of all live queries, fed by rows that are inserted or by streaming DataFrames."""

    def __init__(
        self,
        around: Surroundings,
        options: LiveOptions,
        definitions: Mapping[str, Query],
        functions: Sequence[Function],
        wanted: Collection[str] | None = None,
    ) -> None:
        """Starts the wanted ones of the queries, and those that run in the checkpoint."""
        if around.frames and around.spark is None:
            raise needs_spark(next(iter(around.frames.values()))[0])
        self._around = around
        self._durable = options.durable
        self._max_rows = options.max_rows
        self._functions = list(functions)
        self._rows = Recent()
        self.recent: deque[dict[str, object]] = deque(maxlen=_RECENT)
        self.totals = Totals()
        self.spark = around.spark
        self.stream: StreamingQuery | None = None
        self._has_ended = False
        self._members = LiveQueries.begun(options.checkpoint, definitions, functions, wanted)
        self._defined = {n: definitions[n] for n in self.queries}
        """The definitions of queries, as far as they are known to be those that run or that have left."""
        self.known: dict[str, Source] = {n: info for n, (info, _) in around.frames.items()}
        """The sources by which rows are read: those of all queries that ran. Stored relations are not among them."""
        check_sources(self.queries.values(), self.known)
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
                lock=around.lock,
            )
            undo.callback(self.live.stop)
            self.live.last = FINAL if options.until is None else options.until
            spooled = self.engine.spooled()
            self.recovered = {name: rows.num_rows for name, rows in spooled.items()}
            """How many rows of sources had come for an epoch that was not finished when the run before ended."""
            self.arrivals = Arrivals(around.inputs.incoming, self._refused, spooled)
            """What has come by itself, and what the run before had taken and not finished."""
            undo.callback(self.arrivals.close)
            self._files = LiveFiles(self.engine, around.inputs.files)
            self._files.check_unchanged(self.known)
            self._go_on()
            self.start(definitions, functions, wanted)
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
            durable=options.durable,
            queries=tuple(self._members.registered.values()),
            writers=self._writers(self.queries.values()),
            retention=options.retention or DAY,
            clock=self._around.clock,
        )

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

    def _start_stream(self, trigger: Mapping[str, Any] | None) -> StreamingQuery:
        from continua.runtime.structured_streaming import StreamingSource, start_streaming

        sources = [StreamingSource(n, frame, info) for n, (info, frame) in self._around.frames.items()]
        return start_streaming(self.live, sources, trigger)

    # Rows.

    def insert(self, name: str, rows: Rows) -> None:
        """Rows arrive, from any thread; the next epoch has them. A malformed row is an error, and none is taken."""
        info = self._source(name)
        if not is_timed(info):
            message = f"{info.name} is stored: a query that joins reads it, and rows are not added after that"
            raise BindError(Diagnostic("STORED_RELATION", message, parameters={"name": info.name}))
        self._around.inputs.add(info, rows)

    def heartbeat(self, name: str, instant: int | datetime) -> None:
        """A source says that it is complete up to an instant."""
        instant = asked_instant(instant, self._source(name).domain)
        self.process()
        with self._at_work(), self._naming():
            self.live.promise(name.casefold(), instant)

    def process(self, to_the_end: bool = False) -> None:
        """Runs epochs with the rows that have arrived; ``to_the_end``: nothing more comes."""
        if self.stream is not None:
            self.stream.processAllAvailable()
        # what a generated source makes while it is read is for the next time, or there would be no end
        called = self.live.now()
        while self.step(to_the_end, called):
            pass

    def step(self, to_the_end: bool = False, called: int | None = None) -> bool:
        """An epoch with what has come; what is complete is closed unless more waits. Whether anything had come.

        ``called``: up to which moment generated sources are read, by default now.
        """
        with self._naming():
            worked = self._push(to_the_end, called)
            with self._at_work():
                if self.stream is None and not (worked and self.is_behind):
                    self.live.advance()
                self._deliver()
            return worked

    @property
    def is_behind(self) -> bool:
        """Whether more had come than the last epoch took."""
        return self._files.behind or self.arrivals.behind

    @property
    def has_ended(self) -> bool:
        """Whether every instant is closed that ever will be."""
        return self.engine.until >= self.live.last

    def _push(self, to_the_end: bool = False, called: int | None = None) -> bool:
        """An epoch with the rows that wait and with what was new in files when it was called; whether there was any.

        Where it fails before it is finished, the rows wait for the next.
        """
        with self._at_work():
            inputs = self._around.inputs
            taken = inputs.take(self.known)
            before, tables = self.live.pushed, dict[str, pa.Table]()
            try:
                now, timed = self.live.now(), timed_sources(self.queries.values())
                by = now if called is None else called
                readings = self._files.next(timed, now, self._members.starts, to_the_end, by, self._max_rows)
                frames = self._new_frames()
                brought = self.arrivals.next(timed, now, self._max_rows)
                self._around.inputs.notices += self.arrivals.notices()
                if not taken and not readings and not frames and not brought:
                    return self._ended()
                inserted = {n: arrived(self._source(n), rows, now) for n, rows in taken.items()}
                tables = {n: _joined(brought.get(n), inserted.get(n)) for n in brought.keys() | inserted}
                self.live.push(tables, readings, frames, self._files.complete)
                self._files.done()
                self.arrivals.done(brought)
                return True
            finally:
                if self.live.pushed == before:
                    self._sinks.forget_staged()
                    inputs.give_back(taken)
                else:
                    self._rows.add(tables)

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """While something is done with the run nobody else does anything with it; after its end nobody does."""
        with self.live.lock:
            if self._has_ended:
                message = "this run has ended: the session was stopped"
                raise BindError(Diagnostic("RUN_ENDED", message, hint="start its queries again"))
            yield

    def _ended(self) -> bool:
        """Sources that have come to their end are complete; whether there was one that was not known to be."""
        before = self.engine.until
        for name in self.arrivals.ended:
            self.live.promise(name, FINAL)
        return self.engine.until > before

    def _refused(self, name: str, wrong: Sequence[Malformed]) -> None:
        """What has come and is no row is kept apart, or ends the run."""
        info = self._source(name)
        if not info.skip_errors:
            raise wrong[0].error(info.name)
        self._side_files.keep(name, wrong)

    def _new_frames(self) -> list[str]:
        """The sources that Spark reads, as far as they have not been read."""
        found = {n: self._around.inputs.frame(s) for n, s in timed_sources(self.queries.values()).items()}
        new = {n: frame for n, frame in found.items() if frame is not None and n not in self.engine.positions}
        if new and self.spark is None:
            raise needs_spark(next(iter(new.values())).info)
        self.engine.reads({}, new)
        return sorted(new)

    def _source(self, name: str) -> StreamInfo | RelationInfo:
        info = self.known.get(name.casefold()) or sources(self.queries.values()).get(name.casefold())
        if info is None:
            raise BindError(Diagnostic("UNKNOWN_STREAM", f"no live query reads {name}", parameters={"name": name}))
        return info

    def finish(self) -> None:
        """The sources have ended: every instant is closed."""
        if self.stream is not None:
            self.stream.awaitTermination()
        self.process(to_the_end=True)
        with self._at_work(), self._naming():
            self.live.finish()
            self._deliver()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """What fails on the data of a query tells which it is, and what fails on Spark what is wrong with it."""
        try:
            with nullcontext() if self.spark is None else spark_at_work():
                yield
        except EvaluationError as error:
            raise self.named(error) from None

    def named(self, error: EvaluationError) -> EvaluationError:
        """An error with the name of a query that its operator works for."""
        return self._members.named(error)

    # Queries.

    def start(
        self, definitions: Mapping[str, Query], functions: Sequence[Function], wanted: Collection[str] | None = None
    ) -> list[str]:
        """The wanted queries join, as far as they do not run; without a choice, all but those that have left.

        Returns the names of those that were asked for.
        """
        with self._at_work():
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
        check_sources(queries, self.known)
        self._sinks.start(queries)
        self.live.grain = lcm(self.live.grain, *(q.chronon for q in queries))
        begin = ceil_to(max(self.engine.until, self.live.latest) + 1, self.live.grain)
        generation = f"@{self.engine.epoch_number + 1}"
        stored = self._stored_rows(queries)
        known = self._rows.statistics(queries, self.engine.progress, stored)
        new = chosen(queries, self._functions, begin, generation, known, self._members.kept)
        self._change(self._members.joined_by(new))
        self._defined |= {q.name: q for q in queries}
        self._store(stored, generation)
        self._carry((r.query for r in new), generation)
        self._sinks.write_to({r.query.name: (r.query, self.first_epoch(r.query.name)) for r in new})

    def drop(self, name: str) -> None:
        """A query leaves."""
        with self._at_work():
            known = self._members.queries
            leaving = {n for n in (name, behind_name(name)) if n in known}
            staying = [q for n, q in self.queries.items() if n not in leaving]
            leaving |= {n for n in known if is_keeper(n)} - keepers(staying).keys()
            if leaving:
                self._change(self._members.without(leaving))
                self._sinks.drop(name)

    def _change(self, after: LiveQueries) -> None:
        queries = after.queries.values()
        self.engine.change(after.graphs, self._functions, tuple(after.registered.values()), self._writers(queries))
        self._members = after
        self.known |= timed_sources(queries)
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
        self._side_files.add(done)
        self.totals.add(done)
        self.recent.append({**done.entry(self.engine.stages), "lag": self.live.lag(done.until)})
        self._deliver()

    def written(self) -> dict[str, int]:
        """By query that writes where INTO says, how many files were written since the process began."""
        return self._sinks.files()

    def stop(self) -> None:
        """Stops everything, after the micro-batch that is worked on; the lock is not held meanwhile: it needs that."""
        self.live.stop()
        self.arrivals.close()
        try:
            if self.stream is not None and self.spark is not None:
                from continua.runtime.structured_streaming import stop_streaming

                stop_streaming(self.live, self.stream, self.spark)
        finally:
            with self.live.lock:
                self._has_ended = True
                self._sinks.close()
                self.engine.close()


def _joined(first: pa.Table | None, second: pa.Table | None) -> pa.Table:
    """Rows that have waited or come by themselves, and behind them those that were inserted."""
    return pa.concat_tables([table for table in (first, second) if table is not None])


def _executor(spark: SparkSession | None) -> Executor:
    if spark is None:
        return InProcess()
    from continua.runtime.executors.on_spark import OnSpark

    return OnSpark(spark)

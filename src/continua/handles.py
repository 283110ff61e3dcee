"""Live runs: queries that go on while rows come, and their handles, with the names of Spark's StreamingQuery."""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import lcm
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from continua.answers import Answer, Query
from continua.catalog import AggregateInfo, FunctionInfo, RelationInfo, StreamInfo
from continua.errors import BindError, Diagnostic
from continua.instants import show_instant
from continua.physical.nodes import UNIT
from continua.physical.planner import Planner
from continua.reference.elements import Row
from continua.results import answers_from, content_from
from continua.running import column_types
from continua.runtime.engine import Engine, Progress
from continua.runtime.executors import Executor, InProcess, OnSpark
from continua.runtime.feed import Feed, arrived
from continua.runtime.heartbeats import Clock
from continua.runtime.inputs import InputReader
from continua.runtime.live import Live
from continua.sinks import Sink, answers_table
from continua.types import Value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

Function = FunctionInfo | AggregateInfo
_RECENT = 100


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """How a live run works: its master is a Spark session or, without one, this process."""

    checkpoint: Path | None = None
    partitions: int = 2
    idle_timeout: float | None = None
    """Seconds after which a silent source is not waited for."""
    trigger: Mapping[str, Any] | None = None


class LiveRun:
    """The graph of all live queries, fed by rows that are inserted or by streaming DataFrames."""

    def __init__(
        self,
        inputs: InputReader,
        queries: Sequence[Query],
        functions: Sequence[Function],
        options: LiveOptions,
        spark: SparkSession | None = None,
        frames: Mapping[str, DataFrame] | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self._inputs = inputs
        self._functions = list(functions)
        self._frames = dict(frames or {})
        self._sinks: dict[str, Sink] = {}
        self._generation: dict[str, str] = {q.name: "" for q in queries}
        self.queries = {q.name: q for q in queries}
        self.spark = spark
        executor: Executor = InProcess() if spark is None else OnSpark(spark)
        self.engine = Engine(
            self._graph(),
            executor,
            functions=functions,
            checkpoint=options.checkpoint,
            partitions=options.partitions,
        )
        self._known = {s.name.casefold(): s for q in queries for s in q.sources}
        clocks = {n: self._clock_of(s) for n, s in self._known.items() if _is_timed(s)}
        self.recent: deque[dict[str, object]] = deque(maxlen=_RECENT)
        self._began = time.monotonic()
        self.live = Live(self.engine, clocks, idle_timeout=options.idle_timeout, clock=clock, on_epoch=self._finished)
        self.live.grain = lcm(*(q.chronon for q in queries))
        self._store(queries, "")
        self._pending: dict[str, list[Sequence[Value]]] = {}
        self.stream: StreamingQuery | None = None
        if self._frames:
            self.stream = self._start_stream(options.trigger)

    @staticmethod
    def _clock_of(source: StreamInfo | RelationInfo) -> Clock:
        return Clock(
            source.slack, by_arrival=isinstance(source, StreamInfo) and not source.order_by and not source.valid
        )

    def _graph(self) -> list[Any]:
        aggregates = {f.name: f for f in self._functions if isinstance(f, AggregateInfo)}
        return [
            Planner(q.start, q.chronon, q.domain, aggregates, self._generation[q.name]).query(
                q.name, q.bound.logical, changes=True
            )
            for q in self.queries.values()
        ]

    def _store(self, queries: Iterable[Query], generation: str) -> None:
        """Feeds the stored relations of queries that are new."""
        chosen = list(queries)
        stored = [s for q in chosen for s in q.sources if not _is_timed(s)]
        feed = Feed.of_inputs(self._inputs.read(set(stored)), column_types(chosen))
        names = {s.name.casefold() for s in stored} | {UNIT}
        self.live.store({f"{n}{generation}": t for n, t in feed.tables().items() if n in names})

    def _start_stream(self, trigger: Mapping[str, Any] | None) -> StreamingQuery:
        from continua.runtime.streaming import StreamingSource, start_streaming

        sources = []
        for name, frame in self._frames.items():
            info = self._known.get(name)
            if isinstance(info, StreamInfo):
                start, end = _places(info)
                sources.append(StreamingSource(name, frame, start, end))
        return start_streaming(self.live, sources, trigger)

    # Rows.

    def insert(self, name: str, rows: Iterable[Sequence[Value]]) -> None:
        """Rows arrive at a stream; the next epoch has them."""
        self._pending.setdefault(name.casefold(), []).extend(rows)

    def heartbeat(self, name: str, instant: int) -> None:
        """A source says that it is complete up to an instant."""
        self.process()
        self.live.promise(name.casefold(), instant)

    def process(self) -> None:
        """Runs an epoch with the rows that have arrived."""
        if self.stream is not None:
            self.stream.processAllAvailable()
            return
        taken, self._pending = self._pending, {}
        tables = {}
        for name, rows in taken.items():
            info = self._known.get(name)
            if info is None:
                raise BindError(Diagnostic("UNKNOWN_STREAM", f"no live query reads {name}"))
            tables[name] = arrived(info, self._inputs.converted(info, rows), self.live.clock())
        if tables:
            self.live.push(tables)
        self.live.advance()

    def finish(self) -> None:
        """The sources have ended: every instant is closed."""
        if self.stream is not None:
            self.stream.awaitTermination()
        self.process()
        self.live.finish()

    # Queries.

    def register(self, query: Query) -> Query:
        """A query joins; it starts after all rows that have been read, so that it sees all of its own."""
        self.live.grain = lcm(self.live.grain, query.chronon)
        query = replace(query, start=max(query.start, self.engine.until + 1, self.live.latest + 1))
        generation = f"@{self.engine.epoch_number + 1}"
        self._generation[query.name] = generation
        self.queries[query.name] = query
        self._known.update({s.name.casefold(): s for s in query.sources})
        self.live.change(self._graph(), self._functions)
        self._store([query], generation)
        return query

    def drop(self, name: str) -> None:
        """A query leaves."""
        if self.queries.pop(name, None) is not None:
            self.live.change(self._graph(), self._functions)

    def add_sink(self, name: str, sink: Sink) -> None:
        """Gives the answers of a query to a sink, those of finished epochs first."""
        for number in range(1, self.engine.epoch_number + 1):
            self._deliver(name, sink, number)
        self._sinks[name] = sink

    def _deliver(self, name: str, sink: Sink, epoch: int) -> None:
        results = self.engine.results(name, epoch, epoch)
        if results is not None:
            sink.write(epoch, answers_table(self.queries[name], results))

    def _finished(self, done: Progress) -> None:
        for name, sink in self._sinks.items():
            if name in self.queries:
                self._deliver(name, sink, done.epoch)
        now = time.monotonic()
        self.recent.append(
            {
                "epoch": done.epoch,
                "heartbeat": done.until,
                "numInputRows": sum(done.rows_in.values()),
                "numOutputRows": dict(done.rows_out),
                "lateRows": dict(done.late),
                "stateRows": dict(done.state_rows),
                "stateBytes": done.state_bytes,
                "durationMs": round((now - self._began) * 1000, 1),
            }
        )
        self._began = now

    def answers(self, name: str) -> list[Answer]:
        """All answers of a query up to the heartbeat."""
        return answers_from(self.queries[name], self.engine.results(name), self.engine.until)

    def content(self, name: str, instant: int | None = None) -> list[Row]:
        """What a query's relation holds at an instant, by default at the latest that is closed."""
        query = self.queries[name]
        at = self.engine.until if instant is None else instant
        if at > self.engine.until:
            message = f"{show_instant(at, query.domain)} is not closed yet"
            raise BindError(Diagnostic("INSTANT_OPEN", message, parameters={"instant": at}))
        return content_from(query.bound.logical, self.engine.results(name), at)

    def stop(self) -> None:
        """Stops everything."""
        self.live.stop()
        if self.stream is not None:
            self.stream.stop()
        self.engine.close()


def _is_timed(source: StreamInfo | RelationInfo) -> bool:
    return isinstance(source, StreamInfo) or source.order_by is not None


def _places(info: StreamInfo) -> tuple[int | None, int | None]:
    """The places of the columns with start and end."""
    names = [f.name for f in info.columns]
    if info.valid is not None:
        return names.index(info.valid[0]), names.index(info.valid[1])
    return (names.index(info.order_by) if info.order_by else None), None


class QueryHandle:
    """One live query, under the names of Spark's StreamingQuery."""

    def __init__(self, run: LiveRun, name: str) -> None:
        self._run = run
        self.name = name
        self.id = str(uuid.uuid4())

    @property
    def query(self) -> Query:
        """The query itself."""
        return self._run.queries[self.name]

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether it is in the graph, and rows may come."""
        stream = self._run.stream
        return self.name in self._run.queries and (stream is None or stream.isActive)

    @property
    def recentProgress(self) -> list[dict[str, object]]:  # noqa: N802
        """What the last epochs did."""
        return list(self._run.recent)

    @property
    def lastProgress(self) -> dict[str, object] | None:  # noqa: N802
        """What the last epoch did."""
        return self._run.recent[-1] if self._run.recent else None

    def processAllAvailable(self) -> None:  # noqa: N802
        """Waits until all rows that have arrived are worked on."""
        self._run.process()

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802
        """Waits until the sources have ended; whether they have."""
        if self._run.stream is None:
            return True
        ended = (
            self._run.stream.awaitTermination() if timeout is None else self._run.stream.awaitTermination(int(timeout))
        )
        return ended is None or bool(ended)

    def stop(self) -> None:
        """Takes the query out of the graph."""
        self._run.drop(self.name)

    def exception(self) -> BaseException | None:
        """Why the run ended, if it failed."""
        if self._run.live.failure is not None:
            return self._run.live.failure
        return self._run.stream.exception() if self._run.stream is not None else None

    def explain(self) -> str:
        """Its logical plan."""
        return self.query.explain()

    def foreach(self, sink: Sink) -> None:
        """Gives the answers of every epoch to a sink."""
        self._run.add_sink(self.name, sink)

    def answers(self) -> list[Answer]:
        """All answers up to the heartbeat."""
        return self._run.answers(self.name)

    def snapshot(self, instant: int | None = None) -> DataFrame | pa.Table:
        """Its content at an instant that is closed: a DataFrame, or an Arrow table where there is no Spark."""
        query = self.query
        rows = self._run.content(self.name, instant)
        from continua.sqltext.values import arrow_type, to_arrow

        table = pa.table(
            {
                name: pa.array([to_arrow(r[i], of) for r in rows], arrow_type(of))
                for i, (name, of) in enumerate(query.types.items())
            }
        )
        return table if self._run.spark is None else self._run.spark.createDataFrame(table)

    def changes(self) -> DataFrame | pa.Table:
        """Its changes up to the heartbeat: a DataFrame, or an Arrow table where there is no Spark."""
        results = self._run.engine.results(self.name)
        table = pa.table({}) if results is None else answers_table(self.query, results)
        return table if self._run.spark is None or results is None else self._run.spark.createDataFrame(table)

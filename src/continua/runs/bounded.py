"""Runs over bounded inputs: the graph of queries, their rows, their answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from continua.algebra.base import Kind
from continua.algebra.streaming import Tag, ToStream
from continua.answers.answer_columns import Part, columns_from
from continua.answers.from_results import answers_from, content_from
from continua.answers.query import Answer, Query, failed
from continua.errors import EvaluationError, MachineError
from continua.objects.urls import Place
from continua.physical.migration import Stays
from continua.physical.nodes import QueryResult
from continua.reference.elements import Inputs
from continua.rules.statistics import Statistics
from continua.runs.bounded_queries import begun_with, new_notices, running_by, unrecorded
from continua.runs.later_queries import graphs_of
from continua.runs.moving_plans import Running
from continua.runs.moving_run import MovingRun
from continua.runs.plan_watch import PlanWatch
from continua.runs.plans import column_types, grain_of, graph_of, has_operator, sink_of
from continua.runs.rows_apart import RowsApart
from continua.runs.sampling import ROWS, Recent, by_sample, has_choice
from continua.runtime.checkpoint.registrations import Registered
from continua.runtime.engine import DURABLE, Engine
from continua.runtime.executors.executor import Executor, InProcess
from continua.runtime.feed import Fed
from continua.runtime.fingerprints import Function
from continua.runtime.inflow import EPOCH_BYTES, Inflow
from continua.runtime.inputs import InputReader, needs_spark
from continua.runtime.jobs import ResultWriter
from continua.runtime.progress import Progress
from continua.sinks.bounded_sinks import Outlets
from continua.sinks.sink import Earlier, Sink
from continua.sources.given import Given, bytes_of, sample
from continua.sources.places import WhereIs
from continua.windows.occurrences import Row


@dataclass(frozen=True, slots=True)
class BoundedOptions:
    """How the engine is run: rows per source and epoch, where its state is kept, over how many partitions.

    ``partitions`` None leaves their number to the size of the input. ``slots``: as for :class:`Engine`.
    ``snapshot_bytes`` is how much a partition receives between snapshots; None leaves it to the engine. ``durable`` is
    whether a finished epoch is on the disk itself, and so there after the power has failed. ``by_epoch`` is whether
    answers are asked for epoch by epoch, and ``epoch_bytes`` how much of files an epoch then reads; None leaves it to
    the engine.
    """

    batch_rows: int | None = None
    checkpoint: Place | None = None
    partitions: int | None = 2
    snapshot_bytes: int | None = None
    durable: bool = DURABLE
    by_epoch: bool = False
    epoch_bytes: int | None = None
    slots: int | None = None


def engine_for(
    graph: Sequence[QueryResult],
    functions: Sequence[Function],
    executor: Executor,
    options: BoundedOptions,
    inflow: Inflow,
    single_epoch: bool = False,
    writers: Mapping[str, ResultWriter] | None = None,
    queries: Sequence[Registered] = (),
    where: WhereIs | None = None,
) -> Engine:
    """The engine of a bounded run; ``queries``: what its checkpoint says of them, if some were dropped.

    ``where``: gives the file and line of a row.
    """
    sources = {name: file.source for name, file in inflow.files.items()}
    if inflow.frames and isinstance(executor, InProcess):
        raise needs_spark(next(iter(inflow.frames.values())).info)
    partitions = options.partitions or partitions_for(executor, inflow)
    return Engine(
        graph,
        executor,
        functions=functions,
        checkpoint=options.checkpoint,
        partitions=partitions,
        slots=options.slots,
        snapshot_bytes=options.snapshot_bytes,
        durable=options.durable,
        sources=sources,
        single_epoch=single_epoch,
        writers=writers,
        frames=inflow.frames,
        keeps_logs=options.checkpoint is not None or not executor.forgets,
        queries=queries,
        where=where,
    )


PARTITION_BYTES = 128 << 20
"""So much of the input at most goes to a partition of an epoch: its operators need some times that much memory."""


def partitions_for(executor: Executor, inflow: Inflow) -> int:
    """Into how many partitions work is divided: by the size of an epoch.

    It is a multiple of the cores, so that none of them waits while others have one partition more.
    """
    size = min(inflow.size, EPOCH_BYTES)
    rounds = -(-size // (PARTITION_BYTES * executor.cores))
    return executor.cores * max(rounds, 1)


class BoundedRun(MovingRun):
    """Queries over bounded inputs, from the beginning or from where a checkpoint says."""

    def __init__(
        self,
        queries: Sequence[Query],
        inputs: Inputs | Given,
        functions: Sequence[Function],
        executor: Executor,
        options: BoundedOptions,
        sinks: Mapping[str, Sink] | None = None,
        reader: InputReader | None = None,
        earlier: Mapping[str, Earlier] | None = None,
    ) -> None:
        """``reader`` is told of rows that are kept apart; ``earlier``: what corrected queries have yielded before."""
        self._options, self._functions, self._reader, self._executor = options, functions, reader, executor
        self._at_work = 0
        """How many bytes the epoch reads that is at work."""
        checked = options.checkpoint is not None
        # a checkpoint is of one plan, so that nothing in it may depend on rows that have come since
        forms, self._known = begun_with(queries, functions, options.checkpoint) if options.checkpoint else ([], {})
        self.dropped = {q.name: q.why for q in self._known.values() if q.dropped and not q.apart}
        """The queries that were dropped because they failed, and why."""
        self.outlets = Outlets({n: s for n, s in (sinks or {}).items() if n not in self.dropped}, checked, earlier)
        grain, rows, size = grain_of(queries), options.batch_rows, options.epoch_bytes
        inflow = Inflow.of(inputs, column_types(queries), grain, rows, checked, size)
        # the graph of a checkpoint does not depend on how its answers are looked at
        in_steps = options.by_epoch or checked
        self._changes = {q.name for q in queries if in_steps or q.name in self.outlets}
        if checked:
            chosen = ((q, self._known[q.name], form) for q, form in zip(queries, forms, strict=True))
            self._running = [running_by(f, k, q, functions) for q, k, f in chosen if q.name not in self.dropped]
        else:
            sampled = by_sample(queries, _sample(inflow, queries, inputs, executor))
            if reader is not None:
                reader.notices += new_notices(queries, sampled)
            graphs = zip(sampled, graphs_of(sampled, functions, self._changes), strict=True)
            self._running = [Running(q, unrecorded(q), graph, q, q.name in self._changes) for q, graph in graphs]
        self._inflow = replace(inflow, cut=inflow.is_cut(self._graphs))
        single_epoch = not checked and options.batch_rows is None and not self._inflow.cut
        writers = self.outlets.writers(self._queries)
        self.engine = engine_for(
            self._graphs,
            functions,
            executor,
            options,
            self._inflow,
            single_epoch,
            writers,
            tuple(self._known.values()),
            None if reader is None else reader.where,
        )
        self._rows = Recent()
        self.watch = PlanWatch(self._rows.values_of, self._moved, self._operators)
        self.latest: dict[str, int] = {}
        """For each query the latest instant of its answers, as far as this run has found them."""
        self._apart = RowsApart()
        try:
            self._inflow.check_unchanged(self.engine)
        except BaseException:
            self.engine.close()
            raise

    @property
    def _queries(self) -> list[Query]:
        """Those that run."""
        return [running.query for running in self._running]

    @property
    def _graphs(self) -> list[QueryResult]:
        return [graph for running in self._running for graph in running.graphs]

    def __enter__(self) -> BoundedRun:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.engine.close()
        if kind is not None and self._options.checkpoint is None:
            # nobody can go on from there, and the next run would find answers that are not its own
            self.outlets.take_back()
        self.outlets.close()

    def to_the_end(self, told: Callable[[Progress], None] = lambda _: None) -> None:
        """Runs all epochs that are left: first what was begun and not finished, as it was begun.

        What fails on its data is known to the checkpoint from then on, so that it may be corrected.
        """
        try:
            self._epochs(told)
        except EvaluationError as error:
            if self._options.checkpoint is not None:
                with suppress(MachineError):
                    self._note(error)
            raise

    def _epochs(self, told: Callable[[Progress], None]) -> None:
        self.outlets.open(self.engine)
        self.outlets.deliver_again(self.engine)
        self._arrive()
        while (intent := self.engine.intent()) is not None and self._inflow.can_read_again(intent.readings):
            self._epoch(self._inflow.feed.again(intent), told)
        for fed in self._inflow.epochs(self.engine):
            self._epoch(fed, told)
        self.outlets.finish(self.engine)

    def _epoch(self, fed: Fed, told: Callable[[Progress], None]) -> None:
        self._at_work = sum(bytes_of(reading.split) for reading in fed.readings)
        try:
            done = self.engine.epoch(fed)
        finally:
            self._at_work = 0
        for name, latest in done.latest.items():
            self.latest[name] = max(self.latest.get(name, latest), latest)
        done.rows_in |= {name: table.num_rows for name, table in fed.tables.items()}
        self._apart.add(done)
        self.outlets.deliver(self.engine, done)
        self._arrive()
        self._rows.add(fed.tables)
        self._rows.add(done.samples)
        self._move(done)
        told(done)

    def tell_kept_apart(self) -> None:
        """Tells of the rows that were late, malformed or rejected."""
        if self._reader is not None:
            self._apart.tell(self._reader.apart, self._inflow)

    def concerned(self, error: EvaluationError) -> tuple[list[Query], list[Query]]:
        """The queries that fail because of an error, and those of which that is not known.

        Those fail whose own plan has the operator that did. Others may have it only because of what they share: an
        aggregation that was merged for several queries, or a plan that was chosen to suit them all.
        """
        operator = error.parameters.get("operator")
        users = [r.query for r in self._running if any(has_operator(graph, operator) for graph in r.graphs)]
        failing = [q for q in users if self._fails_by(q, operator)]
        return failing, [q for q in users if q not in failing]

    def _fails_by(self, query: Query, operator: object) -> bool:
        """Whether the operator is one of the query's own plan, or of one that it has moved to."""
        running = next(r for r in self._running if r.query.name == query.name)
        own = graph_of(query, self._functions, running.changes)
        graphs = [own] if running.registered.moved is None else running.graphs
        return any(has_operator(graph, operator) for graph in graphs)

    def drop(self, queries: Collection[str], error: EvaluationError) -> None:
        """Goes on without queries that have failed, as the checkpoint knows from now on."""
        gone = [q for q in self._queries if q.name in queries]
        self._known |= {q.name: replace(self._known[q.name], dropped=True, why=_why(q, error)) for q in gone}
        self.dropped |= {q.name: self._known[q.name].why for q in gone}
        self._running = [running for running in self._running if running.query.name not in queries]
        self.outlets.drop(queries)
        self._change()

    def _change(self) -> None:
        known, writers = tuple(self._known.values()), self.outlets.writers(self._queries)
        self.engine.change(self._graphs, self._functions, known, writers)

    def move(self, name: str, statistics: Statistics | None = None, without: Collection[str] = ()) -> str | None:
        """Between two epochs a query moves to the plan that the rules make of it by statistics, or without some rules.

        Returns why it stays where it is, if it does.
        """
        return self._move_by_hand(name, statistics, without)

    def _moved(self, running: Running, statistics: Statistics | None, without: Collection[str]) -> Running | Stays:
        if self._inflow.frames:
            return Stays("what Spark reads is read at once")
        return super()._moved(running, statistics, without)

    def _at_work_now(self) -> Mapping[str, Running]:
        return {running.query.name: running for running in self._running}

    def _latest_read(self) -> int:
        read = (position.latest for position in self.engine.positions.values())
        return max([self.engine.until, self._inflow.feed.latest(self.engine.offsets.rows), *read])

    def _grain_now(self) -> int:
        return self._inflow.grain

    def _go_on_by(self, some: Sequence[Running]) -> None:
        found = {running.query.name: running for running in some}
        self._running = [found.get(r.query.name, r) for r in self._running]
        self._known |= {name: r.registered for name, r in found.items() if name in self._known}
        self._change()

    def _note(self, error: EvaluationError) -> None:
        """Writes down which queries have failed, or may have."""
        failing, unsure = self.concerned(error)
        for query in (*failing, *unsure) or self._queries:
            self._known[query.name] = replace(self._known[query.name], why=_why(query, error))
        self.engine.register(tuple(self._known.values()))

    @property
    def input_bytes(self) -> int:
        """How many bytes of files there are, as far as that is known."""
        return self._inflow.size

    def worked(self) -> float:
        """How many of them have been worked on, about: another thread may ask while an epoch is at work."""
        at_work = self._at_work * self._executor.done if self._at_work else 0.0
        return self._inflow.size - self._inflow.left(self.engine) + at_work

    @property
    def size(self) -> int:
        """How many queries are left."""
        return len(self._running)

    def answers(self) -> list[Answer]:
        """All answers so far, in time order; at one instant in the order of the queries."""
        shown = [q for q in self._queries if q.name not in self.outlets]
        found = [a for q in shown for a in answers_from(q, self.engine.results(q.name))]
        return sorted(found, key=lambda a: a.instant)

    def parts(self, first: int = 1, last: int | None = None) -> dict[str, Part]:
        """The same answers by query, as columns where that is simple; perhaps those of some epochs only."""
        found: dict[str, Part] = {}
        for query in self._queries:
            if query.name not in self.outlets:
                results = self.engine.results(query.name, first, last)
                columns = columns_from(query, results)
                found[query.name] = answers_from(query, results) if columns is None else columns
        return found


def _sample(
    inflow: Inflow, queries: Sequence[Query], inputs: Inputs | Given, executor: Executor
) -> Mapping[str, pa.Table]:
    """Rows of the sources, where some plan depends on them."""
    tables = inflow.feed.tables()
    if not isinstance(inputs, Given) or not inputs.files or not any(map(has_choice, queries)):
        return tables
    (sampled,) = executor.where_rows_are_read(partial(sample, rows=ROWS), [dict(inputs.files)])
    return {**tables, **sampled}


def _why(query: Query, error: EvaluationError) -> str:
    return failed(query, error).diagnostics[0].message


def content_at(
    query: Query,
    instant: int,
    inputs: Inputs | Given,
    functions: Sequence[Function],
    executor: Executor,
    options: BoundedOptions,
) -> list[Row]:
    """What a query's relation, or the relation behind its stream, holds at an instant: a row for each copy."""
    plan = query.bound.logical
    below = plan.input if isinstance(plan, ToStream | Tag) else plan
    if below.yields is not Kind.RELATION or instant < query.start:
        return []
    last = (instant // query.chronon + 1) * query.chronon - 1
    inflow = Inflow.of(inputs, column_types([query]), grain_of([query]), options.batch_rows)
    inflow = replace(inflow, feed=inflow.feed.until(last))
    sink = sink_of(query, below, functions)
    engine = engine_for([sink], functions, executor, replace(options, checkpoint=None), inflow)
    try:
        for fed in inflow.epochs(engine, last):
            engine.epoch(replace(fed, until=min(fed.until, last)))
        return content_from(below, engine.results(query.name), instant)
    finally:
        engine.close()

"""The sinks of live queries, and what each of them has still to get."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from continua.answers.query import Query
from continua.errors import Diagnostic, SourceError
from continua.runtime.engine import Engine
from continua.runtime.jobs import ResultWriter
from continua.runtime.machines import machine_error
from continua.sinks.bucket_sink import BucketSink
from continua.sinks.delivery import Delivery
from continua.sinks.folder_sink import FolderSink
from continua.sinks.kafka_sink import KafkaSink
from continua.sinks.named import live_sink, refuse_shared, writer_for
from continua.sinks.one_writer import HeldFolders
from continua.sinks.sink import Sink

First = Mapping[str, tuple[Query, int]]
"""Queries by name, and the first epoch of each that can be told."""


def live_writers(queries: Iterable[Query], folder: Path, durable: bool) -> dict[str, ResultWriter]:
    """How tasks write the answers of live queries to where INTO says, where they can."""
    found = {q.name: (q, live_sink(q, folder, durable)) for q in queries}
    writers = {name: writer_for(query, sink) for name, (query, sink) in found.items() if sink is not None}
    return {name: writer for name, writer in writers.items() if writer is not None}


@dataclass
class _Going:
    """A delivery, and the epoch whose answers it gives next."""

    to: Delivery
    following: int
    files: int = 0
    """How many files it has written."""


class Deliveries:
    """The sinks of live queries, where INTO says and others: each gets the answers of every epoch, in order."""

    def __init__(self, engine: Engine, folder: Path, durable: bool) -> None:
        """``folder``: in which the folders of sinks are. ``durable``: what is written is on the disk itself."""
        self._folder = folder
        self._durable = durable
        self._engine = engine
        engine.yielded.all_have = self._all_have
        self._going: list[_Going] = []
        self._held = HeldFolders()
        self._sinks: dict[str, Sink] = {}
        """Where INTO says, by query."""

    def go_on(self, queries: First) -> None:
        """The run begins, or goes on from a checkpoint: its queries write where INTO says."""
        if not self._engine.epoch_number:
            self.start(q for q, _ in queries.values())
        for query, _ in queries.values():
            sink = self._taken(query)
            if sink is not None:
                sink.refuse_later(self._engine.epoch_number)
        self.write_to(queries)

    def start(self, queries: Iterable[Query]) -> None:
        """Before the first epoch of queries, so that none of them has joined if one cannot write."""
        named = [(q.name, live_sink(q, self._folder, self._durable)) for q in queries]
        sinks = {name: sink for name, sink in named if sink is not None}
        refuse_shared({**self._sinks, **sinks})
        try:
            for name, sink in sinks.items():
                self._held.take(name, sink)
                sink.start(self._engine.yielded.spark)
        except BaseException as error:
            self._held.let_go(sinks)
            told = machine_error(error)
            if told is None:
                raise
            raise told from error

    def write_to(self, queries: First) -> None:
        """Queries with INTO write there, what finished epochs have yielded first."""
        for query, first in queries.values():
            sink = self._taken(query)
            if sink is not None:
                self._sinks[query.name] = sink
                self._add(Delivery(query, sink, by_tasks=True), first, checked=True)
                sink.forget_staged()

    def _taken(self, query: Query) -> Sink | None:
        """Where INTO says that answers go; a folder is this run's from now on."""
        sink = live_sink(query, self._folder, self._durable)
        self._held.take(query.name, sink)
        return sink

    def add(self, query: Query, sink: Sink, first: int) -> None:
        """A sink that gets all answers of a query from one epoch on; those that are finished, now."""
        self._add(Delivery(query, sink, by_tasks=False), first, checked=False)

    def _add(self, delivery: Delivery, first: int, checked: bool) -> None:
        """``checked``: the sink may have answers of finished epochs; it is seen whether they are what they were."""
        going = _Going(delivery, first)
        self._deliver(going, checked)
        self._going.append(going)

    def drop(self, query: str) -> None:
        """A query has left."""
        self._going = [g for g in self._going if g.to.query.name != query]
        self._sinks.pop(query, None)
        self._held.let_go([query])

    def close(self) -> None:
        """The run has ended."""
        self._held.close()

    def up_to_date(self) -> None:
        """Gives every sink what it has not: one that fails does not keep the others from it, and gets it next time."""
        with ExitStack() as all_of_them:
            for going in reversed(self._going):
                all_of_them.callback(self._deliver, going)

    def forget_staged(self) -> None:
        """Removes what tasks have written for an epoch that has failed."""
        for going in self._going:
            going.to.sink.forget_staged()

    def _all_have(self, epoch: int) -> bool:
        """Whether all who need to tell its files apart have the answers of an epoch."""
        by_parts = FolderSink | BucketSink | KafkaSink
        return all(g.following > epoch for g in self._going if isinstance(g.to.sink, by_parts))

    def _deliver(self, going: _Going, checked: bool = False) -> None:
        yielded = self._engine.yielded
        first = max(going.following, yielded.past.horizon.epoch + 1)
        if first > going.following:
            missed, going.following = going.following, first
            raise _too_late(going.to.query.name, missed, first - 1)
        while going.following <= self._engine.epoch_number:
            going.to.give(yielded, going.following, checked)
            # which files these are matters to nobody, and a run that goes on has more and more of them
            going.files += len(going.to.written.files) + len(going.to.written.objects)
            going.to.written.files.clear()
            going.to.written.objects.clear()
            going.following += 1

    def files(self) -> dict[str, int]:
        """By query that writes where INTO says, how many files have got their names since the run began."""
        return {g.to.query.name: g.files for g in self._going if g.to.query.name in self._sinks}


def _too_late(query: str, first: int, last: int) -> SourceError:
    message = f"a sink of {query} has failed for so long that the answers of epochs {first} to {last} are kept no more"
    parameters: dict[str, object] = {"query": query, "first": first, "last": last}
    hint = "it goes on with what came since; SET retention says how much is kept"
    return SourceError(Diagnostic("SINK_BEHIND", message, hint=hint, parameters=parameters))

"""The sinks of live queries, and what each of them has still to get."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from continua.answers.query import Query
from continua.errors import Diagnostic, SourceError
from continua.runtime.engine import Engine
from continua.runtime.tasks import ResultWriter
from continua.sinks.delivery import Delivery
from continua.sinks.folder_sink import FolderSink
from continua.sinks.named import live_sink, refuse_shared
from continua.sinks.one_writer import OneWriter
from continua.sinks.sink import Sink

First = Mapping[str, tuple[Query, int]]
"""Queries by name, and the first epoch of each that can be told."""


@dataclass
class _Going:
    """A delivery, and the epoch whose answers it gives next."""

    to: Delivery
    following: int


class Deliveries:
    """The sinks of live queries, where INTO says and others: each gets the answers of every epoch, in order."""

    def __init__(self, folder: Path, lasting: bool) -> None:
        """``folder``: in which the folders of sinks are. ``lasting``: what is written is on the disk itself."""
        self._folder = folder
        self._lasting = lasting
        self._engine: Engine | None = None
        self._going: list[_Going] = []
        self._locks: dict[str, OneWriter] = {}
        """The folders that queries write to: nobody else may meanwhile."""
        self._writing: dict[str, Query] = {}
        """The queries that write to where INTO says."""

    @property
    def _run(self) -> Engine:
        assert self._engine is not None, "the sinks of a run that has not begun"
        return self._engine

    def writers(self, queries: Iterable[Query]) -> dict[str, ResultWriter]:
        """How tasks write the answers of queries to where INTO says, where they can."""
        own = {q.name: self._own(q) for q in queries}
        return {name: found.writer for name, found in own.items() if found is not None and found.writer is not None}

    def go_on(self, engine: Engine, queries: First) -> None:
        """The run begins, or goes on from a checkpoint: its queries write where INTO says."""
        self._engine = engine
        engine.yielded.all_have = self._all_have
        if not engine.epoch_number:
            self.start(q for q, _ in queries.values())
        for query, _ in queries.values():
            sink = self._taken(query)
            if isinstance(sink, FolderSink):
                sink.refuse_later(engine.epoch_number)
        self.write_to(queries)

    def start(self, queries: Iterable[Query]) -> None:
        """Before the first epoch of queries, so that none of them has joined if one cannot write."""
        names: list[str] = []
        mine = list(queries)
        found = {q.name: live_sink(q, self._folder, self._lasting) for q in (*self._writing.values(), *mine)}
        refuse_shared({name: sink for name, sink in found.items() if sink is not None})
        try:
            for query in mine:
                names.append(query.name)
                sink = self._taken(query)
                if sink is not None:
                    sink.start(self._run.yielded.spark)
        except BaseException:
            self._let_go(names)
            raise

    def write_to(self, queries: First) -> None:
        """Queries with INTO write there, what finished epochs have yielded first."""
        for query, first in queries.values():
            self._taken(query)
            delivery = self._own(query)
            if delivery is not None:
                self._writing[query.name] = query
                self._add(delivery, first, checked=True)
                delivery.sink.forget_staged()

    def add(self, query: Query, sink: Sink, first: int) -> None:
        """A sink that gets all answers of a query from one epoch on; those that are finished, now."""
        self._add(Delivery(query, sink, by_tasks=False), first, checked=False)

    def _add(self, delivery: Delivery, first: int, checked: bool) -> None:
        """``checked``: the sink may have answers of finished epochs; it is seen whether they are what they were."""
        going = _Going(delivery, first)
        self._deliver(going, checked)
        self._going.append(going)

    def _own(self, query: Query) -> Delivery | None:
        """The way to where INTO says."""
        sink = live_sink(query, self._folder, self._lasting)
        return None if sink is None else Delivery(query, sink, by_tasks=True)

    def _taken(self, query: Query) -> Sink | None:
        """Where INTO says that answers go; a folder is this run's from now on."""
        sink = live_sink(query, self._folder, self._lasting)
        if isinstance(sink, FolderSink) and query.name not in self._locks:
            self._locks[query.name] = OneWriter(sink.folder, sink.lasting)
        return sink

    def drop(self, query: str) -> None:
        """A query has left."""
        self._going = [g for g in self._going if g.to.query.name != query]
        self._writing.pop(query, None)
        self._let_go([query])

    def _let_go(self, names: Iterable[str]) -> None:
        """Lets others write to the folders of queries."""
        for name in names:
            if name in self._locks:
                self._locks.pop(name).release()

    def close(self) -> None:
        """The run has ended."""
        self._let_go(list(self._locks))

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
        """Whether all folders have the answers of an epoch, so that its files need not be told apart any more."""
        return all(g.following > epoch for g in self._going if isinstance(g.to.sink, FolderSink))

    def _deliver(self, going: _Going, checked: bool = False) -> None:
        yielded = self._run.yielded
        first = max(going.following, yielded.past.horizon.epoch + 1)
        if first > going.following:
            missed, going.following = going.following, first
            raise _too_late(going.to.query.name, missed, first - 1)
        while going.following <= self._run.epoch_number:
            going.to.give(yielded, going.following, checked)
            going.following += 1


def _too_late(query: str, first: int, last: int) -> SourceError:
    message = f"a sink of {query} has failed for so long that the answers of epochs {first} to {last} are kept no more"
    parameters: dict[str, object] = {"query": query, "first": first, "last": last}
    hint = "it goes on with what came since; SET retention says how much is kept"
    return SourceError(Diagnostic("SINK_BEHIND", message, hint=hint, parameters=parameters))

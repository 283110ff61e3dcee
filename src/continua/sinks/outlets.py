"""The sinks of a bounded run: what each gets when an epoch is finished, and what is taken back of a run that fails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow as pa

from continua.answer_tables import answers_table
from continua.answers import Query
from continua.runtime.engine import Engine
from continua.runtime.progress import Progress
from continua.runtime.tasks import ResultWriter
from continua.sinks.base import Sink
from continua.sinks.folders import FolderSink
from continua.sinks.named import refuse_shared_folders, writer_for
from continua.sinks.one_writer import OneWriter


@dataclass
class Written:
    """What a run has written to a sink."""

    rows: int = 0
    files: list[Path] = field(default_factory=list)


class Outlets:
    """The sinks of queries, by their names."""

    def __init__(self, sinks: Mapping[str, Sink]) -> None:
        refuse_shared_folders(sinks)
        self.sinks = dict(sinks)
        self.written = {name: Written() for name in self.sinks}
        self._queries: list[Query] = []
        self._writers: dict[str, ResultWriter] = {}
        self._locks: dict[str, OneWriter] = {}

    def __contains__(self, query: str) -> bool:
        return query in self.sinks

    def writers(self, queries: Sequence[Query]) -> dict[str, ResultWriter]:
        """How tasks write the answers of the queries of the run, where they can."""
        self._queries = [q for q in queries if q.name in self.sinks]
        found = {q.name: writer_for(q, self.sinks[q.name]) for q in self._queries}
        self._writers = {name: writer for name, writer in found.items() if writer is not None}
        return self._writers

    def open(self, engine: Engine) -> None:
        """Takes the folders for this run, and refuses those with answers that its engine has not given."""
        for name, sink in self._folders():
            if name not in self._locks:
                self._locks[name] = OneWriter(sink.folder, sink.lasting)
        # an epoch whose manifest is damaged is run again just so, and may have been published
        last = engine.epoch_number + (engine.damaged is not None)
        if not last:
            for other in self.sinks.values():
                other.start()
        for _, sink in self._folders():
            sink.refuse_later(last)

    def deliver_again(self, engine: Engine) -> None:
        """Gives the sinks what finished epochs have yielded: a crash may have kept it from them."""
        for epoch in range(1, engine.epoch_number + 1):
            self._deliver(engine, epoch, checked=True)
        self._forget_staged()

    def deliver(self, engine: Engine, done: Progress) -> None:
        """Gives the sinks what an epoch has yielded."""
        for name in self._writers:
            self.written[name].rows += done.rows_out.get(name, 0)
        self._deliver(engine, done.epoch)

    def _deliver(self, engine: Engine, epoch: int, checked: bool = False) -> None:
        """A sink that has the answers of an epoch already leaves them; ``checked``: if they are what they were."""
        for query in self._queries:
            sink = self.sinks[query.name]
            if query.name in self._writers:
                assert isinstance(sink, FolderSink)
                self._publish(engine, query, sink, epoch, checked)
            elif checked and isinstance(sink, FolderSink):
                results = engine.results(query.name, epoch, epoch)
                if results is not None:
                    sink.repair(epoch, answers_table(query, results))
            elif (results := engine.results(query.name, epoch, epoch)) is not None:
                self._write(query, sink, epoch, answers_table(query, results))

    def _publish(self, engine: Engine, query: Query, sink: FolderSink, epoch: int, checked: bool) -> None:
        """What tasks have written for an epoch is there for readers from now on."""

        def again(level: int, part: int) -> pa.Table:
            return answers_table(query, engine.yielded.segment(query.name, epoch, level, part))

        digests = engine.yielded.staged(query.name, epoch) if checked else {}
        for level, part in engine.yielded.places(query.name, epoch):
            made = sink.publish(epoch, level, part, partial(again, level, part), digests)
            if made is not None:
                self.written[query.name].files.append(made)
        sink.published()

    def _write(self, query: Query, sink: Sink, epoch: int, answers: pa.Table) -> None:
        written = self.written[query.name]
        if isinstance(sink, FolderSink):
            path = sink.file(epoch)
            if path.exists():
                return
            # it is of this run, and to be taken back, however far writing it comes
            written.files.append(path)
        sink.write(epoch, answers)
        written.rows += answers.num_rows

    def take_back(self) -> None:
        """Removes the files that this run has made, and no others."""
        for written in self.written.values():
            for path in written.files:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
            written.files.clear()
            written.rows = 0

    def close(self) -> None:
        """Lets others have the folders."""
        self._forget_staged()
        for lock in self._locks.values():
            lock.release()
        self._locks.clear()

    def _forget_staged(self) -> None:
        """What was not published belongs to no finished epoch, or is written again from what the checkpoint has."""
        for name, sink in self._folders():
            if name in self._locks:
                sink.forget_staged()

    def _folders(self) -> Iterable[tuple[str, FolderSink]]:
        return [(name, sink) for name, sink in self.sinks.items() if isinstance(sink, FolderSink)]

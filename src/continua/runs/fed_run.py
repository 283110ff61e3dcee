"""How rows come to a live run: inserted, found in files, brought by connections and by Spark, epoch by epoch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING

import pyarrow as pa

from continua.catalog import RelationInfo, StreamInfo, is_timed
from continua.errors import BindError, Diagnostic, EvaluationError
from continua.instants import asked_instant
from continua.physical.ordered_operators import FINAL
from continua.runs.answered_run import AnsweredRun
from continua.runs.live_options import Surroundings
from continua.runs.live_sources import sources, timed_sources
from continua.runs.sampling import Recent
from continua.runs.side_files import SideFiles
from continua.runtime.inputs import needs_spark
from continua.runtime.intake import Reader
from continua.runtime.live_files import LiveFiles
from continua.runtime.machines import spark_at_work
from continua.sinks.live_sinks import Deliveries
from continua.sources.inserted_rows import Rows
from continua.sources.intervals import Source
from continua.sources.source_spec import Malformed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


class FedRun(AnsweredRun):
    """A live run as whoever brings rows sees it."""

    spark: SparkSession | None
    stream: StreamingQuery | None
    """The streaming query of Spark by which the micro-batches of its streams come."""
    known: dict[str, Source]
    arrivals: Reader
    """What is taken in of rows that come once."""
    _around: Surroundings
    _files: LiveFiles
    _sinks: Deliveries
    _side_files: SideFiles
    _rows: Recent
    _max_rows: int | None
    _has_ended: bool

    @abstractmethod
    def _deliver(self) -> None: ...

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
    def waits_for_rows(self) -> bool:
        """Whether nothing changes until rows are inserted: what has come is worked on, and none come by themselves."""
        inputs = self._around.inputs
        with self.live.lock:
            timed = timed_sources(self._members.queries.values())
            by_hand = self.stream is None and all(map(inputs.waits_for_rows, timed.values()))
            left = self.is_behind or any(inputs.waiting.of(name) for name in timed)
            return by_hand and not left and self.live.is_settled

    @property
    def has_ended(self) -> bool:
        """Whether every instant is closed that ever will be: to the last one, or where somebody has ended the run."""
        return self._has_ended or self.engine.until >= self.live.last

    def _push(self, to_the_end: bool = False, called: int | None = None) -> bool:
        """An epoch with the rows that wait and with what was new in files when it was called; whether there was any.

        Where it fails before it is finished, the rows wait for the next.
        """
        with self._at_work():
            before, tables = self.live.pushed, dict[str, pa.Table]()
            try:
                now, timed = self.live.now(), timed_sources(self.queries.values())
                by = now if called is None else called
                with self._around.lock:
                    readings = self._files.next(timed, now, self._members.starts, to_the_end, by, self._max_rows)
                    frames = self._new_frames()
                    tables = self.arrivals.next(self.known, timed, now, self._max_rows, self.live.first_open(timed))
                    self._around.inputs.notices += self._files.notices
                    self._files.notices.clear()
                if not tables and not readings and not frames:
                    self.live.heard(self.arrivals.complete)
                    return self._ended()
                self.live.push(tables, readings, frames, self._files.complete, self._files.brings, self.arrivals.given)
                self.live.heard(self.arrivals.complete)
                return True
            finally:
                if self.live.pushed == before:
                    self._sinks.forget_staged()
                else:
                    self._files.done()
                    self.arrivals.finished()
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

    def _refused(self, info: Source, wrong: Sequence[Malformed]) -> None:
        """What has come and is no row is kept apart, or ends the run."""
        if not info.skip_errors:
            raise wrong[0].error(info.name)
        self._side_files.keep(info, wrong)

    def kept_apart(self, first: bool = False) -> list[Diagnostic]:
        """What of its sources was kept apart and not told yet; ``first``: of those of which nothing was told."""
        return self._side_files.news(first)

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
            message, hint = f"no live query reads {name}", "start a query over it first"
            raise BindError(Diagnostic("UNKNOWN_STREAM", message, hint=hint, parameters={"name": name}))
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

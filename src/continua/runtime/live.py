"""An engine that keeps running: rows arrive in any order within the slack, heartbeats close instants.

Epochs, promises of sources, silence and changes of the graph are handled under one lock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from continua.instants import floor_to
from continua.physical.nodes import START
from continua.physical.ordered_operators import FINAL
from continua.runtime.batch_gate import BatchGate
from continua.runtime.checkpoint.offsets import LiveOffsets, Offsets, SourceOffset
from continua.runtime.clock import ForwardClock
from continua.runtime.engine import Engine
from continua.runtime.feed import Fed
from continua.runtime.heartbeats import Heartbeats, SourceClock
from continua.runtime.progress import Progress
from continua.sources.intervals import NEVER
from continua.sources.lateness import Promise
from continua.sources.partition_sequences import sequences
from continua.sources.split_readings import Reading

Arriving = Callable[[int, Offsets, dict[str, Promise]], Progress]
"""Runs an epoch up to an instant, given what is to be saved and what is known of sources."""


_LOOK = 0.005
"""So many seconds are at least between two looks at whether sources are silent."""


@dataclass(frozen=True)
class Awaited:
    """Rows that are known once an instant is closed, and the names of the sources that they are of."""

    instant: int
    names: frozenset[str]
    tables: Callable[[], Mapping[str, pa.Table]]


class Live:
    """Feeds an engine with rows as they arrive."""

    def __init__(
        self,
        engine: Engine,
        clocks: dict[str, SourceClock],
        *,
        idle_timeout: float | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
        on_epoch: Callable[[Progress], None] | None = None,
    ) -> None:
        """Refuses a checkpoint whose last epoch would have to be run again: its rows do not arrive again."""
        if engine.damaged is not None:
            raise engine.damaged
        self.engine = engine
        self.last = FINAL
        """No instant behind it is closed."""
        self.grain = 1
        """Epochs end between multiples of it, so that floored timestamps are in their epoch."""
        saved = engine.offsets.live or LiveOffsets()
        known = {name: saved.sources.get(name, SourceOffset()) for name in clocks}
        stamped = [known[name].promised for name, c in clocks.items() if c.by_arrival]
        self.now = ForwardClock(clock, max(stamped, default=NEVER) + 1)
        """The time at which rows arrive."""
        self._clocks = clocks
        self._on_epoch = on_epoch
        self.lock = threading.RLock()
        """Held while an epoch runs and while the graph changes."""
        self.batches = BatchGate()
        """Through which the micro-batches of Structured Streaming come."""
        self._over = threading.Event()
        self.failure: BaseException | None = None
        self.pushed = 0
        """How many epochs with rows that arrived were finished, be it that something failed after that."""
        self._heartbeats = Heartbeats(clocks, idle_timeout)
        self._heartbeats.restore(saved, self._now())
        self.batch = saved.batch
        self.taken = saved.taken
        """The last batch of what is taken in that epochs have worked on."""
        self.latest = saved.latest
        """The latest instant of any row that was read, of sources too that are not waited for any more."""
        self._stored: dict[str, pa.Table] = {}
        self._fed = set(saved.stored)
        """The stored relations that have been read."""
        self._awaited: list[Awaited] = []
        """What is fed once an instant is closed: no later one is closed before."""
        self.late = {name: offset.late for name, offset in known.items()}
        """How many rows of each source came too late, since the beginning."""
        if idle_timeout is not None:
            threading.Thread(target=self._watch, args=(idle_timeout,), daemon=True, name="continua-idle").start()

    def _now(self) -> float:
        return self.now() / 1e6

    def store(self, tables: Mapping[str, pa.Table]) -> None:
        """Rows of stored relations: they come before the next rows that arrive, but only once."""
        with self.lock:
            self._stored.update({name: t for name, t in tables.items() if name not in self._fed})

    def store_after(self, instant: int, names: Iterable[str], tables: Callable[[], Mapping[str, pa.Table]]) -> None:
        """Rows that are known once an instant is closed: they come after that and before any later one is closed."""
        with self.lock:
            left = frozenset(names) - self._fed
            if left:
                self._awaited.append(Awaited(instant, left, tables))
                self._fetch()

    def _fetch(self) -> None:
        """Takes what was awaited, as far as its instants are closed by now."""
        for awaited in [awaited for awaited in self._awaited if awaited.instant <= self.engine.until]:
            found = awaited.tables()
            self._awaited.remove(awaited)
            self._fed |= awaited.names - found.keys()  # there is nothing to be fed for these
            self.store(found)

    def push(
        self,
        tables: Mapping[str, pa.Table],
        readings: Sequence[Reading] = (),
        frames: Sequence[str] = (),
        complete: Mapping[str, int] | None = None,
        brings: Mapping[tuple[str, int | None], int] | None = None,
        taken: int | None = None,
    ) -> Progress:
        """An epoch with rows that have arrived, with what is read of files, and with whole frames.

        ``complete``: up to where sources are complete once that has been read. ``brings``: the latest instants that
        are known beforehand of what is read, by source and partition. ``taken``: the last batch of rows that were taken
        in, if the rows are of such.
        """
        arrived = {name: table for name, table in tables.items() if table.num_rows}

        def epoch(until: int, saved: Offsets, promises: dict[str, Promise]) -> Progress:
            return self.engine.epoch(Fed(arrived, until, saved, tuple(readings), tuple(frames)), promises)

        with self.lock:
            # nothing more comes of frames
            promised = {**dict.fromkeys(frames, FINAL), **(complete or {})}
            before = {name: self._clocks[name].promised for name in promised}
            finished = self.pushed
            for name, instant in promised.items():
                self._heartbeats.promise(name, instant, self._now())
            try:
                # of what is read elsewhere more may be known once it is read
                known = self._brings(arrived)
                for place, latest in (brings or {}).items():
                    known[place] = max(latest, known.get(place, latest))
                return self.run(epoch, brings=known, taken=taken)
            except BaseException:
                # what a finished epoch has read does not come again, nor what sources said
                if self.pushed == finished:
                    for name, instant in before.items():
                        self._clocks[name].promised = instant
                raise

    def _brings(self, arrived: Mapping[str, pa.Table]) -> dict[tuple[str, int | None], int]:
        """The latest instants that rows of sources, and of their partitions, have."""
        found: dict[tuple[str, int | None], int] = {}
        for name, rows in arrived.items():
            columns = self._clocks[name].columns if name in self._clocks else None
            for origin, part in sequences(rows, columns):
                start = np.asarray(part.column(START).to_numpy(), np.int64)
                found[name, None if columns is None else origin] = int(start.max(initial=NEVER))
        return found

    def run(
        self,
        epoch: Arriving,
        batch: int | None = None,
        brings: Mapping[tuple[str, int | None], int] | None = None,
        taken: int | None = None,
    ) -> Progress:
        """Runs an epoch up to the heartbeat, and learns from what it has seen.

        ``brings``: what is known of its rows beforehand, so that it closes what they make complete.
        """
        with self.lock:
            if self._stored:
                self._close(self.engine.until)
            promises = self._heartbeats.promises()
            now = self._follow_clock()
            number = self.batch if batch is None else batch
            read = self.taken if taken is None else taken

            def learn(done: Progress) -> None:
                self.pushed += 1
                for (name, origin), seen in done.seen.items():
                    self.latest = max(self.latest, seen)
                    if name in self._clocks:
                        self._heartbeats.brought(name, seen, now / 1e6, origin)
                # after the latest instant: whoever looks at both without the lock looks at them the other way round
                self.batch, self.taken = number, read
                for name, count in done.late.items():
                    self.late[name] = self.late.get(name, 0) + count

            with self._learning(learn), self._heartbeats.ahead(brings or {}, now / 1e6):
                until = max(self._reached(), self.engine.until)
                done = epoch(until, self._saved(number, read), promises)
            if self._awaited:
                self.advance()
            return done

    @contextmanager
    def _learning(self, learn: Callable[[Progress], None]) -> Iterator[None]:
        """Learns from the epoch of the block, and tells of it, once it is finished: something may have failed then."""
        before = self.engine.epoch_number
        try:
            yield
        finally:
            if self.engine.epoch_number > before:
                done = self.engine.progress[-1]
                learn(done)
                if self._on_epoch is not None:
                    self._on_epoch(done)

    def _reached(self) -> int:
        """Up to where all sources are complete, in whole chronons, as far as that is wanted and nothing is awaited."""
        return self._whole(self._heartbeats.until(self._now()))

    def _whole(self, complete: int) -> int:
        reached = max(floor_to(complete + 1, self.grain) - 1, NEVER)
        return min([reached, self.last, *(awaited.instant for awaited in self._awaited)])

    @property
    def is_settled(self) -> bool:
        """Whether no instant is closed until rows come or a source says something: the clock alone closes none."""
        with self.lock:
            return self._whole(self._heartbeats.in_the_end()) <= self.engine.until

    def _follow_clock(self) -> int:
        """The time now: rows that are stamped when they arrive are complete up to it."""
        now = self.now()
        for name, clock in self._clocks.items():
            if clock.by_arrival:
                self._heartbeats.promise(name, now - 1, now / 1e6)
        return now

    def advance(self) -> None:
        """Closes what is complete by now, without new rows."""
        with self.lock:
            if any(c.by_arrival and c.latest > self.engine.until for c in self._clocks.values()):
                self._follow_clock()
            self._fetch()
            while (until := self._reached()) > self.engine.until:
                self._close(until)

    def first_open(self, names: Iterable[str]) -> dict[str, int]:
        """For each source the first instant at which something may still happen."""
        with self.lock:
            reached = {name: self._clocks[name].promised for name in names if name in self._clocks}
            return {name: max(instant, self.engine.until) + 1 for name, instant in reached.items()}

    def heard(self, complete: Mapping[str, int]) -> None:
        """Sources that have brought nothing are there, and are complete up to instants.

        That closes something only where rows wait for it, or the end of the run: it is no reason for an epoch.
        """
        with self.lock:
            waits = any(c.latest > self.engine.until for c in self._clocks.values())
            for name, instant in complete.items():
                is_awaited = waits or (self.last < FINAL and instant >= self.last)
                self._heartbeats.promise(name, instant if is_awaited else NEVER, self._now())

    def promise(self, source: str, instant: int) -> None:
        """A source says that it is complete up to an instant."""
        with self.lock:
            self._heartbeats.promise(source, instant, self._now())
            self.advance()

    def finish(self) -> None:
        """The sources have ended: every instant is closed."""
        with self.lock:
            self._fetch()
            while self.engine.until < self.last:
                self._close(min([self.last, *(awaited.instant for awaited in self._awaited)]))

    def begin_at(self, latest: int, taken: int) -> None:
        """Begins beside others that have gone on: as if all rows up to an instant had been read, and some batches."""
        with self.lock:
            self.latest, self.taken = max(self.latest, latest), max(self.taken, taken)
            self._close(self.engine.until)

    def begin_after(self, latest: int) -> None:
        """Those that join begin after an instant at least: others have read up to it what these will read."""
        with self.lock:
            self.latest = max(self.latest, latest)

    def _close(self, until: int) -> None:
        def learn(_: Progress) -> None:
            self._fed |= self._stored.keys()
            self._stored = {}

        with self._learning(learn):
            self.engine.epoch(Fed(self._stored, until, self._saved(self.batch, self.taken, self._stored)))
        self._fetch()

    def _saved(self, batch: int, taken: int, stored: Iterable[str] = ()) -> Offsets:
        """What must outlive the process, once an epoch has read a micro-batch, what was taken in, or relations."""
        known = self._heartbeats.saved(self._now())
        late = {name: replace(known.get(name, SourceOffset()), late=count) for name, count in self.late.items()}
        fed = tuple(sorted(self._fed.union(stored)))
        return Offsets(live=LiveOffsets(self._heartbeats.reached, self.latest, batch, taken, fed, {**known, **late}))

    def watch(self, clocks: Mapping[str, SourceClock]) -> None:
        """These are the sources from now on: those that were known go on, and others are not waited for any more."""
        with self.lock:
            for name in self._clocks.keys() - clocks.keys():
                del self._clocks[name]
            for name in clocks.keys() - self._clocks.keys():
                clocks[name].heard = self._now()
                self._clocks[name] = clocks[name]
                self.late.setdefault(name, 0)

    def lag(self, until: int) -> dict[str, int]:
        """For each source that has brought rows, by how many instants the latest of them is ahead of a heartbeat."""
        brought = {name: c.latest for name, c in list(self._clocks.items()) if c.latest > NEVER}
        return {name: max(latest - until, 0) for name, latest in brought.items()} if until > NEVER else {}

    def stop(self) -> None:
        """Ends the watch over silent sources: it closes nothing more, even if it waits for the lock already."""
        self._over.set()

    def _watch(self, idle_timeout: float) -> None:
        """Closes instants for which silent sources are not waited for."""
        while not self._over.wait(max(idle_timeout / 4, _LOOK)):
            with self.lock:
                if self._over.is_set():
                    return
                try:
                    self.advance()
                    self.failure = None
                except Exception as error:
                    self.failure = error

"""The engine: registered queries as one graph, run epoch by epoch."""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from continua.catalog import AggregateInfo, FunctionInfo, Retention, is_by_file
from continua.errors import CheckpointError, ContinuaError
from continua.instants import INFINITY
from continua.physical.execute import Epoch
from continua.physical.nodes import Sink
from continua.physical.stages import stages_of
from continua.runtime.checkpoint.locks import lock, unlock
from continua.runtime.checkpoint.manifests import Manifest, Manifests
from continua.runtime.checkpoint.opening import begin_term, driver_store
from continua.runtime.checkpoint.partition_state import DurableState, PartitionState
from continua.runtime.checkpoint.past import Yielded
from continua.runtime.checkpoint.registrations import Registered, Registrations, registrations_of
from continua.runtime.checkpoint.store import FileStore, MemoryStore, Store
from continua.runtime.executors.executor import Executor
from continua.runtime.fingerprints import fingerprint, used_functions, used_windows
from continua.runtime.heartbeats import latest_names
from continua.runtime.progress import Progress, Told, told
from continua.runtime.row_blocks import Block
from continua.runtime.scratch import make_private, new_scratch, remove_abandoned
from continua.runtime.tasks import (
    Job,
    Program,
    Promise,
    ResultWriter,
    close_partitions,
)
from continua.sources.frame_sources import FrameSource
from continua.sources.positions import Position, positions_after
from continua.sources.readings import Reading
from continua.sources.stretches import FileSource, with_true_lines

if TYPE_CHECKING:
    from continua.runtime.executors.on_spark import UnionFrame

BEFORE_TIME = -INFINITY
"""The heartbeat before the first epoch."""

DURABLE = True
"""Whether finished epochs are on the disk itself unless a run says otherwise."""


_REMEMBERED = 1000
"""So many epochs are remembered by what they did."""


class Engine:
    """Runs the graph of all its queries. The checkpoint holds everything that must outlive the process."""

    def __init__(
        self,
        sinks: Iterable[Sink],
        executor: Executor,
        *,
        functions: Iterable[FunctionInfo | AggregateInfo] = (),
        checkpoint: Path | str | None = None,
        partitions: int = 1,
        snapshot_bytes: int | None = None,
        durable: bool = DURABLE,
        queries: Sequence[Registered] = (),
        sources: Mapping[str, FileSource] | None = None,
        alone: bool = False,
        writers: Mapping[str, ResultWriter] | None = None,
        frames: Mapping[str, FrameSource] | None = None,
        keeps_logs: bool = True,
        retention: Retention | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        """``snapshot_bytes``: how much a partition receives between snapshots; by default as much as its state is.

        ``durable``: whether a finished epoch is on the disk itself. ``queries``: those of a live run. ``sources``:
        those whose rows are in files. ``alone``: whether there will be one epoch only, so that no row has to wait.
        ``writers``: of the queries whose answers tasks write to where they go. ``frames``: sources that Spark reads.
        ``keeps_logs``: whether state can be made again where it is lost, or where an epoch fails and is run again.
        ``retention``: how much is kept of what finished epochs have yielded; all of it, if nothing is said.
        """
        self._executor = executor
        self._scratch = new_scratch()
        self._in_memory = checkpoint is None and executor.in_this_process
        self.checkpoint = self._scratch / "checkpoint" if checkpoint is None else Path(checkpoint)
        """The folder of the store, if that is not in memory."""
        self._durable = durable and checkpoint is not None
        self._snapshot_bytes = snapshot_bytes
        self.partitions = partitions
        self._sources = dict(sources or {})
        self._frame_sources = dict(frames or {})
        self._alone = alone
        self._writers = dict(writers or {})
        self._keeps_results = checkpoint is not None or retention is not None
        self._keeps_logs = keeps_logs
        self._define(sinks, functions)
        self._kept: dict[tuple[int, int], DurableState] = {}
        self._queries = ""
        self._since: dict[str, int] = {}
        self._clock = clock
        self.epoch_number = 0
        self.until = BEFORE_TIME
        self.offsets: dict[str, int] = {}
        self.positions: dict[str, Position] = {}
        self.progress: deque[Progress] = deque(maxlen=_REMEMBERED)
        self.damaged: CheckpointError | None = None
        """Why the last epoch has to be run again although it was finished, if it has."""
        self._locked = not self._in_memory
        if self._locked:
            remove_abandoned()
            if checkpoint is None:
                make_private(self.checkpoint)
            lock(self.checkpoint)
        try:
            self.store: Store = MemoryStore() if self._in_memory else self._file_store(checkpoint is not None)
            self._manifests = Manifests(self.store, self._durable)
            self.yielded = Yielded(self.store, self._manifests, executor, retention, clock, self._durable)
            self._recover()
            if checkpoint is not None:
                assert isinstance(self.store, FileStore)
                begin_term(self.store, self._durable)
            self._keep_program()
            if queries:
                self._register(queries)
        except BaseException:
            self.close()
            raise

    def _file_store(self, lasts: bool) -> FileStore:
        """The store of a checkpoint, or one for this run alone."""
        return driver_store(self.checkpoint) if lasts else FileStore(self.checkpoint, uuid4().hex)

    def _define(self, sinks: Iterable[Sink], functions: Iterable[FunctionInfo | AggregateInfo]) -> None:
        self.sinks = tuple(sinks)
        self.stages = stages_of(self.sinks, self._alone)
        self._functions = tuple(functions)
        windows = used_windows(self.stages)
        self._fingerprints = {**{f.name: fingerprint(f) for f in self._functions}, **windows}
        self._program = self._program_name()

    def _keep_program(self) -> None:
        program = Program(self.stages, self._functions, self.partitions)
        self._shared = self._executor.share(self.store.address, self._program, program)

    def change(
        self,
        sinks: Iterable[Sink],
        functions: Iterable[FunctionInfo | AggregateInfo] = (),
        queries: Sequence[Registered] = (),
        writers: Mapping[str, ResultWriter] | None = None,
    ) -> None:
        """Queries join and leave between two epochs; what both graphs share keeps its state.

        The new graph is written down once all partitions have a snapshot that both the old one and it can go on from.
        """
        if self.epoch_number:
            levels, partitions = len(self.stages.levels), self.partitions
            self._epoch(
                lambda job: self._executor.run(replace(job, snapshot=True), {}, levels, partitions),
                self.until,
                self.offsets,
            )
        before = self.sinks, self._functions, len(self.stages.levels)
        self._define(sinks, functions)
        try:
            self._keep_program()
            self._register(queries)
        except BaseException:
            self._define(before[0], before[1])
            raise
        self._writers = dict(writers or {})
        for level in range(len(self.stages.levels), before[2]):
            shutil.rmtree(self._scratch / f"level-{level}", ignore_errors=True)

    def _register(self, queries: Sequence[Registered]) -> None:
        """Writes down which queries the checkpoint is of from now on."""
        found = Registrations(self.epoch_number, self._program, tuple(queries))
        self._queries = found.write(self.store, self._durable)
        self._since = {q.name: q.since for q in queries if not q.dropped}

    def _program_name(self) -> str:
        used = [*used_functions(self.stages, self._functions).values(), *used_windows(self.stages).values()]
        names = "|".join([*(s.id for s in self.sinks), str(self.partitions), *used])
        return sha256(names.encode()).hexdigest()[:16]

    # Epochs.

    def epoch(
        self,
        fed: Mapping[str, pa.Table],
        until: int,
        offsets: Mapping[str, int] | None = None,
        readings: Sequence[Reading] = (),
        frames: Sequence[str] = (),
    ) -> Progress:
        """Closes the instants up to ``until``, with the rows that sources have brought meanwhile.

        ``readings`` are the splits of files that are read, ``frames`` the sources that Spark reads.
        """
        return self._epoch(
            lambda job: self._executor.run(job, fed, len(self.stages.levels), self.partitions),
            until,
            offsets,
            tuple(readings),
            tuple(frames),
        )

    def epoch_of_arrivals(
        self,
        fed: Mapping[str, pa.Table],
        until: int,
        offsets: Mapping[str, int] | None = None,
        promises: Mapping[str, Promise] | None = None,
        readings: Sequence[Reading] = (),
        frames: Sequence[str] = (),
    ) -> Progress:
        """The same with rows as they arrive: those that are late by what their sources promise are kept apart."""
        levels, partitions = len(self.stages.levels), self.partitions

        def run(job: Job) -> list[Block]:
            return self._executor.run(replace(job, promises=promises or {}), fed, levels, partitions, arrivals=True)

        return self._epoch(run, until, offsets, tuple(readings), tuple(frames))

    def epoch_of_union(
        self,
        union: UnionFrame,
        until: int,
        offsets: Mapping[str, int] | None = None,
        promises: Mapping[str, Promise] | None = None,
    ) -> Progress:
        """The same with rows of several sources in one frame: these have an order only from epoch to epoch."""
        from continua.runtime.executors.on_spark import OnSpark

        executor = self._executor
        assert isinstance(executor, OnSpark)
        known = {name: promise.of_frames for name, promise in (promises or {}).items()}

        def run(job: Job) -> list[Block]:
            return executor.run_union(replace(job, promises=known), union, len(self.stages.levels), self.partitions)

        return self._epoch(run, until, offsets)

    def reads(self, sources: Mapping[str, FileSource], frames: Mapping[str, FrameSource]) -> None:
        """From the next epoch on these sources are read from files, and from frames."""
        self._sources |= sources
        self._frame_sources |= frames

    def _epoch(
        self,
        run: Callable[[Job], list[Block]],
        until: int,
        offsets: Mapping[str, int] | None,
        readings: tuple[Reading, ...] = (),
        frames: tuple[str, ...] = (),
    ) -> Progress:
        number = self.epoch_number + 1
        epoch = Epoch(number, self.until, until)
        job = Job(
            self._program,
            self.store.address,
            str(self._scratch),
            epoch,
            self._kept,
            snapshot_bytes=self._snapshot_bytes,
            durable=self._durable,
            sources=self._sources,
            readings=readings,
            frame_sources=self._frame_sources,
            frames=frames,
            writers=self._writers,
            keeps_results=self._keeps_results,
            keeps_logs=self._keeps_logs,
            in_memory=self._in_memory,
            alone=self._alone,
            shared=self._shared,
        )
        self._manifests.intend(epoch, self.offsets, offsets or {}, readings, frames)
        began = time.perf_counter()
        try:
            found = told(run(job))
            self._check_rows(found)
        except ContinuaError:
            # nothing of it has been seen: once the data are corrected the epoch may as well read others
            if readings or frames:
                self._manifests.withdraw(number)
            raise
        ran = time.perf_counter()
        reached = dict(offsets or {})
        for part in found.seen:
            late = f"late {part.source}"
            reached[late] = reached.get(late, 0) + part.late
            _reach(reached, part.source, part.origin, part.latest)
        for (source, origin), latest in self._latest_of_files(readings, found).items():
            if f"latest {source}" in reached:
                _reach(reached, source, origin, latest)
        self._commit(epoch, found, reached, frames)
        done = found.progress(epoch)
        done.seen |= self._latest_of_files(readings, found)
        done.seconds.update(run=ran - began, commit=time.perf_counter() - ran)
        self.progress.append(done)
        return done

    def _latest_of_files(self, readings: Sequence[Reading], found: Told) -> dict[tuple[str, int | None], int]:
        """The latest times that were read of sources in files, and of each of their partitions if they have some."""
        origins = {(r.source, r.number): r.origin for r in readings if is_by_file(self._sources[r.source].info)}
        latest: dict[tuple[str, int | None], int] = {}
        for summary in found.summaries:
            place = summary.source, origins.get((summary.source, summary.number))
            latest[place] = max(latest.get(place, BEFORE_TIME), summary.latest)
        return latest

    def _check_rows(self, found: Told) -> None:
        """Refuses an epoch that has read a row which its source does not allow: the first of them is told."""
        for name in sorted({s.source for s in found.summaries if s.failed}):
            mine = sorted((s for s in found.summaries if s.source == name), key=lambda s: s.number)
            raise with_true_lines(mine)[0][0].error(self._sources[name].info.name)

    def _commit(self, epoch: Epoch, found: Told, offsets: Mapping[str, int], frames: tuple[str, ...] = ()) -> None:
        results: dict[str, list[list[int]]] = {}
        kept = {(r.level, r.partition): r.kept for r in found.reports if r.level}
        assert len(kept) == (len(self.stages.levels) - 1) * self.partitions, "a partition has not run"
        for report in found.reports:
            for query in report.results:
                results.setdefault(query, []).append([report.level, report.partition])
        positions = {**positions_after(self.positions, found.summaries), **{name: Position() for name in frames}}
        self._manifests.write(
            Manifest(
                epoch.number,
                epoch.until,
                self._program,
                self.partitions,
                dict(offsets),
                kept,
                results,
                found.late,
                self._fingerprints,
                positions,
                found.files,
                self._queries,
                self._clock(),
                self.yielded.past,
                found.staged,
            )
        )
        self.positions = positions
        places = [p for p in {**self._kept, **kept} if p not in kept or epoch.number in kept[p].snapshots]
        self._kept = kept
        self.epoch_number, self.until, self.offsets = epoch.number, epoch.until, dict(offsets)
        self._forget(places)
        rows = sum(sum(report.results.values()) for report in found.reports)
        self.yielded.finished(epoch.number, epoch.until, rows, self._since)

    def _forget(self, places: Iterable[tuple[int, int]]) -> None:
        """Removes files that are not needed any more, among them the logs and snapshots of some partitions."""
        self._manifests.forget(self.epoch_number)
        for level, part in places:
            kept = self._kept.get((level, part), DurableState())
            PartitionState(self.store, self._scratch, level, part).forget(kept)

    # Recovery.

    def _recover(self) -> None:
        """Goes on after the last epoch that was finished."""
        manifest, self.damaged = self._manifests.last()
        if manifest is not None:
            self._check_queries(manifest)
            if not self._changed_after(manifest.number):
                manifest.fits(self.store.url, self._program, self.partitions, self._fingerprints)
            self.epoch_number, self.until, self.offsets = manifest.number, manifest.until, manifest.offsets
            self._kept, self.positions = manifest.kept, manifest.positions
            self.yielded.recover(manifest.past)
        self._manifests.tidy()
        self._forget(self._kept)

    def _changed_after(self, epoch: int) -> bool:
        """Whether this graph was to run after an epoch of another one."""
        found = registrations_of(self.store)
        return found is not None and (found.after, found.program) == (epoch, self._program)

    def _check_queries(self, manifest: Manifest) -> None:
        """Refuses a list of queries that is not the one of the last epoch, nor one that was written after it."""
        found = registrations_of(self.store)
        if manifest.queries and (found is None or found.after != manifest.number):
            registrations_of(self.store, manifest.queries)
        self._queries = manifest.queries

    def intent(self) -> tuple[int, dict[str, int], tuple[Reading, ...], tuple[str, ...]] | None:
        """What the next epoch was going to read when the process ended, if it had been decided."""
        return self._manifests.intended(self.epoch_number + 1, self.until, self.offsets)

    def tidy(self) -> None:
        """Removes what is told by history, once all who read epoch by epoch have had what there is."""
        self.yielded.tidy(self.epoch_number)

    # Results.

    def results(self, query: str, first: int = 1, last: int | None = None) -> pa.Table | None:
        """The result rows of a query in finished epochs, in the order of epochs; None when there are none."""
        if query in self._writers and not self._keeps_results:
            return None
        return self.yielded.of(query, first, self.epoch_number if last is None else last)

    def late(self, source: str) -> pa.Table | None:
        """The rows of a source that were too late, in the order of epochs; None when there are none."""
        return self.yielded.late(source, self.epoch_number)

    def close(self) -> None:
        """Removes what was only for this run, and lets others have the checkpoint."""
        close_partitions(str(self._scratch), self.store.url if hasattr(self, "store") else "")
        if self._locked:
            unlock(self.checkpoint)
        self._locked = False
        shutil.rmtree(self._scratch, ignore_errors=True)


def _reach(offsets: dict[str, int], source: str, origin: int | None, latest: int) -> None:
    """Notes the latest time of a source, or of a partition of it."""
    for name in latest_names(source, origin):
        offsets[name] = max(offsets.get(name, BEFORE_TIME), latest)

"""The engine: registered queries as one graph, run epoch by epoch."""

from __future__ import annotations

import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from continua.catalog import Retention
from continua.errors import CheckpointError, ContinuaError, Diagnostic, MachineError, SourceError
from continua.objects import urls
from continua.physical.epoch import Epoch
from continua.physical.nodes import QueryResult
from continua.physical.placement import in_order, placement_of
from continua.runtime.checkpoint.locks import check_seen, lock, unlock
from continua.runtime.checkpoint.manifests import Intent, Manifest, Manifests
from continua.runtime.checkpoint.offsets import Offsets
from continua.runtime.checkpoint.opening import driver_store
from continua.runtime.checkpoint.partition_state import DurableState, names_of
from continua.runtime.checkpoint.registrations import (
    QUERIES,
    Registered,
    Registrations,
    are_registered,
    registrations_of,
)
from continua.runtime.checkpoint.seals import missing
from continua.runtime.checkpoint.store import MemoryStore, SealedStore, Store, medium_at
from continua.runtime.checkpoint.succession import Terms
from continua.runtime.checkpoint.tenure import Tenure
from continua.runtime.checkpoint.yielded import Yielded
from continua.runtime.dead_letters import keep_dead_letters
from continua.runtime.executors.executor import Executor
from continua.runtime.feed import Fed
from continua.runtime.fingerprints import Function, fingerprint, program_name, used_windows
from continua.runtime.jobs import Job, Program, ResultWriter
from continua.runtime.loaded_programs import forget_programs
from continua.runtime.progress import EpochReports, Progress, told
from continua.runtime.row_blocks import Block
from continua.runtime.scratch import in_use, make_private, new_scratch, remove, remove_abandoned
from continua.runtime.tasks import close_partitions
from continua.sources.frame_sources import FrameSource
from continua.sources.intervals import NEVER
from continua.sources.lateness import Promise
from continua.sources.places import WhereIs, place_of
from continua.sources.positions import Position, positions_after
from continua.sources.stretches import FileSource

if TYPE_CHECKING:
    from continua.runtime.executors.on_spark import UnionFrame

DURABLE = True
"""Whether finished epochs are on the disk itself unless a run says otherwise."""
_ROOM = 4
"""A checkpoint that is begun on several machines can be gone on from with so many times as many tasks."""
_REMEMBERED = 1000
"""So many epochs are remembered by what they did."""


class Engine:
    """Runs the graph of all its queries. The checkpoint holds everything that must outlive the process."""

    def __init__(
        self,
        graphs: Iterable[QueryResult],
        executor: Executor,
        *,
        functions: Iterable[Function] = (),
        checkpoint: urls.Place | str | None = None,
        partitions: int = 1,
        slots: int | None = None,
        snapshot_bytes: int | None = None,
        durable: bool = DURABLE,
        queries: Sequence[Registered] = (),
        sources: Mapping[str, FileSource] | None = None,
        single_epoch: bool = False,
        writers: Mapping[str, ResultWriter] | None = None,
        frames: Mapping[str, FrameSource] | None = None,
        keeps_logs: bool = True,
        retention: Retention | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
        where: WhereIs | None = None,
    ) -> None:
        """``partitions``: how many tasks work on a level at once. ``slots``: into how many partitions state is divided
        from the beginning of a checkpoint on; by default there is room for several times as many tasks on a cluster.
        ``snapshot_bytes``: how much a partition receives between snapshots; by default as much as its state is.

        ``durable``: whether a finished epoch is on the disk itself. ``queries``: what the checkpoint says of them.
        ``sources``: those whose rows are in files. ``single_epoch``: whether there will be one epoch only, so that no
        row has to wait. ``writers``: of the queries whose answers tasks write to where they go. ``frames``: sources
        that Spark reads. ``keeps_logs``: whether state can be made again where it is lost, or where an epoch fails
        and is run again. ``retention``: how much is kept of what finished epochs have yielded; all of it, if nothing
        is said. ``where``: gives the file and line of a row.
        """
        self._executor = executor
        self._scratch = new_scratch()
        self._in_memory = checkpoint is None and executor.in_this_process
        self.checkpoint = self._scratch / "checkpoint" if checkpoint is None else urls.place_of(checkpoint)
        """The place of the store, if that is not in memory."""
        self._lasts = checkpoint is not None
        self._durable = durable and self._lasts
        self._snapshot_bytes = snapshot_bytes
        self._tasks, self._slots = partitions, slots
        self.partitions = 0
        """Into how many partitions state is divided: hash slots, whose number does not change with that of tasks."""
        self._sources = dict(sources or {})
        self._frame_sources = dict(frames or {})
        self._single_epoch = single_epoch
        self._writers = dict(writers or {})
        self._keeps_results = checkpoint is not None or retention is not None
        self._keeps_logs = keeps_logs
        self._kept: dict[tuple[int, int], DurableState] = {}
        self._terms = Terms()
        self._queries = ""
        self._since: dict[str, int] = {}
        self._runs_since: dict[str, int] = {}
        self._clock = clock
        self._where: WhereIs = where or partial(place_of, {})
        self.epoch_number = 0
        self.until = NEVER
        self.offsets = Offsets()
        self.positions: dict[str, Position] = {}
        self.progress: deque[Progress] = deque(maxlen=_REMEMBERED)
        self.damaged: CheckpointError | None = None
        """Why the last epoch has to be run again although it was finished, if it has."""
        self._tenure: Tenure | None = None
        """The time of this driver with its checkpoint, if that lasts."""
        self._last: Manifest | None = None
        self._has_failed = False
        """Whether an epoch was begun and not finished."""
        self._locked = not self._in_memory
        self._open(graphs, functions, checkpoint is not None, retention, queries)

    def _open(
        self,
        graphs: Iterable[QueryResult],
        functions: Iterable[Function],
        lasts: bool,
        retention: Retention | None,
        queries: Sequence[Registered],
    ) -> None:
        """Takes the checkpoint, or a folder or memory for this run alone, and goes on from what is there."""
        if self._locked:
            remove_abandoned()
            if not lasts and isinstance(self.checkpoint, Path):
                make_private(self.checkpoint)
            lock(self.checkpoint)
        try:
            check_seen(self.checkpoint, self._executor.blind, lasts)
            self.store: Store = MemoryStore() if self._in_memory else self._sealed_store(lasts)
            self._manifests = Manifests(self.store, self._durable)
            self.yielded = Yielded(self.store, self._manifests, self._executor, retention, self._clock, self._durable)
            if lasts and isinstance(self.store, SealedStore):
                self._tenure = Tenure(self.store, self._manifests, self._durable)
            last, self.damaged = self._manifests.last()
            usual = self._tasks * (_ROOM if lasts and not self._executor.shares_folders else 1)
            self.partitions = (self._slots or usual) if last is None else last.partitions
            self._define(graphs, functions)
            self._recover(last)
            if self._tenure is not None:
                self._tenure.begin(self._last, self.damaged, names_of(self.store, self._kept, self._terms))
            self._keep_program()
            self._told_of(queries)
            if queries and not are_registered(queries, self._program, self.store, self._last):
                self.register(queries)
        except BaseException:
            self.close()
            raise

    def _sealed_store(self, lasts: bool) -> SealedStore:
        """The store of a checkpoint, or one for this run alone."""
        return driver_store(self.checkpoint) if lasts else SealedStore(medium_at(self.checkpoint), uuid4().hex)

    def check_ours(self) -> None:
        """Refuses to go on where another driver has taken over the checkpoint."""
        if self._tenure is not None:
            self._tenure.check(self.epoch_number)

    def _define(self, graphs: Iterable[QueryResult], functions: Iterable[Function]) -> None:
        self.graphs = tuple(graphs)
        self.placement = placement_of(self.graphs, self._single_epoch)
        self._functions = tuple(functions)
        windows = used_windows(in_order(self.graphs))
        self._fingerprints = {**{f.name: fingerprint(f) for f in self._functions}, **windows}
        self._program = program_name(self.graphs, self.partitions, self._functions)

    def _keep_program(self) -> None:
        program = Program(self.placement, self._functions, self.partitions)
        self._shared = self._executor.share(self.store.address, self._program, program)

    def change(
        self,
        graphs: Iterable[QueryResult],
        functions: Iterable[Function] = (),
        queries: Sequence[Registered] = (),
        writers: Mapping[str, ResultWriter] | None = None,
    ) -> None:
        """Queries join and leave between two epochs; what both graphs share keeps its state.

        That takes no snapshot: where state has to be made again, each epoch is run again by the graph of those queries
        that ran in it and still do.
        """
        before = self.graphs, self._functions, len(self.placement.levels)
        self._define(graphs, functions)
        try:
            self._keep_program()
            self.register(queries)
        except BaseException:
            self._define(before[0], before[1])
            raise
        forget_programs(self.store.address, but=self._program)
        self._writers = dict(writers or {})
        for level in range(len(self.placement.levels), before[2]):
            shutil.rmtree(self._scratch / f"level-{level}", ignore_errors=True)

    def register(self, queries: Sequence[Registered]) -> None:
        """Writes down which queries the checkpoint is of from now on, and what is known of them."""
        found = Registrations(self.epoch_number, self._program, tuple(queries))
        self._queries = found.write(self.store, self._durable)
        self.check_ours()
        self._told_of(queries)

    def _told_of(self, queries: Iterable[Registered]) -> None:
        """Of each query that runs, the first epoch that can hold results of it, and the first one of its operators."""
        running = [q for q in queries if not q.dropped]
        self._since = {q.name: q.since for q in running}
        self._runs_since = {q.name: q.runs_since for q in running}

    # Epochs.

    def epoch(self, fed: Fed, promises: Mapping[str, Promise] | None = None) -> Progress:
        """Closes instants, with the rows that sources have brought meanwhile.

        It is finished as soon as ``epoch_number`` and ``progress`` tell of it, be it that something fails after that.
        ``promises``: the rows arrive, and those that are late by what their sources promise are kept apart.
        """
        return self._epoch(fed, promises)

    def epoch_of_union(
        self, union: UnionFrame, until: int, offsets: Offsets, promises: Mapping[str, Promise]
    ) -> Progress:
        """The same with rows of several sources in one frame: these have an order only from epoch to epoch."""
        from continua.runtime.executors.on_spark import OnSpark

        executor = self._executor
        if not isinstance(executor, OnSpark):
            message = "streaming DataFrames are read by Spark, and this engine works without it"
            raise SourceError(Diagnostic("NEEDS_SPARK", message, hint="name a Spark master instead of none"))
        known = {name: promise.of_frames for name, promise in promises.items()}
        levels, partitions = len(self.placement.levels), self.partitions
        return self._epoch(
            Fed({}, until, offsets), known, lambda job: executor.run_union(job, union, levels, partitions)
        )

    def reads(self, sources: Mapping[str, FileSource], frames: Mapping[str, FrameSource]) -> None:
        """From the next epoch on these sources are read from files, and from frames."""
        self._sources |= sources
        self._frame_sources |= frames

    def _epoch(
        self,
        fed: Fed,
        promises: Mapping[str, Promise] | None = None,
        run: Callable[[Job], list[Block]] | None = None,
    ) -> Progress:
        """``run``: how its tasks are run, if there is another way."""
        if self._has_failed and self._tenure is not None:
            self._tenure.renew(self._terms.name(self.epoch_number))
        self._has_failed = True
        number = self.epoch_number + 1
        epoch = Epoch(number, self.until, fed.until)
        job = self._job(epoch, fed, promises or {})
        intent = Intent(self.until, self.offsets, fed.until, fed.offsets, fed.readings, fed.frames)
        self._manifests.intend(number, intent)
        began = time.perf_counter()
        try:
            if run is None:
                levels, arrivals = len(self.placement.levels), promises is not None
                found = told(self._executor.run(job, fed.tables, levels, self.partitions, arrivals))
            else:
                found = told(run(job))
            found.check_rows(self._sources)
            found.check_keys(self._where)
        except ContinuaError:
            # nothing of it has been seen: once the data are corrected the epoch may as well read others
            if fed.readings or fed.frames:
                self._manifests.withdraw(number)
            raise
        ran = time.perf_counter()
        done = found.progress(epoch, fed.readings, self._sources, self.placement, self._where)
        keep_dead_letters(self.store.address, self._sources, done.summaries)
        live = fed.offsets.live
        offsets = fed.offsets if live is None else Offsets(live=live.after(done.seen, done.late))
        stale = self._commit(epoch, found, offsets, fed.frames, job.terms)
        self._has_failed = False
        done.seconds.update(run=ran - began, commit=time.perf_counter() - ran)
        self.progress.append(done)
        self._forget(stale)
        written = sum(report.written for report in found.reports)
        self.yielded.finished(epoch.number, epoch.until, written, self._since)
        done.seconds["commit"] = time.perf_counter() - ran
        return done

    def _job(self, epoch: Epoch, fed: Fed, promises: Mapping[str, Promise]) -> Job:
        logged = min((k.first for k in self._kept.values() if k.first), default=epoch.number)
        return Job(
            self._program,
            self.store.address,
            str(self._scratch) if self._executor.shares_folders else self._scratch.name,
            epoch,
            self._kept,
            joined={g.id: n for g in self.graphs if (n := max(g.first, self._runs_since.get(g.query, 1))) > logged},
            snapshot_bytes=self._snapshot_bytes,
            durable=self._durable,
            sources=self._sources,
            readings=fed.readings,
            frame_sources=self._frame_sources,
            frames=fed.frames,
            promises=promises,
            writers=self._writers,
            keeps_results=self._keeps_results,
            keeps_logs=self._keeps_logs,
            in_memory=self._in_memory,
            shows_rows=not self._single_epoch,
            single_epoch=self._single_epoch,
            shared=self._shared,
            terms=self._terms.since(epoch.number, self.store.address.term),
            tasks=min(self._tasks, self.partitions),
            living=() if self._executor.shares_folders else in_use(),
        )

    def _commit(
        self, epoch: Epoch, found: EpochReports, offsets: Offsets, frames: tuple[str, ...], terms: Terms
    ) -> Iterable[str]:
        """Finishes an epoch. Gives the names of what is kept of the state of partitions and is not needed any more."""
        results: dict[str, list[list[int]]] = {}
        kept = {(r.level, r.partition): r.kept for r in found.reports if r.level}
        wanted = (len(self.placement.levels) - 1) * self.partitions
        if len(kept) != wanted:
            message = f"{wanted - len(kept)} of {wanted} tasks of an epoch have told nothing: it is not finished"
            raise MachineError(Diagnostic("TASKS_LOST", message, parameters={"epoch": epoch.number}))
        for report in found.reports:
            for query in report.results:
                results.setdefault(query, []).append([report.level, report.partition])
        positions = {**positions_after(self.positions, found.summaries), **{name: Position() for name in frames}}
        terms = terms.needed_from(min((k.oldest for k in kept.values() if k.oldest), default=epoch.number))
        self._manifests.write(
            Manifest(
                epoch.number,
                epoch.until,
                self._program,
                self.partitions,
                offsets,
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
                terms,
            )
        )
        self.positions = positions
        changed = {p: k for p, k in self._kept.items() if p not in kept or k.snapshots != kept[p].snapshots}
        gone = names_of(self.store, changed, self._terms) - names_of(self.store, kept, terms) if changed else ()
        self._kept, self._terms = kept, terms
        self.epoch_number, self.until, self.offsets = epoch.number, epoch.until, offsets
        return gone

    def _forget(self, stale: Iterable[str]) -> None:
        """Removes files that are not needed any more."""
        self._manifests.forget(self.epoch_number)
        self.store.delete(*sorted(stale))

    # Recovery.

    def _recover(self, manifest: Manifest | None) -> None:
        """Goes on after the last epoch that was finished."""
        self._last = manifest
        if manifest is not None:
            found = registrations_of(self.store, manifest)
            if manifest.queries and found is None:
                raise missing(f"{self.store.url}/{QUERIES}")
            # whether this graph was to run after an epoch of another one
            if found is None or (found.after, found.program) != (manifest.number, self._program):
                manifest.fits(self.store.url, self._program, self._fingerprints)
            self.epoch_number, self.until, self.offsets = manifest.number, manifest.until, manifest.offsets
            self._kept, self.positions, self._terms = manifest.kept, manifest.positions, manifest.terms
            self._queries = manifest.queries
            self.yielded.recover(manifest.past)

    def intent(self) -> Intent | None:
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

    @property
    def lasting(self) -> Store | None:
        """The store, if what is in it outlives the process."""
        return self.store if self._lasts else None

    def close(self) -> None:
        """Removes what was only for this run, and lets others have the checkpoint."""
        close_partitions(str(self._scratch))
        if hasattr(self, "store"):
            forget_programs(self.store.address)
        if self._locked:
            unlock(self.checkpoint)
        self._locked = False
        remove(self._scratch)

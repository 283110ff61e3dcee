"""The engine: registered queries as one graph, run epoch by epoch."""

from __future__ import annotations

import pickle
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

from continua.catalog import AggregateInfo, FunctionInfo
from continua.errors import CheckpointError
from continua.instants import INFINITY
from continua.physical.execute import Epoch
from continua.physical.nodes import Sink
from continua.physical.positional import FINAL
from continua.physical.stages import Stages, stages_of
from continua.runtime.blocks import Block, unpacked
from continua.runtime.executors import Executor, Frame, OnSpark, UnionFrame
from continua.runtime.files import read_file, write_file
from continua.runtime.fingerprints import fingerprint, used_functions, used_windows
from continua.runtime.locks import lock, unlock
from continua.runtime.manifests import Manifest, Manifests
from continua.runtime.progress import Progress, Told, told
from continua.runtime.registrations import Registered, Registrations, registrations_of
from continua.runtime.scratch import new_scratch, remove_abandoned
from continua.runtime.segments import read_segment
from continua.runtime.state import Kept, PartitionState
from continua.runtime.tasks import SEGMENT, Job, Program, close_partitions, late_path, native_path, result_path

__all__ = ["BEFORE_TIME", "DURABLE", "Engine", "Progress"]

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
    ) -> None:
        """``snapshot_bytes``: how much a partition receives between snapshots; by default as much as its state is.

        ``durable``: whether a finished epoch is on the disk itself. ``queries``: those of a live run.
        """
        remove_abandoned()
        self._executor = executor
        self._scratch = new_scratch()
        self.checkpoint = self._scratch / "checkpoint" if checkpoint is None else Path(checkpoint)
        self._durable = durable and checkpoint is not None
        self._manifests = Manifests(self.checkpoint, self._durable)
        self._snapshot_bytes = snapshot_bytes
        self.partitions = partitions
        self._define(sinks, functions)
        self._kept: dict[tuple[int, int], Kept] = {}
        self.epoch_number = 0
        self.until = BEFORE_TIME
        self.offsets: dict[str, int] = {}
        self.progress: deque[Progress] = deque(maxlen=_REMEMBERED)
        self.damaged: CheckpointError | None = None
        """Why the last epoch has to be run again although it was finished, if it has."""
        lock(self.checkpoint)
        self._locked = True
        try:
            self._recover()
            self._write_program(self._program, self.stages)
            if queries:
                self._register(queries)
        except BaseException:
            self.close()
            raise

    def _define(self, sinks: Iterable[Sink], functions: Iterable[FunctionInfo | AggregateInfo]) -> None:
        self.sinks = tuple(sinks)
        self.stages = stages_of(self.sinks)
        self._functions = tuple(functions)
        windows = used_windows(self.stages)
        self._fingerprints = {**{f.name: fingerprint(f) for f in self._functions}, **windows}
        self._program = self._program_path()

    def _write_program(self, path: Path, stages: Stages) -> None:
        write_file(path, _pickled(Program(stages, self._functions, self.partitions)))

    def change(
        self,
        sinks: Iterable[Sink],
        functions: Iterable[FunctionInfo | AggregateInfo] = (),
        queries: Sequence[Registered] = (),
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
            self._write_program(self._program, self.stages)
            self._register(queries)
        except BaseException:
            self._define(before[0], before[1])
            raise
        for level in range(len(self.stages.levels), before[2]):
            shutil.rmtree(self._scratch / f"level-{level}", ignore_errors=True)

    def _register(self, queries: Sequence[Registered]) -> None:
        """Writes down which queries the checkpoint is of from now on."""
        found = Registrations(self.epoch_number, self._program.name, tuple(queries))
        found.write(self.checkpoint, self._durable)

    def _program_path(self) -> Path:
        used = [*used_functions(self.stages, self._functions).values(), *used_windows(self.stages).values()]
        names = "|".join([*(s.id for s in self.sinks), str(self.partitions), *used])
        return self.checkpoint / "programs" / sha256(names.encode()).hexdigest()[:16]

    # Epochs.

    def epoch(self, fed: Mapping[str, pa.Table], until: int, offsets: Mapping[str, int] | None = None) -> Progress:
        """Closes the instants up to ``until``, with the rows that sources have brought meanwhile."""
        return self._epoch(
            lambda job: self._executor.run(job, fed, len(self.stages.levels), self.partitions), until, offsets
        )

    def epoch_of_arrivals(
        self, fed: Mapping[str, pa.Table], until: int, offsets: Mapping[str, int] | None = None
    ) -> Progress:
        """The same with rows as they arrive: those that are too late are kept apart."""
        levels, partitions = len(self.stages.levels), self.partitions
        return self._epoch(lambda job: self._executor.run(job, fed, levels, partitions, arrivals=True), until, offsets)

    def epoch_of_frames(
        self, frames: Mapping[str, Frame], until: int, offsets: Mapping[str, int] | None = None
    ) -> Progress:
        """The same with rows that are in Spark.

        Where this is the only epoch no row has to wait, and queries without state are left to Spark.
        """
        executor = self._executor
        assert isinstance(executor, OnSpark)
        alone = self.epoch_number == 0 and until >= FINAL
        native = executor.native(self.sinks, frames) if alone else {}
        if not native:
            levels, partitions = len(self.stages.levels), self.partitions
            return self._epoch(lambda job: executor.run_frames(job, frames, levels, partitions), until, offsets)
        others = [s for s in self.sinks if s.query not in native]
        stages = stages_of(others)
        program = self._program.with_name(f"{self._program.name}-others")
        self._write_program(program, stages)

        def run(job: Job) -> list[Block]:
            blocks = executor.run_native(job, native, frames)
            if others:
                job = replace(job, program=str(program))
                blocks += executor.run_frames(job, frames, len(stages.levels), self.partitions)
            return blocks

        return self._epoch(run, until, offsets, len(stages.levels) if others else 1)

    def epoch_of_union(self, union: UnionFrame, until: int, offsets: Mapping[str, int] | None = None) -> Progress:
        """The same with rows of several sources as they arrive: those that are too late are kept apart."""
        executor = self._executor
        assert isinstance(executor, OnSpark)
        return self._epoch(
            lambda job: executor.run_union(job, union, len(self.stages.levels), self.partitions), until, offsets
        )

    def _epoch(
        self,
        run: Callable[[Job], list[Block]],
        until: int,
        offsets: Mapping[str, int] | None,
        levels: int | None = None,
    ) -> Progress:
        number = self.epoch_number + 1
        epoch = Epoch(number, self.until, until)
        job = Job(
            str(self._program),
            str(self.checkpoint),
            str(self._scratch),
            epoch,
            self._kept,
            snapshot_bytes=self._snapshot_bytes,
            durable=self._durable,
        )
        self._manifests.intend(epoch, self.offsets, offsets or {})
        began = time.perf_counter()
        found = told(run(job))
        ran = time.perf_counter()
        reached = dict(offsets or {})
        for part in found.seen:
            latest, late = f"latest {part.source}", f"late {part.source}"
            reached[latest] = max(reached.get(latest, BEFORE_TIME), part.latest)
            reached[late] = reached.get(late, 0) + part.late
        self._commit(epoch, found, reached, levels or len(self.stages.levels))
        done = found.progress(epoch)
        done.seconds.update(run=ran - began, commit=time.perf_counter() - ran)
        self.progress.append(done)
        return done

    def _commit(self, epoch: Epoch, found: Told, offsets: Mapping[str, int], levels: int) -> None:
        results: dict[str, list[list[int]]] = {}
        kept = {(r.level, r.partition): r.kept for r in found.reports if r.partition != SEGMENT}
        assert len(kept) == (levels - 1) * self.partitions, "a partition has not run"
        for report in found.reports:
            for query in report.results:
                results.setdefault(query, []).append([report.level, report.partition])
        self._manifests.write(
            Manifest(
                epoch.number,
                epoch.until,
                self._program.name,
                self.partitions,
                dict(offsets),
                kept,
                results,
                found.late,
                self._fingerprints,
            )
        )
        places = [p for p in {**self._kept, **kept} if p not in kept or epoch.number in kept[p].snapshots]
        self._kept = kept
        self.epoch_number, self.until, self.offsets = epoch.number, epoch.until, dict(offsets)
        self._forget(places)

    def _forget(self, places: Iterable[tuple[int, int]]) -> None:
        """Removes files that are not needed any more, among them the logs and snapshots of some partitions."""
        self._manifests.forget(self.epoch_number)
        for level, part in places:
            kept = self._kept.get((level, part), Kept())
            PartitionState(self.checkpoint, self._scratch, level, part).forget(kept)

    # Recovery.

    def _recover(self) -> None:
        """Goes on after the last epoch that was finished."""
        manifest, self.damaged = self._manifests.last()
        if manifest is not None:
            if not self._changed_after(manifest.number):
                manifest.fits(self.checkpoint, self._program.name, self.partitions, self._fingerprints)
            self.epoch_number, self.until, self.offsets = manifest.number, manifest.until, manifest.offsets
            self._kept = manifest.kept
        self._manifests.tidy()
        self._forget(self._kept)

    def _changed_after(self, epoch: int) -> bool:
        """Whether this graph was to run after an epoch of another one."""
        found = registrations_of(self.checkpoint)
        return found is not None and (found.after, found.program) == (epoch, self._program.name)

    def intent(self) -> tuple[int, dict[str, int]] | None:
        """What the next epoch was going to read when the process ended, if it had been decided."""
        return self._manifests.intended(self.epoch_number + 1, self.until, self.offsets)

    # Results.

    def results(self, query: str, first: int = 1, last: int | None = None) -> pa.Table | None:
        """The result rows of a query in finished epochs, in the order of epochs; None when there are none."""
        tables: list[pa.Table] = []
        for number in range(first, (self.epoch_number if last is None else last) + 1):
            places = sorted(self._manifests.results(number).get(query, []))
            tables += [self._segment(query, number, level, part) for level, part in places]
        return pa.concat_tables(tables) if tables else None

    def _segment(self, query: str, epoch: int, level: int, partition: int) -> pa.Table:
        if partition != SEGMENT:
            return read_segment(result_path(self.checkpoint, epoch, level, partition), query)
        from continua.runtime.native import read_native

        schema = next(s.schema for s in self.sinks if s.query == query)
        return read_native(native_path(self.checkpoint, query, epoch), schema)

    def late(self, source: str) -> pa.Table | None:
        """The rows of a source that were too late, in the order of epochs; None when there are none."""
        tables: list[pa.Table] = []
        for number in range(1, self.epoch_number + 1):
            tables += self.late_in(source, number)
        return pa.concat_tables(tables) if tables else None

    def late_in(self, source: str, epoch: int) -> list[pa.Table]:
        """Those that a finished epoch kept apart."""
        tasks = sorted(self._manifests.read(epoch).late.get(source, []))
        return [unpacked(read_file(late_path(self.checkpoint, source, epoch, task))) for task in tasks]

    def close(self) -> None:
        """Removes what was only for this run, and lets others have the checkpoint."""
        close_partitions(str(self._scratch))
        if self._locked:
            unlock(self.checkpoint)
        self._locked = False
        shutil.rmtree(self._scratch, ignore_errors=True)


def _pickled(program: Program) -> bytes:
    """The program as bytes; functions that have no name to be found by go along whole."""
    try:
        return pickle.dumps(program)
    except (pickle.PicklingError, AttributeError, TypeError):
        from pyspark import cloudpickle

        whole: bytes = cloudpickle.dumps(program)  # type: ignore[no-untyped-call]
        return whole

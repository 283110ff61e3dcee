"""The engine: registered queries as one graph, run epoch by epoch."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

from continua.catalog import AggregateInfo, FunctionInfo
from continua.errors import CheckpointError, ContinuaError, Diagnostic, EvaluationError
from continua.instants import INFINITY
from continua.physical.execute import Epoch
from continua.physical.nodes import Sink
from continua.physical.positional import FINAL
from continua.physical.stages import Stages, stages_of
from continua.runtime.blocks import Block, unpacked
from continua.runtime.executors import Executor, Frame, OnSpark, UnionFrame
from continua.runtime.files import read_file, write_file
from continua.runtime.manifests import Manifest, Manifests
from continua.runtime.scratch import new_scratch, remove_abandoned
from continua.runtime.state import Kept, PartitionState
from continua.runtime.tasks import SEGMENT, Job, Program, Report, Seen, close_partitions, native_path, result_path

BEFORE_TIME = -INFINITY
"""The heartbeat before the first epoch."""


@dataclass
class Progress:
    """What an epoch did."""

    epoch: int
    until: int
    rows_in: dict[str, int] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    """The latest instant of each source's rows."""
    rows_out: dict[str, int] = field(default_factory=dict)
    state_rows: dict[str, int] = field(default_factory=dict)
    state_bytes: int = 0


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
    ) -> None:
        """``snapshot_bytes``: how much a partition receives between snapshots; by default as much as its state is."""
        remove_abandoned()
        self._executor = executor
        self._scratch = new_scratch()
        self.checkpoint = self._scratch / "checkpoint" if checkpoint is None else Path(checkpoint)
        self._manifests = Manifests(self.checkpoint)
        self._snapshot_bytes = snapshot_bytes
        self.partitions = partitions
        self.sinks = tuple(sinks)
        self.stages = stages_of(self.sinks)
        self._program = self._program_path()
        self._kept: dict[tuple[int, int], Kept] = {}
        self.epoch_number = 0
        self.until = BEFORE_TIME
        self.offsets: dict[str, int] = {}
        self.progress: list[Progress] = []
        self.damaged: CheckpointError | None = None
        """Why the last epoch has to be run again although it was finished, if it has."""
        self._recover()
        self._functions = tuple(functions)
        self._write_program(self._program, self.stages)

    def _write_program(self, path: Path, stages: Stages) -> None:
        write_file(path, _pickled(Program(stages, self._functions, self.partitions)))

    def change(self, sinks: Iterable[Sink], functions: Iterable[FunctionInfo | AggregateInfo] = ()) -> None:
        """Queries join and leave between two epochs; what both graphs share keeps its state."""
        if self.epoch_number:
            levels, partitions = len(self.stages.levels), self.partitions
            self._epoch(
                lambda job: self._executor.run(replace(job, snapshot=True), {}, levels, partitions),
                self.until,
                self.offsets,
            )
        self.sinks = tuple(sinks)
        self.stages = stages_of(self.sinks)
        self._program = self._program_path()
        self._functions = tuple(functions)
        self._write_program(self._program, self.stages)

    def _program_path(self) -> Path:
        names = "|".join([*(s.id for s in self.sinks), str(self.partitions)])
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
        )
        self._manifests.intend(epoch, self.offsets, offsets or {})
        reports, seen = _reports(run(job))
        reached = dict(offsets or {})
        for part in seen:
            reached[f"latest {part.source}"] = max(reached.get(f"latest {part.source}", BEFORE_TIME), part.latest)
        self._commit(epoch, reports, reached, levels or len(self.stages.levels))
        done = Progress(number, until)
        for report in reports:
            done.state_bytes += report.state_bytes
            for node, count in report.state_rows.items():
                done.state_rows[node] = done.state_rows.get(node, 0) + count
            for query, count in report.results.items():
                done.rows_out[query] = done.rows_out.get(query, 0) + count
        for part in seen:
            done.rows_in[part.source] = done.rows_in.get(part.source, 0) + part.rows
            done.late[part.source] = done.late.get(part.source, 0) + part.late
            done.seen[part.source] = max(done.seen.get(part.source, part.latest), part.latest)
        self.progress.append(done)
        return done

    def _commit(self, epoch: Epoch, reports: Sequence[Report], offsets: Mapping[str, int], levels: int) -> None:
        results: dict[str, list[int]] = {}
        kept = {(report.level, report.partition): report.kept for report in reports if report.partition != SEGMENT}
        assert len(kept) == (levels - 1) * self.partitions, "a partition has not run"
        for report in reports:
            for query in report.results:
                results.setdefault(query, []).append(report.partition)
        program = self._program.name
        self._manifests.write(
            Manifest(epoch.number, epoch.until, program, self.partitions, dict(offsets), kept, results)
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
            manifest.fits(self.checkpoint, self._program.name, self.partitions)
            self.epoch_number, self.until, self.offsets = manifest.number, manifest.until, manifest.offsets
            self._kept = manifest.kept
        self._manifests.tidy()
        self._forget(self._kept)

    def intent(self) -> tuple[int, dict[str, int]] | None:
        """What the next epoch was going to read when the process ended, if it had been decided."""
        return self._manifests.intended(self.epoch_number + 1, self.until, self.offsets)

    # Results.

    def results(self, query: str, first: int = 1, last: int | None = None) -> pa.Table | None:
        """The result rows of a query in finished epochs, in the order of epochs; None when there are none."""
        tables: list[pa.Table] = []
        for number in range(first, (self.epoch_number if last is None else last) + 1):
            parts = sorted(self._manifests.read(number).results.get(query, []))
            tables += [self._segment(query, number, part) for part in parts]
        return pa.concat_tables(tables) if tables else None

    def _segment(self, query: str, epoch: int, partition: int) -> pa.Table:
        if partition != SEGMENT:
            return unpacked(read_file(result_path(self.checkpoint, query, epoch, partition)))
        from continua.runtime.native import read_native

        schema = next(s.schema for s in self.sinks if s.query == query)
        return read_native(native_path(self.checkpoint, query, epoch), schema)

    def close(self) -> None:
        """Removes what was only for this run."""
        close_partitions(str(self._scratch))
        shutil.rmtree(self._scratch, ignore_errors=True)


def _pickled(program: Program) -> bytes:
    """The program as bytes; functions that have no name to be found by go along whole."""
    try:
        return pickle.dumps(program)
    except (pickle.PicklingError, AttributeError, TypeError):
        from pyspark import cloudpickle

        whole: bytes = cloudpickle.dumps(program)  # type: ignore[no-untyped-call]
        return whole


def _reports(blocks: Iterable[Block]) -> tuple[list[Report], list[Seen]]:
    reports: list[Report] = []
    seen: list[Seen] = []
    for block in blocks:
        match block.channel:
            case "report":
                reports.append(pickle.loads(block.data))
            case "seen":
                seen.append(pickle.loads(block.data))
            case "continua error":
                error = pickle.loads(block.data)
                assert isinstance(error, ContinuaError)
                raise error
            case "failure":
                failure = json.loads(block.data)
                message = f"an operator failed: {failure['error']}"
                raise EvaluationError(Diagnostic("OPERATOR_FAILED", message, parameters={"trace": failure["trace"]}))
            case _:
                raise AssertionError(f"a block for level {block.level} is left over")
    return reports, seen

"""What a worker does in an epoch at level 1 and above, once per partition (:mod:`level_zero` is level 0)."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from continua.errors import CheckpointError, Diagnostic
from continua.kernels.store.arena import ROOMY, Arena
from continua.physical.epoch import Arrived, Epoch
from continua.physical.execute import Partition
from continua.physical.placement import without
from continua.runtime.checkpoint.partition_state import DurableState, PartitionState, due
from continua.runtime.checkpoint.store import Numbered, store_at
from continua.runtime.jobs import Job, TaskReport
from continua.runtime.loaded_programs import program_of
from continua.runtime.machines import writing_to
from continua.runtime.rejected_rows import rejected_rows
from continua.runtime.row_blocks import AGAIN, REPORT, SPLITS, Block
from continua.runtime.scratch import named, remove_ended
from continua.runtime.task_output import ResultOutput, blocks_of, failure
from continua.sources.split_readings import corrected
from continua.sources.stretches import Summary
from continua.stages import stage, taken


@dataclass
class _Open:
    """A partition that this worker has open, the epoch of its state, and the file that is mapped if one is."""

    program: str
    epoch: Numbered
    partition: Partition
    arena: Arena
    file: int = 0
    loaded: bool = False
    """Whether the state was loaded from the store for the epoch that runs."""


_open: dict[tuple[str, int, int], _Open] = {}
"""By scratch folder, level and partition."""


def run_level(job: Job, level: int, number: int, blocks: Iterable[Block]) -> Iterator[Block]:
    """A partition of a level: passes on what is for later levels, and sends what its operators yield."""
    mine: list[Block] = []
    others: list[Block] = []
    for block in blocks:
        (mine if block.level == level else others).append(block)
    if any(block.channel == AGAIN for block in mine) or (level == 1 and _read_wrongly(job, mine)):
        partitions = program_of(job)[0].partitions
        yield from (b for b in others if b.level == REPORT)
        yield from (Block(level + 1, part, AGAIN, number, b"") for part in range(partitions))
        return
    yield from others
    mine = [block for block in mine if block.channel != SPLITS]
    try:
        yield from _run_partition(job, level, number, sorted(mine, key=lambda b: (b.channel, b.place)))
    except Exception as error:
        yield failure(error)


def _read_wrongly(job: Job, blocks: Iterable[Block]) -> bool:
    """Whether what was read is not what the epoch reads, so that it must not change anything."""
    if not job.readings:
        return False
    told: list[Summary] = [pickle.loads(b.data) for b in blocks if b.channel == SPLITS]
    known = {(s.source, s.number): s for s in told}
    complete = all((r.source, r.number) in known for r in job.readings)
    return not complete or any(s.failed for s in told) or bool(corrected(job.sources, job.readings, told))


@stage("other")
def _run_partition(job: Job, level: int, number: int, mine: list[Block]) -> list[Block]:
    began = time.perf_counter()
    scratch = named(job.scratch)
    state = PartitionState(store_at(job.store), scratch, level, number, job.terms, job.durable)
    kept = job.kept.get((level, number), DurableState())
    with writing_to(scratch):
        opened, folder, kept = _opened(job, level, number, state, kept)
    with stage("write"):
        logged = state.write_log(job.epoch, mine, kept.log) if job.keeps_logs else None
    with ResultOutput(job, level, number) as results:
        with writing_to(scratch):
            produced = opened.partition.run(job.epoch, _arrived(mine), results=results.take)
            with stage("write"):
                opened.arena.save()
        kept = kept if logged is None else kept.logged(job.epoch.number, logged)
        if due(kept, opened.arena.size, job.snapshot_bytes):
            with stage("write"):
                kept = state.with_snapshot(kept, job.epoch.number, opened.arena, job.snapshot_bytes)
        put = results.put()
    if folder is not None:
        opened.file = _file(state.give(folder, job.name))
    opened.epoch, loaded, opened.loaded = job.name, opened.loaded, False
    if not job.single_epoch:
        _open[str(scratch), level, number] = opened
    report = TaskReport(
        level,
        number,
        kept,
        put.rows,
        produced.state_rows,
        produced.rows,
        opened.arena.size,
        _operator_bytes(opened.arena),
        time.perf_counter() - began,
        put.latest,
        put.files,
        put.staged,
        produced.seconds,
        put.written,
        rejected_rows(opened.partition.placement, produced),
        loaded,
        taken(),
    )
    return [*blocks_of(produced, number), Block(REPORT, number, "report", 0, pickle.dumps(report))]


def _opened(
    job: Job, level: int, number: int, state: PartitionState, kept: DurableState
) -> tuple[_Open, Path | None, DurableState]:
    """The partition with the state of the epoch before: still open here, in the scratch folder, or loaded.

    What is open here is of use only if the folder holds the very file that is mapped: another worker may have done the
    same epoch again, and left its own.
    """
    before = Numbered(job.epoch.number - 1, job.terms.of(job.epoch.number - 1))
    program, evaluator = program_of(job)

    def partition(arena: Arena) -> Partition:
        return Partition(program.placement, level, number, program.partitions, evaluator, arena)

    loaded = False
    if job.single_epoch:
        arena = Arena(growth=ROOMY)
        return _Open(job.program, before, partition(arena), arena), None, kept
    scratch = str(named(job.scratch))
    _close_left(scratch, before, len(program.placement.levels))
    if job.living:
        remove_ended(job.living)
    known = _open.pop((scratch, level, number), None)
    begins = job.keeps_logs and not kept.oldest
    """Whether there is no state yet: what is found is then of a level of the same number that is gone."""
    if known is not None and (known.epoch != before or begins):
        known = None
    folder = None if job.in_memory or begins else state.take(before)
    if known is not None and (job.in_memory or (folder is not None and known.file == _file(folder))):
        if folder is not None:
            known.arena.moved(folder / "arena")
        if known.program == job.program:
            return known, folder, kept
        arena = known.arena
    elif folder is not None:
        arena = Arena(folder / "arena")
    else:
        _close_abandoned()
        if before.number and not job.keeps_logs:
            raise _state_lost(level, number)
        folder = None if job.in_memory else state.fresh()
        arena, kept = state.loaded(kept, folder, _Replaying(job, level, number))
        loaded = bool(kept.oldest)
    opened = partition(arena)
    names = len(arena.names)
    opened.forget_others()
    if len(arena.names) < names:
        arena = state.compacted(arena, folder)
        opened = partition(arena)
    return _Open(job.program, before, opened, arena, loaded=loaded), folder, kept


class _Replaying:
    """Runs the epochs of logs again, each by the graphs that ran in it and still do."""

    def __init__(self, job: Job, level: int, number: int) -> None:
        self._joined = job.joined
        self._program, self._evaluator = program_of(job)
        self._level, self._number = level, number
        self._later: frozenset[str] | None = None
        self._placement = self._program.placement

    def __call__(self, arena: Arena, epoch: Epoch, blocks: list[Block]) -> None:
        later = frozenset(result for result, first in self._joined.items() if first > epoch.number)
        changed = later != self._later
        if changed:
            self._later, self._placement = later, without(self._program.placement, later)
        if self._level >= len(self._placement.levels):
            return
        program = self._program
        partition = Partition(self._placement, self._level, self._number, program.partitions, self._evaluator, arena)
        if changed:
            # a query of the same name and meaning may have left before
            partition.forget_others()
        partition.run(epoch, _arrived(blocks))


def _state_lost(level: int, number: int) -> CheckpointError:
    return CheckpointError(
        Diagnostic(
            "STATE_LOST",
            f"the state of partition {number} of level {level} is gone, and the run keeps nothing to make it again",
            hint="a run with --checkpoint goes on when a worker is lost",
            parameters={"level": level, "partition": number},
        )
    )


def _operator_bytes(arena: Arena) -> dict[str, int]:
    """The bytes of each operator's arrays, whose names begin with its id."""
    found: dict[str, int] = {}
    for name in arena.names:
        operator = name.split(".", 1)[0]
        found[operator] = found.get(operator, 0) + int(arena.array(name, 0).nbytes)
    return found


def _file(folder: Path) -> int:
    """The arena's file in a folder: while it is mapped no other can have its number."""
    return (folder / "arena").stat().st_ino


def close_partitions(scratch: str) -> None:
    """Lets go of the partitions that a run has open in this process."""
    for key in [k for k in list(_open) if k[0] == scratch]:
        _open.pop(key, None)


def _close_left(scratch: str, last: Numbered, levels: int) -> None:
    """Lets go of what the run had open in epochs before the last one, or at levels that it has no more."""
    for key, opened in list(_open.items()):
        if key[0] == scratch and (opened.epoch < last or key[1] >= levels):
            _open.pop(key, None)


def _close_abandoned() -> None:
    """Lets go of what runs that have ended had open in this worker."""
    for scratch in {scratch for (scratch, _, _), opened in list(_open.items()) if opened.file}:
        if not Path(scratch).exists():
            close_partitions(scratch)


def _arrived(blocks: list[Block]) -> dict[str, list[Arrived]]:
    found: dict[str, list[Arrived]] = {}
    for block in blocks:
        found.setdefault(block.channel, []).append(Arrived(block.table, block.origin))
    return found

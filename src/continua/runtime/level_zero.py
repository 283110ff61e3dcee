"""Level 0, where rows are read: splits of files, frames, rows that are fed and rows that arrive. It holds no state."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
import pyarrow as pa

from continua.physical.execute import Partition, Produced
from continua.physical.nodes import START, Source
from continua.runtime.checkpoint.partition_state import DurableState
from continua.runtime.checkpoint.result_segments import late_name, write_segments
from continua.runtime.checkpoint.store import store_at
from continua.runtime.jobs import Job, Program, ReadReport, TaskReport
from continua.runtime.loaded_programs import program_of
from continua.runtime.row_blocks import REPORT, SPLITS, Block
from continua.runtime.task_output import ResultOutput, blocks_of, failure
from continua.sources.frame_sources import read_frame
from continua.sources.intervals import NEVER, check_start
from continua.sources.lateness import Promise
from continua.sources.partition_sequences import sequences
from continua.sources.places import without_places
from continua.sources.source_spec import Late, Malformed
from continua.sources.split_readings import Reading
from continua.sources.stretches import read_stretch
from continua.stages import stage, taken


@dataclass(frozen=True, slots=True)
class LeftOutRows:
    """Rows of a frame that are no rows of its source, or late."""

    wrong: tuple[Malformed, ...] = ()
    late: tuple[Late, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What a task read of a source: how many rows in time, their latest instant, and how many were too late."""

    source: str
    rows: int
    latest: int
    late: int
    task: int = 0
    refused: int = 0
    """How many were no rows of the source, and are left out."""
    origin: int | None = None
    """The partition of the source, where it has some."""
    left_out: LeftOutRows | None = None
    """The rows of a frame that were left out."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The file with the late rows and its digest, if one was written."""


@stage("other")
def run_sources(job: Job, task: int, fed: Mapping[str, pa.Table], origin: int = 0) -> list[Block]:
    """Level 0: what is sent of the rows of sources. It holds no state."""
    began = time.perf_counter()
    try:
        program, evaluator = program_of(job)
        partition = Partition(program.placement, 0, task, program.partitions, evaluator)
        with ResultOutput(job, 0, task) as results:
            produced = partition.run(job.epoch, {}, fed, results.take)
            blocks = [*blocks_of(produced, task, origin), *_level_0_results(task, results)]
        return [*blocks, _read(began, produced)]
    except Exception as error:
        return [failure(error)]


SAMPLE = 250
"""So many rows at most a task shows the driver of a source that it has read."""


def _read(began: float, produced: Produced, samples: Mapping[str, pa.Table] | None = None) -> Block:
    """Tells how long a task took that reads sources, and each of its operators."""
    report = ReadReport(time.perf_counter() - began, produced.seconds, produced.rows, samples or {}, taken())
    return Block(REPORT, 0, "read", 0, pickle.dumps(report))


@stage("other")
def run_reading(job: Job, reading: Reading) -> list[Block]:
    """Level 0 for the rows of a split of a file; every partition of the next level is told how it was read.

    What fails may do so because the split was read under a wrong assumption: it is told along with the summary, which
    shows whether it was.
    """
    began = time.perf_counter()
    try:
        program, evaluator = program_of(job)
        source = replace(job.sources[reading.source], stamp=reading.stamp)
        if _is_placed(program, reading.source):
            source = replace(source, spec=replace(source.spec, placed=True))
        closed = job.epoch.after
        found, summary = read_stretch(source, reading.number, reading.split, reading.latest, closed, reading.since)
    except Exception as error:
        return [failure(error)]
    blocks: list[Block] = []
    read, produced = time.perf_counter() - began, Produced()
    if not summary.failed:
        try:
            check_start(source.info, found.start, source.first)
            partition = Partition(program.placement, 0, reading.task, program.partitions, evaluator)
            with ResultOutput(job, 0, reading.task) as results:
                produced = partition.run(job.epoch, {}, {reading.source: found.rows}, results.take)
                blocks = blocks_of(produced, reading.task, reading.origin)
                blocks += _level_0_results(reading.task, results)
        except Exception as error:
            blocks = [failure(error)]
            summary = replace(summary, failed=True)
    if found.apart is not None and reading.source in job.promises:
        # in a live run they are asked for like those that arrived otherwise
        files = _keep_apart(job, reading.source, reading.task, [found.apart])
        seen = SourceReport(reading.source, 0, NEVER, found.apart.num_rows, reading.task, files=files)
        blocks.append(Block(REPORT, 0, "seen", 0, pickle.dumps(seen)))
    blocks.append(Block(REPORT, 0, "summary", 0, pickle.dumps(summary)))
    if len(program.placement.levels) > 1:
        slim = pickle.dumps(summary.slim)
        blocks += [Block(1, part, SPLITS, reading.task, slim) for part in range(program.partitions)]
    source_id = _source_of(program, reading.source)
    produced.seconds[source_id] = read + produced.seconds.get(source_id, 0.0)
    shown = {} if summary.failed or not job.shows_rows else {reading.source: _some(found.rows)}
    return [*blocks, _read(began, produced, shown)]


def _some(rows: pa.Table) -> pa.Table:
    """Rows from all over a table."""
    places = np.linspace(0, rows.num_rows, min(SAMPLE, rows.num_rows), endpoint=False).astype(np.int64)
    return rows.take(pa.array(places))


def _is_placed(program: Program, name: str) -> bool:
    """Whether it is asked where the rows of a source stand."""
    return any(isinstance(n, Source) and n.name == name and n.placed for n in program.placement.levels[0].nodes)


def _source_of(program: Program, name: str) -> str:
    """The id of the operator that stands for a source."""
    return next((n.id for n in program.placement.levels[0].nodes if isinstance(n, Source) and n.name == name), "")


def run_frame(job: Job, name: str, tasks: Iterator[int], rows: pa.Table, latest: dict[int, int]) -> list[Block]:
    """Level 0 for rows of a frame, each partition of the source as a task of its own.

    ``latest`` are the latest times of its partitions so far.
    """
    blocks: list[Block] = []
    try:
        source = job.frame_sources[name]
        for origin, found in read_frame(source, rows, latest):
            if found.wrong and not source.spec.skip_malformed:
                raise found.wrong[0].error(source.info.name)
            task = next(tasks)
            blocks += run_sources(job, task, {name: found.rows}, origin)
            reached = int(found.start.max()) if found.start.size else NEVER
            left_out = LeftOutRows(tuple(found.wrong), tuple(found.late))
            seen = SourceReport(name, found.rows.num_rows, reached, 0, task, left_out=left_out)
            blocks.append(Block(REPORT, 0, "seen", 0, pickle.dumps(seen)))
        return blocks
    except Exception as error:
        return [failure(error)]


def _level_0_results(task: int, results: ResultOutput) -> list[Block]:
    """What queries without state have yielded where rows are read."""
    put = results.put()
    report = TaskReport(
        0, task, DurableState(), put.rows, {}, {}, 0, {}, 0.0, put.latest, put.files, put.staged, written=put.written
    )
    return [Block(REPORT, 0, "report", 0, pickle.dumps(report))] if put.rows else []


def run_arrivals(
    job: Job, tasks: Iterator[int], fed: Mapping[str, pa.Table], refused: Mapping[str, int] | None = None
) -> list[Block]:
    """Level 0 for rows as they arrive: those that are late are kept apart, and all are counted.

    A row is late by its own partition of its source alone: where it lies behind what the source had promised, or more
    than the slack behind the latest time before it. It is late, too, where its instant was closed without it, because
    its partition was silent.
    """
    first = next(tasks)
    reports: list[SourceReport] = []
    in_time: dict[int, dict[str, pa.Table]] = {}
    for name, rows in fed.items():
        promise = job.promises.get(name, Promise())
        apart: list[pa.Table] = []
        left_out = (refused or {}).get(name, 0)
        for origin, table in sequences(rows, promise.columns):
            start = np.asarray(table.column(START).to_numpy(), np.int64)
            late = promise.late(start, origin) | (start <= job.epoch.after)
            count = int(late.sum())
            if count:
                apart.append(table.filter(pa.array(late)))
                table = table.filter(pa.array(~late))
            in_time.setdefault(origin, {})[name] = table
            latest = int(start.max()) if start.size else NEVER
            part = None if promise.columns is None else origin
            reports.append(SourceReport(name, table.num_rows, latest, count, first, left_out, part))
            left_out = 0
        if apart:
            reports[-1] = replace(reports[-1], files=_keep_apart(job, name, first, apart))
    blocks: list[Block] = []
    for task, (origin, tables) in zip(chain([first], tasks), sorted(in_time.items()) or [(0, {})], strict=False):
        blocks += run_sources(job, task, tables, origin)
    return [*blocks, *(Block(REPORT, 0, "seen", 0, pickle.dumps(seen)) for seen in reports)]


def _keep_apart(job: Job, source: str, task: int, rows: list[pa.Table]) -> dict[str, str]:
    """Writes down rows that are late; the file and its digest."""
    name = late_name(source, job.name, task)
    table = without_places(pa.concat_tables(rows)).combine_chunks()
    return {name: write_segments(store_at(job.store), name, {source: table}, job.durable).digest}

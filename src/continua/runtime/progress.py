"""What an epoch did, from what its tasks tell the driver."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa

from continua.catalog import is_by_file
from continua.errors import ContinuaError, Diagnostic, EvaluationError, MachineError
from continua.physical.epoch import Epoch
from continua.physical.placement import Placement
from continua.runtime import row_blocks
from continua.runtime.jobs import ReadReport, TaskReport
from continua.runtime.level_zero import LeftOutRows, SourceReport
from continua.runtime.row_blocks import Block
from continua.sources.broken_keys import Broken
from continua.sources.places import WhereIs
from continua.sources.source_spec import Malformed
from continua.sources.split_readings import Reading
from continua.sources.stretches import FileSource, Summary, with_true_lines

Number = TypeVar("Number", int, float)


@dataclass
class Progress:
    """What an epoch did."""

    epoch: int
    until: int
    rows_in: dict[str, int] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    """How many rows that arrived in frames were no rows of their source, and are left out."""
    left_out: dict[str, list[LeftOutRows]] = field(default_factory=dict)
    """The rows of frames that were left out."""
    broken: dict[str, list[Malformed]] = field(default_factory=dict)
    """The rows that break what their sources say of their keys, by the names under which they are told."""
    seen: dict[tuple[str, int | None], int] = field(default_factory=dict)
    """The latest instant of the rows of each source and, where it has partitions, of each of them."""
    summaries: list[Summary] = field(default_factory=list)
    """What was read of files, split by split."""
    rows_out: dict[str, int] = field(default_factory=dict)
    latest: dict[str, int] = field(default_factory=dict)
    """For each query the latest instant at which a row of its result starts."""
    rows: dict[str, int] = field(default_factory=dict)
    """How many rows each operator yielded."""
    state_rows: dict[str, int] = field(default_factory=dict)
    state_bytes: int = 0
    openings: int = 0
    """How many partitions of levels had their state opened."""
    loads: int = 0
    """How many of them had to be loaded from the store, because their state was elsewhere or nowhere."""
    operator_bytes: dict[str, int] = field(default_factory=dict)
    """What the state of each operator takes; ``strings`` is what all of a partition share."""
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each level took, in its slowest partition; all of them as the driver sees it (run); and committing."""
    operator_seconds: dict[str, float] = field(default_factory=dict)
    """How long each operator took by the clock, in all partitions together; to read and to move rows is part of it."""
    stages: dict[str, float] = field(default_factory=dict)
    """How long the stages of tasks took, in all of them together: see :mod:`continua.stages`."""
    query_seconds: dict[str, float] = field(default_factory=dict)
    """The same by queries: what works for several is divided among them alike."""
    samples: dict[str, pa.Table] = field(default_factory=dict)
    """Some of the rows of sources that the driver does not see."""

    def saw(self, source: str, origin: int | None, latest: int) -> None:
        """A source, or a partition of it, has brought rows, the latest of that instant."""
        self.seen[source, origin] = max(self.seen.get((source, origin), latest), latest)

    def entry(self, placement: Placement) -> dict[str, object]:
        """It all as plain data, under names like those of Spark's progress."""
        return {
            "epoch": self.epoch,
            "heartbeat": self.until,
            "numInputRows": sum(self.rows_in.values()),
            "inputRows": dict(self.rows_in),
            "numOutputRows": dict(self.rows_out),
            "lateRows": dict(self.late),
            "refusedRows": dict(self.refused),
            "stateRows": dict(self.state_rows),
            "stateBytes": self.state_bytes,
            "stateOpenings": self.openings,
            "stateLoads": self.loads,
            "operators": [
                {
                    "id": node.id,
                    "operator": node.title,
                    "level": number,
                    "rows": self.rows.get(node.id, 0),
                    "stateRows": self.state_rows.get(node.id, 0),
                    "stateBytes": self.operator_bytes.get(node.id, 0),
                    "durationMs": _milliseconds(self.operator_seconds.get(node.id, 0.0)),
                }
                for number, level in enumerate(placement.levels)
                for node in level.nodes
                if node.id in self.rows
            ],
            "durationMs": {stage: _milliseconds(seconds) for stage, seconds in self.seconds.items()},
            "queryDurationMs": {query: _milliseconds(seconds) for query, seconds in self.query_seconds.items()},
        }


@dataclass
class EpochReports:
    """What all tasks of an epoch told."""

    reports: list[TaskReport] = field(default_factory=list)
    seen: list[SourceReport] = field(default_factory=list)
    summaries: list[Summary] = field(default_factory=list)
    """What was read of files."""
    read: float = 0.0
    """The seconds of the slowest task that read sources."""
    took: dict[str, float] = field(default_factory=dict)
    """The seconds of each operator, in all tasks together."""
    stages: dict[str, float] = field(default_factory=dict)
    """The seconds of each stage, in all tasks together."""
    read_rows: dict[str, int] = field(default_factory=dict)
    """How many rows each operator yielded where sources are read."""
    samples: dict[str, list[pa.Table]] = field(default_factory=dict)
    """Some of the rows of sources, task by task."""

    @property
    def late(self) -> dict[str, list[int]]:
        """For each source the tasks that kept rows apart."""
        found: dict[str, set[int]] = {}
        for part in self.seen:
            if part.late:
                found.setdefault(part.source, set()).add(part.task)
        return {source: sorted(tasks) for source, tasks in found.items()}

    @property
    def files(self) -> dict[str, str]:
        """The files with results and late rows, and their digests."""
        found: dict[str, str] = {}
        for report in self.reports:
            found |= report.files
        for part in self.seen:
            found |= part.files
        return found

    @property
    def staged(self) -> dict[str, dict[str, str]]:
        """By query, the files that tasks have written for its sink, and their digests."""
        found: dict[str, dict[str, str]] = {}
        for report in self.reports:
            for query, files in report.staged.items():
                found.setdefault(query, {}).update(files)
        return found

    def check_rows(self, sources: Mapping[str, FileSource]) -> None:
        """Refuses an epoch that has read a row which its source does not allow: the first of them is told."""
        for name in sorted({s.source for s in self.summaries if s.failed}):
            mine = sorted((s for s in self.summaries if s.source == name), key=lambda s: s.number)
            raise with_true_lines(mine)[0][0].error(sources[name].info.name)

    @property
    def broken(self) -> list[Broken]:
        """The rows that checks have rejected, in the order of time."""
        found = [b for report in self.reports for b in report.broken]
        return sorted(found, key=lambda b: (b.instant, b.check.told_as, b.origin, b.offset))

    def check_keys(self, where: WhereIs) -> None:
        """Refuses an epoch with a row that breaks what its source says of its keys: the first in time is told."""
        for row in self.broken:
            if not row.check.skips:
                raise row.malformed(*where(row.check.told_as, row.origin, row.offset)).error(row.check.told_as)

    def progress(
        self,
        epoch: Epoch,
        readings: Iterable[Reading],
        sources: Mapping[str, FileSource],
        placement: Placement,
        where: WhereIs,
    ) -> Progress:
        """All of it together; ``readings``: what was read of the files of sources, ``where``: where rows stand."""
        origins = {(r.source, r.number): r.origin for r in readings if is_by_file(sources[r.source].info)}
        done = Progress(epoch.number, epoch.until, seconds={"level 0": self.read})
        done.operator_seconds, done.query_seconds = dict(self.took), placement.by_query(self.took)
        done.stages = dict(self.stages)
        done.rows.update(self.read_rows)
        done.samples = {source: pa.concat_tables(some) for source, some in self.samples.items()}
        for report in self.reports:
            done.state_bytes += report.state_bytes
            done.openings += report.level > 0
            done.loads += report.loaded
            _add(done.state_rows, report.state_rows)
            _add(done.operator_bytes, report.operator_bytes)
            _add(done.rows, report.rows)
            _add(done.rows_out, report.results)
            for query, latest in report.latest.items():
                done.latest[query] = max(done.latest.get(query, latest), latest)
            level = f"level {report.level}"
            done.seconds[level] = max(done.seconds.get(level, 0.0), report.seconds)
        done.summaries = sorted(self.summaries, key=lambda s: (s.source, s.number))
        for summary in self.summaries:
            _add(done.rows_in, {summary.source: summary.rows})
            done.saw(summary.source, origins.get((summary.source, summary.number)), summary.latest)
        for row in self.broken:
            name = row.check.told_as
            done.broken.setdefault(name, []).append(row.malformed(*where(name, row.origin, row.offset)))
            _add(done.refused, {name.casefold(): 1})
        for part in self.seen:
            _add(done.rows_in, {part.source: part.rows})
            _add(done.late, {part.source: part.late})
            _add(done.refused, {part.source: part.refused})
            if part.left_out is not None and (part.left_out.wrong or part.left_out.late):
                done.left_out.setdefault(part.source, []).append(part.left_out)
            done.saw(part.source, part.origin, part.latest)
        return done


def told(blocks: Iterable[Block]) -> EpochReports:
    """The messages of tasks to the driver; an error that one of them had is raised."""
    found = EpochReports()
    for block in blocks:
        match block.channel:
            case "report":
                report: TaskReport = pickle.loads(block.data)
                found.reports.append(report)
                _add(found.took, report.took)
                _add(found.stages, report.stages)
            case "seen":
                found.seen.append(pickle.loads(block.data))
            case "summary":
                found.summaries.append(pickle.loads(block.data))
            case "read":
                read: ReadReport = pickle.loads(block.data)
                found.read = max(found.read, read.seconds)
                _add(found.took, read.took)
                _add(found.stages, read.stages)
                _add(found.read_rows, read.rows)
                for source, some in read.samples.items():
                    found.samples.setdefault(source, []).append(some)
            case "continua error":
                error: ContinuaError = pickle.loads(block.data)
                raise error
            case "failure":
                failure = json.loads(block.data)
                message = f"an operator failed: {failure['error']}"
                raise EvaluationError(Diagnostic("OPERATOR_FAILED", message, parameters={"trace": failure["trace"]}))
            case row_blocks.AGAIN:
                pass
            case _:
                message = (
                    f"rows for level {block.level} came to the driver instead of a task: the epoch is not finished"
                )
                raise MachineError(Diagnostic("BLOCKS_LOST", message, parameters={"level": block.level}))
    return found


def _add(counts: dict[str, Number], more: Mapping[str, Number]) -> None:
    for name, count in more.items():
        counts[name] = count + counts[name] if name in counts else count


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 2)

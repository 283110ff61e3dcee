"""What a task of any level hands on: blocks for other tasks, results and files of sinks, and errors for the driver."""

from __future__ import annotations

import json
import pickle
import traceback
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType

import pyarrow as pa
import pyarrow.compute as pc

from continua.errors import ContinuaError
from continua.physical.execute import Produced
from continua.physical.nodes import START
from continua.physical.once import Once, distinct, together
from continua.runtime.checkpoint.result_segments import result_name, write_segments
from continua.runtime.checkpoint.store import store_at
from continua.runtime.jobs import Job, ResultStaging
from continua.runtime.machines import is_of_machine
from continua.runtime.row_blocks import REPORT, Block
from continua.stages import stage


def blocks_of(produced: Produced, task: int, origin: int = 0) -> list[Block]:
    """What a task sends, in its order; ``origin`` is the partition of the source that it has read."""
    return [
        Block(p.channel.level, p.partition, p.channel.name, task << 32 | place, p.table, origin)
        for place, p in enumerate(produced.parcels)
    ]


@dataclass(frozen=True, slots=True)
class Put:
    """What a task has written: how many rows of each query, files of the store and, by query, those of sinks."""

    rows: dict[str, int]
    latest: dict[str, int]
    """For each query the latest instant at which a row of its result starts."""
    written: int
    """How many rows the files of the store have: those that several queries yield are there once."""
    files: Mapping[str, str]
    staged: Mapping[str, Mapping[str, str]]


class ResultOutput:
    """Takes what a task yields for queries, piece by piece: to segments, and to where their answers go.

    What goes to a sink alone is written at once, so that the memory of a piece is used again for the next one.
    """

    def __init__(self, job: Job, level: int, number: int) -> None:
        self._job, self._level, self._number = job, level, number
        self._staging: dict[str, ResultStaging] = {}
        self._open = ExitStack()
        self._kept: dict[str, list[pa.Table]] = {}
        self._rows: dict[str, int] = {}
        self._latest: dict[str, int] = {}

    def __enter__(self) -> ResultOutput:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, error, trace)

    def take(self, query: str, rows: pa.Table) -> None:
        """Takes rows that lie behind those before in time."""
        job = self._job
        self._rows[query] = self._rows.get(query, 0) + rows.num_rows
        self._latest[query] = int(pc.max(rows.column(START)).as_py())
        if query in job.writers:
            if query not in self._staging:
                staging = job.writers[query].staging(job.name, self._level, self._number, job.durable)
                self._staging[query] = self._open.enter_context(staging)
            self._staging[query].add(rows)
        if job.keeps_results or query not in job.writers:
            self._kept.setdefault(query, []).append(rows)

    @stage("write")
    def put(self) -> Put:
        """Writes what is left."""
        job = self._job
        self._open.close()
        staged = {query: found.staged for query, found in self._staging.items()}
        whole = Once(together)
        kept = {query: whole(*parts) for query, parts in self._kept.items()}
        files: dict[str, str] = {}
        if kept:
            name = result_name(job.name, self._level, self._number)
            files[name] = write_segments(store_at(job.store), name, kept, job.durable).digest
        return Put(
            self._rows | {query: done.rows for query, done in staged.items()},
            self._latest,
            sum(table.num_rows for table in distinct(kept.values())),
            files,
            {query: {done.file: done.digest} for query, done in staged.items()},
        )


def failure(error: Exception) -> Block:
    """An error on its way to the driver; what is wrong with a machine is raised, so that Spark tries it elsewhere."""
    if is_of_machine(error):
        raise error
    if isinstance(error, ContinuaError):
        content = pickle.dumps(error)
    else:
        content = json.dumps({"error": str(error), "trace": traceback.format_exc()}).encode()
    kind = "continua error" if isinstance(error, ContinuaError) else "failure"
    return Block(REPORT, 0, kind, 0, content)

"""What a task of any level hands on: blocks for other tasks, results and files of sinks, and errors for the driver."""

from __future__ import annotations

import json
import pickle
import traceback
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow.compute as pc

from continua.errors import ContinuaError
from continua.physical.execute import Produced
from continua.physical.nodes import START
from continua.physical.once import Once, distinct
from continua.runtime.checkpoint.result_segments import result_name, write_segments
from continua.runtime.checkpoint.store import store_at
from continua.runtime.jobs import Job
from continua.runtime.machines import is_of_machine
from continua.runtime.row_blocks import REPORT, Block


def blocks_of(produced: Produced, task: int, origin: int = 0) -> list[Block]:
    """What a task sends, in its order; ``origin`` is the partition of the source that it has read."""
    return [
        Block(p.channel.level, p.partition, p.channel.name, task << 32 | place, p.table, origin)
        for place, p in enumerate(produced.parcels)
    ]


def latest_of(produced: Produced) -> dict[str, int]:
    """For each query the latest instant at which a row of its result starts."""
    latest = Once(lambda table: int(pc.max(table.column(START)).as_py()))
    return {q: latest(t) for q, t in produced.results.items() if t.num_rows}


@dataclass(frozen=True, slots=True)
class Put:
    """What a task has written: how many rows of each query, files of the store and, by query, those of sinks."""

    rows: dict[str, int]
    written: int
    """How many rows the files of the store have: those that several queries yield are there once."""
    files: Mapping[str, str]
    staged: Mapping[str, Mapping[str, str]]


def write_results(job: Job, level: int, number: int, produced: Produced) -> Put:
    """Writes what a task yields for queries: to segments, and to where their answers go."""
    counts = {query: table.num_rows for query, table in produced.results.items()}
    staged: dict[str, dict[str, str]] = {}
    for query, table in produced.results.items():
        if query in job.writers:
            done = job.writers[query].stage(job.name, level, number, table, job.durable)
            counts[query], staged[query] = done.rows, {done.file: done.digest}
    kept = {q: t for q, t in produced.results.items() if job.keeps_results or q not in job.writers}
    files: dict[str, str] = {}
    if kept:
        name = result_name(job.name, level, number)
        files[name] = write_segments(store_at(job.store), name, kept, job.durable).digest
    written = sum(table.num_rows for table in distinct(kept.values()))
    return Put(counts, written, files, staged)


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

"""What ``continua warmup`` does: finds out what common queries call, and compiles that in several processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numba

from continua.cli import query_shapes
from continua.cli.engine_answers import EngineAnswers
from continua.cli.engine_options import EngineOptions
from continua.cli.report import Report
from continua.kernels.first_calls import Wanted, recorded
from continua.kernels.jit import sources
from continua.kernels.store.keytable import hash_all
from continua.runtime.machines import spark_at_work, spark_starting
from continua.runtime.spark.masters import NONE
from continua.runtime.spark.starting import is_local, start_in_background
from continua.session import Session

_DONE = "continua.warm"
_PARTITIONS = (1, 2)
"""Work that is divided calls other kernels than work that is not."""


def compile_ahead(master: str) -> None:
    """Compiles here, and on the executors of a master that is not this machine."""
    report = Report()
    begin = time.monotonic()
    if _is_done():
        report.note("all kernels of common queries are compiled")
    else:
        wanted = wanted_by(query_shapes.SHAPES)
        workers = os.cpu_count() or 1
        with report.errors(), report.progress() as told:
            _compile_in_processes(wanted, workers, told)
        _say_done()
        report.note(f"compiled {len(wanted)} kernels in {time.monotonic() - begin:.0f} s, in {workers} processes")
    if master != NONE and not is_local(master):
        with report.errors():
            hosts = _compile_on_executors(master)
        report.note(f"compiled on the executors of {master}: {', '.join(sorted(hosts))}")


def wanted_by(names: Iterable[str]) -> list[Wanted]:
    """What the queries of shapes call, the longest functions first: those are waited for."""
    with TemporaryDirectory(prefix="continua-warmup-") as name, recorded() as found:
        folder = Path(name)
        query_shapes.write_sources(folder)
        for shape in names:
            for partitions in _PARTITIONS:
                _answer(shape, folder, partitions)
    return sorted(found, key=_length, reverse=True)


def _answer(shape: str, folder: Path, partitions: int) -> None:
    session = Session(data=folder, master=NONE)
    session.execute(query_shapes.script(shape))
    answering = EngineAnswers(session, EngineOptions(partitions=partitions), Report(), folder, None, None)
    answering.changes(list(session.queries.values()))


def _length(wanted: Wanted) -> int:
    return len(wanted.types)


def _compile_in_processes(wanted: Sequence[Wanted], workers: int, told: Callable[[str], None]) -> None:
    """Processes are started anew: a fork has the compiler's locks in any state."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(one.compile) for one in wanted]
        for number, done in enumerate(as_completed(waiting), start=1):
            done.result()
            told(f"compiling kernels: {number} of {len(wanted)}")


def _compile_on_executors(master: str) -> set[str]:
    """Compiles in the environments of executors; the names of their machines."""
    with start_in_background(master) as starting:
        with spark_starting():
            context = starting.session().sparkContext
        with spark_at_work():
            count = context.defaultParallelism
            return set(context.parallelize(range(count), count).mapPartitionsWithIndex(_compile_in_task).collect())


def _compile_in_task(number: int, _: Iterable[int]) -> list[str]:
    """A task; tasks of one machine begin at different shapes, and find on the disk what others have compiled."""
    if not _is_done():
        names = list(query_shapes.SHAPES)
        begin = 5 * number % len(names)
        for one in wanted_by(names[begin:] + names[:begin]):
            one.compile()
        _say_done()
    return [os.uname().nodename]


# What is done is noted beside the machine code.


def _marker() -> tuple[Path, str]:
    """Where it is noted, and what: all that machine code depends on, and the shapes."""
    folder = Path(hash_all._cache.cache_path)  # type: ignore[attr-defined]
    depends = (sources(), numba.__version__, hash_all.targetctx.codegen().magic_tuple())  # type: ignore[attr-defined]
    return folder / _DONE, sha256(repr((depends, query_shapes.STREAMS, query_shapes.SHAPES)).encode()).hexdigest()


def _is_done() -> bool:
    place, content = _marker()
    return place.exists() and place.read_text(encoding="utf-8") == content


def _say_done() -> None:
    place, content = _marker()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content, encoding="utf-8")

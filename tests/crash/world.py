"""A graph of queries that together use every kind of state, its rows, and runs of it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from continua.answers.query import Answer, Query
from continua.reference.elements import Inputs
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime import loaded_programs, tasks
from continua.runtime.checkpoint import locks
from continua.runtime.executors.executor import Executor, InProcess
from continua.session import Session

SCRIPT = """
CREATE STREAM S (a INT, b INT, s STRING, ts BIGINT) ORDERED BY ts;
CREATE STREAM P (a INT, c DOUBLE, ts BIGINT) ORDERED BY ts;
CREATE TABLE T (a INT, name STRING);

REGISTER QUERY joined AS SELECT x.s, y.c FROM S [RANGE 6] x, P [ROWS 4] y WHERE x.a = y.a;
REGISTER QUERY different AS SELECT ISTREAM(DISTINCT a, s) FROM S [RANGE 5];
REGISTER QUERY latest AS SELECT a, b FROM S [PARTITION BY a ROWS 2];
REGISTER QUERY missing AS SELECT a FROM S [RANGE 4] EXCEPT SELECT a FROM P [RANGE 4];
REGISTER QUERY named AS SELECT x.b, T.name FROM S [ROWS 3] x LEFT JOIN T ON x.a = T.a;
REGISTER QUERY hopping AS SELECT ISTREAM(s) FROM S [RANGE 6 SLIDE 3];
"""

AGGREGATES = """
REGISTER QUERY busiest AS
  SELECT MAX(n) FROM (SELECT a, COUNT(*) AS n, SUM(b) AS total FROM S [RANGE 8] GROUP BY a) AS counted;
REGISTER QUERY averages AS SELECT a, AVG(c), MIN(c) FROM P [ROWS 5] GROUP BY a;
"""

STRINGS = ("x", "y", "zoë", "", None, "a longer one")


@dataclass(frozen=True)
class World:
    """Queries and their rows."""

    session: Session
    queries: Sequence[Query]
    inputs: Inputs

    def run(self, options: BoundedOptions, executor: Executor | None = None) -> BoundedRun:
        """The queries on the engine."""
        return BoundedRun(self.queries, self.inputs, self.session.functions, executor or InProcess(), options)

    def answers(self, options: BoundedOptions) -> list[Answer]:
        """What a run answers, from where the checkpoint says to the end."""
        with fresh_process(), self.run(options) as run:
            run.to_the_end()
            return run.answers()


@lru_cache
def world(seed: int = 7, rows: int = 40) -> World:
    """The queries, over random rows."""
    rng = random.Random(seed)
    session = Session()
    session.execute(SCRIPT + AGGREGATES)
    times = sorted(rng.randrange(rows) for _ in range(rows))
    names = [rng.choice("SSP") for _ in times]
    session.insert("S", [_s(rng, t) for t, name in zip(times, names, strict=True) if name == "S"])
    session.insert("P", [_p(rng, t) for t, name in zip(times, names, strict=True) if name == "P"])
    session.insert("T", [(i, f"number {i}") for i in range(3)])
    queries = tuple(session.queries.values())
    return World(session, queries, session.inputs.read({s for q in queries for s in q.sources}))


def _s(rng: random.Random, instant: int) -> tuple[int | None, int, str | None, int]:
    return rng.choice((0, 1, 2, 3, None)), rng.randrange(10), rng.choice(STRINGS), instant


def _p(rng: random.Random, instant: int) -> tuple[int, float, int]:
    return rng.randrange(4), rng.randrange(10) / 8, instant


@contextmanager
def fresh_process() -> Iterator[None]:
    """Forgets what tasks keep in memory, before and after: as if this were another process."""
    forget_memory()
    try:
        yield
    finally:
        forget_memory()


def forget_memory() -> None:
    """Forgets what tasks keep in memory, and lets go of checkpoints, as the end of a process does."""
    locks.unlock_all()
    tasks._open.clear()
    loaded_programs._loaded.clear()


def undisturbed(options: BoundedOptions, seed: int = 7) -> list[Answer]:
    """The answers of a run that nothing disturbs; they are the same however it is cut into epochs."""
    return list(_undisturbed(replace(options, checkpoint=None), seed))


@lru_cache
def _undisturbed(options: BoundedOptions, seed: int) -> tuple[Answer, ...]:
    return tuple(world(seed).answers(options))


def number_of(path: Path) -> int:
    """The number in the name of a file that has its term behind it."""
    return int(path.name.split("-")[0])


def numbered(folder: Path, number: int) -> Path:
    """The file of a number in a folder, of the latest term."""
    return max(folder.glob(f"{number}-*"), key=lambda path: int(path.name.split("-")[1]))


def manifests_in(checkpoint: Path) -> list[Path]:
    """The manifests of finished epochs, without handovers."""
    handovers = {path.name for path in (checkpoint / "terms").glob("[0-9]*")}
    return sorted((p for p in (checkpoint / "epochs").glob("[0-9]*") if p.name not in handovers), key=number_of)


def files_of(checkpoint: Path) -> list[Path]:
    """All files of a checkpoint with something in them that counts, in order: the lock has nothing."""
    return sorted(p for p in checkpoint.rglob("*") if p.is_file() and p.name != "lock")

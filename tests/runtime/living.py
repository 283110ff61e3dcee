"""Live sessions that are started again and again, with the same queries or others."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from continua.errors import CheckpointError
from continua.runs.live_options import LiveOptions
from continua.session import Session
from tests.crash.world import forget_memory

DEFINITIONS = """
CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts SLACK 2;
CREATE STREAM P (k INT, ts BIGINT) ORDERED BY ts;
CREATE TABLE C (k INT, n STRING) AS VALUES (1, 'one'), (2, 'two');
"""
FIRST = "REGISTER QUERY first AS SELECT k, COUNT(*) AS n FROM S [RANGE 30] GROUP BY k;"
LATER = "REGISTER QUERY later AS SELECT S.k, C.n, COUNT(*) AS m FROM S [RANGE 30], C WHERE S.k = C.k GROUP BY S.k, C.n;"
THIRD = "REGISTER QUERY third AS SELECT DISTINCT k FROM S [RANGE 20];"
BATCHES = [[(1, 5), (2, 4)], [(1, 10), (2, 11)], [(1, 20), (3, 19)], [(2, 30)], [(1, 41), (2, 40)], [(2, 60)]]
Answers = dict[str, list[tuple[int, str | None, tuple[object, ...]]]]


def session_with(*texts: str, rejects: Path | None = None) -> Session:
    """A session in a process of its own, as it were."""
    forget_memory()
    session = Session(rejects=rejects)
    session.execute(DEFINITIONS + "\n".join(texts))
    return session


def rows_of(found: object) -> list[dict[str, object]]:
    """The rows of a table of a session that works without Spark."""
    assert isinstance(found, pa.Table)
    rows: list[dict[str, object]] = found.to_pylist()
    return rows


def at(folder: Path) -> LiveOptions:
    return LiveOptions(checkpoint=folder)


def push(session: Session, batch: list[tuple[int, int]]) -> None:
    assert session.live is not None
    session.insert("S", batch)
    session.live.process()


def answers(session: Session) -> Answers:
    assert session.live is not None
    session.live.finish()
    found = {n: [(a.instant, a.op, a.row) for a in session.live.answers(n)] for n in session.live.queries}
    session.stop()
    return found


def restarted(session: Session, folder: Path, *texts: str) -> Session:
    """Another process with the same queries."""
    session.stop()
    again = session_with(*texts)
    again.start(options=at(folder))
    return again


def refused(folder: Path, *texts: str) -> CheckpointError:
    session = session_with(*texts)
    with pytest.raises(CheckpointError) as caught:
        session.start(options=at(folder))
    return caught.value

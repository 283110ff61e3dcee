"""A live query that fails on its data tells which it is, where and when."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from continua.errors import EvaluationError
from continua.runs.live_options import LiveOptions
from continua.session import Session
from continua.sinks.sink import Sink
from tests.crash.world import forget_memory

if TYPE_CHECKING:
    pass

SCRIPT = """
CREATE STREAM S (k STRING, ts BIGINT) ORDERED BY ts SLACK 2;
REGISTER QUERY fine AS SELECT k FROM S [RANGE 10];
REGISTER QUERY number AS SELECT CAST(k AS INT) AS n FROM S [RANGE 10];
"""


def test_the_query_its_place_and_the_first_instant() -> None:
    session = Session()
    session.execute(SCRIPT)
    session.start()
    session.insert("S", [("1", 1), ("b", 4), ("c", 3), ("5", 5)])
    try:
        with pytest.raises(EvaluationError) as caught:
            assert session.live is not None
            session.live.finish()
    finally:
        session.stop()
        forget_memory()
    assert caught.value.parameters == {"instant": 3, "row": ["c", 3], "query": "number"}
    assert str(caught.value).startswith("error[EVALUATION_FAILED]: query number: the query fails on its data: ")
    assert "c is not an integer (at 3, on the row 'c', 3)" in str(caught.value)
    span = caught.value.diagnostics[0].span
    assert span is not None and span.line == 4


def _answers(session: Session, name: str) -> list[tuple[int, str | None, tuple[object, ...]]]:
    assert session.live is not None
    return [(a.instant, a.op, a.row) for a in session.live.answers(name)]


COUNTS = """
CREATE STREAM S (k STRING, ts BIGINT) ORDERED BY ts;
REGISTER QUERY fine AS SELECT k, COUNT(*) AS n FROM S [RANGE 4] GROUP BY k;
"""
ROWS = [[("1", 1), ("1", 2)], [("1", 3), ("b", 4)], [("1", 6)]]


@pytest.mark.parametrize("checkpoint", [False, True])
def test_rows_wait_until_the_query_that_fails_has_left(checkpoint: bool, tmp_path: Path) -> None:
    undisturbed = Session()
    undisturbed.execute(COUNTS)
    undisturbed.start()
    assert undisturbed.live is not None
    for rows in ROWS:
        undisturbed.insert("S", rows)
        undisturbed.live.process()
    undisturbed.live.finish()
    expected = _answers(undisturbed, "fine")
    undisturbed.stop()

    session = Session()
    session.execute(COUNTS + "REGISTER QUERY number AS SELECT CAST(k AS INT) AS n FROM S [RANGE 4];")
    session.start(options=LiveOptions(checkpoint=tmp_path / "state" if checkpoint else None))
    assert session.live is not None
    session.insert("S", ROWS[0])
    session.live.process()
    session.insert("S", ROWS[1])
    for _ in range(2):
        with pytest.raises(EvaluationError):
            session.live.process()
    session.execute("DROP QUERY number")
    session.insert("S", ROWS[2])
    session.live.process()
    session.live.finish()
    found = _answers(session, "fine")
    session.stop()
    forget_memory()
    assert found == expected


class Unsteady(Sink):
    """A sink that cannot be written to now and then."""

    def __init__(self) -> None:
        self.written: dict[int, int] = {}
        self.broken = False

    def write(self, epoch: int, answers: pa.Table) -> None:
        """Takes the answers of an epoch, unless it is broken."""
        if self.broken:
            raise OSError("the disk is full")
        self.written[epoch] = answers.num_rows


def test_a_sink_that_failed_gets_what_it_has_missed() -> None:
    session = Session()
    session.execute(COUNTS)
    (handle,) = session.start()
    assert session.live is not None
    steady, unsteady = Unsteady(), Unsteady()
    handle.foreach(unsteady)
    session.execute("REGISTER QUERY other AS SELECT k FROM S [RANGE 4]")
    next(h for h in session.start() if h.name == "other").foreach(steady)
    for rows, broken in zip(ROWS, [False, True, False], strict=True):
        unsteady.broken = broken
        session.insert("S", rows)
        if broken:
            with pytest.raises(OSError, match="full"):
                session.live.process()
        else:
            session.live.process()
    session.live.finish()
    results = session.live.results("fine")
    session.stop()
    forget_memory()
    assert results is not None
    assert sum(unsteady.written.values()) == results.num_rows
    assert sum(steady.written.values()) == 8


def test_rows_are_not_read_twice_if_something_fails_behind_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session()
    session.execute(COUNTS)
    session.start()
    assert session.live is not None
    manifests = session.live.engine._manifests
    forget = manifests.forget

    def fail_once(_: object) -> None:
        monkeypatch.setattr(manifests, "forget", forget)
        raise KeyboardInterrupt

    monkeypatch.setattr(manifests, "forget", fail_once)
    session.insert("S", [("1", 1), ("1", 2)])
    with pytest.raises(KeyboardInterrupt):
        session.live.process()
    session.insert("S", [("1", 3)])
    session.live.process()
    session.live.finish()
    found = _answers(session, "fine")
    session.stop()
    forget_memory()
    assert max(row[1] for _, _, row in found) == 3  # type: ignore[type-var]


def test_a_sink_that_failed_at_the_end_gets_the_rest_when_it_is_asked_again(tmp_path: Path) -> None:
    session = Session(data=tmp_path)
    session.execute(COUNTS.replace("GROUP BY k", "GROUP BY k INTO json('out')"))
    (handle,) = session.start()
    assert session.live is not None
    unsteady = Unsteady()
    handle.foreach(unsteady)
    session.insert("S", ROWS[0])
    session.live.process()
    unsteady.broken = True
    with pytest.raises(OSError, match="full"):
        session.live.finish()
    unsteady.broken = False
    session.live.process()
    results = session.live.results("fine")
    session.stop()
    forget_memory()
    assert results is not None
    assert sum(unsteady.written.values()) == results.num_rows
    lines = [line for file in (tmp_path / "out").glob("epoch-*") for line in file.read_text().splitlines()]
    assert len(lines) == results.num_rows, "INTO has its own, besides the sink that was given"

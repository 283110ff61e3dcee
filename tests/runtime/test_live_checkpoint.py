"""Checkpoints of live runs: which are refused, whose they are, what is kept of late rows, what the power may do."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from continua.errors import CheckpointError
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runs.live_options import LiveOptions
from continua.runtime.executors.executor import InProcess
from continua.session import Session
from tests.crash.faults import Fault, Stopped, hooked
from tests.crash.world import forget_memory
from tests.runtime.living import BATCHES, DEFINITIONS, FIRST, LATER, THIRD, at, push, refused, session_with


@pytest.fixture(autouse=True)
def _no_memory() -> Iterator[None]:
    yield
    forget_memory()


# What is refused.


def test_a_checkpoint_of_other_queries_is_refused(tmp_path: Path) -> None:
    session = session_with(FIRST, THIRD)
    session.start(options=at(tmp_path))
    push(session, BATCHES[0])
    session.stop()
    error = refused(tmp_path, FIRST)
    assert (error.condition, error.parameters["missing"]) == ("OTHER_QUERIES", ["third"])
    other = FIRST.replace("RANGE 30", "RANGE 31")
    error = refused(tmp_path, other, THIRD)
    assert (error.condition, error.parameters["changed"]) == ("OTHER_QUERIES", ["first"])
    error = refused(tmp_path, "SET start_time = 3;", FIRST, THIRD)
    assert error.parameters["changed"] == ["first", "third"]
    again = session_with(FIRST, THIRD, LATER)
    assert [h.query.start for h in again.start(options=at(tmp_path))] == [0, 0, 6]
    again.stop()


def test_the_checkpoint_of_a_live_run_is_refused_by_a_bounded_one(tmp_path: Path) -> None:
    session = session_with(FIRST)
    session.start(options=at(tmp_path))
    push(session, BATCHES[0])
    session.stop()
    query = session.queries["first"]
    with pytest.raises(CheckpointError) as caught:
        BoundedRun([query], session.inputs.given(query.sources), [], InProcess(), BoundedOptions(None, tmp_path))
    assert caught.value.condition == "LIVE_CHECKPOINT"


def test_a_damaged_list_of_queries_is_named(tmp_path: Path) -> None:
    session = session_with(FIRST)
    session.start(options=at(tmp_path))
    push(session, BATCHES[0])
    session.stop()
    (path,) = (tmp_path / "queries").iterdir()
    path.write_bytes(path.read_bytes().replace(b"first", b"other"))
    error = refused(tmp_path, FIRST)
    assert (error.condition, error.parameters["path"]) == ("FILE_CORRUPT", str(path))


MODULE = """
FACTOR = 2
def helper(x): return x {operator} FACTOR
def changed(x): return helper(x)
class Total:
    def initializer(self, x): return self.one(x)
    def merger(self, state, x): return state + self.one(x)
    def evaluator(self, state): return state
    def one(self, x): return x + {more}
"""
FUNCTIONS = """
CREATE FUNCTION changed(x INT) RETURNS INT LANGUAGE PYTHON AS 'their_code:changed';
CREATE FUNCTION plus(x INT) AS x + {constant};
CREATE FUNCTION unused(x INT) AS x * {constant} {unused};
CREATE AGGREGATE total(x INT) RETURNS INT LANGUAGE PYTHON AS 'their_code:Total';
"""
SCALAR = "REGISTER QUERY q AS SELECT changed(k) AS c, COUNT(*) AS n FROM S [RANGE 9] GROUP BY changed(k);"
INLINED = "REGISTER QUERY q AS SELECT plus(k) AS c, COUNT(*) AS n FROM S [RANGE 9] GROUP BY plus(k);"
AGGREGATE = "REGISTER QUERY q AS SELECT total(k) AS t FROM S [RANGE 9];"


def functions(folder: Path, operator: str = "*", more: int = 0, constant: int = 1, unused: str = "") -> str:
    """The definitions of functions, their module just imported."""
    (folder / "their_code.py").write_text(MODULE.format(operator=operator, more=more))
    sys.modules.pop("their_code", None)
    importlib.invalidate_caches()
    return FUNCTIONS.format(constant=constant, unused=unused)


@pytest.mark.parametrize(
    ("query", "change", "name"),
    [
        (SCALAR, {"operator": "+"}, "changed"),
        (INLINED, {"constant": 2}, "plus"),
        (AGGREGATE, {"more": 1}, "total"),
    ],
    ids=["Python", "SQL", "aggregate"],
)
def test_a_checkpoint_made_with_other_functions_is_refused(
    query: str, change: dict[str, Any], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    checkpoint = tmp_path / "checkpoint"
    session = session_with(functions(tmp_path), query)
    session.start(options=at(checkpoint))
    push(session, BATCHES[0])
    session.stop()
    error = refused(checkpoint, functions(tmp_path, **change), query)
    assert error.condition == "OTHER_FUNCTIONS"
    assert name in error.parameters["functions"]  # type: ignore[operator]
    again = session_with(functions(tmp_path, unused="* 7"), query)
    again.start(options=at(checkpoint))
    push(again, BATCHES[1])
    assert again.live is not None and again.live.engine.epoch_number > 1
    again.stop()


# One driver.


def test_a_checkpoint_is_of_one_driver_at_a_time(tmp_path: Path) -> None:
    session = session_with(FIRST)
    session.start(options=at(tmp_path))
    other = Session()
    other.execute(DEFINITIONS + FIRST)
    with pytest.raises(CheckpointError) as caught:
        other.start(options=at(tmp_path))
    assert caught.value.condition == "CHECKPOINT_IN_USE"
    assert caught.value.parameters["holder"] == str(os.getpid())
    push(session, BATCHES[0])
    session.stop()
    other.start(options=at(tmp_path))
    other.stop()


def test_a_process_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    command = (
        "import os, sys; from pathlib import Path; from continua.runtime.checkpoint.locks import lock;"
        "lock(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", command, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    error = refused(tmp_path, FIRST)
    assert error.parameters["holder"] == str(process.pid)
    process.kill()
    process.communicate()
    session = session_with(FIRST)
    session.start(options=at(tmp_path))
    session.stop()


# Late rows.


def test_late_rows_are_in_a_table_and_in_the_side_file(tmp_path: Path) -> None:
    def begin() -> Session:
        session = session_with(FIRST, rejects=tmp_path / "rejected")
        session.start(options=at(tmp_path / "checkpoint"))
        return session

    side = tmp_path / "rejected" / "S.rejected.jsonl"
    session = begin()
    for batch in ([(1, 20)], [(1, 40)], [(7, 3), (8, 41)], [(9, 4), (9, 5)]):
        push(session, batch)
    assert session.live is not None
    late = [{"k": 7, "ts": 3}, {"k": 9, "ts": 4}, {"k": 9, "ts": 5}]
    assert session.live.late("S").to_pylist() == late
    assert session.live.live.late == {"s": 3}
    lines = [json.loads(line) for line in side.read_text().splitlines()]
    assert [(x["line"], x["reason"], x["values"]) for x in lines] == [
        (1, "late", ["7", "3"]),
        (2, "late", ["9", "4"]),
        (3, "late", ["9", "5"]),
    ]
    session.stop()
    whole = side.read_text()
    side.write_text(whole.splitlines()[0] + "\n")
    session = begin()
    assert side.read_text() == whole, "what a crash left out comes back"
    assert session.live is not None and session.live.live.late == {"s": 3}
    push(session, [(1, 6)])
    assert session.live.late("S").num_rows == 4
    assert len(side.read_text().splitlines()) == 4
    session.stop()


def test_late_rows_of_an_epoch_that_failed_count_once(tmp_path: Path) -> None:
    session = session_with(FIRST, rejects=tmp_path / "rejected")
    session.start(options=at(tmp_path / "checkpoint"))
    push(session, [(1, 40)])
    fault = Fault(1, where=lambda what, path: what == "write" and path.parent.name == "epochs")
    with hooked(fault), pytest.raises(Stopped):
        push(session, [(7, 3), (8, 41)])
    session = session_with(FIRST, rejects=tmp_path / "rejected")
    session.start(options=at(tmp_path / "checkpoint"))
    push(session, [(8, 42)])
    assert session.live is not None
    assert session.live.recovered == {"s": 2}
    assert session.live.late("S").num_rows == 1
    session.stop()


# Power.


def test_what_an_epoch_needs_is_on_the_disk_before_it_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    sync = os.fsync

    def noted(opened: int) -> None:
        synced.append(Path(f"/proc/self/fd/{opened}").readlink())
        sync(opened)

    monkeypatch.setattr(os, "fsync", noted)
    session = session_with(FIRST)
    session.start(options=at(tmp_path))
    push(session, BATCHES[0])
    push(session, BATCHES[1])
    session.stop()
    assert {"state", "results", "epochs", "queries"} <= {
        part.lstrip(".").split(".")[0] for p in synced for part in p.parts
    }
    assert synced[-2].parent == synced[-1] == tmp_path / "epochs", "the manifest comes last, and its folder"
    synced.clear()
    session = session_with(FIRST)
    session.start(options=LiveOptions(checkpoint=tmp_path, durable=False))
    push(session, BATCHES[2])
    session.stop()
    assert synced == []

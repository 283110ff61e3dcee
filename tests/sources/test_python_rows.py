"""Sources by a Python function: rows by offsets, the same whatever the cut, the restarts and who reads them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from continua.errors import BindError, CheckpointError, SourceError, Span
from continua.runs.bounded import BoundedOptions
from continua.runs.live_options import LiveOptions
from continua.session import Session
from continua.sources import planning, python_rows
from tests.crash.world import fresh_process
from tests.sources.test_key_checks import by_engine, by_reference, kept_apart

QUERY = "REGISTER QUERY q AS SELECT k, COUNT(*) AS n, MAX(v) AS m FROM S [RANGE 5] GROUP BY k;"


def session(folder: Path, call: str, more: str = "") -> Session:
    found = Session(data=folder, rejects=folder / "rejected")
    found.execute(f"CREATE STREAM S (k INT, v BIGINT, ts BIGINT) SOURCE {call} ORDERED BY ts {more}; {QUERY}")
    return found


@pytest.mark.parametrize("function", ["squares", "from_here", "as_table"])
@pytest.mark.parametrize(("partitions", "batch"), [(1, None), (3, 7)])
def test_rows_do_not_depend_on_the_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, partitions: int, batch: int | None
) -> None:
    monkeypatch.setattr(planning, "BYTES", 1500)
    found = session(tmp_path, f"python('tests.sources.row_functions:{function}', rows => 50)")
    answers = by_engine(found, BoundedOptions(partitions=partitions, batch_rows=batch))
    assert answers and answers == by_reference(found)


def test_options_are_given_to_the_function(tmp_path: Path) -> None:
    one, three = (
        session(tmp_path, f"python('tests.sources.row_functions:squares', rows => 9{more})")
        for more in ("", ", times => 3")
    )
    best = [max(a.row[2] for a in found.answers()) for found in (one, three)]  # type: ignore[type-var]
    assert best == [64, 192]


def test_a_row_that_is_none_is_told_with_its_offset(tmp_path: Path) -> None:
    found = session(tmp_path, "python('tests.sources.row_functions:with_flaws', rows => 12)", "ON ERROR SKIP")
    assert by_engine(found, BoundedOptions(batch_rows=5)) == by_reference(found)
    assert [line for line, _ in kept_apart(tmp_path, "S")] == [4, 11]


@pytest.mark.parametrize(
    ("call", "condition"),
    [
        ("python('tests.sources.row_functions:too_few', rows => 9)", "SOURCE_FAILED"),
        ("python('tests.sources.row_functions:failing', rows => 9)", "SOURCE_FAILED"),
        ("python('tests.sources.row_functions:nothing', rows => 9)", "BAD_PYTHON_NAME"),
        ("python('nowhere.at.all:f', rows => 9)", "BAD_PYTHON_NAME"),
        ("python('tests.sources.row_functions:squares')", "BAD_OPTION"),
        ("python('tests.sources.row_functions:squares', rows => 9, colour => 3)", "BAD_OPTION"),
        ("python('tests.sources.row_functions:squares', rows => -1)", "BAD_OPTION"),
        ("python('tests.sources.row_functions:squares', rows_per_second => 5)", "ENDLESS_SOURCE"),
        ("python(7, rows => 9)", "BAD_OPTION"),
    ],
)
def test_what_is_wrong_with_a_function_is_told(tmp_path: Path, call: str, condition: str) -> None:
    found = session(tmp_path, call)
    with pytest.raises(SourceError) as by_run:
        by_engine(found, BoundedOptions())
    with pytest.raises(SourceError) as by_judge:
        by_reference(found)
    assert (by_run.value.condition, by_judge.value.condition) == (condition, condition)


def test_a_checkpoint_refuses_another_source_of_the_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "rows_of_a_test.py"
    text = "def rows(first, end):\n    return [(i % 2, i, i) for i in range(first, end)]\n"

    def run() -> object:
        with fresh_process():
            python_rows.imported.cache_clear()
            sys.modules.pop("rows_of_a_test", None)
            found = session(tmp_path, "python('rows_of_a_test:rows', rows => 20)")
            return by_engine(found, BoundedOptions(batch_rows=6, checkpoint=tmp_path / "checkpoint"))

    module.write_text(text)
    first = run()
    assert run() == first
    module.write_text(text.replace("i % 2", "i % 30"))
    with pytest.raises(CheckpointError) as caught:
        run()
    assert caught.value.condition == "SOURCE_CHANGED"


def test_a_live_run_reads_on_behind_a_restart(tmp_path: Path) -> None:
    now = 10_000_000
    pace = "rows_per_second => 10, start => '1970-01-01 00:00:10'"
    call = f"python('tests.sources.row_functions:squares', rows => 30, {pace})"

    def started() -> Session:
        found = Session(clock=lambda: now)
        found.execute(f"CREATE STREAM S (k INT, v BIGINT, ts BIGINT) SOURCE {call} ORDERED BY ts; {QUERY}")
        found.start(options=LiveOptions(checkpoint=tmp_path / "checkpoint"))
        assert found.live is not None
        return found

    found = started()
    now += 1_250_000
    assert found.live is not None
    found.live.process()
    (run,) = found.live.runs.values()
    assert run.engine.positions["s"].latest == 12
    found.stop()
    now += 9_000_000
    with fresh_process():
        again = started()
        assert again.live is not None
        again.live.process()
        live = {(a.instant, a.op, a.row) for a in again.live.answers("q")}
        again.stop()
    bounded = session(tmp_path, "python('tests.sources.row_functions:squares', rows => 30)")
    assert live == {(a.instant, a.op, a.row) for a in bounded.answers()}


# Rows that come once.

PIPES = """
CREATE STREAM OpenAuction (itemID INT, sellerID INT, start_price REAL, timestamp BIGINT)
  SOURCE establishConnection('port34100', 'converter') ORDERED BY timestamp {more};
REGISTER QUERY q AS SELECT itemID, start_price FROM OpenAuction [ROWS 2];
"""
LINES = [b"1;7;1.5;1", b"# nothing", b"2;7;2.5;2", b"3;8;x;3", b"3;8;4.5;4"]


def connected(text: str, folder: Path, lines: list[bytes] = LINES) -> Session:
    """A session that knows the function and the converter of the paper's example."""

    def connection(port: str) -> Iterator[bytes]:
        assert port == "port34100"
        yield from lines

    def converted(line: bytes) -> object:
        parts = line.decode().split(";")
        return None if line.startswith(b"#") else (int(parts[0]), int(parts[1]), float(parts[2]), int(parts[3]))

    found = Session(data=folder, rejects=folder / "rejected")
    found.register_source("establishConnection", connection)
    found.register_converter("converter", converted)
    found.execute(text)
    return found


def test_a_registered_function_and_its_converter_give_the_rows(tmp_path: Path) -> None:
    found = connected(PIPES.format(more="ON ERROR SKIP"), tmp_path)
    answers = by_engine(found, BoundedOptions(batch_rows=1))
    assert len(answers) == 4 and answers == by_reference(found)
    ((line, reason),) = kept_apart(tmp_path, "OpenAuction")
    assert line == 4 and reason.startswith("the converter fails: ValueError")


def test_rows_that_come_once_are_kept_until_they_were_worked_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, options = PIPES.format(more=""), LiveOptions(checkpoint=tmp_path / "checkpoint")
    first = connected(text, tmp_path, [line for line in LINES if b"x" not in line])
    first.start(options=options)
    assert first.live is not None
    (run,) = first.live.runs.values()

    class CrashError(Exception):
        pass

    def crash(*_: object) -> None:
        raise CrashError

    with monkeypatch.context() as patched, pytest.raises(CrashError):
        patched.setattr(run.live, "push", crash)
        while not run.step():
            run.arrivals.news.wait(1)
    first.stop()
    with fresh_process():
        again = connected(text, tmp_path, [])
        again.start(options=options)
        assert again.live is not None
        (run,) = again.live.runs.values()
        count = run.recovered["openauction"]
        assert count
        again.live.finish()
        assert [a.row[0] for a in again.live.answers("q") if a.op == "+"] == [1, 2, 3][:count]
        again.stop()


def test_a_function_without_offsets_is_read_once(tmp_path: Path) -> None:
    found = session(tmp_path, "python('tests.sources.row_functions:once')")
    assert by_engine(found, BoundedOptions(batch_rows=2)) == by_reference(found)
    found.start()
    assert found.live is not None
    (run,) = found.live.runs.values()
    while not run.arrivals.ended:
        run.step()
        run.arrivals.news.wait(1)
    found.live.finish()
    assert len(found.live.answers("q")) == len(found.answers())
    found.stop()


def refusing(port: str) -> list[object]:
    """A connection that does not come about."""
    raise OSError(f"nobody listens at {port}")


def test_what_is_wrong_with_a_registered_function_is_told(tmp_path: Path) -> None:
    found = Session(data=tmp_path)
    with pytest.raises(BindError) as caught:
        found.register_source("csv", list)
    assert caught.value.condition == "BAD_NAME"
    found.register_source("f", refusing)
    with pytest.raises(BindError) as caught:
        found.execute("CREATE STREAM S (k INT, ts BIGINT)\nSOURCE f('a', 'b') ORDERED BY ts;")
    assert (caught.value.condition, caught.value.diagnostics[0].span) == ("BAD_OPTION", Span(2, 8))
    found.execute(
        "CREATE STREAM S (k INT, ts BIGINT) SOURCE f('a') ORDERED BY ts; REGISTER QUERY q AS SELECT k FROM S [NOW];"
    )
    with pytest.raises(SourceError) as failed:
        by_engine(found, BoundedOptions())
    assert failed.value.condition == "SOURCE_FAILED"

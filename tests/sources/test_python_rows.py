"""Sources by a Python function: rows by offsets, the same whatever the cut, the restarts and who reads them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from continua.errors import CheckpointError, SourceError
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
    for run in (lambda: by_engine(found, BoundedOptions()), lambda: by_reference(found)):
        with pytest.raises(SourceError) as caught:
            run()
        assert caught.value.condition == condition


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

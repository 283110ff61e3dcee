"""Runs over files in one process: the same answers whatever the splits, the epochs and the restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from continua.errors import CheckpointError
from continua.running import Options, Run
from continua.runtime import inflow
from continua.runtime.executors import InProcess
from continua.session import Session
from continua.sources import planning
from tests.crash.world import fresh_process
from tests.sources.worlds import bag, expected, session_over, told, write_files


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("size", "epoch", "batch"), [(64, 1 << 30, None), (120, 300, None), (90, 1 << 30, 7)])
@pytest.mark.parametrize("durable", [False, True])
def test_splits_and_epochs_change_no_answer_and_no_rejection(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    size: int,
    epoch: int,
    batch: int | None,
    durable: bool,
) -> None:
    write_files(tmp_path, seed)
    answers, kept_apart = expected(tmp_path)
    monkeypatch.setattr(planning, "BYTES", size)
    monkeypatch.setattr(inflow, "EPOCH_BYTES", epoch)
    session = session_over(tmp_path)
    queries = list(session.queries.values())
    given = session.inputs.given({s for q in queries for s in q.sources})
    options = Options(batch, tmp_path / "checkpoint" if durable else None)
    with fresh_process(), Run(queries, given, [], InProcess(), options, reader=session.inputs) as run:
        run.to_the_end()
        run.tell_kept_apart()
        assert bag(run.answers()) == answers
        assert run.engine.epoch_number > 1 or (epoch > 300 and batch is None)
    assert told(session, tmp_path) == kept_apart


@pytest.mark.parametrize("stop_after", [1, 3])
def test_a_run_over_files_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_after: int
) -> None:
    write_files(tmp_path)
    answers, _ = expected(tmp_path)
    monkeypatch.setattr(planning, "BYTES", 100)
    session = session_over(tmp_path)
    queries = list(session.queries.values())
    sources = {s for q in queries for s in q.sources}
    options = Options(9, tmp_path / "checkpoint", partitions=None)

    class StopError(Exception):
        pass

    def stop(done: object) -> None:
        if getattr(done, "epoch", 0) == stop_after:
            raise StopError

    given = session.inputs.given(sources)
    with fresh_process(), Run(queries, given, [], InProcess(), options) as run, pytest.raises(StopError):
        run.to_the_end(stop)
    session.inputs.forget()
    with fresh_process(), Run(queries, session.inputs.given(sources), [], InProcess(), options) as run:
        assert run.engine.epoch_number == stop_after
        run.to_the_end()
        assert bag(run.answers()) == answers


@pytest.mark.parametrize("change", ["first line gone", "one byte", "shorter", "gone", "grown"])
def test_a_file_that_changed_where_it_was_read_is_refused_and_one_that_grew_is_read_on(
    tmp_path: Path, change: str
) -> None:
    path = tmp_path / "s.csv"
    path.write_text("".join(f"{i},{i}\n" for i in range(20)))
    script = (
        "CREATE STREAM S (k INT, ts BIGINT) SOURCE csv('s.csv') ORDERED BY ts;"
        "SELECT COUNT(*) AS n FROM S [RANGE UNBOUNDED];"
    )
    session = Session(data=tmp_path)
    session.execute(script)
    (query,) = session.queries.values()
    options = Options(5, tmp_path / "checkpoint")
    with fresh_process(), Run([query], session.inputs.given(query.sources), [], InProcess(), options) as run:
        for fed in run._inflow.epochs(run.engine):
            run._epoch(fed, lambda _: None)
            if run.engine.epoch_number == 2:
                break
    text = path.read_text()
    match change:
        case "first line gone":
            path.write_text(text.split("\n", 1)[1])
        case "one byte":
            path.write_text("9" + text[1:])
        case "shorter":
            path.write_text(text[:9])
        case "gone":
            path.rename(tmp_path / "other.csv")
            path.write_text("")
        case _:
            path.write_text(text + "20,20\n")
    session.inputs.forget()
    with fresh_process():
        if change == "grown":
            with Run([query], session.inputs.given(query.sources), [], InProcess(), options) as run:
                run.to_the_end()
                assert run.answers()[-1].row == (21,)
            return
        with pytest.raises(CheckpointError) as caught:
            Run([query], session.inputs.given(query.sources), [], InProcess(), options)
    assert caught.value.condition == "SOURCE_CHANGED"
    assert caught.value.parameters["file"] == "s.csv"

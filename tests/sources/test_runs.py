"""Runs over files in one process: the same answers whatever the splits, the epochs and the restarts."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from continua.errors import CheckpointError, DataError, SourceError
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime import inflow
from continua.runtime.executors.executor import InProcess
from continua.session import Session
from continua.sinks.folder_sink import FolderSink
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
    options = BoundedOptions(batch, tmp_path / "checkpoint" if durable else None)
    with fresh_process(), BoundedRun(queries, given, [], InProcess(), options, reader=session.inputs) as run:
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
    options = BoundedOptions(9, tmp_path / "checkpoint", partitions=None)

    class StopError(Exception):
        pass

    def stop(done: object) -> None:
        if getattr(done, "epoch", 0) == stop_after:
            raise StopError

    given = session.inputs.given(sources)
    with fresh_process(), BoundedRun(queries, given, [], InProcess(), options) as run, pytest.raises(StopError):
        run.to_the_end(stop)
    session.inputs.forget()
    with fresh_process(), BoundedRun(queries, session.inputs.given(sources), [], InProcess(), options) as run:
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
    options = BoundedOptions(5, tmp_path / "checkpoint")
    with fresh_process(), BoundedRun([query], session.inputs.given(query.sources), [], InProcess(), options) as run:
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
            with BoundedRun([query], session.inputs.given(query.sources), [], InProcess(), options) as run:
                run.to_the_end()
                assert run.answers()[-1].row == (21,)
            return
        with pytest.raises(CheckpointError) as caught:
            BoundedRun([query], session.inputs.given(query.sources), [], InProcess(), options)
    assert caught.value.condition == "SOURCE_CHANGED"
    assert caught.value.parameters["file"] == "s.csv"


FORMATS: dict[str, Callable[[Path, int], object]] = {
    "s.csv": lambda path, n: path.write_text("".join(f"{i},{i}\n" for i in range(n))),
    "s.csv.gz": lambda path, n: path.write_bytes(gzip.compress(_lines(n))),
    "s.jsonl": lambda path, n: path.write_text("".join(f'{{"k": {i}, "ts": {i}}}\n' for i in range(n))),
    "s.parquet": lambda path, n: pq.write_table(_table(n), path, row_group_size=4),
    "s.orc": lambda path, n: orc.write_table(_table(n), str(path)),
}


def _lines(n: int) -> bytes:
    return "".join(f"{i},{i}\n\u00a0\n" for i in range(n)).encode()


def _table(n: int) -> pa.Table:
    return pa.table({"k": pa.array(range(n), pa.int32()), "ts": pa.array(range(n), pa.int64())})


def counted(folder: Path, name: str, options: BoundedOptions, stop: int | None = None) -> list[tuple[object, ...]]:
    """The last answer of a count over a file, from where the checkpoint says, perhaps only some epochs of it."""
    form = name.split(".")[1]
    session = Session(data=folder, rejects=folder / "rejected")
    session.execute(f"CREATE STREAM S (k INT, ts BIGINT) SOURCE {form}('{name}') ORDERED BY ts SLACK 50 ON ERROR SKIP;")
    query = session.sql("SELECT COUNT(*) AS n FROM S [RANGE UNBOUNDED]")
    assert query is not None
    with fresh_process(), BoundedRun([query], session.inputs.given(query.sources), [], InProcess(), options) as run:
        for fed in run._inflow.epochs(run.engine):
            run._epoch(fed, lambda _: None)
            if run.engine.epoch_number == stop:
                return []
        return [a.row for a in run.answers()][-1:]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("batches", [(None,), (3,), (5, None), (None, 3), (3, 7, None)])
def test_every_format_is_read_once_however_the_size_of_epochs_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, batches: tuple[int | None, ...]
) -> None:
    FORMATS[name](tmp_path / name, 20)
    monkeypatch.setattr(planning, "BYTES", 60)
    monkeypatch.setattr(inflow, "EPOCH_BYTES", 100)
    found: list[tuple[object, ...]] = []
    for number, batch in enumerate(batches, start=1):
        last = number == len(batches)
        found = counted(tmp_path, name, BoundedOptions(batch, tmp_path / "checkpoint"), None if last else number)
    assert found == [(20,)]


def _reversed(path: Path) -> None:
    """The same rows in another order, in a file of the same kind and, if it is columnar, of the same size."""
    if path.suffix == ".gz":
        lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
        path.write_bytes(gzip.compress(b"".join(reversed(lines))))
    elif path.suffix == ".parquet":
        pq.write_table(pq.read_table(path).take(list(reversed(range(20)))), path, row_group_size=4)
    else:
        orc.write_table(orc.read_table(path).take(list(reversed(range(20)))), str(path))


@pytest.mark.parametrize("name", ["s.csv.gz", "s.parquet", "s.orc"])
def test_a_compressed_or_columnar_file_that_was_replaced_is_refused(tmp_path: Path, name: str) -> None:
    FORMATS[name](tmp_path / name, 20)
    options = BoundedOptions(3, tmp_path / "checkpoint")
    counted(tmp_path, name, options, stop=2)
    _reversed(tmp_path / name)
    with pytest.raises(CheckpointError) as caught:
        counted(tmp_path, name, options)
    assert caught.value.condition == "SOURCE_CHANGED"


@pytest.mark.parametrize("wrong", ["x,4", "xxxxxxxxxxxxxxxxx,4"])
@pytest.mark.parametrize("batch", [None, 3])
def test_after_a_row_was_corrected_the_run_goes_on(tmp_path: Path, wrong: str, batch: int | None) -> None:
    path = tmp_path / "s.csv"
    before, after = "".join(f"{i},{i}\n" for i in range(4)), "5,5555\n6,6666\n"
    session = Session(data=tmp_path)
    session.execute("CREATE STREAM S (k INT, ts BIGINT) SOURCE csv('s.csv') ORDERED BY ts;")
    query = session.sql("SELECT COUNT(*) AS n, MAX(k) AS m FROM S [RANGE UNBOUNDED]")
    assert query is not None
    options = BoundedOptions(batch, tmp_path / "checkpoint")
    path.write_text(before + wrong + "\n" + after)
    given = session.inputs.given(query.sources)
    with fresh_process(), BoundedRun([query], given, [], InProcess(), options) as run, pytest.raises(DataError):
        run.to_the_end()
    path.write_text(before + "4444,4\n" + after)
    session.inputs.forget()
    with fresh_process(), BoundedRun([query], session.inputs.given(query.sources), [], InProcess(), options) as run:
        run.to_the_end()
        assert [(a.instant, a.row) for a in run.answers()][-1] == (6666, (7, 4444))


def test_a_stream_by_arrival_can_be_cut_into_epochs_of_a_coarse_chronon(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("".join(f"{i}\n" for i in range(9)))
    session = Session(data=tmp_path, clock=lambda: 1_700_000_000_500_000)
    session.execute("SET chronon = '1 second'; CREATE STREAM S (k INT) SOURCE csv('s.csv', header => false);")
    query = session.sql("SELECT COUNT(*) AS n FROM S [RANGE UNBOUNDED]")
    assert query is not None
    with BoundedRun([query], session.inputs.given(query.sources), [], InProcess(), BoundedOptions(3)) as run:
        run.to_the_end()
        assert run.answers()[-1].row == (9,)


def test_two_queries_cannot_write_to_one_folder(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("1,1\n")
    session = Session(data=tmp_path)
    session.execute("CREATE STREAM S (k INT, ts BIGINT) SOURCE csv('s.csv') ORDERED BY ts;")
    session.execute("SELECT k FROM S [NOW]; SELECT COUNT(*) AS n FROM S [NOW];")
    queries = list(session.queries.values())
    sinks = {q.name: FolderSink("json", tmp_path / "out") for q in queries}
    with pytest.raises(SourceError) as caught:
        BoundedRun(queries, session.inputs.given(queries[0].sources), [], InProcess(), BoundedOptions(), sinks)
    assert caught.value.condition == "SINK_SHARED"

"""Files on Spark: tasks read splits, whatever the cut, and what comes out is what the reference says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from continua.errors import DataError
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime import inputs
from continua.runtime.executors.on_spark import OnSpark
from continua.session import Session
from continua.sinks.folder_sink import FolderSink
from continua.sources import given as given_inputs
from continua.sources import planning, stretches
from continua.sources.split_readings import Reading
from tests.sources.worlds import bag, expected, session_over, told, write_files
from tests.spark.in_files import Moves, moving


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[list[Reading]]:
    """The readings of every round."""
    found: list[list[Reading]] = []
    original: Callable[..., object] = OnSpark._readings

    def noted(self: OnSpark, job: object, some: list[Reading], folder: object = None) -> object:
        found.append(list(some))
        return original(self, job, some, folder)

    monkeypatch.setattr(OnSpark, "_readings", noted)
    return found


@pytest.mark.parametrize(
    ("size", "moves", "batch"),
    [
        (90, Moves.THROUGH_EXCHANGES, None),
        (90, Moves.IN_FILES, None),
        (400, Moves.THROUGH_DRIVER, None),
        (150, Moves.THROUGH_EXCHANGES, 25),
    ],
)
def test_files_are_read_by_splits_on_spark(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    readings: list[list[Reading]],
    size: int,
    moves: Moves,
    batch: int | None,
) -> None:
    write_files(tmp_path)
    answers, kept_apart = expected(tmp_path)
    monkeypatch.setattr(planning, "BYTES", size)
    moving(monkeypatch, moves)
    session = session_over(tmp_path)
    queries = list(session.queries.values())
    given = session.inputs.given({s for q in queries for s in q.sources})
    assert not given.tables and set(given.files) == {"s", "p", "f", "r", "m", "u", "v"}
    with BoundedRun(queries, given, [], OnSpark(spark), BoundedOptions(batch), reader=session.inputs) as run:
        run.to_the_end()
        run.tell_kept_apart()
        found = bag(run.answers())
    assert found == answers
    assert told(session, tmp_path) == kept_apart
    if batch is None:
        first, *again = readings
        assert len(first) > 5
        assert again and all(len(more) < len(first) for more in again), "only some splits are read again"
        sources = {r.source for more in again for r in more}
        assert "s" in sources <= {"s", "f", "m", "u", "v"}, "no row of p and r is late"


def test_a_row_that_is_not_allowed_is_told_with_its_line_and_nothing_comes_out(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s.csv").write_text("".join(f"{i},{i}\n" for i in range(50)) + "51,x\n52,52\n")
    monkeypatch.setattr(planning, "BYTES", 40)
    moving(monkeypatch, Moves.IN_FILES)
    session = Session(data=tmp_path)
    session.execute("CREATE STREAM S (k INT, ts BIGINT) SOURCE csv('s.csv') ORDERED BY ts;")
    session.execute("SELECT k, COUNT(*) AS n FROM S [RANGE 5] GROUP BY k;")
    queries = list(session.queries.values())
    given = session.inputs.given(queries[0].sources)
    with BoundedRun(queries, given, [], OnSpark(spark), BoundedOptions()) as run, pytest.raises(DataError) as caught:
        run.to_the_end()
    assert caught.value.condition == "MALFORMED_ROW"
    assert (caught.value.parameters["file"], caught.value.parameters["line"]) == ("s.csv", 51)


@pytest.mark.parametrize("moves", [Moves.THROUGH_EXCHANGES, Moves.IN_FILES])
def test_what_a_split_seems_to_hold_counts_only_if_it_was_read_rightly(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: Moves
) -> None:
    """Lines within quotes are no rows, and a late row is not worked on: neither makes the run fail."""
    text = "".join(f'"a{i}\nb,c,d\n",{i},{i}\n' for i in range(20)) + '"x",late,3\n"y",21,21\n'
    (tmp_path / "s.csv").write_text(text)
    monkeypatch.setattr(planning, "BYTES", 50)
    moving(monkeypatch, moves)
    session = Session(data=tmp_path, rejects=tmp_path / "rejected")
    session.execute("CREATE STREAM S (s STRING, n STRING, ts BIGINT) SOURCE csv('s.csv') ORDERED BY ts;")
    session.execute("SELECT SUM(CAST(n AS INT)) AS total FROM S [RANGE UNBOUNDED];")
    queries = list(session.queries.values())
    with BoundedRun(queries, session.inputs.given(queries[0].sources), [], OnSpark(spark), BoundedOptions()) as run:
        run.to_the_end()
        assert run.answers()[-1].row == (sum(range(20)) + 21,)


def test_the_driver_reads_no_row(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path)
    session = session_over(tmp_path)
    queries = list(session.queries.values())

    def read(*_: object) -> None:
        raise AssertionError("a split is read in the driver")

    for module in (stretches, inputs, given_inputs):
        monkeypatch.setattr(module, "read_split", read)
    given = session.inputs.given({s for q in queries for s in q.sources})
    sinks = {q.name: FolderSink("parquet", tmp_path / "out" / q.name) for q in queries}
    with BoundedRun(queries, given, [], OnSpark(spark), BoundedOptions(partitions=None), sinks) as run:
        run.to_the_end()
        assert all(run.engine.results(q.name) is None for q in queries), "results are in the sinks alone"
    monkeypatch.undo()
    found = {q.name: sum(pq.read_table(f).num_rows for f in (tmp_path / "out" / q.name).iterdir()) for q in queries}
    assert found == dict(Counter(a.query for a in session_over(tmp_path).answers()))

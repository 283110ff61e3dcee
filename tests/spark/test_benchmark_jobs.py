"""What benchmarks compare with, and live sessions of benchmarks whose rows are streamed."""

from __future__ import annotations

from pathlib import Path

from benchmarks.checkouts import this_checkout
from benchmarks.live import ROWS, LiveBids
from benchmarks.sides import IN_PROCESS, command_side, spark_side
from benchmarks.spark_job import do
from click.testing import CliRunner
from pyspark.sql import SparkSession

from benchmarks import throughput
from continua.cli.main import main

COUNTS = "SELECT auction, COUNT(*) AS bids FROM bid [RANGE 500] GROUP BY auction"


def test_spark_alone_answers_the_same(spark: SparkSession, tmp_path: Path) -> None:
    throughput.write_sources(tmp_path, 1_000)
    for case in throughput.CASES:
        if case.plain:
            do(spark, case.job, tmp_path)
            mine, sparks = command_side(this_checkout(), throughput.ANSWERS, case.script), spark_side(case.job)
            mine.command(tmp_path)
            script = str(tmp_path / f"{throughput.ANSWERS}.sql")
            result = CliRunner().invoke(main, ["run", script, "--master", IN_PROCESS], catch_exceptions=False)
            assert result.exit_code == 0, result.stderr
            assert mine.rows(tmp_path).equals(sparks.rows(tmp_path))
            mine.forget(tmp_path)
            sparks.forget(tmp_path)


def test_the_floor_moves_the_rows_to_nowhere(spark: SparkSession, tmp_path: Path) -> None:
    throughput.write_sources(tmp_path, 1_000)
    before = sorted(tmp_path.iterdir())
    join = next(case for case in throughput.CASES if case.name == "join")
    do(spark, join.job, tmp_path)
    assert sorted(tmp_path.iterdir()) == before


def test_a_streamed_batch_is_one_epoch(spark: SparkSession, tmp_path: Path) -> None:
    queries = LiveBids([COUNTS], "local[2]", files=tmp_path / "files")
    assert queries.session.spark is spark
    queries.fill(700)
    first, second = queries.batches(2)
    queries.stop()
    for batch in (first, second):
        assert [p["numInputRows"] for p in batch.progress] == [ROWS]
        assert 0 < batch.engine < batch.seconds
    assert second.answers > ROWS

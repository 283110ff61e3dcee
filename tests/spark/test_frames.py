"""Sources that Spark reads: any of its formats, and its tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from continua.errors import DataError, SourceError
from continua.running import Options, Run
from continua.runtime.executors import InProcess
from continua.runtime.on_spark import OnSpark
from continua.session import Session
from tests.sources.worlds import bag

QUERIES = """
SELECT S.k, COUNT(*) AS n FROM S [RANGE 4] GROUP BY S.k;
SELECT S.k, P.y FROM S [RANGE 3], P [RANGE 3] WHERE S.k = P.k;
SELECT RSTREAM k FROM S [NOW] WHERE k > 1;
"""


def session_over(spark: SparkSession, folder: Path, more: str = "") -> Session:
    """A stream that Spark reads from JSON, and one that is a table of its."""
    rows = [(i % 4, i // 2, "x") for i in range(40)]
    spark.createDataFrame(rows, "k int, ts long, other string").write.mode("overwrite").json(str(folder / "s"))
    spark.createDataFrame([(i % 4, i, i) for i in range(20)], "k int, Y long, ts int").createOrReplaceTempView("p_rows")
    session = Session(spark=spark, data=folder)
    session.execute(
        f"CREATE STREAM S (k INT, ts BIGINT) SOURCE spark('json', path => '{folder / 's'}') ORDERED BY ts {more};"
        "CREATE STREAM P (k INT, y BIGINT, ts BIGINT) SOURCE table('p_rows') ORDERED BY ts;" + QUERIES
    )
    return session


@pytest.mark.parametrize("batch", [None, 5])
def test_frames_have_the_answers_of_the_reference(spark: SparkSession, tmp_path: Path, batch: int | None) -> None:
    session = session_over(spark, tmp_path)
    queries = list(session.queries.values())
    given = session.inputs.given({s for q in queries for s in q.sources})
    assert set(given.frames) == {"s", "p"} and not given.tables
    with Run(queries, given, [], OnSpark(spark), Options(batch)) as run:
        run.to_the_end()
        assert bag(run.answers()) == bag(session.answers())


def test_a_row_without_a_time_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    session = session_over(spark, tmp_path)
    spark.createDataFrame([(1, None), (2, 3)], "k int, ts long").write.mode("overwrite").json(str(tmp_path / "s"))
    queries = [session.queries["q1"]]
    with (
        Run(queries, session.inputs.given(queries[0].sources), [], OnSpark(spark), Options()) as run,
        pytest.raises((DataError, SourceError)) as caught,
    ):
        run.to_the_end()
    assert caught.value.condition == "NULL_TIMESTAMP"


def test_a_row_that_is_skipped_is_told(spark: SparkSession, tmp_path: Path) -> None:
    session = session_over(spark, tmp_path, "ON ERROR SKIP")
    spark.createDataFrame([(1, None), (2, 3)], "k int, ts long").write.mode("overwrite").json(str(tmp_path / "s"))
    query = session.queries["q1"]
    given = session.inputs.given(query.sources)
    with Run([query], given, [], OnSpark(spark), Options(), reader=session.inputs) as run:
        run.to_the_end()
        run.tell_kept_apart()
        assert {a.row for a in run.answers()} == {(2, 1)}
    assert [(n.condition, n.parameters["count"]) for n in session.inputs.notices] == [("ROWS_SKIPPED", 1)]


def test_rows_that_are_inserted_come_besides_those_of_a_frame(spark: SparkSession, tmp_path: Path) -> None:
    session = session_over(spark, tmp_path)
    session.insert("S", [(7, 100)])
    query = session.queries["q1"]
    given = session.inputs.given(query.sources)
    with Run([query], given, [], OnSpark(spark), Options()) as run:
        run.to_the_end()
        assert bag(run.answers()) == bag(session.answers([query]))
        assert {a.row[0] for a in run.answers()} == {0, 1, 2, 3, 7}


def test_what_spark_cannot_read_is_told(spark: SparkSession, tmp_path: Path) -> None:
    session = Session(spark=spark, data=tmp_path)
    session.execute("CREATE STREAM S (k INT, ts BIGINT) SOURCE table('no_such_table') ORDERED BY ts;")
    query = session.sql("SELECT k FROM S [NOW]")
    assert query is not None
    with (
        Run([query], session.inputs.given(query.sources), [], OnSpark(spark), Options()) as run,
        pytest.raises(SourceError) as caught,
    ):
        run.to_the_end()
    assert caught.value.condition == "SOURCE_NOT_READABLE"


def test_without_spark_such_a_source_is_refused(tmp_path: Path) -> None:
    session = Session(data=tmp_path, master="none")
    session.execute("CREATE STREAM S (k INT, ts BIGINT) SOURCE spark('json', path => 'x') ORDERED BY ts;")
    query = session.sql("SELECT k FROM S [NOW]")
    assert query is not None
    with pytest.raises(SourceError) as caught:
        Run([query], session.inputs.given(query.sources), [], InProcess(), Options())
    assert caught.value.condition == "NEEDS_SPARK"

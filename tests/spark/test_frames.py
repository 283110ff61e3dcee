"""Sources that Spark reads: any of its formats, and its tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from continua.algebra.expr import Expr
from continua.errors import DataError, SourceError
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime import row_blocks
from continua.runtime.executors import on_spark
from continua.runtime.executors.executor import InProcess
from continua.runtime.executors.frame_rows import frame_of
from continua.runtime.executors.on_spark import OnSpark
from continua.session import Session
from continua.sources.frame_sources import FrameSource
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
    with BoundedRun(queries, given, [], OnSpark(spark), BoundedOptions(batch)) as run:
        run.to_the_end()
        assert bag(run.answers()) == bag(session.answers())


def test_a_row_without_a_time_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    session = session_over(spark, tmp_path)
    spark.createDataFrame([(1, None), (2, 3)], "k int, ts long").write.mode("overwrite").json(str(tmp_path / "s"))
    queries = [session.queries["q1"]]
    with (
        BoundedRun(queries, session.inputs.given(queries[0].sources), [], OnSpark(spark), BoundedOptions()) as run,
        pytest.raises((DataError, SourceError)) as caught,
    ):
        run.to_the_end()
    assert caught.value.condition == "NULL_TIMESTAMP"


def test_a_row_that_is_skipped_is_told(spark: SparkSession, tmp_path: Path) -> None:
    session = session_over(spark, tmp_path, "ON ERROR SKIP")
    spark.createDataFrame([(1, None), (2, 3)], "k int, ts long").write.mode("overwrite").json(str(tmp_path / "s"))
    query = session.queries["q1"]
    given = session.inputs.given(query.sources)
    with BoundedRun([query], given, [], OnSpark(spark), BoundedOptions(), reader=session.inputs) as run:
        run.to_the_end()
        run.tell_kept_apart()
        assert {a.row for a in run.answers()} == {(2, 1)}
    assert [(n.condition, n.parameters["count"]) for n in session.inputs.notices] == [("ROWS_SKIPPED", 1)]


def test_rows_that_are_inserted_come_besides_those_of_a_frame(spark: SparkSession, tmp_path: Path) -> None:
    session = session_over(spark, tmp_path)
    session.insert("S", [(7, 100)])
    query = session.queries["q1"]
    given = session.inputs.given(query.sources)
    with BoundedRun([query], given, [], OnSpark(spark), BoundedOptions()) as run:
        run.to_the_end()
        assert bag(run.answers()) == bag(session.answers([query]))
        assert {a.row[0] for a in run.answers()} == {0, 1, 2, 3, 7}


def test_rows_that_are_here_are_read_in_several_epochs_beside_a_frame(spark: SparkSession, tmp_path: Path) -> None:
    session = session_over(spark, tmp_path)
    session.execute("CREATE STREAM I (k INT, ts BIGINT) ORDERED BY ts;")
    session.insert("I", [(i % 4, i) for i in range(12)])
    query = session.sql("SELECT S.k, I.ts FROM S [RANGE 3], I [RANGE 3] WHERE S.k = I.k")
    assert query is not None
    options = BoundedOptions(5, tmp_path / "checkpoint")
    with BoundedRun([query], session.inputs.given(query.sources), [], OnSpark(spark), options) as run:
        run.to_the_end()
        assert run.engine.epoch_number > 1
        assert bag(run.answers()) == bag(session.answers([query]))


def test_what_spark_cannot_read_is_told(spark: SparkSession, tmp_path: Path) -> None:
    session = Session(spark=spark, data=tmp_path)
    session.execute("CREATE STREAM S (k INT, ts BIGINT) SOURCE table('no_such_table') ORDERED BY ts;")
    query = session.sql("SELECT k FROM S [NOW]")
    assert query is not None
    with (
        BoundedRun([query], session.inputs.given(query.sources), [], OnSpark(spark), BoundedOptions()) as run,
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
        BoundedRun([query], session.inputs.given(query.sources), [], InProcess(), BoundedOptions())
    assert caught.value.condition == "NEEDS_SPARK"


PARTITIONED = """
CREATE STREAM S (p INT, o BIGINT, v INT, ts BIGINT) {source} ORDERED BY ts SLACK 1 PARTITIONED BY p OFFSET o;
SELECT v FROM S [ROWS 3];
SELECT p, SUM(v) AS v FROM S [RANGE 4] GROUP BY p;
"""
ROWS = [
    (part, offset, 100 * part + offset, max(offset // 2 + 3 * part - (3 if (offset + part) % 7 == 6 else 0), 0))
    for part in range(3)
    for offset in range(20)
]
LATE = [(part, offset, v, ts) for part, offset, v, ts in ROWS if (offset + part) % 7 == 6]


def told(session: Session) -> dict[str, object]:
    """Of each notice the count of rows."""
    return {n.condition: n.parameters["count"] for n in session.inputs.notices}


@pytest.mark.parametrize("cut", [1, 5])
def test_columns_tell_the_partitions_and_offsets_of_a_frame(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    """However Spark has cut and mixed the rows, they are in the order of their offsets, and late by that."""
    shuffled = sorted(ROWS, key=lambda row: (row[1] * 7919) % 61)
    spark.createDataFrame(shuffled, "p int, o long, v int, ts long").repartition(cut).createOrReplaceTempView("rows")
    if cut > 1:
        gathered = row_blocks.gathered
        monkeypatch.setattr(on_spark, "gathered", lambda batches: gathered(batches, 7))
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "3")
    reference = Session(data=tmp_path, rejects=tmp_path / "rejected")
    reference.execute(PARTITIONED.format(source=""))
    reference.insert("S", ROWS)
    expected = bag(reference.answers())
    session = Session(spark=spark, data=tmp_path, rejects=tmp_path / "rejected")
    session.execute(PARTITIONED.format(source="SOURCE table('rows')"))
    queries = list(session.queries.values())
    given = session.inputs.given(queries[0].sources)
    try:
        with BoundedRun(queries, given, [], OnSpark(spark), BoundedOptions(), reader=session.inputs) as run:
            run.to_the_end()
            run.tell_kept_apart()
            assert bag(run.answers()) == expected
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert told(session) == told(reference) == {"TIMESTAMP_OUT_OF_ORDER": len(LATE)}


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How Spark reads the frames of a run."""
    found: list[str] = []

    def noted(spark: SparkSession, source: FrameSource, asked: Expr | None = None) -> DataFrame:
        frame = frame_of(spark, source, asked)
        found.append(frame._jdf.queryExecution().executedPlan().toString())
        return frame

    monkeypatch.setattr(on_spark, "frame_of", noted)
    return found


@pytest.mark.parametrize(
    ("queries", "pushed"),
    [
        ("SELECT k FROM S [NOW] WHERE k > 1", "GreaterThan(k,1)"),
        ("SELECT name FROM S [RANGE 2] WHERE name = 'b' AND k IN (1, 2)", "EqualTo(name,b)"),
        ("SELECT k FROM S [NOW] WHERE k > 1; SELECT COUNT(*) AS n FROM S [NOW] WHERE k = 0", "Or("),
        ("SELECT k FROM S [NOW] WHERE k > 1; SELECT COUNT(*) AS n FROM S [NOW]", ""),
        ("SELECT k FROM S [NOW] WHERE CAST(name AS INT) > 1", ""),
    ],
)
def test_what_all_queries_ask_is_left_to_spark(
    spark: SparkSession, tmp_path: Path, plans: list[str], queries: str, pushed: str
) -> None:
    rows = [(i % 4, "abc"[i % 3] if i % 5 else None, i // 2) for i in range(60)]
    if "CAST" in queries:
        rows = [(k, "1", ts) for k, _, ts in rows]
    spark.createDataFrame(rows, "k int, name string, ts long").write.parquet(str(tmp_path / "s"))
    session = Session(spark=spark, data=tmp_path)
    source = f"SOURCE spark('parquet', path => '{tmp_path / 's'}')"
    session.execute(f"CREATE STREAM S (k INT, name STRING, ts BIGINT) {source} ORDERED BY ts; {queries};")
    found = list(session.queries.values())
    with BoundedRun(found, session.inputs.given(found[0].sources), [], OnSpark(spark), BoundedOptions()) as run:
        run.to_the_end()
        assert bag(run.answers()) == bag(session.answers())
    (plan,) = plans
    assert (pushed or "PushedFilters: []") in plan


@pytest.mark.parametrize("row", [(9, None), (9, -5), (9, 1 << 62)])
def test_a_row_that_nobody_asks_for_is_refused_all_the_same(
    spark: SparkSession, tmp_path: Path, plans: list[str], row: tuple[int, int | None]
) -> None:
    spark.createDataFrame([(1, 1), row], "k int, ts long").write.parquet(str(tmp_path / "s"))
    session = Session(spark=spark, data=tmp_path)
    source = f"SOURCE spark('parquet', path => '{tmp_path / 's'}')"
    session.execute(f"CREATE STREAM S (k INT, ts BIGINT) {source} ORDERED BY ts;")
    query = session.sql("SELECT k FROM S [NOW] WHERE k < 5")
    assert query is not None
    given = session.inputs.given(query.sources)
    with (
        BoundedRun([query], given, [], OnSpark(spark), BoundedOptions()) as run,
        pytest.raises((DataError, SourceError)),
    ):
        run.to_the_end()
    assert "LessThan(k,5)" in plans[0]


def test_texts_that_spark_compares_in_another_way_are_not_left_to_it(
    spark: SparkSession, tmp_path: Path, plans: list[str]
) -> None:
    rows = spark.createDataFrame([("abc", "ABC", 1), ("x", "y", 2)], "s string, u string, ts long")
    rows.selectExpr("s COLLATE UTF8_LCASE AS s", "u COLLATE UTF8_LCASE AS u", "ts").createOrReplaceTempView("folded")
    session = Session(spark=spark, data=tmp_path)
    session.execute("CREATE STREAM S (s STRING, u STRING, ts BIGINT) SOURCE table('folded') ORDERED BY ts;")
    query = session.sql("SELECT ISTREAM s FROM S [NOW] WHERE s <> u AND s <> 'ABC'")
    assert query is not None
    with BoundedRun([query], session.inputs.given(query.sources), [], OnSpark(spark), BoundedOptions()) as run:
        run.to_the_end()
        assert {a.row for a in run.answers()} == {("abc",), ("x",)}
    assert "Filter" not in plans[0]

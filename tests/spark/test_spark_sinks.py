"""INTO table(...) and INTO spark(...): what Spark writes has the answers of every epoch once."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from continua.errors import ContinuaError, SourceError
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runs.live_options import LiveOptions
from continua.runtime.executors.executor import InProcess
from continua.runtime.executors.on_spark import OnSpark
from continua.session import Session
from continua.sinks.by_spark import SparkSink
from continua.sinks.named import sink_for
from continua.sinks.spark_delivery import SparkDelivery

ROWS = [(i % 5, f"v{i % 3}", i) for i in range(40)]
STREAM = "CREATE STREAM S (k INT, v STRING, ts TIMESTAMP) SOURCE csv('s.csv') ORDERED BY ts;"
QUERIES = {
    "counted": "SELECT k, COUNT(*) AS n, MAX(ts) AS last FROM S [RANGE 6] GROUP BY k",
    "mapped": "SELECT ISTREAM k, v, CAST(k AS DECIMAL(9, 2)) AS d, ARRAY(k, k + 1) AS a FROM S [NOW] WHERE k > 1",
    "tagged": "SELECT STREAMED k, COUNT(*) AS n FROM S [RANGE 6] GROUP BY k",
    "many": "SELECT v FROM S [RANGE 9]",
}


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    name = f"answers_{uuid.uuid4().hex}"
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.fixture
def database(spark: SparkSession) -> Callable[[], DataFrame]:
    """A table of a database that lives in the memory of the JVM."""
    options = {"url": f"jdbc:derby:memory:{uuid.uuid4().hex};create=true", "dbtable": "ANSWERS"}

    def read() -> DataFrame:
        return spark.read.format("jdbc").options(**options).load()

    read.options = options  # type: ignore[attr-defined]
    return read


def session_over(spark: SparkSession | None, folder: Path, name: str, into: str) -> Session:
    lines = [f"{k},{v},2024-01-01T00:00:{i:02d}Z\n" for k, v, i in ROWS]
    (folder / "s.csv").write_text("k,v,ts\n" + "".join(lines), encoding="utf-8")
    session = Session(spark=spark, data=folder) if spark is not None else Session(master="none", data=folder)
    session.execute(f"{STREAM} REGISTER QUERY {name} AS {QUERIES[name]} INTO {into};")
    return session


def run_of(session: Session, spark: SparkSession | None, folder: Path, options: BoundedOptions) -> BoundedRun:
    queries = list(session.queries.values())
    given = session.inputs.given({s for q in queries for s in q.sources})
    sinks = {q.name: sink for q in queries if (sink := sink_for(q.sink, folder)) is not None}
    executor = InProcess() if spark is None else OnSpark(spark)
    return BoundedRun(queries, given, [], executor, options, sinks)


def expected(session: Session, name: str) -> Counter[str]:
    """The answers by the definition, as they are written."""
    query = session.queries[name]
    found: Counter[str] = Counter()
    for answer in session.answers([query]):
        row = dict(zip(answer.columns, answer.row, strict=True))
        found[repr((answer.op, *(row.get(c) if c not in ("last", "a") else None for c in query.columns)))] += 1
    return found


def written(rows: DataFrame, columns: tuple[str, ...]) -> Counter[str]:
    has_op = "op" in [c.lower() for c in rows.columns]
    found: Counter[str] = Counter()
    for row in rows.collect():
        values = {k.lower(): v for k, v in row.asDict().items()}
        op = values["op"] if has_op else None
        found[repr((op, *(values[c] if c not in ("last", "a") else None for c in columns)))] += 1
    return found


@pytest.mark.parametrize("name", list(QUERIES))
@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_table_has_the_answers(spark: SparkSession, tmp_path: Path, table: str, name: str, checkpoint: bool) -> None:
    session = session_over(spark, tmp_path, name, f"table('{table}')")
    options = BoundedOptions(15, tmp_path / "ck" if checkpoint else None)
    with run_of(session, spark, tmp_path, options) as run:
        run.to_the_end()
    rows, columns = spark.table(table), session.queries[name].columns
    assert rows.columns[0] == "t" and rows.columns[-1] == "epoch"
    assert written(rows, columns) == expected(session, name)
    assert rows.select("epoch").distinct().count() > 1
    if checkpoint:
        with run_of(session, spark, tmp_path, options) as run:
            run.to_the_end()
        assert written(spark.table(table), columns) == expected(session, name)


def test_a_database_has_the_answers(spark: SparkSession, tmp_path: Path, database: Callable[[], DataFrame]) -> None:
    options = ", ".join(f"{k} => '{v}'" for k, v in database.options.items())  # type: ignore[attr-defined]
    session = session_over(spark, tmp_path, "counted", f"spark('jdbc', {options})")
    with run_of(session, spark, tmp_path, BoundedOptions(15, tmp_path / "ck")) as run:
        run.to_the_end()
    assert written(database(), session.queries["counted"].columns) == expected(session, "counted")


class _Stopped(BaseException):
    """The process ends."""


@pytest.mark.parametrize("when", ["before", "after", "half"])
def test_an_epoch_whose_writing_was_interrupted_is_there_once(
    spark: SparkSession, tmp_path: Path, table: str, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    session = session_over(spark, tmp_path, "counted", f"table('{table}')")
    options, real, calls = BoundedOptions(15, tmp_path / "ck"), SparkSink.append, [0]

    def stopped(self: SparkSink, rows: DataFrame) -> None:
        calls[0] += 1
        if calls[0] == 2:
            if when != "before":
                real(self, rows if when == "after" else rows.limit(1))
            raise _Stopped
        real(self, rows)

    with monkeypatch.context() as patched:
        patched.setattr(SparkSink, "append", stopped)
        with pytest.raises(_Stopped), run_of(session, spark, tmp_path, options) as run:
            run.to_the_end()
    if when == "half":
        with pytest.raises(SourceError) as caught, run_of(session, spark, tmp_path, options) as run:
            run.to_the_end()
        assert caught.value.condition == "SINK_DOUBTFUL"
        epoch = caught.value.diagnostics[0].parameters["epoch"]
        kept = spark.table(table).where(f"epoch <> {epoch}").collect()
        columns = spark.table(table).schema
        spark.sql(f"DROP TABLE {table}")
        spark.createDataFrame(kept, columns).write.saveAsTable(table)
    with run_of(session, spark, tmp_path, options) as run:
        run.to_the_end()
    assert written(spark.table(table), session.queries["counted"].columns) == expected(session, "counted")


def test_without_a_checkpoint_nothing_is_written_by_a_run_that_fails(
    spark: SparkSession, tmp_path: Path, table: str
) -> None:
    session = session_over(spark, tmp_path, "mapped", f"table('{table}')")
    session.execute("REGISTER QUERY bad AS SELECT ISTREAM 1 / (k - 4) AS x FROM S [NOW] WHERE CAST(v AS INT) > 0;")
    with pytest.raises(ContinuaError), run_of(session, spark, tmp_path, BoundedOptions(5)) as run:
        run.to_the_end()
    assert not spark.catalog.tableExists(table)


def test_a_table_with_rows_of_others_is_refused(spark: SparkSession, tmp_path: Path, table: str) -> None:
    spark.range(3).write.saveAsTable(table)
    session = session_over(spark, tmp_path, "mapped", f"table('{table}')")
    with pytest.raises(SourceError) as caught, run_of(session, spark, tmp_path, BoundedOptions()) as run:
        run.to_the_end()
    assert caught.value.condition == "SINK_NOT_EMPTY"


@pytest.mark.parametrize(
    ("into", "condition"),
    [("spark('no_such_format')", "SINK_NOT_WRITABLE"), ("table('no.such.catalog.x')", "SINK_NOT_WRITABLE")],
)
def test_what_spark_cannot_write_is_told(spark: SparkSession, tmp_path: Path, into: str, condition: str) -> None:
    session = session_over(spark, tmp_path, "mapped", into)
    with pytest.raises(ContinuaError) as caught, run_of(session, spark, tmp_path, BoundedOptions()) as run:
        run.to_the_end()
    assert caught.value.condition == condition
    assert "\n" not in caught.value.diagnostics[0].message


def test_without_spark_it_is_refused(tmp_path: Path) -> None:
    session = session_over(None, tmp_path, "mapped", "table('x')")
    with pytest.raises(SourceError) as caught, run_of(session, None, tmp_path, BoundedOptions()) as run:
        run.to_the_end()
    assert caught.value.condition == "NEEDS_SPARK"


@pytest.mark.parametrize("name", ["counted", "tagged"])
def test_a_live_query_writes_to_a_table_and_goes_on_after_a_restart(
    spark: SparkSession, tmp_path: Path, table: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def started() -> Session:
        session = Session(spark=spark, data=tmp_path)
        session.execute("CREATE STREAM S (k INT, v STRING, ts BIGINT) ORDERED BY ts;")
        session.execute(f"REGISTER QUERY {name} AS {QUERIES[name]} INTO table('{table}');")
        session.start(options=LiveOptions(checkpoint=tmp_path / "ck"))
        return session

    session = started()
    assert session.live is not None
    session.insert("S", ROWS[:15])
    session.live.process()
    with monkeypatch.context() as patched, pytest.raises(OSError, match="down"):
        patched.setattr(SparkDelivery, "_write_down", lambda *_: (_ for _ in ()).throw(OSError("down")))
        session.insert("S", ROWS[15:25])
        session.live.process()
    session.stop()
    session = started()
    assert session.live is not None
    session.insert("S", ROWS[25:])
    session.live.finish()
    asked = session.live.answers(name)
    session.stop()
    found = [(r.op, r.k, r.n) for r in spark.table(table).collect()]
    rows = [(a.op, dict(zip(a.columns, a.row, strict=True))) for a in asked]
    assert sorted(map(repr, found)) == sorted(repr((op, r["k"], r.get("n"))) for op, r in rows)


NAMED = {
    "another column is called much the same": "SELECT k, COUNT(*) AS epochs FROM S [RANGE 6] GROUP BY k",
    "names differ in case only": "SELECT ISTREAM k AS T, v AS OP, k AS EPOCH FROM S [NOW]",
}


@pytest.mark.parametrize("name", NAMED)
def test_an_epoch_is_found_by_its_own_column(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(QUERIES, "q", NAMED[name])
    session = session_over(spark, tmp_path, "q", f"spark('json', path => '{tmp_path / 'out'}')")
    options, real, calls = BoundedOptions(15, tmp_path / "ck"), SparkSink.append, [0]

    def stopped(self: SparkSink, rows: DataFrame) -> None:
        real(self, rows)
        calls[0] += 1
        if calls[0] == 2:
            raise _Stopped

    with monkeypatch.context() as patched:
        patched.setattr(SparkSink, "append", stopped)
        with pytest.raises(_Stopped), run_of(session, spark, tmp_path, options) as run:
            run.to_the_end()
    with run_of(session, spark, tmp_path, options) as run:
        run.to_the_end()
    assert spark.read.json(str(tmp_path / "out")).count() == len(session.answers())


def test_two_queries_do_not_write_to_one_table(spark: SparkSession, tmp_path: Path, table: str) -> None:
    session = session_over(spark, tmp_path, "mapped", f"table('{table}')")
    session.execute(f"REGISTER QUERY other AS {QUERIES['many']} INTO table('{table}');")
    with pytest.raises(SourceError) as caught, run_of(session, spark, tmp_path, BoundedOptions()):
        pass
    assert caught.value.condition == "SINK_SHARED"


def test_a_table_that_is_gone_is_told(spark: SparkSession, tmp_path: Path, table: str) -> None:
    session = session_over(spark, tmp_path, "mapped", f"table('{table}')")
    with run_of(session, spark, tmp_path, BoundedOptions(15, tmp_path / "ck")) as run:
        run.to_the_end()
    spark.sql(f"DROP TABLE {table}")
    with (
        pytest.raises(SourceError) as caught,
        run_of(session, spark, tmp_path, BoundedOptions(15, tmp_path / "ck")) as run,
    ):
        run.to_the_end()
    assert caught.value.condition == "SINK_LOST"


@pytest.mark.parametrize("kind", ["", "STREAMED "])
def test_timestamps_are_instants_in_any_zone(spark: SparkSession, tmp_path: Path, table: str, kind: str) -> None:
    zone = spark.conf.get("spark.sql.session.timeZone")
    session = Session(spark=spark, data=tmp_path)
    (tmp_path / "s.csv").write_text("k,v,ts\n1,x,2024-06-01T12:00:00Z\n", encoding="utf-8")
    session.execute(
        f"{STREAM} REGISTER QUERY q AS SELECT {kind}k, MAX(ts) AS m FROM S [NOW] GROUP BY k INTO table('{table}');"
    )
    try:
        spark.conf.set("spark.sql.session.timeZone", "America/New_York")
        with run_of(session, spark, tmp_path, BoundedOptions()) as run:
            run.to_the_end()
        found = spark.sql(
            f"SELECT CAST(m AS LONG) AS m, CAST(t AS LONG) AS t, typeof(m) AS kind FROM {table} WHERE op = '+'"
        )
        assert [tuple(row) for row in found.collect()] == [(1717243200, 1717243200, "timestamp")]
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(zone))

"""Live runs on Spark over files, frames and streaming frames: as if all rows had been there from the beginning."""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from continua.errors import BindError, SourceError
from continua.runs.live_options import LiveOptions
from continua.session import Session
from tests.crash.world import forget_memory
from tests.runtime.living import rows_of
from tests.sources.worlds import bag

DEFINITIONS = """
CREATE STREAM B (k INT, y INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM S (k INT, ts BIGINT) {source} ORDERED BY ts;
SELECT B.y, S.k FROM B [RANGE 5], S [RANGE 5] WHERE B.k = S.k;
SELECT k, COUNT(*) AS n FROM S [ROWS 4] GROUP BY k;
"""
BATCH = [(i % 3, i, i // 2) for i in range(30)]
ROWS = [(i % 3, i) for i in range(18)]


def test_a_frame_is_read_once_and_files_go_on(spark: SparkSession, tmp_path: Path) -> None:
    forget_memory()
    reference = Session(data=tmp_path)
    reference.execute(DEFINITIONS.format(source=""))
    reference.insert("B", BATCH)
    reference.insert("S", ROWS)
    expected = bag(reference.answers())
    (tmp_path / "s").mkdir()
    session = Session(spark=spark, data=tmp_path, rejects=tmp_path / "rejected")
    session.execute(DEFINITIONS.format(source="SOURCE jsonl('s')"))
    session.attach("B", spark.createDataFrame([(t, y, k) for k, y, t in BATCH], "TS long, y int, k int"))
    handles = session.start(options=LiveOptions(partitions=2))
    assert session.live is not None
    for part in range(3):
        lines = [json.dumps({"k": k, "ts": ts}) + "\n" for k, ts in ROWS[part * 6 : part * 6 + 6]]
        (tmp_path / "s" / f"{part}.jsonl").write_text("".join(lines))
        session.live.process()
    # what is complete is closed: the frame has ended, and the files go up to 17
    assert session.live.engine.until == 16
    session.live.finish()
    found = bag([a for h in handles for a in session.live.answers(h.name)])
    assert [p["inputRows"].get("b", 0) for p in session.live.main.recent].count(len(BATCH)) == 1  # type: ignore[attr-defined]
    session.stop()
    assert found == expected


def test_a_frame_can_be_given_to_a_run_over_what_is_there(spark: SparkSession, tmp_path: Path) -> None:
    session = Session(spark=spark, data=tmp_path)
    session.execute("CREATE STREAM B (k INT, y INT, ts BIGINT) ORDERED BY ts;")
    session.attach("B", spark.createDataFrame(BATCH, "k int, y int, ts long"))
    session.sql("SELECT COUNT(*) AS n FROM B [RANGE UNBOUNDED]")
    assert session.answers()[-1].row == (30,)


@pytest.mark.parametrize(
    ("name", "schema", "streams", "conditions"),
    [
        ("B", "k int, ts long", False, {("MISSING_COLUMN", "y")}),
        ("B", "k int, y int, ts long, z int", True, {("UNKNOWN_COLUMN", "z")}),
        ("B", "k int, yy int, ts long", True, {("UNKNOWN_COLUMN", "yy"), ("MISSING_COLUMN", "y")}),
        ("B", "k int, y double, ts long", True, {("TYPE_MISMATCH", "y")}),
        ("B", "k int, y struct<a: int>, ts boolean", False, {("TYPE_MISMATCH", "y"), ("TYPE_MISMATCH", "ts")}),
        ("T", "k int", True, {("STREAMING_FRAME", None)}),
        ("BB", "k int, y int, ts long", False, {("UNKNOWN_STREAM", None)}),
    ],
)
def test_a_frame_that_does_not_fit_is_told_by_name_before_the_run(
    spark: SparkSession, tmp_path: Path, name: str, schema: str, streams: bool, conditions: set[tuple[str, str | None]]
) -> None:
    session = Session(spark=spark)
    session.execute("CREATE STREAM B (k INT, y INT, ts BIGINT) ORDERED BY ts; CREATE TABLE T (k INT);")
    frame = spark.readStream.schema(schema).json(str(tmp_path)) if streams else spark.createDataFrame([], schema)
    with pytest.raises(BindError) as raised:
        session.attach(name, frame)
    assert {(d.condition, d.parameters.get("column")) for d in raised.value.diagnostics} == conditions


def test_what_is_no_frame_and_what_comes_too_late_is_not_attached(spark: SparkSession, tmp_path: Path) -> None:
    session = Session(master="none")
    session.execute("CREATE STREAM B (k INT, y INT, ts BIGINT) ORDERED BY ts; SELECT k FROM B [NOW];")
    with pytest.raises(BindError) as raised:
        session.attach("B", [(1, 2, 3)])  # type: ignore[arg-type]
    assert raised.value.condition == "NOT_A_FRAME"
    stream = spark.readStream.schema("k int, y int, ts long").json(str(tmp_path))
    session.start()
    with pytest.raises(BindError) as raised:
        session.attach("B", stream)
    assert raised.value.condition == "ALREADY_LIVE"
    session.stop()
    session.attach("B", stream)
    with pytest.raises(SourceError) as unreadable:
        session.start()
    assert unreadable.value.condition == "NEEDS_SPARK"


def test_frames_are_inserted_by_the_names_of_their_columns(spark: SparkSession) -> None:
    session = Session(master="none")
    session.execute("CREATE STREAM M (k INT, at TIMESTAMP) ORDERED BY at;")
    session.sql("REGISTER QUERY q AS SELECT k, at FROM M [RANGE UNBOUNDED]")
    moment = datetime(2024, 5, 1, 12)
    frame = spark.createDataFrame([(moment.replace(tzinfo=UTC), 1)], "at timestamp, k int")
    session.insert("M", frame)
    session.insert("M", frame.collect())
    assert rows_of(session.table("q")) == [{"k": 1, "at": moment}] * 2
    with pytest.raises(BindError) as raised:
        session.insert("M", spark.readStream.format("rate").load())
    assert raised.value.condition == "STREAMING_FRAME"


def test_a_run_is_stopped_between_two_micro_batches(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    session = Session(spark=spark, rejects=tmp_path / "rejected")
    session.execute("CREATE STREAM R (timestamp TIMESTAMP, value BIGINT) ORDERED BY timestamp SLACK 1 SECOND;")
    session.sql("REGISTER QUERY q AS SELECT COUNT(*) AS n FROM R [RANGE 10 SECONDS]")
    session.attach("R", spark.readStream.format("rate").option("rowsPerSecond", 100).load())
    (handle,) = session.start()
    assert session.live is not None
    live = session.live.main
    assert live.stream is not None
    inside = threading.Event()
    handle.foreach(lambda _, __: inside.set())
    assert inside.wait(120)
    session.stop()
    assert live.stream.exception() is None
    assert not live.stream.isActive
    assert "Traceback" not in capfd.readouterr().err


def test_the_offsets_of_a_streaming_frame_tell_what_is_late(spark: SparkSession, tmp_path: Path) -> None:
    forget_memory()
    definition = (
        "CREATE STREAM S (p INT, o BIGINT, v INT, ts BIGINT) ORDERED BY ts SLACK 1 PARTITIONED BY p OFFSET o;"
        "SELECT v FROM S [ROWS 3];"
    )
    rows = [(p, o, 100 * p + o, max(o // 2 - (4 if (o + p) % 7 == 6 else 0), 0)) for p in range(3) for o in range(16)]
    reference = Session(data=tmp_path, rejects=tmp_path / "whole")
    reference.execute(definition)
    reference.insert("S", rows)
    expected = bag(reference.answers())
    folder = tmp_path / "stream"
    folder.mkdir()
    session = Session(spark=spark, data=tmp_path, rejects=tmp_path / "rejected")
    session.execute(definition)
    frame = spark.readStream.schema("p int, o long, v int, ts long").option("maxFilesPerTrigger", 1).json(str(folder))
    session.attach("S", frame)
    for part, bounds in enumerate([(0, 5), (5, 9), (9, 16)]):
        mine = sorted((r for r in rows if bounds[0] <= r[1] < bounds[1]), key=lambda r: (r[1] * 31 + r[0] * 17) % 13)
        lines = [json.dumps(dict(zip(["p", "o", "v", "ts"], row, strict=True))) + "\n" for row in mine]
        path = folder / f"{part}.json"
        path.write_text("".join(lines))
        os.utime(path, (1_700_000_000 + part, 1_700_000_000 + part))  # Spark reads files in the order of their times
    (handle,) = session.start(options=LiveOptions(partitions=2, trigger={"availableNow": True}))
    assert session.live is not None
    session.live.finish()
    found = bag(session.live.answers(handle.name))
    late = handle.late("S").count()
    session.stop()
    assert found == expected
    assert late == sum(n.parameters["count"] for n in reference.inputs.notices)  # type: ignore[misc]

"""Live runs on Spark over files, frames and streaming frames: as if all rows had been there from the beginning."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from continua.errors import BindError
from continua.runs.live_run import LiveOptions
from continua.session import Session
from tests.crash.world import forget_memory
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
    session.attach("B", spark.createDataFrame(BATCH, "key int, value int, at long"))
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
    assert [p["inputRows"].get("b", 0) for p in session.live.recent].count(len(BATCH)) == 1  # type: ignore[attr-defined]
    session.stop()
    assert found == expected


def test_a_frame_can_be_given_to_a_run_over_what_is_there(spark: SparkSession, tmp_path: Path) -> None:
    session = Session(spark=spark, data=tmp_path)
    session.execute("CREATE STREAM B (k INT, y INT, ts BIGINT) ORDERED BY ts;")
    session.attach("B", spark.createDataFrame(BATCH, "a int, b int, c long"))
    session.sql("SELECT COUNT(*) AS n FROM B [RANGE UNBOUNDED]")
    assert session.answers()[-1].row == (30,)
    with pytest.raises(BindError):
        session.attach("B", spark.createDataFrame([(1,)], "a int"))


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

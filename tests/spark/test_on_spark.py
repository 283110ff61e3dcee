"""The engine on Spark: the same answers as the reference, small epochs and large ones, batch and streaming."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from continua.answers.query import Answer
from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runs.live_options import LiveOptions
from continua.runtime.executors.on_spark import OnSpark
from continua.session import Session
from tests.spark.in_files import Moves, moving

DEFINITIONS = """
CREATE STREAM S (k INT, x DOUBLE, name STRING, ts BIGINT) ORDERED BY ts;
CREATE STREAM P (k INT, y INT, ts BIGINT) ORDERED BY ts;
CREATE TABLE C (k INT, label STRING) AS VALUES (1, 'one'), (2, 'two');
"""
QUERIES = """
SELECT k, COUNT(*) AS n, SUM(x) AS s, MAX(name) AS m FROM S [RANGE 5] GROUP BY k;
SELECT S.name, P.y FROM S [RANGE 4], P [RANGE 6] WHERE S.k = P.k;
SELECT DISTINCT name FROM S [ROWS 5];
SELECT S.k, C.label FROM S [NOW] LEFT JOIN C ON S.k = C.k;
SELECT ISTREAM(k) FROM S [RANGE 3] WHERE k NOT IN (SELECT k FROM P [RANGE 3]);
SELECT MAX(n) AS m FROM (SELECT k, COUNT(*) AS n FROM S [PARTITION BY name ROWS 2] GROUP BY k) AS v;
SELECT k FROM S [RANGE 6 SLIDE 4] EXCEPT ALL SELECT k FROM P [RANGE 6];
"""


def _session(rows: int) -> Session:
    session = Session()
    session.execute(DEFINITIONS)
    chance = random.Random(11)
    for name in ("S", "P"):
        time = 0
        found: list[tuple[object, ...]] = []
        for _ in range(rows):
            time += chance.choice((0, 1, 1, 2))
            k = chance.choice((1, 2, 3, None))
            found.append((k, chance.random(), chance.choice("abc"), time) if name == "S" else (k, len(found), time))
        session.insert(name, found)
    session.execute(QUERIES)
    return session


def _bag(answers: list[Answer]) -> Counter[tuple[object, ...]]:
    return Counter((a.query, a.instant, a.op, a.row, a.until) for a in answers)


@pytest.mark.parametrize(("batch", "partitions"), [(None, 2), (9, 3)])
def test_a_graph_of_queries_has_the_answers_of_the_reference(
    spark: SparkSession, batch: int | None, partitions: int
) -> None:
    session = _session(30)
    queries = list(session.queries.values())
    inputs = session.inputs.read({s for q in queries for s in q.sources})
    with BoundedRun(queries, inputs, [], OnSpark(spark), BoundedOptions(batch, partitions=partitions)) as run:
        run.to_the_end()
        found = run.answers()
    assert _bag(found) == _bag(session.answers())


@pytest.mark.parametrize("moves", list(Moves))
def test_blocks_move_in_any_way(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, moves: Moves) -> None:
    moving(monkeypatch, moves)
    session = _session(30)
    queries = list(session.queries.values())
    inputs = session.inputs.read({s for q in queries for s in q.sources})
    with BoundedRun(queries, inputs, [], OnSpark(spark), BoundedOptions(15)) as run:
        run.to_the_end()
        found = run.answers()
    assert _bag(found) == _bag(session.answers())


def test_structured_streaming_feeds_all_sources_through_one_query(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(i % 3, i // 2) for i in range(40)]
    other = [(i % 5, i) for i in range(20)]
    for name, content in (("s", rows), ("p", other)):
        (tmp_path / name).mkdir()
        for part in range(4):
            size = len(content) // 4
            lines = [json.dumps({"k": k, "ts": t}) for k, t in content[part * size : (part + 1) * size]]
            file = tmp_path / name / f"{part}.json"
            file.write_text("\n".join(lines))
            os.utime(file, (1_000_000 + part, 1_000_000 + part))
    session = Session(spark=spark)
    reference = Session()
    for each in (session, reference):
        each.execute(
            "CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts; CREATE STREAM P (k INT, ts BIGINT) ORDERED BY ts;"
        )
        each.execute("SELECT S.k, COUNT(*) AS n FROM S [RANGE 4], P [RANGE 4] WHERE S.k = P.k GROUP BY S.k;")
    for name in ("s", "p"):
        stream = spark.readStream.schema("k int, ts long").option("maxFilesPerTrigger", 1)
        session.attach(name, stream.json(str(tmp_path / name)))
    options = LiveOptions(checkpoint=tmp_path / "checkpoint", trigger={"availableNow": True})
    (handle,) = session.start(options=options)
    assert handle.awaitTermination()
    assert session.live is not None
    session.live.finish()
    reference.insert("S", rows)
    reference.insert("P", other)
    assert _bag(handle.answers()) == _bag(reference.answers())
    assert len(handle.recentProgress) >= 4
    assert handle.changes().columns == ["t", "op", "k", "n"]
    assert handle.snapshot(10).count() == len(reference.snapshot(reference.queries["q1"], 10))
    assert handle.exception() is None
    session.stop()
    assert spark.range(1).count() == 1, "a session that was passed in is never stopped"


@pytest.mark.parametrize("skip", [False, True])
def test_a_row_without_a_time_in_an_attached_stream_is_refused(spark: SparkSession, tmp_path: Path, skip: bool) -> None:
    (tmp_path / "s").mkdir()
    rows = [{"k": 1, "ts": 1}, {"k": 2}, {"k": 3, "ts": 5}]
    (tmp_path / "s" / "a.json").write_text("\n".join(map(json.dumps, rows)))
    session = Session(spark=spark)
    session.execute(f"CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts{' ON ERROR SKIP' if skip else ''};")
    session.sql("SELECT COUNT(*) AS n FROM S [RANGE UNBOUNDED]")
    session.attach("s", spark.readStream.schema("k int, ts long").json(str(tmp_path / "s")))
    (handle,) = session.start(options=LiveOptions(trigger={"availableNow": True}))
    assert session.live is not None
    if skip:
        handle.awaitTermination()
        session.live.finish()
        assert [(a.instant, a.row) for a in handle.answers()][-1] == (5, (2,))
    else:
        with pytest.raises(Exception, match="no place in time"):
            handle.awaitTermination()
    session.stop()


def test_a_cluster_of_processes_gives_the_same(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("".join(f"{i % 5},{i // 2}\n" for i in range(60)))
    (tmp_path / "q.sql").write_text(
        "CREATE STREAM S (k INT, ts BIGINT) SOURCE csv('s.csv') ORDERED BY ts;"
        "SELECT k, COUNT(*) AS n FROM S [RANGE 5] GROUP BY k; SELECT DISTINCT k FROM S [ROWS 3];"
    )
    command = [sys.executable, "-c", "from continua.cli.main import main; main()", "run", str(tmp_path / "q.sql")]
    expected = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert len(expected.splitlines()) > 60
    cluster = [*command, "--master", "local-cluster[2,1,1024]", "--batch-rows", "20"]
    found = subprocess.run(cluster, capture_output=True, text=True, check=False, timeout=300)
    assert found.returncode == 0, found.stderr
    assert found.stdout == expected

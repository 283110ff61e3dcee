"""Sessions that are brought along: whatever is set in them, the answers are the same, and so are their settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runtime.executors.on_spark import OnSpark
from continua.session import Session

SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "3",
}
ROWS = [(f"2024-05-01 0{i % 10}:00:00", i, i % 3) for i in range(20)]
SCRIPT = """
CREATE STREAM S (v INT, p INT, ts TIMESTAMP)
  SOURCE spark('csv', path => '{folder}/s', header => true, inferSchema => true)
  ORDERED BY ts SLACK 20 HOURS PARTITIONED BY p OFFSET v;
CREATE STREAM D (v INT, day TIMESTAMP) SOURCE spark('parquet', path => '{folder}/d') ORDERED BY day SLACK 9 DAYS;
SELECT p, COUNT(*) AS n, MAX(ts) AS last FROM S [RANGE 2 HOURS] GROUP BY p;
SELECT ISTREAM v, day FROM D [NOW] WHERE v > 2;
"""


def answers(spark: SparkSession, folder: Path) -> Sequence[object]:
    """What the engine says, and what a frame of Spark gives of it."""
    session = Session(spark=spark, data=folder)
    session.execute(SCRIPT.replace("{folder}", str(folder)))
    queries = list(session.queries.values())
    given = session.inputs.given({s for q in queries for s in q.sources})
    with BoundedRun(queries, given, [], OnSpark(spark), BoundedOptions()) as run:
        run.to_the_end()
        found = sorted((a.query, a.instant, a.op or "", a.row) for a in run.answers())
    assert found
    return found


@pytest.mark.parametrize("name", [*SETTINGS, "all"])
def test_answers_are_the_same_whatever_is_set(spark: SparkSession, tmp_path: Path, name: str) -> None:
    plain = spark.newSession()
    plain.createDataFrame(ROWS, "ts string, v int, p int").coalesce(2).write.csv(str(tmp_path / "s"), header=True)
    for i in range(4):
        plain.range(i, i + 2).selectExpr("cast(id as int) as v").write.parquet(
            f"{tmp_path}/d/day=2024-05-0{i + 1} 00%3A30%3A00"
        )
    expected = answers(plain, tmp_path)
    other = spark.newSession()
    chosen = SETTINGS if name == "all" else {name: SETTINGS[name]}
    for setting, value in chosen.items():
        other.conf.set(setting, value)
    assert answers(other, tmp_path) == expected
    assert {setting: other.conf.get(setting) for setting in chosen} == chosen

"""Groups of live queries on Spark: epochs of their own, over rows that come once and a streaming DataFrame."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from continua.runs.live_options import LiveOptions
from continua.session import Session
from tests.crash.world import forget_memory

DEFINITIONS = """
CREATE STREAM S (k INT, ts TIMESTAMP) ORDERED BY ts;
CREATE STREAM R (timestamp TIMESTAMP, value BIGINT) ORDERED BY timestamp SLACK 1 SECOND;
REGISTER QUERY counts AS SELECT k, COUNT(*) AS n FROM S [RANGE 10] GROUP BY k;
REGISTER QUERY largest GROUP other AS SELECT MAX(k) AS k FROM S [RANGE 10];
REGISTER QUERY made GROUP other AS SELECT COUNT(*) AS n FROM R [RANGE 10 SECONDS];
"""


SECOND = 1_000_000


def at(seconds: int) -> datetime:
    """So many seconds after the beginning of time."""
    return datetime.fromtimestamp(seconds, UTC)


def session_on(spark: SparkSession, folder: Path) -> Session:
    forget_memory()
    session = Session(spark=spark, rejects=folder / "rejected")
    session.execute(DEFINITIONS)
    session.attach("R", spark.readStream.format("rate").option("rowsPerSecond", 100).load())
    session.start(options=LiveOptions(checkpoint=folder / "checkpoint", partitions=2))
    return session


def test_groups_work_on_spark_and_go_on_from_their_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    session = session_on(spark, tmp_path)
    assert session.live is not None
    other = session.live.runs["other"]
    assert session.live.main.stream is None and other.stream is not None
    session.insert("S", [(1, at(1)), (2, at(5)), (7, at(20))])
    session.live.main.process()
    assert len(session.live.content("counts", at(5))) == 2
    session.stop()
    session = session_on(spark, tmp_path)
    assert session.live is not None
    assert session.live.recovered == {"s": 3}
    session.live.process()
    found = session.live.runs["other"].engine.offsets.live
    assert found is not None and found.sources["s"].latest == 20 * SECOND
    assert session.live.main.engine.offsets.live is not None
    session.insert("S", [(9, at(40))])
    session.live.main.process()
    assert len(session.live.content("counts", at(25))) == 1
    session.stop()

"""The changes of a live query as a streaming DataFrame: each once, whatever is stopped and started again in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from continua.runs.live_options import LiveOptions
from continua.runs.query_handle import QueryHandle
from continua.session import Session

DEFINITIONS = """
CREATE STREAM S (k INT, at TIMESTAMP) ORDERED BY at;
REGISTER QUERY counts AS SELECT k, COUNT(*) AS n FROM S [RANGE 3 SECONDS] GROUP BY k;
REGISTER QUERY tagged AS SELECT STREAMED k, COUNT(*) AS n, MAX(at) AS latest FROM S [RANGE 3 SECONDS] GROUP BY k;
"""


def _session(spark: SparkSession, tmp_path: Path) -> tuple[Session, QueryHandle]:
    session = Session(spark=spark, data=tmp_path, rejects=tmp_path / "rejected")
    session.execute(DEFINITIONS)
    options = LiveOptions(checkpoint=tmp_path / "checkpoint", partitions=1, durable=False)
    return session, next(h for h in session.start(options=options) if h.name == "counts")


def _push(session: Session, seconds: Iterator[int], epochs: int) -> None:
    assert session.live is not None
    for _ in range(epochs):
        second = next(seconds)
        session.insert("S", [(second % 2, f"1970-01-01T00:00:{second:02}")])
        session.live.process()


def _read(frame: DataFrame, tmp_path: Path, name: str = "out") -> None:
    """Reads what is there, from where an earlier reading has ended."""
    writer = frame.writeStream.option("checkpointLocation", str(tmp_path / f"{name}-checkpoint"))
    for left in reversed(range(5)):
        try:
            writer.format("parquet").trigger(availableNow=True).start(str(tmp_path / name)).awaitTermination()
            return
        except StreamingQueryException as error:
            # Spark waits ten seconds for a worker of Python, which may be too little where much else runs
            if "connect back" not in str(error) or not left:
                raise


def _bag(frame: DataFrame) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row) for row in frame.collect())


def test_every_change_is_read_once(spark: SparkSession, tmp_path: Path) -> None:
    seconds = iter(range(1, 60))
    session, handle = _session(spark, tmp_path)
    _push(session, seconds, 2)
    frame = handle.toDF()
    assert frame.isStreaming
    assert frame.schema == handle.changes().schema
    _read(frame, tmp_path)
    _push(session, seconds, 2)
    session.stop()
    session, handle = _session(spark, tmp_path)
    _push(session, seconds, 1)
    _read(handle.toDF(), tmp_path)
    found = _bag(spark.read.parquet(str(tmp_path / "out")))
    assert sum(found.values()) > 4
    assert found == _bag(handle.changes())
    assert session.live is not None
    tagged = QueryHandle(session.live.main, "tagged")
    _read(tagged.toDF(), tmp_path, "tagged")
    assert _bag(spark.read.parquet(str(tmp_path / "tagged"))) == _bag(tagged.changes())
    session.stop()

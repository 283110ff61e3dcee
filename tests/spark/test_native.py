"""Queries without state run as Spark's own SQL, with the answers of the reference."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from continua.answers import Answer, Query
from continua.errors import CheckpointError, EvaluationError
from continua.physical.native import native_query
from continua.physical.positional import FINAL
from continua.results import answers_from
from continua.running import sink_of
from continua.runtime.engine import Engine
from continua.runtime.executors import Frame, OnSpark
from continua.session import Session

DEFINITIONS = """
CREATE STREAM S (a BIGINT, b INT, x DOUBLE, name STRING, at TIMESTAMP, ts BIGINT) ORDERED BY ts;
"""
SCHEMA = "a BIGINT, b INT, x DOUBLE, name STRING, at TIMESTAMP_NTZ, ts BIGINT"
NATIVE = [
    "SELECT RSTREAM a, b * 2 AS twice FROM S [NOW] WHERE a > 3 AND b <> 2",
    "SELECT RSTREAM a % 3 AS m, -a AS n, a / 4 AS q, x * 0.5 AS h FROM S [NOW] WHERE NOT (x > 0.5 OR x IS NULL)",
    "SELECT RSTREAM name, CASE WHEN a > b THEN 'more' WHEN a IS NULL THEN name END AS c FROM S [NOW]",
    "SELECT RSTREAM a, name FROM S [NOW] WHERE name LIKE 'a%' OR name IN ('b', 'c_c')",
    "SELECT RSTREAM 0.908 * a AS p, CAST(b AS BIGINT) AS q, COALESCE(b, a, 0) AS r FROM S [NOW]",
    "SELECT RSTREAM at, a FROM S [NOW] WHERE at >= TIMESTAMP '2020-01-01 00:00:02'",
    "SELECT a, b FROM S [RANGE 4] WHERE a <=> b",
    "SELECT a FROM S [RANGE UNBOUNDED] UNION ALL SELECT b FROM S [RANGE 2] WHERE b > 1",
    "SELECT RSTREAM a, ts FROM S [NOW] WHERE ts BETWEEN 4 AND 20",
    "SELECT RSTREAM GREATEST(a, b) AS g, ABS(a) AS n FROM S [NOW] WHERE x = x",
]
OTHERS = ["SELECT RSTREAM UPPER(name) AS u FROM S [NOW]", "SELECT a FROM S [ROWS 2]", "SELECT COUNT(*) FROM S [NOW]"]


def _rows(count: int) -> list[tuple[object, ...]]:
    chance = random.Random(5)

    def some(value: object) -> object:
        return None if chance.random() < 0.15 else value

    rows: list[tuple[object, ...]] = []
    for i in range(count):
        number = chance.choice((0.0, -0.0, 0.25, 1.5, float("inf"), float("nan")))
        name = chance.choice(("a", "ab", "b", "c_c", "", "ä"))
        at = datetime(2020, 1, 1, 0, 0, chance.randrange(5))
        rows.append(
            (some(chance.randrange(-5, 9)), some(chance.randrange(4)), some(number), some(name), some(at), i // 2)
        )
    return rows


def _bag(answers: list[Answer]) -> Counter[str]:
    return Counter(repr((a.instant, a.op, a.row, a.until)) for a in answers)


def _query(text: str, rows: list[tuple[object, ...]]) -> tuple[Session, Query]:
    session = Session()
    session.execute(DEFINITIONS)
    session.insert("S", rows)
    query = session.sql(text)
    assert query is not None
    return session, query


def _frame(spark: SparkSession, rows: list[tuple[object, ...]]) -> DataFrame:
    return spark.createDataFrame(rows, SCHEMA)


def _run(spark: SparkSession, query: Query, rows: list[tuple[object, ...]], folder: Path) -> Engine:
    engine = Engine([sink_of(query, query.bound.logical, [])], OnSpark(spark), checkpoint=folder, partitions=2)
    engine.epoch_of_frames({"s": Frame(_frame(spark, rows), 5)}, FINAL)
    return engine


@pytest.mark.parametrize("text", NATIVE)
def test_answers_are_those_of_the_reference(spark: SparkSession, text: str, tmp_path: Path) -> None:
    rows = _rows(40)
    session, query = _query(text, rows)
    assert native_query(sink_of(query, query.bound.logical, [])) is not None
    engine = _run(spark, query, rows, tmp_path)
    assert engine.progress[-1].rows_out == {query.name: engine.results(query.name).num_rows}  # type: ignore[union-attr]
    assert _bag(answers_from(query, engine.results(query.name))) == _bag(session.answers([query]))
    engine.close()


@pytest.mark.parametrize("text", OTHERS)
def test_all_else_is_left_to_the_engine(text: str) -> None:
    _, query = _query(text, [])
    assert native_query(sink_of(query, query.bound.logical, [])) is None


def test_it_stands_beside_queries_with_state(spark: SparkSession, tmp_path: Path) -> None:
    rows = _rows(40)
    session, first = _query(NATIVE[0], rows)
    second = session.sql("SELECT b, COUNT(*) AS n FROM S [RANGE 3] GROUP BY b")
    assert second is not None
    sinks = [sink_of(q, q.bound.logical, []) for q in (first, second)]
    engine = Engine(sinks, OnSpark(spark), checkpoint=tmp_path, partitions=2)
    engine.epoch_of_frames({"s": Frame(_frame(spark, rows), 5)}, FINAL)
    for query in (first, second):
        assert _bag(answers_from(query, engine.results(query.name))) == _bag(session.answers([query]))
    engine.close()
    again = Engine(sinks, OnSpark(spark), checkpoint=tmp_path, partitions=2)
    assert _bag(answers_from(first, again.results(first.name))) == _bag(session.answers([first]))
    again.close()


def test_an_overflow_is_an_error_of_the_data(spark: SparkSession, tmp_path: Path) -> None:
    rows: list[tuple[object, ...]] = [(1 << 62, 1, 0.0, "a", None, 1)]
    _, query = _query("SELECT RSTREAM a * 4 AS n FROM S [NOW]", rows)
    with pytest.raises(EvaluationError, match="fails on its data"):
        _run(spark, query, rows, tmp_path)


def test_a_damaged_segment_is_found(spark: SparkSession, tmp_path: Path) -> None:
    rows = _rows(40)
    _, query = _query(NATIVE[0], rows)
    engine = _run(spark, query, rows, tmp_path)
    parts = [p for p in tmp_path.glob("native/*/*/part-*.parquet") if p.stat().st_size > 700]
    content = bytearray(parts[0].read_bytes())
    content[40] ^= 0xFF
    parts[0].write_bytes(content)
    with pytest.raises(CheckpointError, match="damaged"):
        engine.results(query.name)
    engine.close()

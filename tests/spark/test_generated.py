"""Generated sources on Spark: tasks make the rows, and the answers are those of one process."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from continua.runs.bounded import BoundedOptions, BoundedRun
from continua.runs.live_options import LiveOptions
from continua.runtime import inputs
from continua.runtime.executors.executor import Executor, InProcess
from continua.runtime.executors.on_spark import OnSpark
from continua.session import Session
from continua.sources import given as given_inputs
from continua.sources import planning, stretches
from tests.crash.world import forget_memory
from tests.runtime.test_live import Time
from tests.sources.worlds import bag
from tests.spark.in_files import Moves, moving

SCRIPT = """
CREATE STREAM Bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, dateTime TIMESTAMP)
  SOURCE nexmark('bid', rate => 1000, events => 20000, seed => 3) ORDERED BY dateTime;
CREATE STREAM Person (id BIGINT, name STRING, dateTime TIMESTAMP)
  SOURCE nexmark('person', rate => 1000, events => 20000, seed => 3) ORDERED BY dateTime KEY id;
CREATE STREAM Made (k INT, v BIGINT, ts TIMESTAMP) SOURCE python('tests.sources.row_functions:timed', rows => 900)
  ORDERED BY ts;
SELECT k, COUNT(*) AS n, SUM(v) AS s FROM Made [RANGE 20 SECONDS SLIDE 10 SECONDS SAMPLE 50 PERCENT] GROUP BY k;
SELECT channel, COUNT(*) AS n, MAX(price) AS best FROM Bid [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY channel;
SELECT ISTREAM p.name, b.price FROM Bid [NOW] b, Person [RANGE 1 SECOND] p WHERE b.bidder = p.id AND b.price > 10000000;
"""
LIVE = """
CREATE STREAM Tick (value BIGINT, timestamp TIMESTAMP) SOURCE rate(rows_per_second => 1000) ORDERED BY timestamp;
REGISTER QUERY q AS SELECT ISTREAM SUM(value) AS total FROM Tick [RANGE 1 SECOND SLIDE 1 SECOND];
"""


def answers(executor: Executor, text: str, options: BoundedOptions) -> object:
    session = Session()
    session.execute(text)
    queries = list(session.queries.values())
    given = session.inputs.given({s for q in queries for s in q.sources})
    assert set(given.files) == {s.name.casefold() for q in queries for s in q.sources}
    with BoundedRun(queries, given, [], executor, options) as run:
        run.to_the_end()
        return bag(run.answers())


@pytest.mark.parametrize(
    ("moves", "batch"), [(Moves.THROUGH_EXCHANGES, None), (Moves.THROUGH_DRIVER, None), (Moves.IN_FILES, 9_000)]
)
def test_both_runners_agree(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, moves: Moves, batch: int | None
) -> None:
    expected = answers(InProcess(), SCRIPT, BoundedOptions())
    assert expected
    monkeypatch.setattr(planning, "BYTES", 100_000)
    moving(monkeypatch, moves)
    assert answers(OnSpark(spark), SCRIPT, BoundedOptions(batch, partitions=3)) == expected


def test_the_driver_makes_no_row(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> None:
        raise AssertionError("a row is made in the driver")

    text = SCRIPT.partition("SELECT ISTREAM")[0]
    expected = answers(InProcess(), text, BoundedOptions())
    for module in (stretches, inputs, given_inputs):
        monkeypatch.setattr(module, "read_split", read)
    assert answers(OnSpark(spark), text, BoundedOptions()) == expected


def test_a_live_run_goes_by_the_clock_and_goes_on_from_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    def told(spark: SparkSession | None, folder: Path) -> object:
        clock = Time()
        clock.now = 1_790_000_000_000_000
        for seconds in (0, 3, 4):
            forget_memory()
            clock.now += seconds * 1_000_000
            session = Session(clock=clock, spark=spark, master="none" if spark is None else None)
            session.execute(LIVE)
            session.start(options=LiveOptions(checkpoint=folder))
            assert session.live is not None
            session.live.process()
            (known,) = session.live.engine.positions["tick"].files.values()
            found = bag(session.live.answers("q"))
            session.stop()
        assert known.offset == 7_001
        return found

    assert told(spark, tmp_path / "on spark") == told(None, tmp_path / "here")

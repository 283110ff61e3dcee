"""Live queries on Spark: tests of heartbeats, silence and later starts that run in one process run here again."""

from __future__ import annotations

import time
from collections.abc import Callable

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from continua.runs.live_options import LiveOptions
from continua.runs.query_handle import QueryHandle
from continua.runtime.executors.on_spark import OnSpark
from continua.runtime.spark.masters import VARIABLE
from continua.session import Session
from tests.runtime import test_live
from tests.spark.in_files import Moves, moving

clock, session = test_live.clock, test_live.session
HEARTBEATS = (
    test_live.test_C19_rows_beyond_the_bound_are_kept_apart_and_counted,
    test_live.test_C19_the_heartbeat_is_the_least_of_all_sources,
    test_live.test_A8_a_query_that_joins_later_has_its_own_start,
)


@pytest.fixture(autouse=True)
def jobs(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sessions work on Spark, through its exchange; what they show is an Arrow table, as the tests expect it."""
    found: list[str] = []
    original = OnSpark._levels

    def noted(self: OnSpark, *arguments: object) -> object:
        found.append(type(self).__name__)
        return original(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setenv(VARIABLE, "local[2]")
    moving(monkeypatch, Moves.THROUGH_EXCHANGES)
    monkeypatch.setattr(OnSpark, "_levels", noted)
    monkeypatch.setattr(QueryHandle, "_frame", _table)
    assert Session().spark is spark
    return found


def _table(_: QueryHandle, table: pa.Table) -> pa.Table:
    return table


@pytest.mark.parametrize("test", HEARTBEATS, ids=lambda test: test.__name__.removeprefix("test_"))
def test_on_spark(session: Session, jobs: list[str], test: Callable[[Session], None]) -> None:
    test(session)
    assert jobs, "Spark has done it"


def test_Q7_a_silent_source_does_not_block_for_ever(jobs: list[str]) -> None:
    """How long it blocks is asked where epochs are short, in tests/runtime."""
    session = Session()
    session.execute(test_live.DEFINITIONS)
    session.sql("SELECT k FROM S [NOW] UNION ALL SELECT k FROM P [NOW]")
    (handle,) = session.start(options=LiveOptions(idle_timeout=0.2))
    session.insert("S", [(1, 5)])
    handle.processAllAvailable()
    assert session.live is not None
    deadline = time.monotonic() + 60
    while session.live.engine.until < 5 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert session.live.engine.until == 5, "all are silent: what came is complete"
    assert handle.exception() is None
    session.stop()
    assert jobs

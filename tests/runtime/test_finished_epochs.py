"""What fails behind a finished epoch takes nothing of it back: rows and words of sources do not come again."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from continua.session import Session
from tests.runtime.test_live import Time
from tests.runtime.test_live_failures import Unsteady

SECOND = 1_000_000


def failing_once(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
    """Has a method fail when it is called next."""
    method = getattr(owner, name)

    def fail(*_: object) -> None:
        monkeypatch.setattr(owner, name, method)
        raise OSError("the disk is full")

    monkeypatch.setattr(owner, name, fail)


def test_what_a_source_promised_stays_promised_when_a_sink_fails() -> None:
    clock = Time()
    clock.now = 1_790_000_000 * SECOND
    session = Session(master="none", clock=clock)
    session.execute("""
        CREATE STREAM R (value BIGINT, timestamp TIMESTAMP)
        SOURCE rate(rows_per_second => 10, rows => 20) ORDERED BY timestamp;
        CREATE STREAM S (v INT, ts TIMESTAMP) ORDERED BY ts;
        REGISTER QUERY q AS SELECT COUNT(*) AS n FROM R [RANGE UNBOUNDED], S [RANGE UNBOUNDED];
    """)
    (handle,) = session.start()
    sink = Unsteady()
    handle.foreach(sink)
    assert session.live is not None
    run = session.live.main
    run.process()
    session.insert("S", [(1, datetime.fromtimestamp((clock.now + 500_000) / SECOND, UTC))])
    clock.now += 60 * SECOND
    sink.broken = True
    with pytest.raises(OSError, match="full"):
        run.process()
    sink.broken = False
    session.insert("S", [(1, datetime.fromtimestamp(clock.now / SECOND, UTC))])
    run.process()
    assert run.engine.until == clock.now - 1, "nothing more comes of R"
    assert run.content("q") == [(20,)]
    session.stop()


@pytest.fixture
def counted() -> Session:
    session = Session(master="none")
    session.execute("""
        CREATE STREAM S (v INT, ts BIGINT) ORDERED BY ts;
        CREATE TABLE C (k INT) AS VALUES (1), (2);
        REGISTER QUERY a AS SELECT COUNT(*) AS n FROM S [RANGE UNBOUNDED];
    """)
    session.start()
    session.insert("S", [(1, 1), (1, 2)])
    assert session.live is not None
    session.live.process()
    return session


@pytest.mark.parametrize("name", ["_forget", "yielded.finished"])
def test_a_query_joins_behind_the_rows_of_an_epoch_that_failed_to_tidy_up(
    counted: Session, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert counted.live is not None
    run = counted.live.main
    *owners, method = name.split(".")
    failing_once(monkeypatch, getattr(run.engine, owners[0]) if owners else run.engine, method)
    counted.insert("S", [(1, 3), (1, 4), (1, 5)])
    with pytest.raises(OSError, match="full"):
        run.process()
    counted.execute("REGISTER QUERY c AS SELECT COUNT(*) AS n FROM S [RANGE UNBOUNDED]")
    counted.start()
    counted.insert("S", [(1, 6), (1, 7)])
    run.heartbeat("S", 7)
    assert run.queries["c"].start == 6
    assert (run.content("a"), run.content("c")) == ([(7,)], [(2,)])
    assert run.totals.rows["s"] == 7, "the epoch is told like any other"
    counted.stop()


def test_stored_rows_are_not_fed_again_when_their_epoch_failed_to_tidy_up(
    counted: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert counted.live is not None
    run = counted.live.main
    counted.execute("REGISTER QUERY c AS SELECT C.k FROM C, S [RANGE UNBOUNDED] WHERE S.v = C.k")
    counted.start()
    counted.insert("S", [(2, 3)])
    failing_once(monkeypatch, run.engine.yielded, "finished")
    with pytest.raises(OSError, match="full"):
        run.process()
    run.heartbeat("S", 3)
    assert run.content("c") == [(2,)]
    counted.stop()

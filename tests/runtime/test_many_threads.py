"""A session in many threads: nothing is lost, nothing fails."""

from __future__ import annotations

import threading

import pyarrow as pa

from continua.session import Session
from tests.runtime.many_threads import run


def test_no_row_is_lost_whatever_other_threads_do() -> None:
    world = run(3.0)
    assert min(world.sent) > 0
    assert world.epochs > 1
    assert world.started > 0


def test_a_row_may_be_inserted_while_an_epoch_runs_and_comes_in_the_next() -> None:
    session = Session(master="none")
    session.execute("CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts")
    session.sql("REGISTER QUERY q AS SELECT k FROM S [NOW]")
    (handle,) = session.start()
    seen: list[int] = []
    inserted = threading.Event()

    def insert() -> None:
        session.insert("S", [(2, 7)])
        inserted.set()

    def on_epoch(epoch: int, answers: pa.Table) -> None:
        """Runs within an epoch: another thread inserts, and is not kept waiting for the end of it."""
        seen.extend([epoch] * answers.num_rows)
        if not inserted.is_set():
            other = threading.Thread(target=insert)
            other.start()
            other.join(timeout=20)
            assert inserted.is_set()

    handle.foreach(on_epoch)
    session.insert("S", [(1, 5), (3, 6)])
    handle.processAllAvailable()
    session.live.finish()  # type: ignore[union-attr]
    assert [(a.instant, a.row) for a in handle.answers() if a.op == "+"] == [(5, (1,)), (6, (3,)), (7, (2,))]
    assert len(seen) == 6
    session.stop()


def test_a_run_that_was_stopped_works_no_more_in_any_thread() -> None:
    session = Session(master="none")
    session.execute("CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts")
    session.sql("REGISTER QUERY q AS SELECT k FROM S [NOW]")
    (handle,) = session.start()
    session.stop()
    found: list[str] = []

    def work() -> None:
        try:
            handle.processAllAvailable()
        except Exception as error:
            found.append(getattr(error, "condition", repr(error)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == ["RUN_ENDED"]

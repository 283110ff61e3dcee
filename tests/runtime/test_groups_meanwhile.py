"""Groups of live queries that begin, fail and end while others go on: no row is missed, and none is kept in vain."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from continua.errors import ContinuaError, EvaluationError
from continua.runs import live_groups
from continua.runs.live_groups import LiveGroups
from continua.runs.live_options import LiveOptions
from continua.runs.live_run import LiveRun
from continua.session import Session
from tests.runtime.living import at
from tests.runtime.test_live import Time

COUNT = "SELECT COUNT(*) AS n FROM {} [RANGE UNBOUNDED]"


def session_with(*queries: str, folder: Path | None = None, clock: Time | None = None) -> Session:
    session = Session(master="none", data=folder or Path(), clock=clock or Time())
    session.execute(
        "CREATE STREAM S (v INT, ts BIGINT) ORDERED BY ts; CREATE STREAM P (v INT, ts BIGINT) ORDERED BY ts;"
    )
    for query in queries:
        session.execute(query)
    return session


def live_of(session: Session) -> LiveGroups:
    assert session.live is not None
    return session.live


def test_what_others_read_while_a_group_begins_is_not_lost_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    session = session_with(f"REGISTER QUERY a AS {COUNT.format('S')}")
    session.start()
    live = live_of(session)
    session.insert("S", [(1, 1)])
    live.process()
    begin = LiveRun.__init__

    def interleaved(run: LiveRun, *arguments: Any, **others: Any) -> None:
        session.insert("S", [(1, 10), (1, 11)])
        live.main.process()
        begin(run, *arguments, **others)

    monkeypatch.setattr(LiveRun, "__init__", interleaved)
    session.execute(f"REGISTER QUERY b GROUP g AS {COUNT.format('S')}")
    session.start()
    session.insert("S", [(1, 20)])
    live.process()
    live.heartbeat("S", 20)
    begun = live.queries["b"].start
    assert live.content("b") == [(sum(begun <= t for t in (1, 10, 11, 20)),)]
    session.stop()


def test_a_group_that_reads_a_source_for_the_first_time_begins_after_what_others_have_read_of_it() -> None:
    session = session_with(
        f"REGISTER QUERY a AS {COUNT.format('S')}", f"REGISTER QUERY p GROUP g AS {COUNT.format('P')}"
    )
    session.start()
    live = live_of(session)
    for rows in [(1, 5)], [(1, 10), (1, 20)]:
        session.insert("S", rows)
        live.process()
    session.execute(f"REGISTER QUERY b GROUP g AS {COUNT.format('S')}")
    session.start()
    assert live.queries["b"].start == 21
    session.insert("S", [(1, 100)])
    live.heartbeat("S", 100)
    live.heartbeat("P", 100)
    assert live.content("b") == [(1,)]
    session.stop()


def test_others_work_between_any_two_steps_by_which_a_group_begins() -> None:
    session = session_with(f"REGISTER QUERY a AS {COUNT.format('S')}")
    session.start()
    live, worked = live_of(session), list[int]()

    def step(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != live_groups.__file__ or frame.f_code.co_name not in ("start", "_open"):
            return None
        if event == "line":
            live._in_all(lambda _: worked.append(frame.f_lineno))
        return step

    session.execute(f"REGISTER QUERY b GROUP g AS {COUNT.format('S')}")
    before = sys.gettrace()
    sys.settrace(step)
    try:
        session.start()
    finally:
        sys.settrace(before)
    assert len(set(worked)) > 5
    session.stop()


def held(session: Session) -> int:
    """How many batches are kept."""
    return len(live_of(session).main.intake._batches)


def test_rows_are_not_kept_for_a_group_that_nobody_works_on() -> None:
    session = session_with(
        f"REGISTER QUERY a AS {COUNT.format('S')}", f"REGISTER QUERY b GROUP g AS {COUNT.format('S')}"
    )
    session.start()
    live = live_of(session)
    live.runs["g"].given_up()
    for instant in range(3):
        session.insert("S", [(1, instant)])
        live.main.process()
    assert held(session) == 0
    session.stop()


def test_rows_are_kept_for_a_group_with_which_another_process_goes_on(tmp_path: Path) -> None:
    queries = f"REGISTER QUERY a AS {COUNT.format('S')}", f"REGISTER QUERY b GROUP g AS {COUNT.format('S')}"
    session = session_with(*queries)
    session.start(options=at(tmp_path))
    live_of(session).runs["g"].given_up()
    for instant in range(3):
        session.insert("S", [(1, instant)])
        live_of(session).main.process()
    session.stop()
    again = session_with(*queries)
    again.start(options=at(tmp_path))
    live_of(again).finish()
    assert live_of(again).content("b") == [(3,)]
    again.stop()


def test_rows_are_not_kept_for_a_group_that_could_not_begin(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file and no folder")
    session = session_with(f"REGISTER QUERY a AS {COUNT.format('S')}", folder=tmp_path)
    session.start()
    session.execute("REGISTER QUERY b GROUP g AS SELECT v FROM S [NOW] INTO csv('out')")
    with pytest.raises((ContinuaError, OSError)):
        session.start()
    for instant in range(3):
        session.insert("S", [(1, instant)])
        live_of(session).process()
    assert held(session) == 0
    session.stop()


class OnceMore(threading.Event):
    """It is set while somebody waits for something else."""

    def wait(self, _: float | None = None) -> bool:
        """Whether it was set before."""
        before = self.is_set()
        self.set()
        return before


def test_the_watch_over_silent_sources_closes_nothing_after_the_end() -> None:
    clock = Time()
    clock.now = 1_000_000
    session = session_with(f"REGISTER QUERY a AS {COUNT.format('S')}", clock=clock)
    session.execute("CREATE STREAM Q (v INT, ts BIGINT) ORDERED BY ts SLACK 5")
    session.execute(f"REGISTER QUERY q AS {COUNT.format('Q')}")
    session.start(options=LiveOptions(idle_timeout=1e6))
    session.insert("S", [(1, 100)])
    session.insert("Q", [(1, 100)])
    live = live_of(session)
    live.process()
    main, before = live.main, live.engine.epoch_number
    clock.now *= 10_000_000
    session.stop()
    main.live._over = OnceMore()
    main.live._watch(1e6)
    assert main.engine.epoch_number == before
    assert main.live.failure is None


# A group whose last query has left.


def has_ended(session: Session, group: str = "g") -> bool:
    """Whether a group is no more, once it is closed if it is about to be."""
    for thread in threading.enumerate():
        if thread.name == f"continua-end-{group}":
            thread.join()
    return group not in live_of(session).runs


@pytest.mark.parametrize("durable", [False, True])
def test_a_group_ends_when_its_last_query_has_left_and_begins_anew_with_the_next(tmp_path: Path, durable: bool) -> None:
    queries = [f"REGISTER QUERY {name} GROUP g AS {COUNT.format('S')}" for name in ("b", "c")]
    session = session_with(f"REGISTER QUERY a AS {COUNT.format('S')}", *queries)
    options = at(tmp_path / "checkpoint") if durable else None
    handles = {h.name: h for h in session.start(options=options)}
    live = live_of(session)
    session.insert("S", [(1, 5)])
    live.process()
    handles["b"].stop()
    assert not has_ended(session)
    session.execute("STOP c")
    assert has_ended(session)
    assert handles["b"].awaitTermination()
    assert handles["c"].recentProgress
    for instant in (10, 11):
        session.insert("S", [(1, instant)])
        live.process()
    assert held(session) == 0
    assert [handle.name for handle in session.start()] == ["a"]
    assert "g" not in live.runs
    session.execute("START b")
    assert live.queries["b"].start == 12
    session.insert("S", [(1, 20), (1, 30)])
    live.process()
    live.heartbeat("S", 30)
    assert (live.content("a"), live.content("b")) == ([(5,)], [(2,)])
    session.stop()
    if durable:
        again = session_with(f"REGISTER QUERY a AS {COUNT.format('S')}", *queries)
        again.start(options=options)
        assert (live_of(again).content("b"), "c" in live_of(again).queries) == ([(2,)], False)
        again.stop()


def test_a_group_that_had_ended_stays_so_in_another_process(tmp_path: Path) -> None:
    queries = [f"REGISTER QUERY a AS {COUNT.format('S')}", f"REGISTER QUERY b GROUP g AS {COUNT.format('S')}"]
    session = session_with(*queries)
    session.start(options=at(tmp_path))
    # the last is late, of which the checkpoint of the group knows
    for row in (1, 5), (1, 6), (1, 2):
        session.insert("S", [row])
        live_of(session).process()
    session.execute("STOP b")
    session.insert("S", [(1, 7)])
    live_of(session).process()
    session.stop()
    again = session_with(*queries)
    again.start(options=at(tmp_path))
    assert has_ended(again)
    again.execute("START b")
    assert live_of(again).queries["b"].start == 8
    again.insert("S", [(1, 9)])
    live_of(again).finish()
    assert (live_of(again).content("a"), live_of(again).content("b")) == ([(4,)], [(1,)])
    again.stop()


def test_a_query_may_stop_itself_within_an_epoch_of_its_group() -> None:
    session = session_with(
        f"REGISTER QUERY a AS {COUNT.format('S')}", f"REGISTER QUERY b GROUP g AS {COUNT.format('S')}"
    )
    handles = {h.name: h for h in session.start()}
    told = list[int]()

    def stop(epoch: int, _: object) -> None:
        told.append(epoch)
        handles["b"].stop()

    handles["b"].foreach(stop)
    session.insert("S", [(1, 5), (1, 6)])
    live_of(session).process()
    assert told
    assert has_ended(session)
    session.insert("S", [(1, 7)])
    live_of(session).process()
    live_of(session).heartbeat("S", 7)
    assert live_of(session).content("a") == [(3,)]
    session.stop()


def test_queries_that_leave_and_join_at_the_same_time_find_a_group_that_works() -> None:
    session = session_with(
        f"REGISTER QUERY a AS {COUNT.format('S')}", f"REGISTER QUERY b GROUP g AS {COUNT.format('S')}"
    )
    session.start()
    live, over = live_of(session), threading.Event()
    failures = list[BaseException]()

    def work() -> None:
        while not over.is_set():
            try:
                live.process()
            except BaseException as error:
                failures.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for instant in range(40):
            session.insert("S", [(1, instant)])
            session.execute("STOP b")
            session.execute("START b")
    finally:
        over.set()
        worker.join()
    assert not failures
    session.insert("S", [(1, 100), (1, 101)])
    live.process()
    live.heartbeat("S", 101)
    begun = live.queries["b"].start
    assert live.content("b") == [(2 + sum(begun <= t for t in range(40)),)]
    session.stop()


def test_what_failed_in_a_group_that_has_ended_is_still_told() -> None:
    failing = "SELECT CAST(v * 100 AS TINYINT) AS x FROM S [NOW]"
    session = session_with(f"REGISTER QUERY a AS {COUNT.format('S')}", f"REGISTER QUERY b GROUP g AS {failing}")
    session.start()
    live = live_of(session)
    session.insert("S", [(9, 1), (1, 2)])
    with pytest.raises(ContinuaError) as caught:
        live.process()
    assert isinstance(caught.value, EvaluationError)
    live.drop("b", caught.value)
    assert has_ended(session)
    assert live.failed.keys() == {"b"}
    live.process()
    session.execute("START b")
    assert live.failed.keys() == set()
    session.stop()

"""Live runs that are started again after queries have joined or left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from continua.runtime import tasks
from continua.runtime.checkpoint.opening import reader_store
from continua.runtime.checkpoint.registrations import registrations_of
from continua.session import Session
from tests.crash.faults import Fault, Stopped, hooked
from tests.crash.world import forget_memory
from tests.runtime.living import BATCHES, FIRST, LATER, THIRD, Answers, answers, at, push, restarted, session_with


@pytest.fixture(autouse=True)
def _no_memory() -> Iterator[None]:
    yield
    forget_memory()


def story(folder: Path, restart: Callable[[Session], Session]) -> Answers:
    """Two queries join later, one leaves, and in between the run is stopped or not."""
    session = session_with(FIRST)
    session.start(options=at(folder))
    push(session, BATCHES[0])
    session = restart(session)
    for number, text in ((1, LATER), (2, THIRD)):
        push(session, BATCHES[number])
        query = session.sql(text)
        assert query is not None
        session.start([query])
        session = restart(session)
    push(session, BATCHES[3])
    assert session.live is not None
    session.live.drop("first")
    session = restart(session)
    for batch in BATCHES[4:]:
        push(session, batch)
        session = restart(session)
    return answers(session)


def test_a_run_goes_on_with_queries_that_joined_and_without_those_that_left(tmp_path: Path) -> None:
    texts = {"first": FIRST, "later": LATER, "third": THIRD}

    def restart(session: Session) -> Session:
        return restarted(session, tmp_path / "restarted", *(texts[name] for name in session.queries))

    expected = story(tmp_path / "undisturbed", lambda session: session)
    assert expected.keys() == {"later", "third"}
    assert all(expected.values())
    assert story(tmp_path / "restarted", restart) == expected


def test_a_query_that_joined_keeps_its_start(tmp_path: Path) -> None:
    session = session_with(FIRST)
    session.start(options=at(tmp_path))
    push(session, BATCHES[0])
    query = session.sql(LATER)
    assert query is not None
    (handle,) = session.start([query])
    start = handle.query.start
    assert start == 6
    session.stop()
    again = session_with(FIRST, LATER)
    handles = again.start(options=at(tmp_path))
    assert [h.query.start for h in handles] == [0, start]
    again.stop()


def test_a_query_that_left_comes_back_only_as_a_new_one(tmp_path: Path) -> None:
    session = session_with(FIRST, THIRD)
    first, third = session.start(options=at(tmp_path))
    push(session, BATCHES[0])
    push(session, BATCHES[1])
    third.stop()
    session = restarted(session, tmp_path, FIRST, THIRD)
    assert session.live is not None
    assert list(session.live.queries) == ["first"]
    assert [h.name for h in session.start()] == ["first"]
    (third,) = session.start([session.queries["third"]])
    assert third.query.start == 12
    push(session, BATCHES[2])
    session = restarted(session, tmp_path, FIRST, THIRD)
    found = answers(session)
    assert min(t for t, _, _ in found["third"]) == 19
    assert {row for _, op, row in found["third"] if op == "+"} == {(1,), (3,)}
    assert first.name in found


def test_all_queries_may_leave_and_come_back(tmp_path: Path) -> None:
    session = session_with(FIRST)
    (first,) = session.start(options=at(tmp_path))
    push(session, BATCHES[0])
    session.execute("DROP QUERY first")
    assert not first.isActive
    push(session, BATCHES[1])
    session = restarted(session, tmp_path, FIRST)
    assert session.live is not None and not session.live.queries
    session.start([session.queries["first"]])
    push(session, BATCHES[2])
    assert {t for t, _, _ in answers(session)["first"]} >= {19, 20}


def test_a_source_that_only_a_query_which_left_has_read_is_not_waited_for(tmp_path: Path) -> None:
    session = session_with(FIRST, "REGISTER QUERY other AS SELECT k FROM P [NOW];")
    _, other = session.start(options=at(tmp_path))
    push(session, BATCHES[0])
    assert session.live is not None
    assert session.live.engine.until < 0
    other.stop()
    push(session, BATCHES[1])
    assert session.live.engine.until == 8
    session.stop()


def changed_run(folder: Path, fault: Fault | None) -> tuple[Session, bool]:
    """A query joins and one leaves; the process may end at some step of that. Whether it did."""
    session = session_with(FIRST, THIRD)
    session.start(options=at(folder))
    push(session, BATCHES[0])
    query = session.sql(LATER)
    assert query is not None
    try:
        with hooked(fault) if fault is not None else no_fault():
            session.start([query])
            assert session.live is not None
            session.live.drop("third")
    except Stopped:
        return session, True
    return session, False


@contextmanager
def no_fault() -> Iterator[None]:
    yield


def finished_change(folder: Path) -> Answers:
    """What comes after the change in a new process, which asks for the same."""
    again = session_with(FIRST, THIRD, LATER)
    again.start(options=at(folder))
    assert again.live is not None
    again.live.drop("third")
    for batch in BATCHES[1:]:
        push(again, batch)
    return answers(again)


def test_a_crash_at_any_step_of_a_change_leaves_the_one_graph_or_the_other(tmp_path: Path) -> None:
    counting = Fault()
    session, _ = changed_run(tmp_path / "undisturbed", counting)
    session.stop()
    expected = finished_change(tmp_path / "undisturbed")
    chosen = [n for n, (what, _) in enumerate(counting.steps, start=1) if what in ("rename", "done")]
    for number in {*chosen[::4], *chosen[-2:]}:
        folder = tmp_path / str(number)
        _, stopped = changed_run(folder, Fault(number))
        assert stopped
        assert finished_change(folder) == expected, counting.steps[number - 1]


def test_state_of_operators_that_left_is_given_up(tmp_path: Path) -> None:
    wide = "REGISTER QUERY wide AS SELECT DISTINCT k, ts FROM S [RANGE 100000];"
    session = session_with(FIRST, wide)
    _, handle = session.start(options=at(tmp_path))
    push(session, [(i % 10, i) for i in range(20_000)])
    assert handle.lastProgress is not None
    before = handle.lastProgress["stateBytes"]
    handle.stop()
    push(session, [(1, 20_010)])
    first = handle.lastProgress
    assert isinstance(before, int) and isinstance(first["stateBytes"], int)
    assert first["stateBytes"] < before / 3
    mapped = [o.arena for o in tasks._open.values()]
    assert sum(a.size for a in mapped) == first["stateBytes"]
    assert all(a.garbage < 1 << 20 for a in mapped)
    assert handle.recentProgress
    session = restarted(session, tmp_path, FIRST, wide)
    push(session, [(1, 20_020)])
    assert session.live is not None
    assert session.live.main.recent[-1]["stateBytes"] < before / 3  # type: ignore[operator]
    session.stop()


def test_queries_are_written_down(tmp_path: Path) -> None:
    session = session_with(FIRST)
    session.start(options=at(tmp_path))
    found = registrations_of(reader_store(tmp_path))
    assert found is not None
    assert [(q.name, q.start, q.generation, q.dropped) for q in found.queries] == [("first", 0, "", False)]
    session.stop()

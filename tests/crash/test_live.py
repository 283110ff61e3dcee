"""Live queries and graphs that change: what arrives is worked on once, whatever happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from continua.errors import CheckpointError, EvaluationError
from continua.physical.nodes import QueryResult
from continua.physical.ordered_operators import FINAL
from continua.runs.live_options import LiveOptions
from continua.runs.plans import column_types, sink_of
from continua.runtime.checkpoint.registrations import Registered
from continua.runtime.engine import Engine
from continua.runtime.executors.executor import InProcess
from continua.runtime.feed import Fed, Feed
from continua.session import Session
from tests.crash.faults import FailedError, Fault, Stopped, hooked
from tests.crash.test_corruption import assert_named, flip, partitions
from tests.crash.world import forget_memory, fresh_process, manifests_in, world

DEFINITIONS = """
CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts SLACK 2;
CREATE TABLE C (k INT, n STRING) AS VALUES (1, 'one'), (2, 'two');
REGISTER QUERY named AS SELECT S.k, C.n FROM S [RANGE 5], C WHERE S.k = C.k;
REGISTER QUERY counted AS SELECT k, COUNT(*) AS n FROM S [RANGE 8] GROUP BY k;
"""
BATCHES = ([(1, 5)], [(2, 9), (1, 8)], [(1, 12), (2, 13)], [(2, 20)], [(1, 21), (1, 1), (2, 24)])
Answers = list[tuple[str, int, str | None, tuple[object, ...]]]


def started(checkpoint: Path) -> Session:
    """A session that has just begun to run its queries."""
    forget_memory()
    session = Session(rejects=checkpoint.with_name("rejected"))
    session.execute(DEFINITIONS)
    session.start(options=LiveOptions(checkpoint=checkpoint))
    return session


def processed(session: Session, batch: list[tuple[int, int]]) -> None:
    """Rows arrive and are worked on."""
    assert session.live is not None
    session.insert("S", batch)
    session.live.process()


def finished(session: Session) -> Answers:
    """All answers at the end of the stream."""
    assert session.live is not None
    session.live.finish()
    found = [a for name in session.queries for a in session.live.answers(name)]
    session.stop()
    return [(a.query, a.instant, a.op, a.row) for a in found]


def undisturbed_live(checkpoint: Path) -> Answers:
    """The answers of a run that nothing disturbs."""
    session = started(checkpoint)
    for batch in BATCHES:
        processed(session, batch)
    return finished(session)


def disturbed_live(checkpoint: Path, number: int) -> Answers:
    """The answers when the process ends at some step, and what was not worked on is sent again."""
    fault = Fault(number)
    session, sent = started(checkpoint), 0
    while sent < len(BATCHES):
        assert session.live is not None
        before = session.live.engine.epoch_number
        try:
            with hooked(fault):
                processed(session, BATCHES[sent])
        except Stopped:
            session = started(checkpoint)
            assert session.live is not None
            engine = session.live.engine
            if session.live.recovered:
                # the checkpoint has them, and they are worked on by themselves
                assert session.live.recovered == {"s": len(BATCHES[sent])}
                session.live.process()
                sent += 1
            elif engine.epoch_number > before and engine.offsets.live is not None:
                sent += engine.offsets.live.sources["s"].latest >= BATCHES[sent][-1][1]
            continue
        sent += 1
    assert len(fault.steps) >= number
    return finished(session)


def test_stored_relations_are_read_once(tmp_path: Path) -> None:
    session = started(tmp_path / "stopped")
    for number, batch in enumerate(BATCHES):
        processed(session, batch)
        if number % 2:
            session.stop()
            session = started(tmp_path / "stopped")
    assert finished(session) == undisturbed_live(tmp_path / "undisturbed")


@pytest.mark.parametrize("number", [2, 3, 9, 14, 20, 29, 33, 47, 60, 75])
def test_a_live_run_that_is_stopped_goes_on(number: int, tmp_path: Path) -> None:
    assert disturbed_live(tmp_path / "stopped", number) == undisturbed_live(tmp_path / "undisturbed")


def test_a_live_run_does_not_fall_back_since_rows_do_not_come_again(tmp_path: Path) -> None:
    session = started(tmp_path)
    for batch in BATCHES:
        processed(session, batch)
    session.stop()
    manifest = manifests_in(tmp_path)[-1]
    flip(manifest)
    with pytest.raises(CheckpointError) as caught:
        started(tmp_path)
    assert_named(caught.value, manifest)


def test_a_failed_epoch_does_not_lose_stored_relations(tmp_path: Path) -> None:
    session = started(tmp_path / "failed")
    fault = Fault(4, FailedError)
    with hooked(fault), pytest.raises((FailedError, EvaluationError)):
        processed(session, BATCHES[0])
    for batch in BATCHES[1:]:  # the rows of the first wait
        processed(session, batch)
    assert finished(session) == undisturbed_live(tmp_path / "undisturbed")


# Graphs that change.


def sinks(*names: str) -> list[QueryResult]:
    """The graphs of some queries."""
    return [sink_of(q, q.bound.logical, []) for q in world().queries if q.name in names]


def epochs() -> list[Fed]:
    """The rows of all of them, as epochs."""
    feed = Feed.of_inputs(world().inputs, column_types(world().queries))
    found = [feed.next(3, feed.places({}), FINAL)]
    while found[-1].until < FINAL:
        found.append(feed.next(3, found[-1].offsets.rows, FINAL))
    return found


def changing(folder: Path, crash: bool) -> list[object]:
    """Queries leave and come; with a crash in each epoch or without. What one of them answers."""
    engine = Engine(sinks("joined", "latest", "busiest"), InProcess(), checkpoint=folder, partitions=2)
    plan = {2: ("latest",), 5: ("latest", "different")}
    for number, fed in enumerate(epochs()):
        names = plan.get(number)
        if names:
            engine.change(sinks(*names))
        engine.epoch(fed)
        if crash:
            forget_memory()
            engine.close()
            engine = Engine(list(engine.graphs), InProcess(), checkpoint=folder, partitions=2)
    table = engine.results("latest")
    assert table is not None
    engine.close()
    return list(table.to_pylist())


def test_a_graph_that_changed_goes_on_after_a_crash(tmp_path: Path) -> None:
    with fresh_process():
        expected = changing(tmp_path / "undisturbed", crash=False)
        assert changing(tmp_path / "crashed", crash=True) == expected


def test_levels_that_are_not_there_any_more_leave_no_files(tmp_path: Path) -> None:
    with fresh_process():
        changing(tmp_path, crash=False)
    engine = Engine(sinks("latest", "different"), InProcess(), checkpoint=tmp_path, partitions=2)
    levels = len(engine.placement.levels)
    engine.close()
    for folder in partitions(tmp_path):
        used = int(folder.parent.name.removeprefix("level-")) < levels
        assert any(p.is_file() for p in folder.rglob("*")) == used


def test_a_graph_that_changed_goes_on_from_what_was_before(tmp_path: Path) -> None:
    """No snapshot is taken for a change: the logs before it are run again by those queries that ran and still do."""
    first, second, third = epochs()[:3]

    def last(folder: Path, lost: bool) -> list[object]:
        engine = Engine(sinks("joined", "latest"), InProcess(), checkpoint=folder, partitions=1)
        engine.epoch(first)
        engine.change(sinks("latest", "different"), queries=joined_after(engine, "different"))
        engine.epoch(second)
        if lost:
            engine.close()
            assert not [*folder.glob("state/*/*/snapshots/*")]
            known = joined_after(engine, "different", 2)
            engine = Engine(list(engine.graphs), InProcess(), checkpoint=folder, partitions=1, queries=known)
        engine.epoch(third)
        tables = [engine.results(name, 3) for name in ("latest", "different")]
        engine.close()
        return [None if table is None else table.to_pylist() for table in tables]

    with fresh_process():
        assert last(tmp_path / "lost", lost=True) == last(tmp_path / "kept", lost=False)


def joined_after(engine: Engine, name: str, first: int | None = None) -> list[Registered]:
    """What is known of a query that joins in the next epoch."""
    return [Registered(name, "", 0, 0, f"@{first or engine.epoch_number + 1}")]

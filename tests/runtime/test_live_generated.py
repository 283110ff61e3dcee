"""Live runs over generated sources, by a clock that is set by hand: a number is there from its moment on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from continua.answers.query import Answer
from continua.errors import CheckpointError
from continua.physical.ordered_operators import FINAL
from continua.runs.live_options import LiveOptions
from continua.runs.live_run import LiveRun
from continua.runtime import live_files
from continua.session import Session
from continua.sources import planning
from continua.sources.nexmark.events import Events
from tests.crash.world import forget_memory
from tests.runtime.test_live import Time

SECOND = 1_000_000
BEGIN = 1_790_000_000 * SECOND + 123_456
BID = "CREATE STREAM Bid (auction BIGINT, price BIGINT, dateTime TIMESTAMP) SOURCE {} ORDERED BY dateTime;"
PERSON = "CREATE STREAM Person (id BIGINT, dateTime TIMESTAMP) SOURCE {} ORDERED BY dateTime;"
TICK = "CREATE STREAM Tick (value BIGINT, timestamp TIMESTAMP) SOURCE {} ORDERED BY timestamp;"
COUNT = "REGISTER QUERY counted AS SELECT ISTREAM auction, price, dateTime FROM Bid [NOW];"
TICKS = "REGISTER QUERY ticks AS SELECT ISTREAM value FROM Tick [NOW];"


@pytest.fixture
def clock() -> Time:
    found = Time()
    found.now = BEGIN
    return found


def started(clock: Callable[[], int], text: str, checkpoint: Path | None = None, partitions: int = 2) -> Session:
    """A live session in a process of its own, as it were."""
    forget_memory()
    session = Session(clock=clock)
    session.execute(text)
    session.start(options=LiveOptions(checkpoint=checkpoint, partitions=partitions))
    return session


def live_of(session: Session) -> LiveRun:
    assert session.live is not None
    return session.live.main


def read(session: Session, name: str) -> int:
    """Up to which number a source has been read."""
    (known,) = live_of(session).engine.positions[name].files.values()
    return known.offset


def rows(answers: list[Answer]) -> list[tuple[object, ...]]:
    return [a.row for a in answers]


def test_rows_come_with_the_clock_and_time_goes_up_to_the_next(clock: Time) -> None:
    session = started(clock, TICK.format("rate(rows_per_second => 10)") + TICKS)
    live = live_of(session)
    live.process()
    assert rows(live.answers("ticks")) == [(0,)], "the run reads the source for the first time when row 0 is there"
    assert live.engine.until == BEGIN + SECOND // 10 - 1, "nothing happens before the next row"
    clock.now += SECOND // 10 - 1
    live.process()
    assert rows(live.answers("ticks")) == [(0,)]
    clock.now += 1
    live.process()
    assert rows(live.answers("ticks")) == [(0,), (1,)]
    clock.now += 2 * SECOND
    live.process()
    assert rows(live.answers("ticks")) == [(n,) for n in range(22)]
    assert [a.instant for a in live.answers("ticks")] == [BEGIN + n * SECOND // 10 for n in range(22)]
    session.stop()


def test_a_source_that_was_read_to_its_end_is_complete(clock: Time) -> None:
    session = started(clock, TICK.format("rate(rows_per_second => 10, rows => 5)") + TICKS)
    live = live_of(session)
    clock.now += 300_000
    live.process()
    clock.now += 99_999
    live.process()
    assert live.engine.until < FINAL
    clock.now += 60 * SECOND
    live.process()
    assert live.engine.until == FINAL
    assert rows(live.answers("ticks")) == [(n,) for n in range(5)]
    live.process()
    session.stop()


@pytest.mark.parametrize("start", ["2026-09-21 14:13:20", "2027-01-01"])
def test_a_start_that_is_declared_is_when_row_0_is_there(clock: Time, start: str) -> None:
    clock.now = BEGIN - BEGIN % SECOND + 10 * SECOND
    text = f"nexmark('bid', rate => 20, start => '{start}')"
    session = started(clock, BID.format(text) + COUNT)
    live_of(session).process()
    if start.startswith("2027"):
        assert "bid" not in live_of(session).engine.positions
    else:
        assert read(session, "bid") == 201, "those of ten seconds, and the first of the eleventh"
    session.stop()


def test_a_clock_that_runs_on_while_rows_are_read_does_not_keep_a_call_for_ever(clock: Time) -> None:
    def running() -> int:
        clock.now += SECOND
        return clock.now

    session = started(running, TICK.format("rate(rows_per_second => 10)") + TICKS)
    for _ in range(3):
        live_of(session).process()
    assert read(session, "tick") > 20
    session.stop()


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_run_that_was_away_goes_on_with_the_same_events(
    clock: Time, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partitions: int
) -> None:
    text = BID.format("nexmark('bid', rate => 50, seed => 7)") + COUNT
    checkpoint = tmp_path / "checkpoint"
    session = started(clock, text, checkpoint, partitions)
    live_of(session).process()
    clock.now += 5 * SECOND + 1_700
    live_of(session).process()
    assert read(session, "bid") == 251
    session.stop()
    clock.now += 40 * SECOND
    monkeypatch.setattr(planning, "BYTES", 1_000)
    monkeypatch.setattr(live_files, "EPOCH_BYTES", 5_000)
    session = started(clock, text, checkpoint, partitions)
    live = live_of(session)
    before = live.engine.epoch_number
    live.process()
    assert read(session, "bid") == 2_251
    assert live.engine.epoch_number - before > 5, "it catches up in epochs of a bounded size"
    events = Events("bid", 50, 7, BEGIN)
    made = events.make(events.numbers(0, events.rows_below(2_251)), ("auction", "price", "dateTime"))
    assert rows(live.answers("counted")) == [tuple(row.values()) for row in made.to_pylist()]
    assert live.live.late == {"bid": 0}
    session.stop()


def test_a_checkpoint_of_other_events_is_refused(clock: Time, tmp_path: Path) -> None:
    text = BID.format("nexmark('bid', rate => 50, seed => 7)") + COUNT
    session = started(clock, text, tmp_path)
    live_of(session).process()
    session.stop()
    for change in ("seed => 8", "seed => 7, start => '2026-01-01'"):
        with pytest.raises(CheckpointError) as caught:
            started(clock, text.replace("seed => 7", change), tmp_path)
        assert caught.value.condition == "SOURCE_CHANGED"


def test_kinds_that_are_read_later_have_the_numbers_of_the_first(clock: Time, tmp_path: Path) -> None:
    source = "nexmark('{}', rate => 100, seed => 7)"
    text = BID.format(source.format("bid")) + PERSON.format(source.format("person"))
    session = started(clock, text + COUNT, tmp_path)
    live_of(session).process()
    clock.now += 3 * SECOND
    live_of(session).process()
    joined = session.sql("SELECT ISTREAM id, dateTime FROM Person [NOW]")
    assert joined is not None
    (handle,) = session.start([joined])
    clock.now += 3 * SECOND
    live_of(session).process()
    persons = Events("person", 100, 7, BEGIN)
    made = persons.make(persons.numbers(0, persons.rows_below(601)), ("id", "dateTime")).to_pylist()
    found = rows(live_of(session).answers(handle.name))
    assert found == [tuple(row.values()) for row in made][-len(found) :]
    assert len(found) == 6, "two a second, since it joined"
    assert live_of(session).live.late == {"bid": 0, "person": 0}
    session.stop()


def test_a_source_without_a_row_for_long_does_not_hold_the_others_up(clock: Time) -> None:
    source = "nexmark('{}', rate => 10)"
    text = BID.format(source.format("bid")) + PERSON.format(source.format("person"))
    session = started(clock, text + "REGISTER QUERY p AS SELECT ISTREAM id FROM Person [NOW];" + COUNT)
    live_of(session).process()
    clock.now += 4 * SECOND
    live_of(session).process()
    clock.now += 900_000
    live_of(session).process()
    assert live_of(session).engine.until >= BEGIN - BEGIN % 1_000 + 4 * SECOND
    assert len(live_of(session).answers("counted")) == 46, "all that there are"
    session.stop()

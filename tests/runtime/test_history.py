"""History of live runs: chapters change no answer, what is behind the horizon is refused, and nothing piles up."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from continua.errors import BindError, CheckpointError, SourceError
from continua.runs.live_options import LiveOptions
from continua.runs.live_run import LiveRun
from continua.runtime.checkpoint import chapters
from continua.runtime.checkpoint.offsets import LiveOffsets, SourceOffset
from continua.runtime.engine import Engine
from continua.session import Session
from continua.sinks.sink import FunctionSink, MemorySink
from tests.crash.faults import Fault, Stopped, hooked
from tests.crash.world import forget_memory

DEFINITIONS = """
CREATE STREAM S (k INT, s STRING, ts BIGINT) ORDERED BY ts SLACK 2;
REGISTER QUERY counted AS SELECT k, COUNT(*) AS n, MAX(s) AS top FROM S [RANGE 9] GROUP BY k;
REGISTER QUERY grown AS SELECT k, COUNT(*) AS n FROM S GROUP BY k;
REGISTER QUERY listed AS SELECT k, ARRAY_AGG(s) AS texts FROM S [RANGE 5] GROUP BY k;
REGISTER QUERY news AS SELECT ISTREAM k, s FROM S [RANGE 4] WHERE k > 1;
REGISTER QUERY lasting AS SELECT RSTREAM k FROM S [RANGE 6];
CREATE COMPLETE VIEW top AS SELECT MAX(k) AS k FROM S [RANGE 7];
"""
QUERIES = ("counted", "grown", "listed", "news", "lasting")
Batches = list[list[tuple[int, str, int]]]
pytestmark = pytest.mark.usefixtures("short")


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapters of two epochs."""
    monkeypatch.setattr(chapters, "_PERIOD", 2)


def batches(seed: int, count: int = 14) -> Batches:
    """Rows that come, some of them late."""
    rng, now, found = random.Random(seed), 0, Batches()
    for _ in range(count):
        rows = []
        for _ in range(rng.randrange(1, 5)):
            now += rng.randrange(3)
            rows.append((rng.randrange(4), rng.choice("abc"), max(now - rng.choice((0, 0, 0, 2, 9)), 0)))
        found.append(rows)
    return found


def session_with(retention: str, *more: str) -> Session:
    """A session whose live run keeps so much."""
    forget_memory()
    session = Session(master="none")
    session.execute(DEFINITIONS + "\n".join(more) + f"SET retention = '{retention}';")
    return session


def push(session: Session, rows: list[tuple[int, str, int]]) -> None:
    """Rows come, and are worked on."""
    assert session.live is not None
    session.insert("S", rows)
    session.live.process()


def told(session: Session, since: int | None = None) -> dict[str, object]:
    """What can be asked of a live run."""
    live = session.live
    assert live is not None
    until = live.engine.until
    instants = range(max(0 if since is None else since, until - 30), until + 1)
    return {
        **{f"{q} {t}": live.content(q, t) for q in QUERIES for t in instants},
        **{f"top {t}": live.content("view top", t) for t in instants},
        **{q: [(a.instant, a.op, a.row) for a in live.answers(q, since)] for q in QUERIES if q != "lasting"},
    }


def latest(engine: Engine) -> int:
    """The latest time that a run has read of its source."""
    return (engine.offsets.live or LiveOffsets()).sources.get("s", SourceOffset()).latest


def horizon(session: Session) -> tuple[int, int]:
    """The last epoch that is told no more, and its instant."""
    assert session.live is not None
    found = session.live.engine.yielded.past.horizon
    return found.epoch, found.until


@pytest.mark.parametrize("seed", range(4))
def test_chapters_change_no_answer(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = session_with("unlimited")
    cut.start()
    for rows in batches(seed):
        push(cut, rows)
    assert cut.live is not None and len(cut.live.engine.yielded.past.chapters) > 1
    late = cut.live.late("S").to_pylist()
    found = told(cut)
    cut.stop()
    monkeypatch.setattr(chapters, "_PERIOD", 10_000)
    whole = session_with("unlimited")
    whole.start()
    for rows in batches(seed):
        push(whole, rows)
    assert whole.live is not None and not whole.live.engine.yielded.past.chapters
    assert found == told(whole)
    assert late == whole.live.late("S").to_pylist()
    whole.stop()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("checkpoint", [False, True])
def test_what_is_within_the_retention_is_told_and_what_is_behind_it_is_refused(
    seed: int, checkpoint: bool, tmp_path: Path
) -> None:
    options = LiveOptions(checkpoint=tmp_path if checkpoint else None, durable=False)
    kept, whole = session_with("7 epochs"), session_with("unlimited")
    kept.start(options=options)
    whole.start()
    for number, rows in enumerate(batches(seed)):
        push(kept, rows)
        push(whole, rows)
        if checkpoint and number in (3, 8):
            kept.stop()
            kept = session_with("7 epochs")
            kept.start(options=options)
    epoch, until = horizon(kept)
    assert epoch > 0
    assert told(kept, until) == told(whole, until)
    assert kept.live is not None
    asking: list[Callable[[LiveRun], object]] = [
        lambda run: run.answers("grown"),
        lambda run: run.results("grown", until - 1),
        lambda run: run.content("grown", until - 1),
        lambda run: run.late("S"),
    ]
    for asked in asking:
        with pytest.raises(BindError) as caught:
            asked(kept.live.main)
        assert caught.value.condition == "BEHIND_HORIZON"
        assert caught.value.parameters == {"horizon": until}
    kept.stop()
    whole.stop()


def test_a_query_that_comes_again_under_its_name_begins_anew() -> None:
    session = session_with("unlimited")
    session.start()
    (early, late) = batches(1, 8), [[(k, s, ts + 100) for k, s, ts in rows] for rows in batches(2, 8)]
    for rows in early:
        push(session, rows)
    assert session.live is not None
    session.live.drop("grown")
    push(session, [(1, "a", 60)])
    session.start([session.queries["grown"]])
    for rows in late:
        push(session, rows)
    seen = [row for rows in late for row in rows]
    counts = [row[1] for row in session.live.content("grown")]
    assert 0 < sum(n for n in counts if isinstance(n, int)) <= len(seen)
    assert all(a.instant > 60 for a in session.live.answers("grown"))
    session.stop()


def test_a_sink_that_comes_late_gets_what_is_kept() -> None:
    session = session_with("7 epochs")
    handles = {h.name: h for h in session.start()}
    for rows in batches(3):
        push(session, rows)
    sink = MemorySink()
    handles["grown"].foreach(sink)
    epoch, until = horizon(session)
    assert min(sink.epochs) > epoch
    assert sink.table().num_rows == handles["grown"].changes(until).num_rows
    session.stop()


def test_files_do_not_pile_up(tmp_path: Path) -> None:
    session = session_with("9 epochs")
    session.start(options=LiveOptions(checkpoint=tmp_path, durable=False))
    sizes = []
    for number in range(120):
        push(session, [(number % 4, "a", 3 * number)])
        sizes.append(sum(1 for p in tmp_path.rglob("*") if p.is_file() and "state" not in p.parts))
    assert max(sizes[80:]) <= max(sizes[20:60]) + 4
    session.stop()


def steps(folder: Path) -> Iterator[int]:
    """The steps at which a run can be stopped, from the first epoch on."""
    fault = Fault()
    session = session_with("5 epochs")
    session.start(options=LiveOptions(checkpoint=folder, durable=False))
    with hooked(fault):
        for rows in batches(5, 8):
            push(session, rows)
    session.stop()
    places = [n for n, (_, path) in enumerate(fault.steps, 1) if "history" in path.parts or "epochs" in path.parts]
    yield from places[:: max(1, len(places) // 12)]


def test_a_run_that_is_stopped_anywhere_goes_on_with_its_history(tmp_path: Path) -> None:
    for number in steps(tmp_path / "first"):
        folder = tmp_path / str(number)
        options = LiveOptions(checkpoint=folder, durable=False)
        session = session_with("5 epochs")
        session.start(options=options)
        whole = session_with("unlimited")
        whole.start()
        fault = Fault(number)
        for rows in batches(5, 8):
            assert session.live is not None
            before = latest(session.live.engine)
            epoch = session.live.engine.epoch_number
            try:
                with hooked(fault):
                    push(session, rows)
            except Stopped:
                session = session_with("5 epochs")
                session.start(options=options)
                assert session.live is not None
                now = session.live.engine
                if now.epoch_number == epoch or latest(now) == before:
                    break
            push(whole, rows)
        else:
            assert session.live is not None
            session.live.process()
            _, until = horizon(session)
            assert told(session, until) == told(whole, until)
        session.stop()
        whole.stop()


def test_a_damaged_chapter_is_named(tmp_path: Path) -> None:
    session = session_with("unlimited")
    session.start(options=LiveOptions(checkpoint=tmp_path, durable=False))
    for rows in batches(6):
        push(session, rows)
    session.stop()
    chapter = sorted((tmp_path / "history").iterdir())[-1]
    content = bytearray(chapter.read_bytes())
    content[len(content) // 2] ^= 1
    chapter.write_bytes(bytes(content))
    again = session_with("unlimited")
    with pytest.raises(CheckpointError) as caught:
        again.start(options=LiveOptions(checkpoint=tmp_path, durable=False))
        assert again.live is not None
        again.live.answers("grown")
    assert str(chapter) in str(caught.value)


@pytest.mark.parametrize("text", ["'1 day'", "'2 hours'", "'10 epochs'", "'1 epoch'", "unlimited", "'unlimited'"])
def test_retention_is_a_setting(text: str) -> None:
    Session(master="none").execute(f"SET retention = {text}")


@pytest.mark.parametrize("text", ["'soon'", "'0 epochs'", "'-1 day'", "7"])
def test_other_retentions_are_refused(text: str) -> None:
    with pytest.raises(BindError) as caught:
        Session(master="none").execute(f"SET retention = {text}")
    assert caught.value.condition == "BAD_SETTING"


def test_another_query_may_have_the_name_of_one_that_left() -> None:
    session = session_with("unlimited", "REGISTER QUERY other AS SELECT k, s FROM S [RANGE 3];")
    session.start()
    for rows in batches(1, 6):
        push(session, rows)
    assert session.live is not None
    session.live.drop("other")
    session.execute("DROP QUERY other; REGISTER QUERY other AS SELECT CAST(k AS STRING) AS name FROM S [RANGE 3]")
    session.start()
    for rows in batches(2, 12):
        push(session, [(k, s, ts + 100) for k, s, ts in rows])
    assert all(isinstance(row[0], str) and len(row) == 1 for row in session.live.content("other"))
    assert {len(a.row) for a in session.live.answers("other")} == {1}
    session.stop()


def test_a_sink_that_fails_for_longer_than_history_is_kept_is_told_and_goes_on() -> None:
    session = session_with("3 epochs")
    handles = {h.name: h for h in session.start()}
    down, got = [True], []

    def write(epoch: int, answers: pa.Table) -> None:
        del answers
        if down:
            raise OSError("down")
        got.append(epoch)

    handles["grown"].foreach(FunctionSink(write))
    told_of: list[str] = []
    for number, rows in enumerate(batches(1, 16)):
        if number == 11:
            down.clear()
        try:
            push(session, rows)
        except SourceError as error:
            told_of.append(error.condition)
        except OSError:
            pass
    assert "SINK_BEHIND" in told_of and told_of[-1:] == ["SINK_BEHIND"]
    assert got and got == sorted(got)
    session.stop()


def test_a_horizon_before_time_is_told(tmp_path: Path) -> None:
    session = Session(master="none")
    session.execute("CREATE STREAM T (k INT, ts TIMESTAMP) ORDERED BY ts SLACK 2 SECONDS")
    session.execute("REGISTER QUERY q AS SELECT k FROM T [RANGE 1 SECOND]; SET retention = '1 epoch'")
    (handle,) = session.start(options=LiveOptions(checkpoint=tmp_path, durable=False))
    for second in range(6):
        session.insert("T", [(1, datetime(2024, 1, 1, 0, 0, second // 4, tzinfo=UTC))])
        handle.processAllAvailable()
    with pytest.raises(BindError) as caught:
        handle.changes()
    assert caught.value.condition == "BEHIND_HORIZON"
    session.stop()


def test_the_side_file_keeps_what_history_has_forgotten(tmp_path: Path) -> None:
    def session() -> Session:
        forget_memory()
        found = Session(master="none", rejects=tmp_path / "rejected")
        found.execute(DEFINITIONS + "SET retention = '2 epochs'")
        found.start(options=LiveOptions(checkpoint=tmp_path / "ck", durable=False))
        return found

    first = session()
    for number in range(8):
        push(first, [(1, "a", 10 * number), (1, "b", 0)])
    first.stop()
    side = tmp_path / "rejected" / "S.rejected.jsonl"
    before = side.read_text().splitlines()
    again = session()
    push(again, [(1, "c", 0)])
    again.stop()
    assert side.read_text().splitlines()[: len(before)] == before
    assert len(side.read_text().splitlines()) == len(before) + 1


def test_answers_ahead_of_a_checkpoint_are_refused(tmp_path: Path) -> None:
    def session(checkpoint: Path) -> Session:
        forget_memory()
        found = Session(master="none", data=tmp_path)
        found.execute("CREATE STREAM T (k INT, ts BIGINT) ORDERED BY ts;")
        found.execute("REGISTER QUERY q AS SELECT ISTREAM k FROM T [NOW] INTO json('out')")
        found.start(options=LiveOptions(checkpoint=checkpoint, durable=False))
        return found

    first = session(tmp_path / "ck")
    for number in range(3):
        first.insert("T", [(number, number)])
        assert first.live is not None
        first.live.process()
    first.stop()
    shutil.copytree(tmp_path / "ck", tmp_path / "old")
    second = session(tmp_path / "ck")
    for number in range(3, 6):
        second.insert("T", [(number, number)])
        assert second.live is not None
        second.live.process()
    second.stop()
    with pytest.raises(SourceError) as caught:
        session(tmp_path / "old")
    assert caught.value.condition == "SINK_AHEAD"

"""Live queries in groups: each has epochs of its own, and all have every row once."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from continua.answers.relation_behind import behind_name
from continua.errors import CheckpointError, EvaluationError, ParseError
from continua.runs.live_options import LiveOptions
from continua.session import Session
from tests.crash.faults import Stopped
from tests.crash.world import forget_memory
from tests.runtime.living import Answers, at

DEFINITIONS = """
CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts SLACK 2;
CREATE STREAM P (k INT, ts BIGINT) ORDERED BY ts;
CREATE STREAM F (k INT, ts BIGINT) SOURCE csv('f.csv') ORDERED BY ts;
CREATE TABLE C (k INT, n STRING) AS VALUES (1, 'one'), (2, 'two');
CREATE FUNCTION held(x INT) RETURNS INT LANGUAGE PYTHON AS 'tests.runtime.test_live_groups:held';
"""
QUERIES = {
    "counts": "SELECT k, COUNT(*) AS n FROM S [RANGE 30] GROUP BY k",
    "named": "SELECT ISTREAM S.k, C.n FROM S [RANGE 20], C WHERE S.k = C.k",
    "gone": "SELECT DSTREAM * FROM (SELECT k, MAX(ts) AS ts FROM S [RANGE 10] GROUP BY k)",
    "both": "SELECT P.k FROM S [RANGE 9], P [RANGE 9] WHERE S.k = P.k",
    "filed": "SELECT COUNT(*) AS n FROM F [RANGE 20]",
}
GROUPS = {"counts": "", "named": "a", "gone": "A", "both": "b", "filed": "b"}

gate = threading.Event()
"""Until it is set, the slow function does not return."""


def held(value: int | None) -> int | None:
    """A function that takes as long as the test likes."""
    assert gate.wait(60)
    return value


@pytest.fixture(autouse=True)
def _gate() -> Iterator[None]:
    gate.clear()
    yield
    gate.set()


def registered(name: str, group: str = "", text: str | None = None) -> str:
    return f"REGISTER QUERY {name}{f' GROUP {group}' if group else ''} AS {text or QUERIES[name]};"


def session_with(folder: Path, grouped: bool = True, names: tuple[str, ...] = tuple(QUERIES)) -> Session:
    forget_memory()
    session = Session(data=folder, rejects=folder / "rejected", master="none")
    session.execute(DEFINITIONS)
    for name in names:
        session.execute(registered(name, GROUPS[name] if grouped else ""))
    return session


def batches(seed: int, count: int = 8) -> list[tuple[str, list[tuple[int, int]]]]:
    """Rows of sources, in the order in which they come."""
    chance, found, t = random.Random(seed), list[tuple[str, list[tuple[int, int]]]](), 0
    for _ in range(count):
        t += chance.randrange(1, 6)
        found.append((chance.choice("SSPF"), [(chance.randrange(3), t + n) for n in range(chance.randrange(1, 4))]))
        t += len(found[-1][1])
    return found


def send(session: Session, folder: Path, source: str, rows: list[tuple[int, int]]) -> None:
    if source == "F":
        with (folder / "f.csv").open("a") as file:
            file.writelines(f"{k},{ts}\n" for k, ts in rows)
    else:
        session.insert(source, rows)


def finished(session: Session) -> Answers:
    assert session.live is not None
    session.live.finish()
    found = {n: [(a.instant, a.op, a.row) for a in session.live.answers(n)] for n in session.queries}
    session.stop()
    return found


def ungrouped(folder: Path, seed: int, count: int = 8) -> Answers:
    """What the queries answer when they are one graph, and nothing disturbs them."""
    folder.mkdir()
    (folder / "f.csv").touch()
    session = session_with(folder, grouped=False)
    session.start()
    for source, rows in batches(seed, count):
        send(session, folder, source, rows)
        assert session.live is not None
        session.live.process()
    return finished(session)


# Epochs of their own.


def test_a_slow_query_holds_up_no_other_group(tmp_path: Path) -> None:
    (tmp_path / "f.csv").touch()
    session = session_with(tmp_path, names=("counts",))
    session.execute(registered("slow", "slow", "SELECT held(k) AS k FROM S [NOW]"))
    session.execute(registered("quick", "quick", "SELECT k FROM S [NOW]"))
    handles = {h.name: h for h in session.start(options=at(tmp_path / "checkpoint"))}
    session.insert("S", [(1, 1), (2, 9)])
    waiting = threading.Thread(target=handles["slow"].processAllAvailable)
    waiting.start()
    for number in range(3):
        session.insert("S", [(number, 20 + 10 * number)])
        handles["quick"].processAllAvailable()
        handles["counts"].processAllAvailable()
    assert waiting.is_alive()
    assert [a.instant for a in handles["quick"].answers() if a.op == "+"] == [1, 9, 20, 30]
    assert session.table("quick", as_of=30).num_rows == 1
    session.execute("SELECT k FROM S [NOW];")
    progress = handles["quick"].lastProgress
    assert progress is not None and progress["group"] == "quick"
    assert waiting.is_alive(), "all of that was answered in the middle of its epoch"
    gate.set()
    waiting.join()
    handles["slow"].processAllAvailable()
    assert [a.instant for a in handles["slow"].answers() if a.op == "+"] == [1, 9, 20, 30]
    session.stop()


def test_groups_work_at_the_same_time_where_all_are_asked_to(tmp_path: Path) -> None:
    (tmp_path / "f.csv").touch()
    session = session_with(tmp_path, names=())
    session.execute(registered("slow", "slow", "SELECT held(k) AS k FROM S [NOW]"))
    session.execute(registered("quick", text="SELECT k FROM S [NOW]"))
    handles = {h.name: h for h in session.start()}
    handles["quick"].foreach(lambda _, __: gate.set())
    session.insert("S", [(1, 1), (2, 9)])
    assert session.live is not None
    session.live.process()
    assert gate.is_set() and len(handles["slow"].answers()) == 2
    session.stop()


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_the_same_whatever_the_groups(tmp_path: Path, seed: int) -> None:
    (tmp_path / "f.csv").touch()
    session, chance = session_with(tmp_path), random.Random(seed)
    handles = session.start(options=LiveOptions(max_rows=2 if seed else None))
    for source, rows in batches(seed):
        send(session, tmp_path, source, rows)
        chance.choice(handles).processAllAvailable()
        if chance.random() < 0.3:
            assert session.live is not None
            session.live.heartbeat(source, rows[-1][1] - 2) if source != "F" else session.live.process()
    found = finished(session)
    assert found == ungrouped(tmp_path / "one", seed)
    assert any(found.values())


def test_names_of_groups_have_no_case(tmp_path: Path) -> None:
    (tmp_path / "f.csv").touch()
    session = session_with(tmp_path)
    session.start()
    assert session.live is not None
    assert {group: sorted(run.queries) for group, run in session.live.runs.items()} == {
        "": ["counts"],
        "a": ["gone", "named"],
        "b": ["both", "filed"],
    }
    session.stop()


def test_bounded_runs_do_not_care_for_groups(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("1,1\n2,5\n")
    one, other = (session_with(tmp_path, grouped, ("filed",)) for grouped in (True, False))
    assert one.answers() == other.answers()


# Failures.


def test_a_query_that_fails_stops_no_other_group(tmp_path: Path) -> None:
    (tmp_path / "f.csv").touch()
    session = session_with(tmp_path, names=("counts",))
    session.execute(registered("wrong", "a", "SELECT CAST(CONCAT('x', k) AS INT) AS w FROM S [NOW]"))
    session.start()
    session.insert("S", [(1, 1), (2, 9)])
    assert session.live is not None
    with pytest.raises(EvaluationError) as caught:
        session.live.process()
    assert caught.value.parameters["query"] == "wrong"
    assert session.live.answers("counts")
    session.execute("DROP QUERY wrong")
    session.insert("S", [(1, 20)])
    session.live.process()
    assert len(session.live.content("counts", 10)) == 2
    session.stop()


# Checkpoints.


@pytest.mark.parametrize("seed", range(2))
def test_groups_go_on_from_their_checkpoint(tmp_path: Path, seed: int) -> None:
    (tmp_path / "f.csv").touch()
    session, chance = session_with(tmp_path), random.Random(seed)
    handles = session.start(options=at(tmp_path / "checkpoint"))
    for source, rows in batches(seed, 5):
        send(session, tmp_path, source, rows)
        # what was taken in for one group waits for the others, also in another process
        chance.choice(handles).processAllAvailable()
        assert session.live is not None
        if source != "F":
            next(run for run in session.live.runs.values() if source.lower() in run.known).process()
        session.stop()
        session = session_with(tmp_path)
        handles = session.start(options=at(tmp_path / "checkpoint"))
    assert session.live is not None
    found = finished(session)
    assert found == ungrouped(tmp_path / "one", seed, 5)
    assert not [*(tmp_path / "checkpoint" / "intake").glob("[0-9]*")], "nothing is left of what all have worked on"


class Killed:
    """Every step from one on fails, whichever thread makes it."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, what: str, path: Path) -> None:
        self.left -= 1
        if self.left < 0:
            raise Stopped(f"{what} {path}")


@pytest.mark.parametrize("number", [2, 11, 17, 31, 60])
def test_every_group_has_every_row_once_also_where_the_process_is_killed(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f.csv").touch()
    session = session_with(tmp_path)
    session.start(options=at(tmp_path / "checkpoint"))
    kills = 2
    for source, rows in batches(5):
        send(session, tmp_path, source, rows)
        assert session.live is not None
        before = max(taken(session), session.live.main.arrivals.done)
        killed = Killed(number if kills else 1 << 30)
        monkeypatch.setattr("continua.runtime.checkpoint.files.hook", killed)
        try:
            session.live.process()
            number = killed.left
        except Stopped:
            kills -= 1
            monkeypatch.setattr("continua.runtime.checkpoint.files.hook", None)
            session = session_with(tmp_path)
            session.start(options=at(tmp_path / "checkpoint"))
            if source != "F" and taken(session) == before:
                send(session, tmp_path, source, rows)
            assert session.live is not None
            session.live.process()
        monkeypatch.setattr("continua.runtime.checkpoint.files.hook", None)
    assert finished(session) == ungrouped(tmp_path / "one", 5)


def taken(session: Session) -> int:
    """How many batches have been taken in."""
    assert session.live is not None and session.live.main.intake is not None
    return session.live.main.intake.last


def test_a_batch_that_is_missing_is_told(tmp_path: Path) -> None:
    (tmp_path / "f.csv").touch()
    session = session_with(tmp_path, names=("counts", "named"))
    session.start(options=at(tmp_path / "checkpoint"))
    assert session.live is not None
    session.insert("S", [(1, 1)])
    session.live.process()
    session.insert("S", [(1, 2)])
    files = tmp_path / "checkpoint"
    with pytest.MonkeyPatch.context() as patch:

        def fails(what: str, path: Path) -> None:
            if what == "write" and path.parent.name == "epochs":
                raise Stopped

        patch.setattr("continua.runtime.checkpoint.files.hook", fails)
        with pytest.raises(Stopped):
            session.live.process()
    (batch,) = (files / "intake").glob("[0-9]*")
    batch.unlink()
    again = session_with(tmp_path, names=("counts", "named"))
    with pytest.raises(CheckpointError) as caught:
        again.start(options=at(files))
    assert caught.value.condition == "FILE_MISSING"
    assert caught.value.parameters["path"] == str(batch).removesuffix("-1")


def test_a_query_stays_in_its_group(tmp_path: Path) -> None:
    (tmp_path / "f.csv").touch()
    session = session_with(tmp_path, names=("named",))
    session.start(options=at(tmp_path / "checkpoint"))
    session.insert("S", [(1, 1)])
    assert session.live is not None
    session.live.process()
    session.stop()
    other = session_with(tmp_path, grouped=False, names=("named",))
    with pytest.raises(CheckpointError) as caught:
        other.start(options=at(tmp_path / "checkpoint"))
    assert caught.value.condition == "OTHER_QUERIES"
    assert caught.value.parameters["missing"] == ["named", behind_name("named")]


# Groups that come later.


@pytest.mark.parametrize("again", [False, True])
def test_a_group_that_comes_later_starts_after_what_was_read(tmp_path: Path, again: bool) -> None:
    (tmp_path / "f.csv").touch()
    session = session_with(tmp_path, names=("counts",))
    session.start(options=at(tmp_path / "checkpoint"))
    session.insert("S", [(1, 1), (2, 9)])
    assert session.live is not None
    session.live.process()
    session.execute(registered("named", "late"))
    (handle,) = session.start([session.queries["named"]])
    assert handle.query.start == 10
    if again:
        session.stop()
        session = session_with(tmp_path, names=("counts",))
        session.execute(registered("named", "late"))
        handle = next(h for h in session.start(options=at(tmp_path / "checkpoint")) if h.name == "named")
        assert handle.query.start == 10
    session.insert("S", [(1, 12), (2, 30)])
    handle.processAllAvailable()
    assert [(a.instant, a.row) for a in handle.answers()] == [(12, (1, "one"))]
    assert session.live is not None
    assert session.live.main.engine.until < 12, "the other group has not been asked"
    session.live.process()
    assert {name: len(session.live.content(name, 12)) for name in ("counts", "named")} == {"counts": 2, "named": 1}
    session.stop()


# Files of what is left out.


def test_each_group_keeps_apart_what_is_late_for_it(tmp_path: Path) -> None:
    (tmp_path / "f.csv").touch()
    session = session_with(tmp_path, names=("counts", "named"))
    session.start()
    session.insert("S", [(1, 40)])
    assert session.live is not None
    session.live.process()
    session.insert("S", [(1, 3)])
    session.live.process()
    lines = [len(path.read_text().splitlines()) for path in sorted((tmp_path / "rejected").rglob("*.jsonl"))]
    assert lines == [1, 1]
    session.stop()


def test_a_group_has_a_name(tmp_path: Path) -> None:
    with pytest.raises(ParseError) as caught:
        session_with(tmp_path, names=()).execute("REGISTER QUERY q GROUP AS SELECT k FROM S [NOW]")
    assert caught.value.condition == "SYNTAX"

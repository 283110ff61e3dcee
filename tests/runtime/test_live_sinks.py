"""Folders of live queries: tasks write them, and they have the answers of every epoch once, whatever happens."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from continua.answers.answer_tables import answers_table
from continua.answers.query import Query
from continua.errors import EvaluationError, SourceError
from continua.runs.live_options import LiveOptions
from continua.runtime.checkpoint import chapters
from continua.session import Session
from continua.sinks import delivery
from continua.sinks.folder_sink import FolderSink
from continua.sinks.live_sinks import Deliveries
from tests.crash.world import forget_memory, manifests_in, number_of

DEFINITIONS = """
CREATE STREAM S (k INT, ts BIGINT) ORDERED BY ts SLACK 1;
REGISTER QUERY counted AS SELECT k, COUNT(*) AS n FROM S [RANGE 4] GROUP BY k INTO json('counted');
REGISTER QUERY tagged AS SELECT STREAMED k, COUNT(*) AS n FROM S [RANGE 4] GROUP BY k INTO json('tagged');
REGISTER QUERY mapped AS SELECT ISTREAM k + 1 AS k FROM S [NOW] INTO json('mapped');
SET retention = '{retention}';
"""
FOLDERS = ("counted", "tagged", "mapped")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chapters of two epochs."""
    monkeypatch.setattr(chapters, "_PERIOD", 2)


def started(folder: Path, retention: str = "unlimited") -> Session:
    """The queries, from the checkpoint on if there is one."""
    forget_memory()
    session = Session(master="none", data=folder)
    session.execute(DEFINITIONS.replace("{retention}", retention))
    session.start(options=LiveOptions(checkpoint=folder / "checkpoint", durable=False))
    return session


def push(session: Session, first: int, last: int) -> None:
    """Epochs with some rows each."""
    assert session.live is not None
    for number in range(first, last):
        session.insert("S", [(number * 7 % 5, number), (number * 3 % 4, number)])
        session.live.process()


def content(folder: Path) -> dict[str, list[str]]:
    """The answers in each folder, whatever file they are in."""
    found: dict[str, list[str]] = {}
    for name in FOLDERS:
        files = [p.read_text() for p in (folder / name).glob("*.json")]
        found[name] = sorted(json.dumps(json.loads(line)) for text in files for line in text.splitlines())
    return found


@pytest.fixture
def undisturbed(tmp_path: Path) -> dict[str, list[str]]:
    session = started(tmp_path / "undisturbed")
    push(session, 0, 14)
    session.stop()
    return content(tmp_path / "undisturbed")


def test_tasks_write_the_files_and_the_driver_reads_no_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def reading(query: Query, rows: pa.Table) -> pa.Table:
        read.append(query.name)
        return answers_table(query, rows)

    monkeypatch.setattr(delivery, "answers_table", reading)
    session = started(tmp_path)
    push(session, 0, 5)
    session.stop()
    assert set(read) == {"tagged"}
    assert all(content(tmp_path).values())
    assert not list(tmp_path.rglob("_staged"))


def test_answers_in_folders_are_those_of_the_handle(tmp_path: Path) -> None:
    session = started(tmp_path)
    push(session, 0, 9)
    assert session.live is not None
    for name in ("counted", "mapped"):
        asked = [(a.instant, a.op, *a.row) for a in session.live.answers(name)]
        written = [json.loads(line) for line in content(tmp_path)[name]]
        known = [(w["t"], w.get("op"), *(w[c] for c in ("k", "n") if c in w)) for w in written]
        assert known and sorted(map(repr, asked)) == sorted(map(repr, known))
    session.stop()


@pytest.mark.parametrize("kept", ["unlimited", "1 epochs"])
def test_an_epoch_that_was_not_published_is_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: dict[str, list[str]], kept: str
) -> None:
    session = started(tmp_path, kept)
    push(session, 0, 6)
    with monkeypatch.context() as patched:
        patched.setattr(Deliveries, "up_to_date", lambda _: None)
        push(session, 6, 7)
        session.stop()
    session = started(tmp_path, kept)
    push(session, 7, 14)
    session.stop()
    assert content(tmp_path) == undisturbed


@pytest.mark.parametrize("damage", ["removed", "changed"])
def test_files_of_the_last_epochs_are_written_again_at_a_restart(
    tmp_path: Path, undisturbed: dict[str, list[str]], damage: str
) -> None:
    session = started(tmp_path)
    push(session, 0, 14)
    session.stop()
    for name in FOLDERS:
        last = sorted((tmp_path / name).glob("*.json"))[-1]
        last.unlink() if damage == "removed" else last.write_text("{}")
    started(tmp_path).stop()
    assert content(tmp_path) == undisturbed


def test_files_that_were_removed_long_after_are_written_again_at_a_restart(
    tmp_path: Path, undisturbed: dict[str, list[str]]
) -> None:
    session = started(tmp_path)
    push(session, 0, 14)
    session.stop()
    for name in FOLDERS:
        files = sorted((tmp_path / name).glob("*.json"))
        for path in files:
            if path.name[:16] == files[0].name[:16]:
                path.unlink()
    started(tmp_path).stop()
    assert content(tmp_path) == undisturbed


@pytest.mark.parametrize("damage", ["removed", "changed"])
def test_a_part_of_an_old_epoch_that_was_removed_is_written_again_at_a_restart(
    tmp_path: Path, undisturbed: dict[str, list[str]], damage: str
) -> None:
    session = started(tmp_path)
    push(session, 0, 14)
    session.stop()
    told = {number_of(path) for path in manifests_in(tmp_path / "checkpoint")}
    by_epoch: dict[tuple[str, int], list[Path]] = {}
    for name in FOLDERS:
        for path in sorted((tmp_path / name).glob("*.json")):
            by_epoch.setdefault((name, int(path.stem.split("-")[1])), []).append(path)
    old = next(parts for (_, epoch), parts in by_epoch.items() if epoch not in told and len(parts) > 1)
    old[-1].unlink() if damage == "removed" else old[-1].write_text("{}")
    for _ in range(2):
        started(tmp_path).stop()
        assert content(tmp_path) == undisturbed


@pytest.mark.parametrize("restart", [False, True])
def test_a_folder_that_fails_half_way_through_an_epoch_gets_the_rest_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: dict[str, list[str]], restart: bool
) -> None:
    session = started(tmp_path)
    push(session, 0, 4)
    real, calls = FolderSink.publish, [0]

    def failing(self: FolderSink, *rest: object) -> object:
        calls[0] += 1
        if calls[0] % 2 == 0:
            raise OSError("down")
        return real(self, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(FolderSink, "publish", failing)
        for number in range(4, 11):
            with pytest.raises(OSError, match="down"):
                push(session, number, number + 1)
    if restart:
        session.stop()
        session = started(tmp_path)
    push(session, 11, 14)
    session.stop()
    assert content(tmp_path) == undisturbed


@pytest.mark.parametrize("retention", ["1 epochs", "2 epochs", "1 microsecond"])
def test_a_folder_that_works_gets_all_whatever_is_kept(
    tmp_path: Path, undisturbed: dict[str, list[str]], retention: str
) -> None:
    session = started(tmp_path, retention)
    push(session, 0, 5)
    session.execute("REGISTER QUERY more AS SELECT k FROM S [RANGE 3] INTO json('more');")
    session.start()
    push(session, 5, 14)
    session.stop()
    assert content(tmp_path) == undisturbed


def test_two_queries_of_a_session_do_not_write_to_one_folder(tmp_path: Path) -> None:
    session = started(tmp_path)
    session.execute("REGISTER QUERY more AS SELECT k FROM S [RANGE 3] INTO json('counted');")
    with pytest.raises(SourceError) as caught:
        session.start()
    assert caught.value.condition == "SINK_SHARED"
    session.stop()


def test_nothing_stays_of_an_epoch_that_has_failed(tmp_path: Path) -> None:
    session = started(tmp_path)
    session.execute("REGISTER QUERY bad AS SELECT ISTREAM CAST(CAST(k AS STRING) || 'x' AS INT) AS y FROM S [NOW];")
    session.start()
    assert session.live is not None
    session.insert("S", [(9, 3), (1, 5)])
    with pytest.raises(EvaluationError):
        session.live.process()
    assert not list(tmp_path.rglob("_staged"))
    session.stop()

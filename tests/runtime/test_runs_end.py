"""How runs end, whoever ends them: what fails is told, what is open is closed, and whoever waits learns of it."""

from __future__ import annotations

import io
import socket
import threading
from pathlib import Path

import pytest
from rich.console import Console

from continua.cli import live_view
from continua.cli.epoch_answers import EpochAnswers
from continua.errors import MachineError
from continua.runs.following import Follower, follow_all
from continua.runs.live_groups import LiveGroups
from continua.runs.live_run import LiveRun
from continua.runtime import loaded_programs
from continua.session import Session
from continua.sources.incoming import Incoming
from tests.runtime.test_live import Time

STREAM = "CREATE STREAM S (v INT, ts BIGINT) ORDERED BY ts;"
COUNT = "REGISTER QUERY a AS SELECT COUNT(*) AS n FROM S [RANGE UNBOUNDED];"
RATE = """
CREATE STREAM R (value BIGINT, timestamp TIMESTAMP)
SOURCE rate(rows_per_second => 1000000, rows => 20) ORDERED BY timestamp;
REGISTER QUERY r AS SELECT COUNT(*) AS n FROM R [RANGE UNBOUNDED];
"""


def started(text: str, folder: Path | None = None, clock: Time | None = None) -> tuple[Session, LiveGroups]:
    session = Session(master="none", data=folder or Path(), clock=clock or Time())
    session.execute(text)
    session.start()
    assert session.live is not None
    return session, session.live


def test_a_failure_that_nobody_has_told_of_ends_the_other_groups() -> None:
    session, live = started(STREAM + COUNT + COUNT.replace("QUERY a", "QUERY b GROUP g"))
    asked = threading.Event()

    def work(run: LiveRun) -> None:
        if run.group:
            raise KeyError("nobody expects it")
        assert asked.wait(60)

    with pytest.raises(KeyError):
        follow_all(work, list(live.runs.values()), asked)
    session.stop()


def test_what_the_watch_over_silent_sources_meets_ends_whoever_follows() -> None:
    session, live = started(STREAM + COUNT)
    live.live.failure = OSError("the disk is full")
    with pytest.raises(OSError, match="full"):
        Follower(live.main, threading.Event(), duration=0.0).follow()
    Follower(live.main, threading.Event(), duration=0.0).follow()  # it was told, and may have been dealt with
    session.stop()


def test_no_epoch_ends_between_what_a_screen_begins_with_and_what_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    session, live = started(STREAM + COUNT)
    held, free = live_view._held, list[bool]()

    def looked(run: LiveRun, name: str) -> object:
        found = held(run, name)
        other = threading.Thread(target=lambda: free.append(run.live.lock.acquire(blocking=False)))
        other.start()
        other.join()
        return found

    monkeypatch.setattr(live_view, "_held", looked)
    live_view.LiveView([EpochAnswers(live.main, ["a"])], Console(file=io.StringIO()))
    assert free == [False]
    session.stop()


@pytest.mark.parametrize("broken", [False, True])
def test_a_run_that_is_stopped_leaves_its_connection_and_makes_no_other(
    broken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = threading.Event()

    def refused(*_: object, **__: object) -> socket.socket:
        tried.set()
        raise ConnectionRefusedError

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        text = f"CREATE STREAM S (v INT, ts BIGINT) SOURCE socket('127.0.0.1', {port}) ORDERED BY ts;"
        session, live = started(text + COUNT)
        live.process()
        (incoming,) = live.main.intake._open.values()
        assert isinstance(incoming, Incoming)
        connection, _ = server.accept()
        if broken:
            monkeypatch.setattr(socket, "create_connection", refused)
            connection.close()
            assert tried.wait(60)
        session.stop()
        incoming._thread.join(60)
        assert not incoming._thread.is_alive()
        if not broken:
            connection.settimeout(60)
            assert connection.recv(1) == b""
            connection.close()


def test_programs_of_queries_that_have_left_are_forgotten() -> None:
    session, live = started(STREAM + COUNT)
    mine = live.engine.store.url
    for number in range(5):
        session.execute(f"REGISTER QUERY b{number} AS SELECT MAX(v) + {number} AS n FROM S [RANGE 5]")
        session.start()
        session.execute(f"DROP QUERY b{number}")
    session.insert("S", [(1, 1), (1, 2)])
    live.process()
    assert sum(store == mine for store, _ in loaded_programs._here) == 1
    session.stop()


@pytest.mark.parametrize("live", [False, True])
def test_a_sink_that_has_a_file_for_a_folder_is_told_as_that(tmp_path: Path, live: bool) -> None:
    (tmp_path / "out").write_text("a file")
    session, _ = started(STREAM + (COUNT if live else ""), tmp_path)
    session.execute("REGISTER QUERY b AS SELECT v FROM S [NOW] INTO csv('out')")
    if not live:
        session.stop()
    with pytest.raises(MachineError) as caught:
        session.start()
    assert caught.value.condition == "NOT_WRITABLE"
    session.stop()


def test_whoever_waits_for_the_end_works_until_then() -> None:
    clock = Time()
    clock.now = 1_790_000_000_000_000
    session, live = started(RATE, clock=clock)
    (handle,) = session.start()
    assert not handle.awaitTermination(0.0)
    clock.now += 60_000_000
    assert handle.awaitTermination()
    assert live.content("r") == [(20,)]
    session.stop()
    assert handle.awaitTermination(), "it has ended"

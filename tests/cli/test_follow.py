"""Runs that go on: answers come while sources are open, signals end them, and they go on where they were."""

from __future__ import annotations

import io
import json
import os
import random
import shlex
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.exceptions import Exit
from rich.console import Console

from continua.cli import follow
from continua.cli.epoch_answers import EpochAnswers
from continua.cli.follow_options import FollowOptions
from continua.cli.live_view import LiveView
from continua.cli.report import Report
from continua.runs.live_options import LiveOptions
from continua.session import Session
from tests.cli.following import COMMAND, Followed, at_least, end_all
from tests.cli.helpers import continua, write_script


@pytest.fixture(autouse=True)
def _none_is_left() -> Iterator[None]:
    yield
    end_all()


STREAM = "CREATE STREAM S (k INT, ts BIGINT) SOURCE {source} ORDERED BY ts{more};\n"
COUNTS = "REGISTER QUERY counts AS SELECT k, COUNT(*) AS n FROM S [RANGE 5] GROUP BY k;\n"
SINK = "REGISTER QUERY kept AS SELECT k, MAX(ts) AS latest FROM S [RANGE 5] GROUP BY k INTO json('kept');\n"


def script(folder: Path, source: str, queries: str = COUNTS, more: str = "") -> str:
    return write_script(folder, STREAM.format(source=source, more=more) + queries)


def bounded(folder: Path, rows: list[tuple[int, int]], queries: str = COUNTS) -> list[str]:
    """What a run over all rows answers."""
    (folder / "all.csv").write_text("".join(f"{k},{ts}\n" for k, ts in rows))
    text = STREAM.format(source="csv('all.csv')", more="") + queries
    result = continua("run", write_script(folder, text, "all.sql"), "--master", "none")
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


def rows_of(seed: int, count: int) -> list[tuple[int, int]]:
    chance = random.Random(seed)
    times = sorted(chance.randrange(count) for _ in range(count))
    return [(chance.randrange(3), t) for t in times]


def text_of(rows: list[tuple[int, int]]) -> str:
    return "".join(f"{k},{ts}\n" for k, ts in rows)


def sunk(folder: Path) -> list[str]:
    found = [line for p in sorted((folder / "kept").glob("*.json")) for line in p.read_text().splitlines()]
    return sorted(found, key=lambda line: (json.loads(line)["t"], line))


def test_standard_input_is_answered_while_it_is_open(folder: Path) -> None:
    rows = [(1, 1), (2, 2), (1, 3), (1, 9)]
    run = Followed(folder, script(folder, "csv('-')"), "--follow", "--trigger", "20ms")
    for number, row in enumerate(rows[:-1]):
        run.send(text_of([row]))
        # an instant is closed by the next one: what the row before it has changed is known by now
        run.wait_until(at_least(number))
    run.send(text_of(rows[-1:]))
    assert run.end() == 0
    assert run.lines == bounded(folder, rows)


def test_a_file_that_grows_is_answered_by_its_whole_lines(folder: Path) -> None:
    (folder / "s.csv").write_text("1,1\n1,2\n2,")
    run = Followed(folder, script(folder, "csv('s.csv')"), "--follow", "--trigger", "20ms")
    run.wait_until(at_least(1))
    with (folder / "s.csv").open("a") as file:
        file.write("3\n2,8\n")
    run.wait_until(lambda answers: any(a["row"] == {"k": 2, "n": 1} for a in answers))
    assert run.end(signal.SIGINT) == 0
    assert run.lines == [
        line for line in bounded(folder, [(1, 1), (1, 2), (2, 3), (2, 8)]) if json.loads(line)["t"] < 8
    ]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_was_ended_goes_on_and_nothing_is_lost_or_twice(folder: Path, number: int) -> None:
    rows = rows_of(7, 60)
    path = script(folder, "csv('in')", COUNTS + SINK)
    (folder / "in").mkdir()
    arguments = [path, "--follow", "--trigger", "10ms", "--checkpoint", "checkpoint", "--max-rows-per-epoch", "3"]
    (folder / "in" / "a.csv").write_text(text_of(rows[:30]))
    first = Followed(folder, *arguments)
    first.wait_until(at_least(5))
    assert first.end(number) == (0 if number == signal.SIGTERM else -9)
    (folder / "in" / "b.csv").write_text(text_of(rows[30:]))
    second = Followed(folder, *arguments, "--until", str(rows[-1][1] - 1))
    assert second.end() == 0, second.told
    closed = rows[-1][1]
    whole = [line for line in bounded(folder, rows) if json.loads(line)["t"] < closed]
    if number == signal.SIGTERM:
        assert first.lines + second.lines == whole
    else:
        # what was written to a pipe and not noted down is written again, so that nothing is lost
        assert list(dict.fromkeys(first.lines + second.lines)) == list(dict.fromkeys(whole))
    kept = sunk(folder)
    for path_of_sink in (folder / "kept").iterdir():
        path_of_sink.unlink()
    (folder / "kept").rmdir()
    bounded(folder, rows, SINK)
    assert kept == [line for line in sunk(folder) if json.loads(line)["t"] < closed]


def test_a_socket_that_breaks_is_connected_to_again(folder: Path) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]

    def serve() -> None:
        for text in ("1,1\n2,2\n1,", "1,4\n", "2,9\n"):
            connection, _ = server.accept()
            connection.sendall(text.encode())
            connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    path = script(folder, f"socket('127.0.0.1', {port}, format => 'csv')")
    run = Followed(folder, path, "--trigger", "20ms")
    expected = [json.loads(line) for line in bounded(folder, [(1, 1), (2, 2), (1, 4), (2, 9)])]
    run.wait_until(at_least(sum(a["t"] < 9 for a in expected)))
    assert run.end(signal.SIGTERM) == 0
    assert run.answers == [a for a in expected if a["t"] < 9]
    assert any("LINE_UNFINISHED" in line for line in run.told)
    server.close()


def test_a_socket_that_nobody_listens_to_is_told(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    result = continua("run", script(folder, f"socket('127.0.0.1', {port})"), "--master", "none")
    assert result.exit_code == 1
    assert "SOURCE_NOT_READABLE" in result.stderr


def test_the_time_of_a_run_can_be_limited(folder: Path) -> None:
    (folder / "s.csv").write_text("1,1\n1,2\n")
    result = continua("run", script(folder, "csv('s.csv')"), "--master", "none", "--follow", "--for", "300ms")
    assert result.exit_code == 0
    assert [json.loads(line)["t"] for line in result.stdout.splitlines()] == [1]


def test_a_source_that_is_silent_is_not_waited_for(folder: Path) -> None:
    (folder / "s.csv").write_text("1,1\n1,2\n")
    run = Followed(folder, script(folder, "csv('s.csv')"), "--follow", "--idle-timeout", "200ms")
    run.wait_until(at_least(3))
    assert run.end(signal.SIGTERM) == 0
    assert [answer["t"] for answer in run.answers] == [1, 2, 2]


def test_rows_that_are_wrong_are_kept_apart_or_end_the_run(folder: Path) -> None:
    skipping = script(folder, "csv('-')", more=" ON ERROR SKIP")
    run = Followed(folder, skipping, "--follow")
    run.send("1,1\nwrong\n1,2\n")
    assert run.end() == 0
    assert len(run.lines) == len(bounded(folder, [(1, 1), (1, 2)]))
    kept = json.loads((folder / "rejected" / "S.rejected.jsonl").read_text())
    assert (kept["file"], kept["line"]) == ("<stdin>", 2)
    strict = Followed(folder, script(folder, "csv('-')"), "--follow")
    strict.send("1,1\nwrong\n")
    assert strict.end() == 1
    assert any("MALFORMED_ROW" in line for line in strict.told)


def test_what_is_kept_apart_is_told_when_it_first_happens_and_counted_in_the_end(folder: Path) -> None:
    run = Followed(folder, script(folder, "csv('-')", more=" ON ERROR SKIP"), "--follow")
    run.send("1,1\n1,9\n1,2\n")
    run.wait_until(lambda _: any(line.startswith("warning") for line in run.told))
    run.send("1,3\nwrong\n1,4\n")
    assert run.end() == 0
    late = "too late for S and kept apart in rejected/S.rejected.jsonl"
    assert [line for line in run.told if line.startswith("warning")] == [
        f"warning[TIMESTAMP_OUT_OF_ORDER]: 1 row was {late}",
        "warning[ROWS_SKIPPED]: 1 row of S was malformed and kept apart in rejected/S.rejected.jsonl",
        f"warning[TIMESTAMP_OUT_OF_ORDER]: 2 more rows were {late}",
    ]
    assert len((folder / "rejected" / "S.rejected.jsonl").read_text().splitlines()) == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--trigger", "1s"], "--trigger goes with --follow only"),
        (["--follow", "--at", "3"], "--at does not go with --follow"),
        (["--follow", "--trigger", "soon"], "is no length of time"),
        (["--follow", "--idle-timeout", "99999999999999d"], "is longer than 100 years"),
        (["--follow", "--until", "noon"], "is not an instant"),
        (["--follow", "--format", "table"], "needs a terminal"),
    ],
)
def test_options_that_make_no_sense_are_refused(folder: Path, arguments: list[str], words: str) -> None:
    result = continua("run", script(folder, "csv('bids.csv')"), "--master", "none", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_standard_input_is_read_by_one_stream(folder: Path) -> None:
    other = STREAM.replace("STREAM S", "STREAM T").format(source="csv('-')", more="")
    path = script(folder, "csv('-')", other + "SELECT k FROM S; SELECT k FROM T;\n")
    result = continua("run", path, "--master", "none", "--follow")
    assert result.exit_code == 1
    assert "STANDARD_INPUT_TWICE" in result.stderr


def test_what_is_no_file_is_not_followed_as_one(folder: Path) -> None:
    os.mkfifo(folder / "pipe.csv")
    for path in ("pipe.csv", "/dev/null"):
        result = continua("run", script(folder, f"csv('{path}')"), "--master", "none", "--follow")
        assert result.exit_code == 1
        assert f"error[NOT_A_FILE]: {path} is no file" in result.stderr


def test_standard_input_that_is_closed_is_told(folder: Path) -> None:
    command = shlex.join([*COMMAND, "run", script(folder, "csv('-')"), "--follow", "--master", "none"])
    ended = subprocess.run(f"{command} <&-", shell=True, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "SOURCE_NOT_READABLE" in ended.stderr


def test_a_source_that_never_ends_has_no_answer_over_all_of_it(folder: Path) -> None:
    path = script(folder, "socket('127.0.0.1', 9)")
    result = continua("run", path, "--master", "none", "--at", "3")
    assert result.exit_code == 1
    assert "ENDLESS_SOURCE" in result.stderr


def test_messages_and_epochs_are_lines_of_json_where_that_is_asked_for(folder: Path) -> None:
    (folder / "s.csv").write_text("1,1\n1,2\n")
    path = script(folder, "csv('s.csv')", "SELECT k FROM S;\n")
    result = continua("run", path, "--master", "none", "--follow", "--for", "100ms", "--log-json")
    told = [json.loads(line) for line in result.stderr.splitlines()]
    assert {entry["event"] for entry in told} == {"note", "epoch"}
    assert sum(entry["numInputRows"] for entry in told if entry["event"] == "epoch") == 2
    wrong = continua("run", write_script(folder, "SELECT x FROM Nowhere;"), "--master", "none", "--log-json")
    assert wrong.exit_code == 1
    assert [json.loads(line)["condition"] for line in wrong.stderr.splitlines()] == ["UNKNOWN_STREAM"]


GROUPED = """CREATE STREAM S (k INT, ts BIGINT) SOURCE csv('-') ORDERED BY ts;
REGISTER QUERY counts GROUP one AS SELECT k, COUNT(*) AS n FROM S [RANGE 5] GROUP BY k;
REGISTER QUERY {other};
"""


HELD_BACK = """from pathlib import Path
from threading import Event


def held_back(value):
    while not Path("go").exists():
        Event().wait(0.01)
    return value
"""
"""A function that takes as long as there is no file ``go``."""


def test_groups_have_all_of_standard_input_once_also_where_the_process_is_killed(folder: Path) -> None:
    function = "CREATE FUNCTION held(x INT) RETURNS INT LANGUAGE PYTHON AS 'holding:held_back';\n"
    (folder / "holding.py").write_text(HELD_BACK)
    other = "SELECT held(k) AS h, MAX(ts) AS latest FROM S [RANGE 5] GROUP BY held(k)"
    path = write_script(folder, function + GROUPED.format(other=f"other GROUP two AS {other}"))
    rows = [(n, n) for n in range(40)]
    arguments = [path, "--follow", "--trigger", "10ms", "--checkpoint", "checkpoint", "--max-rows-per-epoch", "4"]
    first = Followed(folder, *arguments)
    first.send(text_of(rows[:20]))
    first.wait_until(lambda answers: any(a["t"] == 18 for a in answers))
    assert first.end(signal.SIGKILL) == -9
    assert of_query(first.lines, "other") == [], "its first epoch was held up, and no epoch of the other group"
    (folder / "go").touch()
    second = Followed(folder, *arguments)
    second.send(text_of(rows[20:]))
    assert second.end() == 0, second.told
    whole = bounded(folder, rows, function + COUNTS + f"REGISTER QUERY other AS {other};")
    found = list(dict.fromkeys(first.lines + second.lines))
    for name in ("counts", "other"):
        assert of_query(found, name) == of_query(whole, name)


def of_query(lines: list[str], name: str) -> list[str]:
    return [line for line in lines if json.loads(line)["query"] == name]


def test_a_query_that_fails_ends_its_group_and_no_other(folder: Path) -> None:
    other = "other GROUP two AS SELECT CAST(CONCAT('x', k) AS INT) AS w FROM S [NOW]"
    run = Followed(folder, write_script(folder, GROUPED.format(other=other)), "--follow", "--trigger", "10ms")
    run.send("1,1\n1,2\n")
    run.wait_until(at_least(1))
    run.wait_until(lambda _: any("group two has ended" in line for line in run.told))
    run.send("2,9\n3,10\n")
    run.wait_until(lambda answers: any(a["t"] == 9 for a in answers))
    assert run.end() == 1
    assert sum("EVALUATION_FAILED" in line for line in run.told) == 1


@pytest.mark.parametrize("closed", ["in/s.csv", "in"])
def test_what_cannot_be_read_any_more_is_told_as_that(folder: Path, closed: str) -> None:
    (folder / "in").mkdir()
    file = folder / "in" / "s.csv"
    file.write_text("1,1\n1,2\n")
    path = script(folder, "csv('in/s.csv')" if closed.endswith(".csv") else "csv('in')")
    run = Followed(folder, path, "--follow", "--trigger", "20ms", obeying_modes=True)
    run.wait_until(at_least(1))
    (folder / closed).chmod(0)
    try:
        with file.open("a") as more:
            more.write("1,3\n")
        assert run.process.wait(60) == 1
    finally:
        (folder / closed).chmod(0o700)
    run.end()
    assert any("SOURCE_NOT_READABLE" in line for line in run.told)


DROPPED = """CREATE STREAM R (value BIGINT, timestamp TIMESTAMP)
SOURCE rate(rows_per_second => 1000000, rows => 4) ORDERED BY timestamp;
REGISTER QUERY kept AS SELECT ISTREAM value FROM R [NOW];
REGISTER QUERY wrong AS SELECT CAST(CONCAT('x', value) AS INT) AS w FROM R [NOW];
"""


def test_a_query_that_was_dropped_shows_in_the_exit_status(folder: Path) -> None:
    path = write_script(folder, DROPPED)
    result = continua("run", path, "--master", "none", "--follow", "--keep-going", "--format", "jsonl")
    assert result.exit_code == 1
    assert len(of_query(result.stdout.splitlines(), "kept")) == 4
    assert result.stderr.count("EVALUATION_FAILED") == 1


def test_what_fails_while_the_screen_is_up_is_told_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=80, height=20)
    told, leave = list[str](), LiveView.__exit__

    def left(view: LiveView, *arguments: Any) -> None:
        leave(view, *arguments)
        told.append("the screen is gone")

    monkeypatch.setattr(LiveView, "__exit__", left)
    monkeypatch.setattr(Report, "error", lambda _, error: told.append(error.condition))
    session = Session(master="none")
    session.execute(DROPPED)
    live = session.run_live(LiveOptions(asked=False))
    answers = {"": EpochAnswers(live.main, ["kept", "wrong"])}
    run = follow._Following(live, answers, threading.Event(), Report(), session.inputs.notices)
    with pytest.raises(Exit):
        follow._follow(run, LiveView(list(answers.values()), screen), FollowOptions(), keep_going=True)
    session.stop()
    assert told == ["the screen is gone", "EVALUATION_FAILED"]

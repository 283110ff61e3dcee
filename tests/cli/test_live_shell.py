"""The shell with queries that are live: what is inserted, started, watched, asked and stopped."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.following import COMMAND, PATIENCE
from tests.cli.helpers import continua, lines
from tests.cli.terminals import Terminal

BIDS = "CREATE STREAM Bid (item INT, price DOUBLE, ts BIGINT) ORDERED BY ts;\n"
TOP = "REGISTER QUERY top AS SELECT item, MAX(price) AS top FROM Bid [RANGE 10] GROUP BY item;\n"
ROWS = "INSERT INTO Bid VALUES (7, 2.5, 1), (7, 3, 2), (8, NULL, 3);\n"
CHANGES = [
    '{"query": "top", "t": 1, "op": "+", "row": {"item": 7, "top": 2.5}}',
    '{"query": "top", "t": 2, "op": "-", "row": {"item": 7, "top": 2.5}}',
    '{"query": "top", "t": 2, "op": "+", "row": {"item": 7, "top": 3.0}}',
]


def shell(text: str, *options: str) -> Result:
    return continua("shell", *options, stdin=text)


def shown(result: Result) -> list[str]:
    return [line.rstrip() for line in lines(result)]


def test_a_query_over_inserted_rows_is_live() -> None:
    result = shell(BIDS + TOP + ROWS + "SELECT * FROM top AT 2;\nSHOW QUERIES;")
    found = shown(result)
    assert found[:4] == ["q1: relation", "at   item   top", "───────────────", "2       7   3.0"]
    assert found[5].split() == ["name", "answer", "state", "rows", "heartbeat", "lag", "plan", "query"]
    assert found[7].split()[:6] == ["top", "relation", "live", "3", "2", "1"]
    told = ["stream Bid is defined", "query top is live: WATCH top shows it", "3 rows into Bid"]
    assert result.stderr.splitlines() == told


def test_rows_may_come_before_the_query() -> None:
    result = shell(BIDS + ROWS + TOP + "SELECT * FROM top AT LATEST;")
    assert shown(result)[3] == "2       7   3.0"


def test_rows_that_are_too_late_are_told_each_time() -> None:
    result = shell(BIDS + TOP + ROWS + ROWS + ROWS)
    told = [line for line in result.stderr.splitlines() if line.startswith("warning")]
    assert told == [
        f"warning[TIMESTAMP_OUT_OF_ORDER]: {rows} were too late for Bid and kept apart in rejected/Bid.rejected.jsonl"
        for rows in ("2 rows", "2 more rows")
    ]


def test_watch_writes_each_change_once() -> None:
    more = "INSERT INTO Bid VALUES (1, 1, 5);\n"
    found = shown(shell(BIDS + TOP + ROWS + "WATCH top FOR 3 CHANGES;\n" + more + "WATCH FOR 1 CHANGE;\n"))
    assert found[:3] == CHANGES
    assert [json.loads(line)["row"] for line in found[3:]] == [{"item": 8, "top": None}]


def test_watch_ends_after_a_while() -> None:
    assert shown(shell(BIDS + TOP + ROWS + "WATCH top FOR 50 MS;\nWATCH top FOR 50 MS;")) == CHANGES


def test_watch_without_a_terminal_ends_when_only_statements_behind_it_could_bring_changes() -> None:
    result = shell(BIDS + TOP + ROWS + "WATCH top FOR 9 CHANGES;\nINSERT INTO Bid VALUES (7, 9, 5);\nWATCH top;\n")
    assert [json.loads(line)["t"] for line in shown(result)] == [1, 2, 2, 3]
    notes = [line for line in result.stderr.splitlines() if line.startswith("note")]
    assert notes == [
        "note: 3 of 9 changes: nothing changes any more until rows are inserted",
        "note: nothing changes any more until rows are inserted",
    ]


def test_watch_waits_for_what_the_clock_will_change() -> None:
    stamped = "CREATE STREAM C (item INT);\nREGISTER QUERY c AS SELECT COUNT(*) AS n FROM C [RANGE 1 SECOND];\n"
    result = shell(stamped + "INSERT INTO C VALUES (1);\nWATCH c;\n")
    assert [json.loads(line)["row"]["n"] for line in shown(result)][-1] == 1
    silent = BIDS + "CREATE STREAM Silent (a INT, ts BIGINT) ORDERED BY ts;\n" + TOP + "SELECT a FROM Silent [NOW];\n"
    assert shown(shell(silent + ROWS + "WATCH top;", "--idle-timeout", "100ms"))[:3] == CHANGES
    assert shown(shell(silent + ROWS + "WATCH top;")) == []


def test_a_query_without_a_name_is_live_too() -> None:
    result = shell(BIDS + "SELECT item FROM Bid;\n" + ROWS + "WATCH q1 FOR 1 CHANGE;")
    assert [json.loads(line)["row"]["item"] for line in lines(result)] == [7, 7]


def test_queries_over_files_are_answered_at_once_unless_files_are_followed() -> None:
    files = "CREATE STREAM F (item_id INT, price DOUBLE, ts BIGINT) SOURCE csv('bids.csv') ORDERED BY ts;\n"
    text = files + "REGISTER QUERY n AS SELECT item_id, COUNT(*) AS n FROM F [RANGE 2] GROUP BY item_id;\n"
    assert shown(shell(text))[0] == "n: relation"
    watched = shell(text + "WATCH n FOR 1 CHANGE;", "--follow")
    assert json.loads(lines(watched)[0]) == {"query": "n", "t": 1, "op": "+", "row": {"item_id": 1, "n": 1}}
    assert shown(shell("\\follow\n\\follow off\n" + text))[0] == "n: relation"
    assert json.loads(shown(shell("\\follow\n" + text + "WATCH n FOR 1 CHANGE;"))[0])["t"] == 1


def test_generated_rows_come_by_themselves() -> None:
    made = "CREATE STREAM Bid (auction BIGINT, price BIGINT, dateTime TIMESTAMP)\n"
    made += "  SOURCE nexmark('bid', rate => 10000) ORDERED BY dateTime;\n"
    result = shell(made + "SELECT auction FROM Bid [NOW] WHERE price > 1000;\nWATCH q1 FOR 10 CHANGES;\nSHOW QUERIES;")
    found = shown(result)
    assert len([line for line in found if line.startswith('{"query": "q1"')]) >= 10
    assert any(line.split()[:3] == ["q1", "relation", "live"] for line in found)


def test_rows_that_never_stop_coming_do_not_keep_the_shell(folder: Path) -> None:  # noqa: ARG001
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            for number in count():
                connection.sendall(f"{number}\n".encode())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    source = f"socket('127.0.0.1', {server.getsockname()[1]}, format => 'csv', reconnect => false)"
    text = f"CREATE STREAM S (ts BIGINT) SOURCE {source} ORDERED BY ts;\nSELECT ts FROM S [NOW] WHERE ts % 1000 = 0;\n"
    result = shell(text + "SHOW QUERIES;\nWATCH q1 FOR 2 CHANGES;\nDROP QUERY q1;\nSHOW QUERIES;")
    server.close()
    thread.join(PATIENCE)
    assert shown(result)[2].split()[:3] == ["q1", "relation", "live"]
    assert '{"query": "q1", "t": 1000, "op": "+", "row": {"ts": 1000}}' in result.stdout
    assert not thread.is_alive()


def test_a_query_that_fails_leaves_and_the_others_go_on() -> None:
    failing = "REGISTER QUERY bad AS SELECT CAST(item * 100 AS TINYINT) AS x FROM Bid [NOW];\n"
    result = shell(BIDS + TOP + failing + ROWS + "SHOW QUERIES;\nWATCH top FOR 3 CHANGES;\nDROP QUERY bad;\n" + failing)
    assert result.exit_code == 1
    assert "error[EVALUATION_FAILED]: query bad: " in result.stderr
    assert "\n  --> <stdin>:3:1\n" in result.stderr
    states = [line.split()[:3] for line in result.stdout.splitlines() if line.startswith(("top", "bad"))]
    assert states == [["top", "relation", "live"], ["bad", "relation", "failed"]]
    assert result.stdout.splitlines()[-3:] == CHANGES
    assert "query bad is live from 4 on" in result.stderr


def test_a_query_is_stopped_and_started_again() -> None:
    both = BIDS + TOP + "REGISTER QUERY n AS SELECT COUNT(*) AS n FROM Bid [RANGE 10];\n" + ROWS
    result = shell(both + "STOP top;\nSHOW QUERIES;\nSTART top;\nSHOW QUERIES;")
    states = [line.split()[2] for line in shown(result) if line.startswith("top")]
    assert states == ["not", "live"]
    assert result.stderr.splitlines()[-2:] == ["query top is stopped", "query top is live"]


def test_when_the_last_query_has_left_time_begins_anew() -> None:
    again = "DROP QUERY top;\nDROP STREAM Bid;\n" + BIDS.replace("DOUBLE", "INT") + TOP
    result = shell(BIDS + TOP + ROWS + again + ROWS.replace("2.5", "2") + "SELECT * FROM top AT 1;")
    assert shown(result)[3] == "1       7     2"


def test_live_queries_count_time_alike() -> None:
    other = "CREATE STREAM E (a INT, ts TIMESTAMP) ORDERED BY ts;\nSELECT a FROM E [RANGE 1 MINUTE];\nSHOW QUERIES;"
    result = shell(BIDS + TOP + other)
    assert "error[MIXED_TIME_DOMAINS]: q1 is timed in microseconds, and top is live in ticks" in result.stderr
    assert "q1" not in result.stdout


def test_a_source_that_is_silent_is_waited_for_as_long_as_is_said() -> None:
    text = (
        BIDS + "CREATE STREAM Silent (a INT, ts BIGINT) ORDERED BY ts;\n" + TOP + "SELECT a FROM Silent [NOW];\n" + ROWS
    )
    assert shown(shell(text + "WATCH top FOR 100 MS;")) == []
    assert shown(shell(text + "WATCH top FOR 3 CHANGES;", "--idle-timeout", "100ms"))[:3] == CHANGES


def test_where_nothing_is_live_nothing_is_watched() -> None:
    assert shell("WATCH;").stderr == "note: no query is live\n"


def test_mistakes_of_live_statements_do_not_end_the_session() -> None:
    result = shell(
        BIDS + TOP + "STOP tpo;\nINSERT INTO Bid VALUES ('x', 1, 1);\nSELECT * FROM top AT 99;\nSHOW STREAMS;"
    )
    assert result.exit_code == 1
    found = re.findall(r"error\[(\w+)\]", result.stderr)
    assert found == ["UNKNOWN_NAME", "MALFORMED_ROW", "INSTANT_OPEN"]
    assert "Bid    stream" in result.stdout


# As a process.


@pytest.fixture
def terminal(folder: Path) -> Iterator[Terminal]:
    with Terminal(folder, "shell") as made:
        yield made


def test_watch_on_a_terminal_shows_the_answer_until_ctrl_c(terminal: Terminal) -> None:
    terminal.wait_for("cql>")
    terminal.send((BIDS + TOP + ROWS).replace("\n", "\r"))
    place = terminal.wait_for("3 rows into Bid")
    terminal.send("WATCH top;\r")
    # the screen has what the query holds, its sources, and what changed last
    place = terminal.wait_for(r"top  1 rows", place)
    place = terminal.wait_for(r"7 +3\.0", place)
    terminal.send("\x03")
    place = terminal.wait_for("cql>", place)
    terminal.send("INSERT INTO Bid VALUES (9, 9, 20);\rSELECT * FROM top AT LATEST;\r")
    terminal.wait_for("cql>", terminal.wait_for("q1: relation, no answers", place))
    assert terminal.end() == 0


def test_ctrl_c_ends_watch_and_not_the_shell(folder: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "shell"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        ticking = "CREATE STREAM T (value BIGINT, timestamp TIMESTAMP) SOURCE rate(rows_per_second => 50)\n"
        process.stdin.write(ticking + "  ORDERED BY timestamp;\nSELECT value FROM T [NOW];\nWATCH;\nSHOW QUERIES;\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["row"] == {"value": 0}
        process.send_signal(signal.SIGINT)
        lines_until = iter(process.stdout.readline, "")
        assert any(line.startswith("name") for line in lines_until)
        _, told = process.communicate(timeout=PATIENCE)
        assert (process.returncode, "Traceback" in told) == (0, False)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()

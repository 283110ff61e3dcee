"""What is wrong, where, and with which exit status; and what goes to standard error only."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from continua.session import Session
from tests.cli.helpers import BIDS, TIMED, continua, lines, write_script

FAILING = BIDS + "SELECT item_id FROM Bid [NOW] WHERE price > (SELECT price FROM Bid [ROWS 2]);\n"
"""At 2 the scalar subquery has two rows."""


def run(folder: Path, script: str, *options: str) -> Result:
    return continua("run", write_script(folder, script), *options)


def test_all_mistakes_of_a_script_are_told_with_their_places(folder: Path) -> None:
    script = BIDS + "SELECT itm FROM Bid [NOW];\nSELCT 1;\nSELECT price FROM Bids;\n"
    result = run(folder, script)
    assert (result.exit_code, result.stdout) == (1, "")
    path = folder / "script.sql"
    assert [line for line in result.stderr.splitlines() if "-->" in line] == [
        f"  --> {path}:2:8",
        f"  --> {path}:3:1",
        f"  --> {path}:4:19",
    ]
    assert "  2 | SELECT itm FROM Bid [NOW];\n    |        ^^^\n  hint: did you mean item_id?" in result.stderr
    assert result.stderr.endswith("3 errors\n")


def test_a_malformed_row_stops_the_run(folder: Path) -> None:
    (folder / "bids.csv").write_text("1,10,1\nx,20,2\n", encoding="utf-8")
    result = run(folder, BIDS + "SELECT item_id FROM Bid;")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error[MALFORMED_ROW]: bids.csv:2: " in result.stderr
    assert not (folder / "rejected").exists()


def test_on_error_skip_counts_and_keeps_malformed_and_late_rows(folder: Path) -> None:
    (folder / "bids.csv").write_text("1,10,1\nx,20,2\n3,30,9\n4,40,3\n", encoding="utf-8")
    result = run(folder, BIDS.replace(";", " ON ERROR SKIP;") + "SELECT item_id FROM Bid;")
    assert lines(result) == [
        '{"query": "q1", "t": 1, "row": {"item_id": 1}}',
        '{"query": "q1", "t": 9, "row": {"item_id": 3}}',
    ]
    assert "warning[ROWS_SKIPPED]: 1 malformed row" in result.stderr
    assert "warning[TIMESTAMP_OUT_OF_ORDER]: 1 row was too late for Bid" in result.stderr
    kept = (folder / "rejected" / "Bid.rejected.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["line"] for line in kept] == [2, 4]


def test_a_missing_source_is_told(folder: Path) -> None:
    result = run(folder, BIDS.replace("bids.csv", "bid.csv") + "SELECT item_id FROM Bid;")
    assert result.exit_code == 1
    assert "error[SOURCE_NOT_FOUND]: there is no file bid.csv\n" in result.stderr
    assert "hint: did you mean bids.csv?" in result.stderr


def test_queries_that_fail_on_their_data_are_told_by_name(folder: Path) -> None:
    result = run(folder, FAILING + "REGISTER QUERY other AS " + FAILING.removeprefix(BIDS))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error[EVALUATION_FAILED]: query q1: " in result.stderr
    assert "error[EVALUATION_FAILED]: query other: " in result.stderr
    assert result.stderr.count("a row has more than one match (at 2)") == 2
    places = [line for line in result.stderr.splitlines() if "-->" in line]
    assert places == [f"  --> {folder / 'script.sql'}:2:1", f"  --> {folder / 'script.sql'}:3:1"]


ENDLESS = {
    "zeros": "SELECT RSTREAM COUNT(*) AS n FROM Bid [RANGE 4 SLIDE 2]",
    "kept": "SELECT RSTREAM item_id FROM Bid [RANGE UNBOUNDED SLIDE 2]",
    "age": "SELECT NOW AS t, item_id FROM Bid [RANGE UNBOUNDED]",
    "clock": "SELECT STREAMED C.Timepoint FROM RELATION(clockStr) C",
    "windows": "SELECT RSTREAM item_id FROM Bid [FROM 0 TO 2*j + 3 EVERY 2]",
}
ENDING = {
    "passing": "SELECT RSTREAM item_id FROM Bid [RANGE 4 SLIDE 2]",
    "groups": "SELECT RSTREAM item_id, COUNT(*) AS n FROM Bid [RANGE 4 SLIDE 2] GROUP BY item_id",
    "joined": "SELECT RSTREAM a.price FROM Bid [RANGE 4 SLIDE 2] a, Bid [RANGE UNBOUNDED SLIDE 2] b",
    "moving": "SELECT RSTREAM item_id FROM Bid [FROM 2*j TO 2*j + 3 EVERY 2]",
    "later": "SELECT item_id FROM Bid [RANGE UNBOUNDED] WHERE NOW > ts + 3",
    "empty": "SELECT RSTREAM item_id FROM Bid [RANGE UNBOUNDED SLIDE 2] WHERE price > 100",
    "plain": "SELECT COUNT(*) AS n FROM Bid [RANGE 4]",
}


@pytest.mark.parametrize("engine", ["interval", "reference"])
def test_answers_that_can_go_on_for_ever_are_told(folder: Path, engine: str) -> None:
    queries = "".join(f"REGISTER QUERY {name} AS {text};\n" for name, text in (ENDLESS | ENDING).items())
    told = [line for line in run(folder, BIDS + queries, "--engine", engine).stderr.splitlines() if "warning" in line]
    upto = {"zeros": 10, "kept": 6, "age": 69, "clock": 8, "windows": 5}
    assert told == [
        f"warning[ENDLESS_ANSWER]: the answer of {name} can go on for ever: it is shown up to {upto[name]}"
        for name in ENDLESS
    ]


def test_answers_in_a_folder_that_can_go_on_for_ever_are_told(folder: Path) -> None:
    result = run(folder, BIDS + f"REGISTER QUERY kept AS {ENDLESS['kept']} INTO json('out');")
    assert "warning[ENDLESS_ANSWER]: the answer of kept can go on for ever: it is shown up to 6" in result.stderr


def test_the_content_at_an_instant_fails_only_where_the_query_does(folder: Path) -> None:
    assert lines(continua("run", write_script(folder, FAILING), "--at", "1")) == []
    assert run(folder, FAILING, "--at", "2").exit_code == 1


def test_unknown_sinks_are_refused_with_their_place(folder: Path) -> None:
    result = run(folder, BIDS + "REGISTER QUERY q AS SELECT price FROM Bid [NOW] INTO csw('out');")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error[UNKNOWN_SINK]: INTO csw(...)" in result.stderr
    assert "script.sql:2:54" in result.stderr


def test_the_reference_refuses_sinks(folder: Path) -> None:
    script = BIDS + "REGISTER QUERY q AS SELECT price FROM Bid [NOW] INTO csv('out');"
    result = run(folder, script, "--engine", "reference")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error[NOT_SUPPORTED]: INTO csv(...)" in result.stderr


def test_the_console_is_a_sink(folder: Path) -> None:
    script = BIDS + "REGISTER QUERY q AS SELECT price FROM Bid WHERE price = 30 INTO console;"
    assert lines(run(folder, script)) == ['{"query": "q", "t": 5, "row": {"price": 30.0}}']


@pytest.mark.parametrize(
    ("script", "at"),
    [
        (BIDS + "SELECT price FROM Bid;", "2024-05-01T10:00:00Z"),
        (BIDS + "SELECT price FROM Bid;", "1.5"),
        (BIDS + "SELECT price FROM Bid;", "9" * 30),
        (TIMED + "SELECT item_id FROM Seen;", "5"),
        (TIMED + "SELECT item_id FROM Seen;", "0001-01-01T00:00:00+10:00"),
    ],
)
def test_an_instant_of_another_time_domain_is_a_wrong_command_line(folder: Path, script: str, at: str) -> None:
    result = run(folder, script, "--at", at)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"Invalid value for '--at': '{at}' is not an instant of q1" in result.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--batch-rows", "0"),
        ("--partitions", "-1"),
        ("--format", "xml"),
        ("--dialect", "esper"),
        ("--data", "nowhere"),
        ("--checkpoint", "bids.csv"),
        ("--engine", "spark"),
        ("--frobnicate",),
    ],
)
def test_a_wrong_option_is_a_wrong_command_line(folder: Path, options: tuple[str, ...]) -> None:
    result = run(folder, BIDS + "SELECT price FROM Bid;", *options)
    assert (result.exit_code, result.stdout) == (2, "")


def test_an_unreadable_script_is_a_wrong_command_line(folder: Path) -> None:
    (folder / "latin.sql").write_bytes(b"SELECT '\xe9';")
    for name, reason in (("none.sql", "No such file"), (".", "Is a directory"), ("latin.sql", "not UTF-8")):
        result = continua("run", name)
        assert (result.exit_code, result.stdout) == (2, "")
        assert reason in result.stderr
    assert continua("run").exit_code == 2


def test_a_script_may_have_a_byte_order_mark_and_windows_line_ends(folder: Path) -> None:
    (folder / "dos.sql").write_bytes(b"\xef\xbb\xbfSELECT 1 AS a;\r\nSELECT b;\r\n")
    result = continua("run", "dos.sql")
    assert result.exit_code == 1
    assert "dos.sql:2:8\n  2 | SELECT b;\n" in result.stderr


def test_notices_go_to_standard_error_only(folder: Path) -> None:
    result = run(folder, BIDS + "SELECT price FROM Bid WHERE price = 30;")
    assert lines(result) == ['{"query": "q1", "t": 5, "row": {"price": 30.0}}']
    assert result.stderr.splitlines() == [
        f"note: q1: Bid has no window: [RANGE UNBOUNDED] is used ({folder / 'script.sql'}:2:19)",
        "note: q1: the result only grows: ISTREAM is used",
        "note: q1: the query in full: SELECT ISTREAM(price) FROM Bid [RANGE UNBOUNDED] WHERE price = 30",
    ]


def test_show_describe_and_explain_go_to_standard_error(folder: Path) -> None:
    result = run(folder, BIDS + "SHOW STREAMS; DESCRIBE Bid; EXPLAIN SELECT price FROM Bid [NOW];")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "Bid    stream   item_id INT, price DOUBLE, ts BIGINT" in result.stderr
    assert "orders the stream" in result.stderr
    assert "└─ Window [NOW]" in result.stderr


def test_who_asks_for_the_reference_is_not_told_that_it_answers(folder: Path) -> None:
    assert run(folder, "SELECT ISTREAM(1);", "--engine", "reference").stderr == ""


def test_options_of_the_engine_are_told_to_have_no_effect(folder: Path) -> None:
    options = ("--batch-rows", "2", "--checkpoint", "state", "--partitions", "4", "--master", "local[2]")
    result = run(folder, BIDS + "SELECT price FROM Bid [NOW];", "--engine", "reference", *options)
    assert result.stdout == run(folder, BIDS + "SELECT price FROM Bid [NOW];").stdout
    expected = "note: --batch-rows, --checkpoint, --partitions, --master: of no effect on the reference semantics\n"
    assert result.stderr == expected
    assert not (folder / "state").exists()


def test_a_script_without_queries_says_so(folder: Path) -> None:
    for script in ("", "-- nothing\n", BIDS):
        result = run(folder, script)
        assert lines(result) == []
        assert "has no query" in result.stderr


def test_python_functions_are_found_beside_the_script(folder: Path) -> None:
    (folder / "beside_the_script.py").write_text("def twice(x):\n    return 2 * x\n", encoding="utf-8")
    definition = "CREATE FUNCTION twice(x INT) RETURNS INT LANGUAGE PYTHON AS 'beside_the_script:twice';"
    result = run(folder, BIDS + definition + "SELECT ISTREAM(twice(item_id) AS x) FROM Bid [NOW] WHERE price = 20;")
    assert lines(result) == ['{"query": "q1", "t": 2, "row": {"x": 4}}']


def failing_with(error: BaseException) -> Callable[..., list[object]]:
    def execute(*_: object) -> list[object]:
        raise error

    return execute


@pytest.mark.parametrize(("text", "told"), [("first\nsecond", "first"), ("called.\n: why\n\tat", "called.: why")])
def test_an_unexpected_error_is_one_line_without_a_traceback(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    script = write_script(folder, "SELECT 1;")
    monkeypatch.setattr(Session, "execute", failing_with(RuntimeError(text)))
    result = continua("run", script)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"internal error: RuntimeError: {told}\n"


@pytest.mark.parametrize("arguments", [("--debug", "run"), ("run", "--debug")])
def test_debug_shows_the_traceback(folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]) -> None:
    script = write_script(folder, "SELECT 1;")
    monkeypatch.setattr(Session, "execute", failing_with(RuntimeError("first")))
    result = continua(*arguments, script)
    assert result.exit_code == 1
    assert result.stderr.startswith("Traceback")
    assert result.stderr.endswith("internal error: RuntimeError: first\n")


def test_an_interrupt_ends_without_a_traceback(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = write_script(folder, "SELECT 1;")
    monkeypatch.setattr(Session, "execute", failing_with(KeyboardInterrupt()))
    result = continua("run", script)
    assert (result.exit_code, result.stderr) == (130, "")


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_that_duckdb_turned_into_an_error_is_still_an_interrupt(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> list[object]:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise RuntimeError("Query interrupted") from None
        return []

    monkeypatch.setattr(Session, "answers", interrupted)
    result = run(folder, "SELECT ISTREAM(1);", "--engine", "reference")
    assert (result.exit_code, result.stderr) == (130, "")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("form", ["jsonl", "csv", "table"])
def test_a_reader_that_goes_away_ends_the_run_quietly(folder: Path, form: str) -> None:
    (folder / "long.csv").write_text("".join(f"{n},{'x' * 9000}\n" for n in range(30)), encoding="utf-8")
    definition = "CREATE TABLE Long (n INT, x STRING) SOURCE csv('long.csv');"
    script = write_script(folder, definition + "SELECT ISTREAM(n, x) FROM Long;")
    command = [sys.executable, "-c", "from continua.cli.main import main; main()", "run", script, "--format", form]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        errors = process.stderr.read().decode()
        assert process.wait() == 0
    assert errors == ""

"""The shell: what it runs, what it answers, and that it goes on."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from click.testing import Result
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console

from continua.cli.engine_answers import EngineAnswers
from continua.cli.interpreter import COMMANDS, Interpreter
from continua.cli.report import stderr_console
from continua.cli.shell import converse
from continua.cli.tables import stdout_console
from tests.cli.helpers import BIDS, TIMED, continua, lines

ROWS = "SELECT item_id FROM Bid [ROWS 1];\n"
TABLE = ["q1: relation", "t   op   item_id", "────────────────", "1   +          1", "2   -          1"]


def shell(text: str, *options: str) -> Result:
    return continua("shell", *options, stdin=text)


def shown(result: Result) -> list[str]:
    return [line.rstrip() for line in lines(result)]


def test_a_query_is_answered_as_a_table() -> None:
    result = shell(BIDS + ROWS)
    assert shown(result)[:5] == TABLE
    assert result.stderr == "stream Bid is defined\n"


def test_the_last_statement_may_lack_its_semicolon() -> None:
    assert shown(shell(BIDS + ROWS.replace(";", "")))[:5] == TABLE


def test_notices_go_to_standard_error() -> None:
    result = shell(BIDS + "SELECT item_id FROM Bid;")
    assert "note" not in result.stdout
    assert "note: q1: Bid has no window: [RANGE UNBOUNDED] is used (<stdin>:2:21)" in result.stderr


def test_a_mistake_is_told_at_its_place_and_the_session_goes_on() -> None:
    result = shell(BIDS + "SELECT 1;\n SELECT itm\nFROM Bid; " + ROWS)
    assert result.exit_code == 1
    assert "error[UNKNOWN_COLUMN]: there is no column itm\n  --> <stdin>:3:9\n  3 |  SELECT itm\n" in result.stderr
    assert "q2: relation" in result.stdout


def test_a_query_that_fails_on_its_data_leaves_its_name_free(folder: Path) -> None:
    (folder / "bids.csv").write_text("x,1,1\n", encoding="utf-8")
    result = shell(BIDS + ROWS + "SELECT 1 AS one;")
    assert result.exit_code == 1
    assert "error[MALFORMED_ROW]: bids.csv:1" in result.stderr
    assert "q1: stream" in result.stdout


def test_a_query_that_fails_on_its_data_is_told_with_its_place() -> None:
    result = shell(BIDS + "SELECT 1;\n  SELECT CAST(item_id * 200 AS TINYINT) AS x FROM Bid [NOW];")
    assert "error[EVALUATION_FAILED]: query q2: " in result.stderr
    assert "  --> <stdin>:3:3\n" in result.stderr


def test_an_error_in_the_source_does_not_point_into_the_query() -> None:
    result = shell("CREATE STREAM S (a INT) SOURCE nowhere('x');\n" + "SELECT a FROM S;")
    assert "error[UNKNOWN_SOURCE]" in result.stderr
    assert "-->" not in result.stderr


def test_a_name_may_mean_another_source_later() -> None:
    result = shell(BIDS + ROWS + "DROP STREAM Bid;\n" + TIMED.replace("Seen", "Bid") + ROWS)
    assert "2024-05-01T10:00:00Z      +          1" in shown(result)


def test_an_unexpected_error_does_not_end_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> list[object]:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(EngineAnswers, "changes", fail)
    result = shell("SELECT 1; SHOW QUERIES;")
    assert result.exit_code == 1
    assert "internal error: ZeroDivisionError: oops" in result.stderr
    assert "answer" in result.stdout


def test_an_interrupted_query_does_not_end_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> list[object]:
        raise KeyboardInterrupt

    monkeypatch.setattr(EngineAnswers, "changes", interrupt)
    result = shell("SELECT 1; SHOW QUERIES;")
    assert "note: interrupted" in result.stderr
    assert "answer" in result.stdout


def test_unknown_sinks_are_refused() -> None:
    result = shell(BIDS + "REGISTER QUERY a AS SELECT item_id FROM Bid [NOW] INTO csw('x'); SHOW QUERIES;")
    assert "error[UNKNOWN_SINK]: INTO csw(...)" in result.stderr
    assert "SELECT" not in result.stdout


def test_skipped_rows_are_told(folder: Path) -> None:
    (folder / "bids.csv").write_text("x,1,1\n2,1,1\n", encoding="utf-8")
    result = shell(BIDS.replace(";", " ON ERROR SKIP;") + ROWS)
    assert result.exit_code == 0
    assert "warning[ROWS_SKIPPED]" in result.stderr


def test_show_describe_and_explain_are_answers() -> None:
    text = "\n".join(shown(shell(BIDS + "SHOW STREAMS; DESCRIBE Bid; EXPLAIN SELECT price FROM Bid [NOW];")))
    assert "Bid    stream   item_id INT, price DOUBLE, ts BIGINT" in text
    assert "orders the stream" in text
    assert "└─ Window [NOW]" in text


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE TABLE t (a INT)", "table t is defined"),
        ("CREATE VIEW v AS SELECT 1 AS one", "view v is defined"),
        ("CREATE FUNCTION f(x INT) RETURNS INT AS x", "function f is defined"),
        ("CREATE WINDOW w AS [RANGE 2]", "window w is defined"),
        ("SET dialect = sync", "dialect is sync"),
        ("DROP TABLE IF EXISTS t", "table t is gone"),
    ],
)
def test_a_statement_without_output_is_acknowledged(statement: str, said: str) -> None:
    result = shell(statement)
    assert (result.stdout, result.stderr) == ("", f"{said}\n")


def test_list_and_describe() -> None:
    definitions = BIDS + "CREATE FUNCTION f(x INT) RETURNS INT AS x; CREATE WINDOW w AS [RANGE 2];\n"
    text = "\n".join(shown(shell(definitions + "\\d\n\\d bid\n\\d f\n\\d w")))
    assert "Bid    stream     item_id INT, price DOUBLE, ts BIGINT" in text
    assert "item_id   INT\n" in text
    assert text.count("(x INT) -> INT") == 2
    assert text.count("[RANGE 2]") == 2


def test_describe_suggests_names() -> None:
    result = shell(BIDS + "\\d Bud")
    assert result.exit_code == 1
    assert "error: there is no Bud\n  hint: did you mean Bid?" in result.stderr


def test_quit_leaves_at_once() -> None:
    result = shell("\\q\nSELECT nonsense;")
    assert (result.exit_code, result.stderr) == (0, "")


def test_help_lists_the_commands() -> None:
    text = shell("\\?").stdout
    assert all(command in text for command in COMMANDS)


def test_the_dialect_can_be_changed_and_asked_for() -> None:
    result = shell("\\dialect\n\\dialect sync\n\\dialect\n\\dialect esper", "--dialect", "pipes")
    assert result.stdout.split() == ["pipes", "sync"]
    assert "error: there is no dialect esper\n  hint: one of cql, pipes, sync" in result.stderr


def test_files_are_run_with_their_own_places(folder: Path) -> None:
    (folder / "a.sql").write_text(BIDS + "SELECT itm FROM Bid;\n" + ROWS, encoding="utf-8")
    result = shell("\\i a.sql")
    assert "  --> a.sql:2:8\n" in result.stderr
    assert "q1: relation" in result.stdout


def test_a_file_that_runs_itself_is_stopped(folder: Path) -> None:
    (folder / "a.sql").write_text("\\i a.sql\nSELECT 1;", encoding="utf-8")
    result = shell("\\i a.sql")
    assert "error: a.sql runs itself" in result.stderr
    assert "q1: stream" in result.stdout


@pytest.mark.parametrize("command", ["\\i", "\\i none.sql", "\\i .", "\\x"])
def test_a_command_that_cannot_be_done_is_told(command: str) -> None:
    result = shell(command)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")


def test_sources_come_from_the_data_folder(folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "bids.csv").write_text("7,1.5,3\n", encoding="utf-8")
    assert "3   +          7" in shell(BIDS + ROWS, "--data", "other").stdout


def test_prompts_take_lines_until_a_statement_is_complete(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    interpreter = Interpreter(folder, "cql", stdout_console(), stderr_console())
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.send_text("SELECT 1\rAS one\r;\rdropped\x03SELECT nothing;\r\x04")
        converse(interpreter)
    shown = capsys.readouterr()
    assert "one\n" in shown.out
    assert "error[UNKNOWN_COLUMN]" in shown.err
    assert "dropped" not in shown.err
    assert "+SELECT 1\n+AS one\n+;\n" in (folder / "history").read_text(encoding="utf-8")


def test_quit_ends_the_prompts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTINUA_HISTORY", str(folder))  # which cannot be written as a file
    interpreter = Interpreter(folder, "cql", stdout_console(), stderr_console())
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.send_text("\\q\r")
        converse(interpreter)
    assert interpreter.done


def test_all_rows_of_the_last_query(folder: Path) -> None:
    (folder / "many.csv").write_text("".join(f"{i},{i}\n" for i in range(100)), encoding="utf-8")
    many = "CREATE STREAM N (a INT, ts BIGINT) SOURCE csv('many.csv', header => false) ORDERED BY ts; SELECT a FROM N;"
    found = shown(shell(many + "\n\\all\n"))
    assert found[43:46] == ["... and 60 more rows: \\all shows them", "", "q1: stream"]
    assert (found[-2], len(found)) == ("99   99", 45 + 3 + 100 + 1)
    assert shell("\\all\n").exit_code == 1


def test_a_terminal_has_a_pager_for_all_rows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paged: list[str] = []
    monkeypatch.setattr("click.echo_via_pager", lambda lines, **_: paged.extend(lines))
    terminal = Console(file=StringIO(), width=80, force_terminal=True, color_system=None)
    interpreter = Interpreter(folder, "cql", terminal, stderr_console())
    interpreter.run(BIDS + ROWS + "\\all\n", "input")
    assert [line.rstrip() for line in paged[:4]] == TABLE[1:]

"""CSV for programs, tables for people."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from rich.console import Console

from continua.cli.tables import Column, print_table
from tests.cli.helpers import BIDS, ROOMS, continua, lines, write_script


def output(folder: Path, script: str, *options: str) -> list[str]:
    return [line.rstrip() for line in lines(continua("run", write_script(folder, script), *options))]


def test_csv_of_one_query_has_its_columns(folder: Path) -> None:
    assert output(folder, BIDS + "SELECT item_id, price FROM Bid [ROWS 1] WHERE price < 30;", "--format", "csv") == [
        "query,t,op,item_id,price",
        "q1,1,+,1,10.5",
        "q1,2,-,1,10.5",
        "q1,2,+,2,20.0",
        "q1,5,-,2,20.0",
    ]


def test_csv_of_a_deletion_by_key_leaves_the_other_columns_empty(folder: Path) -> None:
    assert output(folder, ROOMS + "SELECT STREAMED id, degrees FROM Room;", "--format", "csv")[-2:] == [
        "q1,3,u,r1,25",
        "q1,4,-,r2,",
    ]


def test_csv_has_the_end_where_elements_have_one(folder: Path) -> None:
    script = BIDS + "SELECT RSTREAM(item_id) FROM Bid WHERE price < 20;"
    assert output(folder, script, "--format", "csv") == ["query,t,until,op,item_id", "q1,1,,,1"]


def test_csv_of_several_queries_has_rows_as_json(folder: Path) -> None:
    script = BIDS + "SELECT item_id FROM Bid WHERE price = 30; SELECT COUNT(*) AS n FROM Bid [NOW] WHERE price = 30;"
    assert output(folder, script, "--format", "csv") == [
        "query,t,op,row",
        'q2,0,+,"{""n"": 0}"',
        'q1,5,,"{""item_id"": 1}"',
        'q2,5,-,"{""n"": 0}"',
        'q2,5,+,"{""n"": 1}"',
        'q2,6,-,"{""n"": 1}"',
        'q2,6,+,"{""n"": 0}"',
    ]


def test_csv_tells_null_from_the_empty_string_and_quotes_what_needs_it(folder: Path) -> None:
    script = "SELECT NULL AS a, '' AS b, 'x,\"y' AS `c d`, ' e' AS e;"
    assert output(folder, script, "--format", "csv") == ["query,t,op,a,b,c d,e", 'q1,0,,,"","x,""y"," e"']


def test_csv_of_the_content_at_an_instant(folder: Path) -> None:
    assert output(folder, BIDS + "SELECT price FROM Bid;", "--format", "csv", "--at", "2") == [
        "query,at,price",
        "q1,2,10.5",
        "q1,2,20.0",
    ]


def test_csv_without_a_query_is_empty(folder: Path) -> None:
    assert output(folder, BIDS, "--format", "csv") == []


def test_tables_come_one_a_query_in_the_order_of_the_script(folder: Path) -> None:
    script = BIDS + "REGISTER QUERY b AS SELECT item_id FROM Bid [ROWS 1]; SELECT price FROM Bid WHERE price > 99;"
    assert output(folder, script, "--format", "table") == [
        "b: relation",
        "t   op   item_id",
        "────────────────",
        "1   +          1",
        "2   -          1",
        "2   +          2",
        "5   -          2",
        "5   +          1",
        "",
        "q1: stream, no answers",
        "",
    ]


def test_tables_show_ends_and_nulls(folder: Path) -> None:
    script = BIDS + "SELECT RSTREAM(item_id, NULLIF(price, 10.5) AS p) FROM Bid WHERE price < 20;"
    assert output(folder, script, "--format", "table")[1:4] == [
        "t   until   item_id      p",
        "──────────────────────────",
        "1   ∞             1   NULL",
    ]


def test_tables_of_the_content_at_an_instant(folder: Path) -> None:
    assert output(folder, BIDS + "SELECT price FROM Bid;", "--format", "table", "--at", "1") == [
        "q1: stream",
        "at   price",
        "──────────",
        "1     10.5",
        "",
    ]


def test_values_cannot_move_the_cursor(folder: Path) -> None:
    (folder / "names.csv").write_text('"a\x1b[2J\nb",1\n', encoding="utf-8")
    script = "CREATE STREAM N (name STRING, ts BIGINT) SOURCE csv('names.csv') ORDERED BY ts; SELECT * FROM N;"
    assert "a\\x1b[2J\\nb" in "\n".join(output(folder, script, "--format", "table"))


def test_wide_tables_in_a_pipe_are_not_squeezed(folder: Path) -> None:
    script = f"SELECT '{'x' * 300}' AS wide;"
    assert any("x" * 300 in line for line in output(folder, script, "--format", "table"))


def _many(folder: Path, count: int) -> str:
    (folder / "many.csv").write_text("".join(f"{i},{i}\n" for i in range(count)), encoding="utf-8")
    return "CREATE STREAM N (a INT, ts BIGINT) SOURCE csv('many.csv', header => false) ORDERED BY ts; SELECT a FROM N;"


def test_tables_show_the_first_rows_and_how_many_more_there_are(folder: Path) -> None:
    shown = output(folder, _many(folder, 1041), "--format", "table")
    assert shown[:3] == ["q1: stream", "t     a", "───────"]
    assert shown[42:] == ["39   39", "... and 1,001 more rows: --all shows them", ""]
    assert output(folder, _many(folder, 41), "--format", "table")[-2] == "... and 1 more row: --all shows them"
    assert output(folder, _many(folder, 40), "--format", "table")[-2] == "39   39"


def test_tables_of_all_rows(folder: Path) -> None:
    shown = output(folder, _many(folder, 1041), "--format", "table", "--all")
    assert (len(shown), shown[-2]) == (3 + 1041 + 1, "1040   1040")


def test_tables_are_as_wide_as_their_characters(folder: Path) -> None:
    assert output(folder, "SELECT '日本' AS a, 'é' AS b, 1.5 AS `数`;", "--format", "table")[1:4] == [
        "t   a      b    数",
        "──────────────────",
        "0   日本   é   1.5",
    ]


def test_narrow_terminals_fold_long_cells() -> None:
    console = Console(file=StringIO(), width=20, force_terminal=True, color_system=None)
    print_table(console, [Column("n", ["1", None], True), Column("text", ["abcdefghijklmnopqrstuvwxyz", "é"])])
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue().splitlines() == [
        "   n   text",
        "────────────────────",
        "   1   abcdefghijklm",
        "       nopqrstuvwxyz",
        "NULL   é",
    ]


def test_terminals_have_colours() -> None:
    console = Console(file=StringIO(), width=80, force_terminal=True, color_system="standard")
    print_table(console, [Column("op", ["+", None], styles={"+": "green"})])
    assert isinstance(console.file, StringIO)
    assert "\x1b[32m+   \x1b[0m\n\x1b[2mNULL\x1b[0m\n" in console.file.getvalue()

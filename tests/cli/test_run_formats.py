"""CSV for programs, tables for people."""

from __future__ import annotations

from pathlib import Path

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

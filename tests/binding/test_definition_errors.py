"""What is wrong with definitions, settings, and the files behind the streams."""

from __future__ import annotations

from pathlib import Path

import pytest

from continua.errors import DataError, Diagnostic, SourceError
from continua.session import Session
from tests.binding.scripts import expect, mistake, place, session

DEFINITIONS = [
    ("CREATE TABLE T (a INT)", "ALREADY_EXISTS", {"name": "T"}, (1, 14), "CREATE OR REPLACE"),
    ("CREATE VIEW t AS SELECT 1", "ALREADY_EXISTS", {"name": "t"}, (1, 13), None),
    ("REGISTER QUERY q AS SELECT 1;\nREGISTER QUERY q AS SELECT 2", "ALREADY_EXISTS", {"name": "q"}, (2, 16), None),
    ("REGISTER QUERY `content of t` AS SELECT 1", "NAME_NOT_FREE", {"name": "content of t"}, (1, 16), None),
    ("REGISTER QUERY `relation behind t` AS SELECT 1", "NAME_NOT_FREE", {"name": "relation behind t"}, (1, 16), None),
    ("REGISTER QUERY `view t` AS SELECT 1", "NAME_NOT_FREE", {"name": "view t"}, (1, 16), None),
    ("CREATE FUNCTION f() AS 1;\nCREATE FUNCTION F() AS 2", "ALREADY_EXISTS", {"name": "F"}, (2, 17), None),
    ("CREATE WINDOW w AS [NOW];\nCREATE WINDOW w AS [NOW]", "ALREADY_EXISTS", {"name": "w"}, (2, 15), None),
    ("CREATE TABLE X (a INTT)", "UNKNOWN_TYPE", {"type": "INTT"}, (1, 19), "did you mean INT"),
    ("CREATE TABLE X (a ARRAY<INTT>)", "UNKNOWN_TYPE", {}, (1, 25), None),
    ("CREATE TABLE X (a DECIMAL(50, 2))", "UNKNOWN_TYPE", {"type": "DECIMAL"}, (1, 19), None),
    ("CREATE TABLE X (a INT, b INT, A STRING)", "DUPLICATE_COLUMN", {"columns": ["A"]}, (1, 31), None),
    ("CREATE STREAM X (a STRING) ORDERED BY a", "NOT_A_TIME", {"column": "a", "type": "STRING"}, (1, 39), None),
    ("CREATE STREAM X (a INT)\nORDERED BY zz", "UNKNOWN_COLUMN", {"column": "zz"}, (2, 12), "there are a"),
    ("CREATE STREAM X (a INT, b DATE) VALID FROM a TO b", "NOT_A_TIME", {"type": "DATE"}, (1, 49), None),
    ("CREATE STREAM X (a BIGINT, b TIMESTAMP) VALID FROM a TO b", "MIXED_TIME_DOMAINS", {}, (1, 57), None),
    ("CREATE TABLE X (a INT) KEY zz", "UNKNOWN_COLUMN", {"column": "zz"}, (1, 28), None),
    ("CREATE STREAM X (a INT, ts BIGINT) ORDERED BY ts TAGGED BY a", "TAGGED_STREAM", {}, (1, 60), None),
    ("CREATE RELATION X (a INT, op STRING) TAGGED BY op", "UNTIMED_TAGS", {}, (1, 48), "ORDERED BY"),
    ("CREATE RELATION X (a INT, ts INT)\nORDERED BY ts UPSERT", "POLICY_WITHOUT_TAGS", {}, (2, 15), "TAGGED BY"),
    ("CREATE STREAM X (a INT, ts INT)\nORDERED BY ts KEY a STRICT", "POLICY_WITHOUT_TAGS", {}, (2, 21), None),
    ("CREATE STREAM X OVER S KEY NULL STRICT", "POLICY_WITHOUT_KEY", {"policy": "STRICT"}, (1, 33), None),
    ("CREATE STREAM X (a INT) KEY a CHECKED WITHIN 5 s", "UNTIMED_CHECK", {}, (1, 46), "ORDERED BY"),
    ("CREATE RELATION X (a INT) KEY a CHECKED WITHIN 5 s", "CHECKED_RELATION", {}, (1, 48), None),
    ("CREATE STREAM X (a INT, t INT)\nORDERED BY t KEY a CHECKED WITHIN '1 hour'", "UNIT_OF_TICKS", {}, (2, 35), None),
    ("CREATE RELATION X (a INT, b INT) VALID FROM a TO b", "VALID_RELATION", {}, (1, 45), None),
    ("CREATE STREAM X (ts BIGINT) ORDERED BY ts SLACK 5 s", "UNIT_OF_TICKS", {"unit": "SECOND"}, (1, 49), "SLACK 5"),
    ("CREATE STREAM X OVER Nowhere KEY a", "UNKNOWN_STREAM", {"name": "Nowhere"}, (1, 22), None),
    ("CREATE STREAM X OVER S KEY zz", "UNKNOWN_COLUMN", {"column": "zz"}, (1, 28), None),
    ("CREATE STREAM X OVER S KEY ts", "UNKNOWN_COLUMN", {"column": "ts"}, (1, 28), None),
    ("CREATE TABLE X (a INT, b INT) AS VALUES (1)", "COLUMN_COUNT", {"left": 2, "right": 1}, (1, 14), None),
    ("CREATE TABLE X (a INT) AS VALUES ('one')", "TYPE_MISMATCH", {"left": "INT", "right": "STRING"}, (1, 35), None),
    ("CREATE VIEW X (p, q) AS SELECT a FROM T", "COLUMN_COUNT", {"left": 2, "right": 1}, (1, 32), None),
    ("CREATE VIEW X AS SELECT ISTREAM(a) FROM T", "STREAM_AS_VIEW", {}, (1, 33), "CREATE STREAM"),
    ("CREATE VIEW X AS SELECT zz FROM T", "UNKNOWN_COLUMN", {"column": "zz"}, (1, 25), None),
    ("CREATE FUNCTION f(x INT) AS x + zz", "UNKNOWN_COLUMN", {"column": "zz"}, (1, 33), "there are x"),
    ("CREATE FUNCTION f(x) AS x", "SYNTAX", {}, (1, 19), None),
    ("CREATE FUNCTION f(x INT) AS SUM(x)", "AGGREGATE_NOT_ALLOWED", {"function": "SUM"}, (1, 29), None),
    (
        "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS 'nowhere:f'",
        "BAD_PYTHON_NAME",
        {"path": "nowhere:f"},
        (1, 17),
        None,
    ),
    (
        "CREATE AGGREGATE f(x INT) RETURNS INT LANGUAGE PYTHON AS 'operator:neg'",
        "BAD_AGGREGATE",
        {"name": "f"},
        (1, 18),
        None,
    ),
    (
        "CREATE FUNCTION f(x INT) AS x;\nSELECT f(a, c) FROM T",
        "ARGUMENT_COUNT",
        {"function": "f", "given": 2},
        (2, 8),
        None,
    ),
    (
        "CREATE FUNCTION f(x INT) AS x;\nSELECT f(name) FROM U",
        "TYPE_MISMATCH",
        {"left": "INT", "right": "STRING"},
        (2, 10),
        None,
    ),
]

SETTINGS = [
    ("SET dialec = cql", "UNKNOWN_SETTING", "dialec", "did you mean dialect?"),
    ("SET xyzzy = 1", "UNKNOWN_SETTING", "xyzzy", "dialect, range_bounds, chronon, start_time"),
    ("SET dialect = klingon", "BAD_SETTING", "dialect", "cql, pipes, sync"),
    ("SET range_bounds = open", "BAD_SETTING", "range_bounds", "half_open"),
    ("SET chronon = 'fast'", "BAD_SETTING", "chronon", "1 second"),
    ("SET chronon = '0 seconds'", "BAD_SETTING", "chronon", "1 second"),
    ("SET start_time = 'yesterday'", "BAD_SETTING", "start_time", "2024-01-01"),
]


@pytest.mark.parametrize(("text", "condition", "parameters", "where", "hint"), DEFINITIONS)
def test_a_definition_that_makes_no_sense(
    text: str, condition: str, parameters: dict[str, object], where: tuple[int, int], hint: str | None
) -> None:
    assert (hint or "") in (expect(text, condition, parameters, where).hint or "")


@pytest.mark.parametrize(("text", "condition", "name", "hint"), SETTINGS)
def test_a_setting_that_makes_no_sense(text: str, condition: str, name: str, hint: str) -> None:
    found = mistake(text)
    assert (found.condition, found.parameters["name"], place(found)) == (condition, name, (1, 5))
    assert hint in (found.hint or "")


def test_or_replace_takes_the_place_of_a_definition() -> None:
    made = session()
    made.execute("CREATE OR REPLACE TABLE T (z INT) AS VALUES (7)")
    found = made.sql("SELECT z FROM T")
    assert found is not None and made.snapshot(found, 0) == [(7,)]


# Files.


def stream(folder: Path, source: str, clauses: str = "") -> Session:
    made = Session(data=folder, rejects=folder / "rejects")
    made.execute(f"CREATE STREAM F (a INT, ts BIGINT)\n  SOURCE {source} ORDERED BY ts {clauses}")
    made.execute("SELECT RSTREAM(*) FROM F [NOW]")
    return made


def answers(made: Session) -> list[tuple[int, object]]:
    return [(a.instant, a.row[0]) for a in made.answers()]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "bids.csv").write_text("a,ts\n1,1\n")
    with pytest.raises(SourceError) as caught:
        stream(tmp_path, "csv('bid.csv')").answers()
    found = caught.value.diagnostics[0]
    assert (found.condition, found.parameters) == ("SOURCE_NOT_FOUND", {"source": "F", "path": "bid.csv"})
    assert found.hint == "did you mean bids.csv?"
    assert place(found) == (2, 10)


def test_a_format_that_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        stream(tmp_path, "cvs('bids.csv')").answers()
    assert (caught.value.condition, place(caught.value.diagnostics[0])) == ("UNKNOWN_SOURCE", (2, 10))
    assert caught.value.diagnostics[0].hint == "did you mean csv?"


def test_a_malformed_row_is_told_by_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "bids.csv").write_text("a,ts\n1,1\nx,2\n3,3\n")
    with pytest.raises(DataError) as caught:
        stream(tmp_path, "csv('bids.csv')").answers()
    assert caught.value.condition == "MALFORMED_ROW"
    told = {"file": "bids.csv", "line": 3, "column": "a", "value": "x", "expected": "INT"}
    assert {name: caught.value.parameters[name] for name in told} == told
    assert "bids.csv:3" in caught.value.diagnostics[0].message


def test_malformed_rows_may_be_kept_apart(tmp_path: Path) -> None:
    (tmp_path / "bids.csv").write_text("a,ts\n1,1\nx,2\n3,3\n")
    made = stream(tmp_path, "csv('bids.csv')", "ON ERROR SKIP")
    assert answers(made) == [(1, 1), (3, 3)]
    (notice,) = made.inputs.notices
    assert (notice.condition, notice.parameters["source"], notice.parameters["count"]) == ("ROWS_SKIPPED", "F", 1)


def late(folder: Path, slack: int) -> tuple[list[tuple[int, object]], list[Diagnostic]]:
    (folder / "bids.csv").write_text("a,ts\n1,10\n2,4\n3,20\n")
    made = stream(folder, "csv('bids.csv')", f"SLACK {slack}")
    return answers(made), made.inputs.notices


def test_a_timestamp_out_of_order_beyond_the_slack_is_told_and_kept_apart(tmp_path: Path) -> None:
    rows, notices = late(tmp_path, 5)
    assert rows == [(10, 1), (20, 3)]
    (found,) = notices
    assert found.condition == "TIMESTAMP_OUT_OF_ORDER"
    assert found.parameters == {"source": "F", "count": 1, "file": "bids.csv", "line": 3, "behind": 1}


def test_a_timestamp_within_the_slack_is_put_in_its_place(tmp_path: Path) -> None:
    assert late(tmp_path, 6) == ([(4, 2), (10, 1), (20, 3)], [])


def test_an_inserted_row_of_another_width() -> None:
    made = session()
    with pytest.raises(DataError) as caught:
        made.insert("S", [(1, 2, "x", 3), (1, 2)])
    assert (caught.value.condition, caught.value.parameters["line"]) == ("MALFORMED_ROW", 2)

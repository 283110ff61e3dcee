"""What is said to live queries, as typed statements: INSERT, START, STOP, WATCH, and SELECT ... AT."""

from __future__ import annotations

import pytest

from continua.errors import Span
from continua.instants import Duration
from continua.lang.dialect import render_query
from continua.lang.statements import Insert, Name, QueryStatement, SelectAt, Start, Stop, Watch
from tests.lang.parsing import mistake, name, statement


def insert(text: str) -> Insert:
    body = statement(text)
    assert isinstance(body, Insert)
    return body


@pytest.mark.parametrize("into", ["INSERT INTO", "insert into table"])
def test_insert_has_rows(into: str) -> None:
    found = insert(f"{into} Bid VALUES (1, 'a'), (-2, NULL)")
    assert (found.name.text, found.columns, len(found.query.expressions)) == ("Bid", (), 2)


def test_insert_may_name_columns() -> None:
    assert insert("INSERT INTO Bid (ts, item) VALUES (1, 2)").columns == (name("ts", 1, 18), name("item", 1, 22))


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("INSERT Bid VALUES (1)", 8, "INTO"),
        ("INSERT INTO Bid", 13, "VALUES"),
        ("INSERT INTO Bid SELECT a FROM S", 17, "VALUES"),
        ("INSERT INTO Bid VALUES (1) AS v(a)", 17, "VALUES"),
        ("INSERT INTO Bid VALUES (1) LIMIT 1", 17, "VALUES"),
        ("INSERT INTO Bid VALUES (1) UNION SELECT 2", 17, "VALUES"),
        ("STOP", 1, "the name of a query"),
        ("WATCH q,", 8, "the name of a query"),
        ("WATCH q FOR", 9, ""),
        ("WATCH q FOR 3 CHANGES now", 23, "end"),
        ("SELECT a FROM q AT soon", 20, "end"),
        ("SELECT a FROM q AT 1.5", 20, "end"),
        ("REGISTER QUERY r AS SELECT a FROM q AT 5", 40, "end"),
        ("EXPLAIN SELECT a FROM q AT 5", 28, "end"),
    ],
)
def test_what_goes_wrong_is_told_at_its_place(text: str, column: int, expected: str) -> None:
    found = mistake(text)
    assert found.condition == "SYNTAX"
    assert found.span is not None
    assert found.span.column == column
    assert expected in (found.parameters["expected"], "")


def test_a_query_is_started_and_stopped_by_its_name() -> None:
    assert statement("STOP q") == Stop(name("q", 1, 6))
    assert statement("STOP QUERY q") == Stop(name("q", 1, 12))
    assert statement("start query q") == Start(name("q", 1, 13))


@pytest.mark.parametrize(
    ("text", "names", "length", "changes"),
    [
        ("WATCH", "", None, None),
        ("WATCH q", "q", None, None),
        ("WATCH q, `r`", "qr", None, None),
        ("WATCH q FOR 5", "q", Duration(5, "SECOND"), None),
        ("WATCH q FOR 200 MS", "q", Duration(200, "MILLISECOND"), None),
        ("WATCH FOR 1 MINUTE", "", Duration(1, "MINUTE"), None),
        ("WATCH q FOR 10 CHANGES", "q", None, 10),
        ("WATCH q FOR 1 CHANGE", "q", None, 1),
    ],
)
def test_queries_are_watched_for_ever_or_for_a_while(
    text: str, names: str, length: Duration | None, changes: int | None
) -> None:
    body = statement(text)
    assert isinstance(body, Watch)
    assert ("".join(n.text for n in body.names), body.length, body.changes) == (names, length, changes)


def test_no_time_is_too_short() -> None:
    assert mistake("WATCH q FOR 0 SECONDS").condition == "NOT_POSITIVE"


@pytest.mark.parametrize(
    ("written", "instant"),
    [
        ("5", 5),
        ("-5", -5),
        ("'2024-05-01T10:00:00Z'", "2024-05-01T10:00:00Z"),
        ("TIMESTAMP '2024-05-01 10:00:00'", "2024-05-01 10:00:00"),
        ("LATEST", None),
        ("latest", None),
    ],
)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM q",
        "SELECT a FROM q AS x",
        "SELECT a FROM S [RANGE 5] WHERE a > 1 ORDER BY a LIMIT 3",
        "(SELECT a FROM q)",
        "WITH x AS (SELECT a FROM q) SELECT * FROM x",
        "ISTREAM(SELECT a FROM S)",
        "SELECT 1",
    ],
)
def test_a_query_may_be_asked_at_an_instant(query: str, written: str, instant: int | str | None) -> None:
    body, alone = statement(f"{query} AT {written}"), statement(query)
    assert isinstance(body, SelectAt)
    assert isinstance(alone, QueryStatement)
    assert (body.instant, body.span.column) == (instant, len(query) + 5)
    assert render_query(body.query) == render_query(alone.query)


@pytest.mark.parametrize("text", ["SELECT a AS at FROM q at", "SELECT at FROM at", "SELECT a FROM q AT", "SELECT 'AT'"])
def test_at_is_a_name_like_others(text: str) -> None:
    assert isinstance(statement(text), QueryStatement)


def test_instants_have_a_place_of_their_own() -> None:
    body = statement("SELECT a\nFROM q\n  AT  -7")
    assert isinstance(body, SelectAt)
    assert body.span == Span(3, 7, 1)


def test_names_are_names() -> None:
    assert statement("WATCH `my query`") == Watch((Name("my query", Span(1, 7, 10)),))

"""Statements as typed values: every form of the language, with the places at which its names stand."""

from __future__ import annotations

from decimal import Decimal

import pytest
from sqlglot import exp

from continua.errors import ContinuaError, Span
from continua.instants import Duration
from continua.lang.dialect import render_query
from continua.lang.parse import parse_script
from continua.lang.statements import (
    ColumnDef,
    CreateAggregate,
    CreateDerived,
    CreateFunction,
    CreateSource,
    CreateTagged,
    Describe,
    Drop,
    Explain,
    Parameter,
    QueryStatement,
    SetOption,
    Show,
    SourceCall,
)
from continua.session import Session
from continua.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, DataType, array, decimal, map_of, struct
from tests.lang.corpus import CORPUS, PRELUDE
from tests.lang.parsing import mistake, name, statement


def source(text: str) -> CreateSource:
    body = statement(text)
    assert isinstance(body, CreateSource)
    return body


def derived(text: str) -> CreateDerived:
    body = statement(text)
    assert isinstance(body, CreateDerived)
    return body


def function(text: str) -> CreateFunction:
    body = statement(text)
    assert isinstance(body, CreateFunction)
    return body


# Sources.


def test_a_stream_has_columns_a_source_an_order_and_a_slack() -> None:
    columns = "CREATE STREAM Bid (item_id INT, bid_price DOUBLE, ts TIMESTAMP)"
    text = columns + "\n  SOURCE csv('bids.csv') ORDERED BY ts SLACK 5 SECONDS"
    assert statement(text) == CreateSource(
        "STREAM",
        name("Bid", 1, 15),
        (
            ColumnDef(name("item_id", 1, 20), INT),
            ColumnDef(name("bid_price", 1, 33), DOUBLE),
            ColumnDef(name("ts", 1, 51), TIMESTAMP),
        ),
        SourceCall(name("csv", 2, 10), ("bids.csv",)),
        order_by=name("ts", 2, 37),
        slack=Duration(5, "SECOND"),
    )


def test_a_stream_without_order_goes_by_arrival() -> None:
    assert source("CREATE STREAM S (a INT)") == CreateSource(
        "STREAM", name("S", 1, 15), (ColumnDef(name("a", 1, 18), INT),), None
    )


def test_elements_may_have_intervals() -> None:
    found = source("CREATE STREAM A (id INT, opened TIMESTAMP, closed TIMESTAMP) VALID FROM opened TO closed")
    assert (found.valid_from, found.valid_to) == (name("opened", 1, 73), name("closed", 1, 83))


def test_a_relation_may_be_changed_by_tagged_rows() -> None:
    found = source("CREATE RELATION R (a INT, op STRING, ts BIGINT) SOURCE csv('r.csv') ORDERED BY ts TAGGED BY op")
    assert (found.kind, found.order_by, found.tagged_by) == ("RELATION", name("ts", 1, 80), name("op", 1, 93))


@pytest.mark.parametrize("clause", ["KEY a, b", "KEY (a, b)", "PRIMARY KEY (a, b)", "PRIMARY KEY a, b"])
def test_a_key_has_one_column_or_several(clause: str) -> None:
    assert [n.text for n in source(f"CREATE TABLE T (a INT, b INT) {clause}").key] == ["a", "b"]


def test_malformed_rows_may_be_skipped() -> None:
    assert source("CREATE TABLE T (a INT) SOURCE csv('t.csv') ON ERROR SKIP").skip_errors
    assert not source("CREATE TABLE T (a INT) SOURCE csv('t.csv')").skip_errors


def test_clauses_of_a_source_stand_in_any_order() -> None:
    one = source("CREATE STREAM S (a INT, ts BIGINT) ORDERED BY ts SLACK 5 KEY a ON ERROR SKIP")
    other = source("CREATE STREAM S (a INT, ts BIGINT) ON ERROR SKIP KEY a SLACK 5 ORDERED BY ts")
    for part in (one, other):
        assert part.order_by is not None
        assert (part.order_by.text, part.slack, part.key[0].text, part.skip_errors) == ("ts", Duration(5), "a", True)


def test_options_of_a_source_follow_an_arrow_or_an_equals_sign() -> None:
    found = source("CREATE TABLE T (a INT) SOURCE csv('t.csv', header => true, SEP = ';', skip => -2, ratio => 0.5)")
    assert found.source is not None
    assert found.source.arguments == ("t.csv",)
    assert found.source.options == (("header", True), ("sep", ";"), ("skip", -2), ("ratio", Decimal("0.5")))


def test_syncsql_registers_sources_with_the_type_before_the_name() -> None:
    text = "REGISTER SOURCE TemperatureSource (char RoomID, int Temperature) FROM csv('t.csv')"
    assert statement(text) == CreateSource(
        "SOURCE",
        name("TemperatureSource", 1, 17),
        (ColumnDef(name("RoomID", 1, 41), STRING), ColumnDef(name("Temperature", 1, 53), INT)),
        SourceCall(name("csv", 1, 71), ("t.csv",)),
    )


@pytest.mark.parametrize(
    ("column", "expected", "kind"),
    [
        ("a INT", "a", INT),
        ("int a", "a", INT),
        ("timestamp ts", "ts", TIMESTAMP),
        ("date DATE", "date", DataType("DATE")),
        ("double DOUBLE", "double", DOUBLE),
        ("timestamp TIMESTAMP", "timestamp", TIMESTAMP),
        ("string price", "price", STRING),
        ("key STRING", "key", STRING),
        ("`my column` INT", "my column", INT),
        ("flag BOOL", "flag", BOOLEAN),
        ("n LONG", "n", BIGINT),
        ("p NUMERIC(10, 2)", "p", decimal(10, 2)),
        ("p DECIMAL", "p", decimal(10, 0)),
        ("v VARCHAR(20)", "v", STRING),
        ("t ARRAY<INT>", "t", array(INT)),
        ("m MAP<STRING, DOUBLE>", "m", map_of(STRING, DOUBLE)),
        ("r STRUCT<x: INT, y: ARRAY<STRING>>", "r", struct(("x", INT), ("y", array(STRING)))),
    ],
)
def test_columns_have_a_name_and_a_type(column: str, expected: str, kind: DataType) -> None:
    (found,) = source(f"CREATE TABLE T ({column})").columns
    assert (found.name.text, found.type, found.nullable) == (expected, kind, True)


def test_a_column_may_refuse_null() -> None:
    assert [c.nullable for c in source("CREATE TABLE T (a INT NOT NULL, b INT)").columns] == [False, True]


def test_a_table_may_be_given_as_values() -> None:
    found = source("CREATE TABLE T (a INT, b STRING) AS VALUES (1, 'x'), (NULL, 'y')")
    assert (found.kind, [c.name.text for c in found.columns]) == ("TABLE", ["a", "b"])
    assert found.query is not None
    assert [[v.name for v in row.expressions] for row in found.query.find_all(exp.Tuple)] == [["1", "x"], ["NULL", "y"]]


def test_or_replace_is_kept() -> None:
    assert source("CREATE OR REPLACE STREAM S (a INT)").replace
    assert derived("CREATE OR REPLACE VIEW v AS SELECT 1").replace


@pytest.mark.parametrize(
    ("clause", "key"),
    [("KEY RoomID", ["RoomID"]), ("KEY (a, b)", ["a", "b"]), ("KEY a, b", ["a", "b"]), ("KEY NULL", [])],
)
def test_a_tagged_stream_stands_over_a_source(clause: str, key: list[str]) -> None:
    body = statement(f"CREATE STREAM RoomTempStr OVER TemperatureSource {clause}")
    assert isinstance(body, CreateTagged)
    assert (body.name, body.over) == (name("RoomTempStr", 1, 15), name("TemperatureSource", 1, 32))
    assert [n.text for n in body.key] == key


# Named queries.


@pytest.mark.parametrize(
    ("head", "kind", "mode", "columns"),
    [
        ("CREATE STREAM x", "STREAM", None, []),
        ("CREATE STREAM x (p, q)", "STREAM", None, ["p", "q"]),
        ("CREATE VIEW x", "VIEW", None, []),
        ("CREATE VIEW x (p)", "VIEW", None, ["p"]),
        ("CREATE STREAMED VIEW x", "VIEW", "STREAMED", []),
        ("CREATE COMPLETE VIEW x (p)", "VIEW", "COMPLETE", ["p"]),
        ("CREATE MATERIALIZED VIEW x", "VIEW", None, []),
    ],
)
def test_a_query_may_have_a_name(head: str, kind: str, mode: str | None, columns: list[str]) -> None:
    body = derived(f"{head} AS SELECT a FROM S [NOW]")
    assert (body.kind, body.mode, body.name.text) == (kind, mode, "x")
    assert [c.text for c in body.columns] == columns
    assert render_query(body.query) == "SELECT a FROM S [NOW]"


def test_register_query_has_a_name_and_maybe_a_sink() -> None:
    body = statement("REGISTER QUERY q AS SELECT a FROM S [NOW] INTO csv('out.csv', header => true)")
    assert isinstance(body, QueryStatement)
    assert (body.name, render_query(body.query)) == (name("q", 1, 16), "SELECT a FROM S [NOW]")
    assert body.sink == SourceCall(name("csv", 1, 48), ("out.csv",), (("header", True),))
    plain = statement("REGISTER QUERY q AS SELECT 1")
    assert isinstance(plain, QueryStatement) and plain.sink is None


def test_a_bare_query_has_neither() -> None:
    body = statement("SELECT a FROM S [NOW]")
    assert isinstance(body, QueryStatement)
    assert (body.name, body.sink) == (None, None)


# Functions, aggregates.


@pytest.mark.parametrize("word", ["AS", "RETURN"])
def test_a_function_is_an_expression_of_its_parameters(word: str) -> None:
    body = function(f"CREATE FUNCTION fee(price DOUBLE, rate INT) RETURNS DOUBLE {word} price * (rate + 1)")
    assert body.name == name("fee", 1, 17)
    assert body.parameters == (
        Parameter(name("price", 1, 21), DOUBLE),
        Parameter(name("rate", 1, 35), INT),
    )
    assert (body.returns, body.python, body.body) == (DOUBLE, None, exp.maybe_parse("price * (rate + 1)"))


def test_the_type_of_a_function_may_be_left_to_its_expression() -> None:
    assert function("CREATE FUNCTION one() AS 1").returns is None


def test_functions_and_aggregates_may_be_python() -> None:
    body = function("CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE PYTHON AS 'operator:neg'")
    assert (body.body, body.python) == (None, "operator:neg")
    assert statement("CREATE AGGREGATE a(x INT) RETURNS DOUBLE LANGUAGE PYTHON AS 'm:C'") == CreateAggregate(
        name("a", 1, 18), (Parameter(name("x", 1, 20), INT),), DOUBLE, "m:C"
    )


# The rest.


@pytest.mark.parametrize(
    "kind", ["STREAM", "RELATION", "TABLE", "VIEW", "FUNCTION", "AGGREGATE", "WINDOW", "SOURCE", "QUERY"]
)
def test_drop_names_a_kind_and_a_name(kind: str) -> None:
    assert statement(f"DROP {kind} x") == Drop(kind, name("x", 1, len(kind) + 7), False)
    assert statement(f"DROP {kind} IF EXISTS x") == Drop(kind, name("x", 1, len(kind) + 17), True)


@pytest.mark.parametrize(
    "what", ["STREAMS", "RELATIONS", "TABLES", "VIEWS", "FUNCTIONS", "AGGREGATES", "WINDOWS", "QUERIES", "ALL"]
)
def test_show_names_what_to_show(what: str) -> None:
    assert statement(f"SHOW {what}") == Show(what)
    assert statement(f"show {what.lower()}") == Show(what)


def test_describe_names_what_to_describe() -> None:
    assert statement("DESCRIBE Bid") == Describe(name("Bid", 1, 10))
    assert statement("DESC Bid") == Describe(name("Bid", 1, 6))


@pytest.mark.parametrize("stage", ["LOGICAL", "REWRITES", "PHYSICAL", "SHARING", ""])
def test_explain_names_a_stage(stage: str) -> None:
    body = statement(f"EXPLAIN {stage} SELECT a FROM S [NOW]")
    assert isinstance(body, Explain)
    assert (body.stage, render_query(body.query)) == (stage or "LOGICAL", "SELECT a FROM S [NOW]")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("= half_open", "half_open"),
        ("TO half_open", "half_open"),
        ("= '1 second'", "1 second"),
        ("= 5", 5),
        ("= -5", -5),
        ("= 0.5", Decimal("0.5")),
        ("= TRUE", True),
    ],
)
def test_set_takes_a_word_a_string_or_a_number(text: str, value: object) -> None:
    assert statement(f"SET option {text}") == SetOption(name("option", 1, 5), value)


# Scripts.


def test_several_statements_each_know_their_place() -> None:
    text = "-- first a stream\nCREATE STREAM S (a INT);\n\n/* then\n   a query */ SELECT a\nFROM S [NOW]; ;\n"
    script = parse_script(text).checked()
    assert [s.text for s in script.statements] == ["CREATE STREAM S (a INT)", "SELECT a\nFROM S [NOW]"]
    assert [(s.span.line, s.span.column) for s in script.statements] == [(2, 1), (5, 15)]


def test_nothing_is_no_statement() -> None:
    for text in ("", "  \n", ";;", "-- only a comment", "/* or two\n lines */"):
        assert parse_script(text).checked().statements == ()


def test_a_semicolon_in_a_string_ends_nothing() -> None:
    assert len(parse_script("SELECT 'a;b' FROM T; SHOW ALL").checked().statements) == 2


def test_keywords_are_found_whatever_their_case() -> None:
    lower = statement("create stream bid (item_id int, ts bigint) source csv('b.csv') ordered by ts slack 5")
    upper = statement("CREATE STREAM bid (item_id INT, ts BIGINT) SOURCE csv('b.csv') ORDERED BY ts SLACK 5")
    assert lower == upper


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("SELCT a FROM S", 1),
        ("CREATE STRAEM S (a INT)", 8),
        ("SHOW STREAM", 6),
        ("DROP S", 6),
        ("CREATE STREAM S", 15),
        ("CREATE STREAM S (a)", 19),
        ("CREATE STREAM S (a INT) ORDERD BY a", 25),
        ("REGISTER QUERY q SELECT 1", 18),
        ("SET dialect", 5),
        ("SELECT a FROM", 10),
        ("SELECT FROM S", 8),
        ("SELECT a FROM S x y", 19),
        ("CREATE FUNCTION f(x INT) RETURNS INT", 34),
        ("CREATE AGGREGATE f(x INT) RETURNS INT AS x", 39),
    ],
)
def test_what_is_no_statement_is_refused_where_it_goes_wrong(text: str, column: int) -> None:
    found = mistake(text)
    assert found.condition in ("SYNTAX", "UNKNOWN_STATEMENT")
    assert found.span is not None
    assert (found.span.line, found.span.column) == (1, column)


def test_an_open_quote_is_told_where_it_opens() -> None:
    found = mistake("SELECT a\nFROM S WHERE s = 'open")
    assert (found.condition, found.span) == ("OPEN_QUOTE", Span(2, 18, 1))


def test_one_broken_statement_does_not_hide_the_others() -> None:
    script = parse_script("SELCT 1; SELECT 2;\nSHOW NOTHING; SELECT 3")
    assert [(s.span.line, s.span.column) for s in script.statements] == [(1, 10), (2, 15)]
    assert [(e.span.line, e.span.column) for e in script.errors if e.span] == [(1, 1), (2, 6)]


@pytest.mark.parametrize("text", CORPUS)
def test_every_statement_of_the_corpus_is_read(text: str) -> None:
    assert len(parse_script(text).checked().statements) == 1


@pytest.mark.parametrize("dialect", ["cql", "pipes", "sync"])
def test_parsing_does_not_depend_on_the_dialect(dialect: str) -> None:
    for text in CORPUS:
        session = Session(dialect=dialect)
        session.execute(PRELUDE)
        try:
            (outcome,) = session.execute(text)
        except ContinuaError as error:
            assert "SYNTAX" not in [d.condition for d in error.diagnostics], error
        else:
            assert outcome.statement == parse_script(text).statements[0]

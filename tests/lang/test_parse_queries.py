"""Queries as written: relation-to-stream operators in all spellings, FROM, set operations, and back to text."""

from __future__ import annotations

import pytest
from sqlglot import exp

from continua.errors import Span
from continua.lang.dialect import render_query
from continua.lang.parse import parse_script
from continua.lang.places import Positions
from continua.lang.stream_nodes import StreamList, StreamQuery, StreamSubquery, StreamTable
from tests.lang.parsing import from_item, mistake, name, query

OPERATORS = ("ISTREAM", "DSTREAM", "RSTREAM", "STREAMED", "COMPLETE")


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("spelling", ["SELECT {}(a, b) FROM S", "SELECT {} (a, b) FROM S", "SELECT {} a, b FROM S"])
def test_an_operator_on_the_select_list(operator: str, spelling: str) -> None:
    for word in (operator, operator.lower()):
        (found,) = query(spelling.format(word)).expressions
        assert isinstance(found, StreamList)
        assert (found.this, found.expressions) == (operator, [exp.column("a"), exp.column("b")])


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("spelling", ["{}(SELECT a FROM S)", "{} (SELECT a FROM S)", "{} SELECT a FROM S"])
def test_an_operator_around_a_query(operator: str, spelling: str) -> None:
    for word in (operator, operator.lower()):
        found = query(spelling.format(word))
        assert isinstance(found, StreamQuery)
        assert (found.args["operator"], render_query(found.this)) == (operator, "SELECT a FROM S")


@pytest.mark.parametrize(
    ("text", "distinct", "expressions"),
    [
        ("SELECT ISTREAM(*) FROM S", False, ["*"]),
        ("SELECT ISTREAM * FROM S", False, ["*"]),
        ("SELECT ISTREAM(DISTINCT a) FROM S", True, ["a"]),
        ("SELECT ISTREAM DISTINCT a FROM S", True, ["a"]),
        ("SELECT ISTREAM(a AS x, b + 1 AS y) FROM S", False, ["a AS x", "b + 1 AS y"]),
        ("SELECT ISTREAM (a) + 1 FROM S", False, ["(a) + 1"]),
        ("SELECT ISTREAM (a), b FROM S", False, ["(a)", "b"]),
        ("SELECT ISTREAM(COUNT(*)) FROM S GROUP BY a HAVING COUNT(*) > 1", False, ["COUNT(*)"]),
        ("SELECT ISTREAM(a)", False, ["a"]),
    ],
)
def test_the_list_under_an_operator(text: str, distinct: bool, expressions: list[str]) -> None:
    (found,) = query(text).expressions
    assert isinstance(found, StreamList)
    assert (bool(found.args["distinct"]), [render_query(e) for e in found.expressions]) == (distinct, expressions)


@pytest.mark.parametrize("text", ["SELECT istream FROM S", "SELECT istream, a FROM S", "SELECT S.istream FROM S",
                                  "SELECT istream AS x FROM S", "SELECT a AS istream FROM S"])  # fmt: skip
def test_the_word_may_still_be_the_name_of_a_column(text: str) -> None:
    assert not list(query(text).find_all(StreamList))


def test_an_operator_around_a_set_operation_holds_all_of_it() -> None:
    found = query("ISTREAM(SELECT a FROM S UNION SELECT b FROM T)")
    assert isinstance(found, StreamQuery) and isinstance(found.this, exp.Union)
    right = query("SELECT a FROM S UNION ISTREAM(SELECT a FROM T)")
    assert isinstance(right, exp.Union) and isinstance(right.expression, StreamQuery)


def test_operators_in_with_and_in_from() -> None:
    inside = query("ISTREAM(WITH x AS (SELECT 1 AS a) SELECT * FROM x)")
    assert isinstance(inside, StreamQuery)
    item = from_item("(ISTREAM(SELECT a FROM S [ROWS 3])) [RANGE 10] AS z")
    assert isinstance(item, StreamSubquery) and isinstance(item.this, StreamQuery)
    cte = query("WITH x AS (ISTREAM(SELECT a FROM S)) SELECT * FROM x [ROWS 5]")
    assert isinstance(cte.args["with_"].expressions[0].this, StreamQuery)


@pytest.mark.parametrize("text", ["S x SYNC BY clk", "S AS x SYNC BY clk"])
def test_a_synchronization_may_stand_behind_the_alias(text: str) -> None:
    item = from_item(text)
    assert (item.alias, item.args["view"], item.args["sync"].text) == ("x", True, "clk")


@pytest.mark.parametrize(
    ("text", "sync"),
    [
        ("ℜ(S)", None),
        ("RELATION(S)", None),
        ("ℜ_clk(S)", "clk"),
        ("ℜ[clk](S)", "clk"),
        ("RELATION(S, clk)", "clk"),
        ("R(S)", None),
        ("R(S, clk)", "clk"),
        ("S SYNC BY clk", "clk"),
    ],
)
@pytest.mark.parametrize("alias", ["", " x", " AS x"])
def test_the_relational_view_of_a_tagged_stream(text: str, sync: str | None, alias: str) -> None:
    item = from_item(text + alias)
    assert isinstance(item, StreamTable)
    assert (item.name, item.args["view"], item.alias) == ("S", True, "x" if alias else "")
    found = item.args.get("sync")
    assert (found.text if found else None) == sync


def test_the_synchronization_stream_knows_its_place() -> None:
    assert from_item("RELATION(S, clk)").args["sync"] == name("clk", 1, 27)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SELECT a FROM S, T", ("", "")),
        ("SELECT a FROM S JOIN T ON S.a = T.a", ("", "")),
        ("SELECT a FROM S INNER JOIN T ON S.a = T.a", ("", "INNER")),
        ("SELECT a FROM S CROSS JOIN T", ("", "CROSS")),
        ("SELECT a FROM S LEFT JOIN T ON S.a = T.a", ("LEFT", "")),
        ("SELECT a FROM S RIGHT OUTER JOIN T ON S.a = T.a", ("RIGHT", "OUTER")),
        ("SELECT a FROM S FULL OUTER JOIN T ON S.a = T.a", ("FULL", "OUTER")),
        ("SELECT a FROM S LEFT SEMI JOIN T ON S.a = T.a", ("LEFT", "SEMI")),
        ("SELECT a FROM S LEFT ANTI JOIN T ON S.a = T.a", ("LEFT", "ANTI")),
    ],
)
def test_joins_of_every_kind_take_windows(text: str, kind: tuple[str, str]) -> None:
    windowed = query(text.replace("FROM S", "FROM S [NOW]").replace(" T", " T [ROWS 3] AS T", 1))
    (join,) = windowed.args["joins"]
    assert (join.args.get("side") or "", join.args.get("kind") or "") == kind
    assert join.this.args["window"].clauses == (("ROWS", 3),)


def test_using_and_natural() -> None:
    (join,) = query("SELECT * FROM S [NOW] JOIN T [NOW] USING (a, b)").args["joins"]
    assert [u.name for u in join.args["using"]] == ["a", "b"]
    (join,) = query("SELECT * FROM S [NOW] NATURAL JOIN T [NOW]").args["joins"]
    assert join.args["method"] == "NATURAL"


@pytest.mark.parametrize(
    ("word", "node", "distinct"),
    [
        ("UNION", exp.Union, True),
        ("UNION DISTINCT", exp.Union, True),
        ("UNION ALL", exp.Union, False),
        ("EXCEPT", exp.Except, True),
        ("EXCEPT ALL", exp.Except, False),
        ("MINUS", exp.Except, True),
        ("INTERSECT", exp.Intersect, True),
        ("INTERSECT ALL", exp.Intersect, False),
    ],
)
def test_set_operations(word: str, node: type[exp.SetOperation], distinct: bool) -> None:
    found = query(f"SELECT a FROM S [NOW] {word} SELECT a FROM T")
    assert isinstance(found, node)
    assert found.args["distinct"] is distinct


def test_intersect_binds_tighter_than_union() -> None:
    found = query("SELECT 1 UNION SELECT 2 INTERSECT SELECT 3")
    assert isinstance(found, exp.Union) and isinstance(found.expression.unnest(), exp.Intersect)
    grouped = query("(SELECT 1 UNION SELECT 2) INTERSECT SELECT 3")
    assert isinstance(grouped, exp.Intersect)


def test_values_are_a_query() -> None:
    for text in ("VALUES (1, 2), (3, 4)", "SELECT * FROM VALUES (1, 2), (3, 4) AS v(x, y)"):
        assert len(list(query(text).find_all(exp.Tuple))) == 2


def test_functions_keep_the_names_they_are_written_with() -> None:
    tree = query("SELECT nvl(a, 0), dateDiff(x, y), size(t) FROM S [NOW]")
    assert [str(f.this) for f in tree.find_all(exp.Anonymous)] == ["nvl", "dateDiff", "size"]
    assert render_query(tree) == "SELECT nvl(a, 0), dateDiff(x, y), size(t) FROM S [NOW]"


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("select A from S[now]", "SELECT A FROM S [now]"),
        ("SELECT a x FROM S y [ROWS 5]", "SELECT a AS x FROM S [ROWS 5] AS y"),
        ("SELECT DSTREAM a FROM S [NOW]", "SELECT DSTREAM(a) FROM S [NOW]"),
        ("RSTREAM SELECT a FROM S [NOW]", "RSTREAM(SELECT a FROM S [NOW])"),
        ("SELECT a FROM RELATION(S, clk) x", "SELECT a FROM ℜ_clk(S) AS x"),
        ("SELECT a FROM S SYNC BY clk x", "SELECT a FROM ℜ_clk(S) AS x"),
        ("SELECT a FROM (SELECT a FROM S) [NOW]", "SELECT a FROM (SELECT a FROM S) [NOW]"),
        ("SELECT `my column` FROM `my table` [NOW]", "SELECT `my column` FROM `my table` [NOW]"),
        ("SELECT a FROM S [NOW] WHERE s = 'it\\'s'", "SELECT a FROM S [NOW] WHERE s = 'it\\'s'"),
        ("SELECT a FROM S [NOW] -- why", "SELECT a FROM S [NOW]"),
        ("SELECT a /* why */ FROM S [NOW]", "SELECT a FROM S [NOW]"),
    ],
)
def test_queries_are_written_back(text: str, rendered: str) -> None:
    tree = query(text)
    assert render_query(tree) == rendered
    assert render_query(query(rendered)) == rendered


def test_names_know_their_place() -> None:
    text = "SELECT a,\n  S.b + 1\nFROM S [NOW]"
    tree, positions = query(text), Positions(text)
    first, second = tree.expressions
    assert positions.of(first) == Span(1, 8, 1)
    assert positions.of(second) == Span(2, 3, 7)
    assert positions.of(tree.args["from_"].this) == Span(3, 6, 1)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("SELECT a FROM", 1, 10),
        ("SELECT a FROM S WHERE", 1, 17),
        ("SELECT a FROM S [NOW]\nGROUP a", 2, 7),
        ("SELECT (a FROM S", 1, 11),
        ("SELECT a FROM (SELECT b FROM S", 1, 30),
        ("ISTREAM(SELECT a FROM S", 1, 23),
        ("SELECT CASE WHEN a THEN 1 FROM S", 1, 25),
        ("SELECT a FROM S UNION", 1, 17),
        ("SELECT a FROM ℜ S", 1, 17),
    ],
)
def test_a_broken_query_is_refused_where_it_breaks(text: str, line: int, column: int) -> None:
    found = mistake(text)
    assert found.condition == "SYNTAX"
    assert found.span is not None
    assert (found.span.line, found.span.column) == (line, column)


@pytest.mark.parametrize("word", ["LATERAL (SELECT 1)", "UNNEST(x)", "(SELECT 1) PIVOT (COUNT(a) FOR b IN (1))"])
def test_what_from_cannot_hold_is_not_supported(word: str) -> None:
    errors = parse_script(f"SELECT * FROM S [NOW], {word}").errors
    assert {e.condition for e in errors} == {"NOT_SUPPORTED"}

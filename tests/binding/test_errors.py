"""What is wrong with a query: each mistake by its condition, its parameters and its place."""

from __future__ import annotations

import pytest

from continua.algebra.base import Plan
from continua.algebra.expr import AggregateCall
from continua.algebra.relational import Aggregate
from continua.algebra.traverse import nodes_of
from continua.errors import BindError, ContinuaError, ParseError
from tests.binding.scripts import expect, mistake, mistakes, place, session

NAMES = [
    ("SELECT itemid FROM Bid [NOW]", "UNKNOWN_COLUMN", {"column": "itemid"}, (1, 8), "did you mean item_id?"),
    ("SELECT a\nFROM S [NOW]\nWHERE zz = 1", "UNKNOWN_COLUMN", {"column": "zz"}, (3, 7), "there are a, b, s, ts"),
    ("SELECT T.aa FROM T", "UNKNOWN_COLUMN", {"column": "aa"}, (1, 8), "did you mean a?"),
    ("SELECT a FROM T WHERE a IN (SELECT zz FROM U)", "UNKNOWN_COLUMN", {"column": "zz"}, (1, 36), None),
    ("SELECT a FROM T JOIN U USING (zz)", "UNKNOWN_COLUMN", {"column": "zz"}, (1, 31), None),
    ("SELECT * FROM Bidd [NOW]", "UNKNOWN_STREAM", {"name": "Bidd"}, (1, 15), "did you mean Bid?"),
    ("SELECT *\nFROM T, Nowhere", "UNKNOWN_STREAM", {"name": "Nowhere"}, (2, 9), "there are Bid, S, R, T, U, V"),
    ("SELECT q.a FROM S [NOW]", "UNKNOWN_TABLE", {"table": "q"}, (1, 8), "FROM has S"),
    ("SELECT T.a FROM T AS other", "UNKNOWN_TABLE", {"table": "T"}, (1, 8), "FROM has other"),
    ("SELECT q.* FROM T", "UNKNOWN_TABLE", {"table": "q"}, (1, 8), None),
    ("SELECT a FROM S [NOW], T", "AMBIGUOUS_COLUMN", {"column": "a", "candidates": ["S", "T"]}, (1, 8), "S.a or T.a"),
    ("SELECT UPER(s) FROM S [NOW]", "UNKNOWN_FUNCTION", {"function": "UPER"}, (1, 8), "did you mean UPPER"),
    ("SELECT 1 + FOO(a) FROM T", "UNKNOWN_FUNCTION", {"function": "FOO"}, (1, 12), None),
    ("SELECT 1 AS n FROM T x, U x", "DUPLICATE_ALIAS", {"alias": "x"}, (1, 27), "alias"),
    ("SELECT *", "MISPLACED_STAR", {}, (1, 8), None),
    ("SELECT a FROM T ORDER BY 5 LIMIT 1", "BAD_POSITION", {"position": 5, "items": 1}, (1, 26), None),
    ("SELECT a FROM T GROUP BY 2", "BAD_POSITION", {"position": 2, "items": 1}, (1, 26), None),
    ("DROP TABLE Nowhere", "UNKNOWN_NAME", {"name": "Nowhere"}, (1, 12), None),
    ("DROP VIEW T", "WRONG_KIND", {"needs": "VIEW", "got": "RELATION"}, (1, 11), None),
    ("DESCRIBE Bidd", "UNKNOWN_NAME", {"name": "Bidd"}, (1, 10), "did you mean Bid?"),
]

TIMES = [
    ("SELECT FIRST(a) FROM T", {"function": "FIRST", "streams": 0}, (1, 8), "MIN_BY(a, column)"),
    ("SELECT LAST(a) FROM R", {"function": "LAST", "streams": 0}, (1, 8), "MAX_BY(a, column)"),
    ("SELECT 1 + LAST(S.a) FROM S [NOW], S [RANGE 2] x", {"streams": 2}, (1, 12), "MAX_BY(S.a, column)"),
    ("SELECT FIRST(a) FROM (SELECT a FROM S [NOW]) d", {"streams": 0}, (1, 8), "MIN_BY"),
    ("SELECT FIRST(a) FROM (SELECT a, ts + 1 AS ts FROM S [NOW]) d", {"streams": 0}, (1, 8), "MIN_BY"),
    ("SELECT FIRST(a) FROM (ISTREAM(SELECT a, ts FROM S [NOW])) [RANGE 2]", {"streams": 1}, (1, 8), "MIN_BY"),
    ("SELECT a FROM T GROUP BY a HAVING FIRST(a) > 1", {"streams": 0}, (1, 35), "MIN_BY"),
    ("SELECT FIRST(a) FROM (SELECT a, ts FROM S [NOW] UNION ALL SELECT 1, 2) d", {"streams": 1}, (1, 8), "MIN_BY"),
]


@pytest.mark.parametrize(("text", "parameters", "where", "hint"), TIMES)
def test_first_and_last_need_one_stream(
    text: str, parameters: dict[str, object], where: tuple[int, int], hint: str
) -> None:
    found = expect(text, "NO_ORDERING_COLUMN", parameters, where)
    assert found.hint is not None and hint in found.hint


@pytest.mark.parametrize(
    "text",
    [
        "SELECT FIRST(a), LAST(s) FROM S [RANGE 5]",
        "SELECT FIRST(S.a) FROM S [RANGE 5] JOIN T ON S.a = T.a WHERE c > 1",
        "SELECT FIRST(a) FROM (SELECT a, ts AS since FROM S [RANGE 5] WHERE b > 1) d",
        "SELECT LAST(n) FROM (SELECT ts, COUNT(*) AS n FROM S [RANGE 5] GROUP BY ts) d",
        "SELECT FIRST(S.a) FROM S [RANGE 5], V",
        "SELECT a FROM S [NOW] GROUP BY a HAVING LAST(b) > 1 ORDER BY FIRST(b) LIMIT 1",
    ],
)
def test_first_and_last_find_the_ordering_column(text: str) -> None:
    made = session()
    found = made.sql(text)
    assert found is not None
    assert any(c.function in ("MIN_BY", "MAX_BY") for n in nodes_of(found.bound.plan) for c in _calls(n))


def _calls(plan: Plan) -> list[AggregateCall]:
    return [call for _, call in plan.aggregates] if isinstance(plan, Aggregate) else []


TYPES = [
    ("SELECT MIN_BY(a) FROM T", "ARGUMENT_COUNT", {"function": "MIN_BY", "given": 1}, (1, 8), None),
    ("SELECT a FROM S [NOW] WHERE s > 1", "TYPE_MISMATCH", {"left": "STRING", "right": "INT"}, (1, 29), "CAST"),
    ("SELECT s + 1 FROM S [NOW]", "TYPE_MISMATCH", {"left": "STRING", "right": "INT"}, (1, 8), None),
    ("SELECT ts + 5 FROM Bid [NOW]", "TYPE_MISMATCH", {"left": "TIMESTAMP", "right": "INT"}, (1, 8), "INTERVAL"),
    ("SELECT -s FROM S [NOW]", "TYPE_MISMATCH", {"right": "STRING"}, (1, 9), None),
    ("SELECT UPPER(a) FROM T", "TYPE_MISMATCH", {"left": "a string", "right": "INT"}, (1, 14), None),
    ("SELECT ABS(TRUE) FROM T", "TYPE_MISMATCH", {"left": "a number", "right": "BOOLEAN"}, (1, 12), None),
    ("SELECT SUM(s) FROM S [NOW]", "TYPE_MISMATCH", {"left": "a number", "right": "STRING"}, (1, 12), None),
    ("SELECT a FROM T WHERE a LIKE 'x'", "TYPE_MISMATCH", {"left": "a string", "right": "INT"}, (1, 23), None),
    ("SELECT a FROM T WHERE c", "TYPE_MISMATCH", {"left": "BOOLEAN", "right": "INT"}, (1, 23), None),
    ("SELECT a FROM T WHERE NOT a", "TYPE_MISMATCH", {"right": "INT"}, (1, 27), None),
    ("SELECT T.a FROM T JOIN U ON T.a", "TYPE_MISMATCH", {"right": "INT"}, (1, 29), None),
    ("SELECT a FROM T WHERE a IN (1, 'x')", "TYPE_MISMATCH", {"right": "STRING"}, (1, 32), None),
    ("SELECT a FROM T WHERE a BETWEEN 'x' AND 'y'", "TYPE_MISMATCH", {"right": "STRING"}, (1, 23), None),
    ("SELECT a FROM T WHERE a IN (SELECT name FROM U)", "TYPE_MISMATCH", {"right": "STRING"}, (1, 23), None),
    ("SELECT COALESCE(a, 'x') FROM T", "TYPE_MISMATCH", {"left": "INT", "right": "STRING"}, (1, 8), None),
    ("SELECT a[0] FROM T", "TYPE_MISMATCH", {"right": "INT"}, (1, 8), None),
    ("SELECT CAST(a AS INTT) FROM T", "UNKNOWN_TYPE", {"type": "INTT"}, (1, 18), "did you mean INT"),
    ("SELECT UPPER(name, 1) FROM U", "ARGUMENT_COUNT", {"function": "UPPER", "given": 2}, (1, 8), None),
    ("SELECT MAX(a, c) FROM T", "ARGUMENT_COUNT", {"function": "MAX", "given": 2}, (1, 8), None),
    ("SELECT COUNT() FROM T", "ARGUMENT_COUNT", {"function": "COUNT", "given": 0}, (1, 8), None),
    ("SELECT (SELECT a, c FROM T) FROM T", "COLUMN_COUNT", {"left": 1, "right": 2}, (1, 16), None),
    ("SELECT a FROM T WHERE a IN (SELECT a, c FROM T)", "COLUMN_COUNT", {"left": 1, "right": 2}, (1, 23), None),
    ("SELECT a FROM T WHERE (a, c) = (1, 2, 3)", "COLUMN_COUNT", {"left": 2, "right": 3}, (1, 24), None),
    ("SELECT x.a FROM (SELECT 1) AS x(p, q)", "COLUMN_COUNT", {"left": 1, "right": 2}, (1, 25), None),
    ("VALUES (1, 2), (3)", "COLUMN_COUNT", {"left": 2}, (1, 9), None),
    ("SELECT a FROM T LIMIT b", "BAD_LIMIT", {}, (1, 23), None),
]

AGGREGATES = [
    ("SELECT a FROM T WHERE COUNT(*) > 1", {"function": "COUNT", "clause": "WHERE"}, (1, 23), "HAVING"),
    ("SELECT SUM(COUNT(*)) FROM T", {"function": "COUNT", "clause": "another aggregate"}, (1, 12), None),
    ("SELECT T.a FROM T JOIN U ON MAX(c) > 1", {"function": "MAX", "clause": "ON"}, (1, 29), None),
    ("SELECT 1 AS n FROM T GROUP BY COUNT(*)", {"function": "COUNT", "clause": "GROUP BY"}, (1, 31), None),
]

SETS = [
    ("SELECT a FROM T UNION SELECT a, c FROM T", "COLUMN_COUNT", {"left": 1, "right": 2}, None),
    ("SELECT a FROM T EXCEPT SELECT name FROM U", "TYPE_MISMATCH", {"left": "INT", "right": "STRING"}, None),
    ("SELECT ISTREAM(a) FROM T UNION SELECT a FROM U", "STREAM_IN_SET_OPERATION", {}, "ISTREAM(... UNION ...)"),
    ("SELECT a FROM T INTERSECT ISTREAM(SELECT a FROM U)", "STREAM_IN_SET_OPERATION", {}, None),
    ("ISTREAM(SELECT a FROM T) UNION SELECT a FROM U", "STREAM_IN_SET_OPERATION", {}, None),
    ("SELECT a FROM T WHERE a IN (SELECT ISTREAM(a) FROM U)", "STREAM_IN_EXPRESSION", {}, None),
    ("ISTREAM(SELECT ISTREAM(a) FROM T)", "TWO_OPERATORS", {}, None),
    ("ISTREAM(DSTREAM(SELECT a FROM T))", "TWO_OPERATORS", {}, None),
]


@pytest.mark.parametrize(("text", "condition", "parameters", "where", "hint"), NAMES)
def test_a_name_that_means_nothing(
    text: str, condition: str, parameters: dict[str, object], where: tuple[int, int], hint: str | None
) -> None:
    assert (hint or "") in (expect(text, condition, parameters, where).hint or "")


@pytest.mark.parametrize(("text", "condition", "parameters", "where", "hint"), TYPES)
def test_a_value_that_does_not_fit(
    text: str, condition: str, parameters: dict[str, object], where: tuple[int, int], hint: str | None
) -> None:
    assert (hint or "") in (expect(text, condition, parameters, where).hint or "")


@pytest.mark.parametrize(("text", "parameters", "where", "hint"), AGGREGATES)
def test_an_aggregate_where_none_may_stand(
    text: str, parameters: dict[str, object], where: tuple[int, int], hint: str | None
) -> None:
    assert (hint or "") in (expect(text, "AGGREGATE_NOT_ALLOWED", parameters, where).hint or "")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("SELECT a, c FROM T GROUP BY a", (1, 11)),
        ("SELECT a, COUNT(*) FROM T", (1, 8)),
        ("SELECT COUNT(*) FROM T GROUP BY c HAVING a > 1", (1, 42)),
        ("SELECT a + c AS x FROM T GROUP BY a", (1, 12)),
    ],
)
def test_a_column_that_is_neither_grouped_nor_aggregated(text: str, where: tuple[int, int]) -> None:
    found = expect(text, "NOT_GROUPED", {}, where)
    assert found.parameters["column"] in ("a", "c")


@pytest.mark.parametrize(("text", "condition", "parameters", "hint"), SETS)
def test_relations_that_cannot_be_combined(
    text: str, condition: str, parameters: dict[str, object], hint: str | None
) -> None:
    found = expect(text, condition, parameters, place(mistake(text)))
    assert (hint or "") in (found.hint or "")


def test_streams_of_two_time_domains_do_not_mix() -> None:
    found = mistake("SELECT S.a\nFROM S [NOW], Bid [NOW]")
    assert (found.condition, found.parameters["domains"]) == ("MIXED_TIME_DOMAINS", ["microseconds", "ticks"])
    assert place(found) == (2, 15)


# Scripts.


def test_three_mistakes_are_told_together_in_the_order_of_the_text() -> None:
    script = "SELECT zz FROM T;\nSELECT a FROM Nowhere;\nSELCT 1;\nSELECT a FROM T"
    found = mistakes(script)
    assert [(d.condition, place(d)) for d in found] == [
        ("UNKNOWN_COLUMN", (1, 8)),
        ("UNKNOWN_STREAM", (2, 15)),
        ("UNKNOWN_STATEMENT", (3, 1)),
    ]


def test_three_mistakes_of_one_statement_are_told_together() -> None:
    found = mistakes("SELECT zz, UPER(name)\nFROM U\nWHERE name > 1")
    assert [(d.condition, place(d)) for d in found] == [
        ("UNKNOWN_COLUMN", (1, 8)),
        ("UNKNOWN_FUNCTION", (1, 12)),
        ("TYPE_MISMATCH", (3, 7)),
    ]


def test_nothing_of_a_broken_script_is_registered() -> None:
    made = session()
    with pytest.raises(BindError):
        made.execute("CREATE TABLE New (a INT); REGISTER QUERY q AS SELECT a FROM T; SELECT zz FROM T")
    assert made.queries == {}
    assert made.catalog.table("New") is None


BROKEN = (
    "CREATE STREAM X (a INTT, ts BIGINT) ORDERED BY ts",
    "CREATE STREAM X (a INT, ts BIGINT) ORDERD BY ts",
    "CREATE STREAM X (a INT, ts BIGINT) ORDERED BY zz",
    "CREATE VIEW X AS SELECT zz FROM T",
    "CREATE STREAM X AS SELECT a FROM S [RANGE 5]",
)
USERS = (
    "SELECT a FROM X",
    "REGISTER QUERY q AS SELECT zz FROM X, T",
    "CREATE VIEW Y AS SELECT * FROM X; SELECT a FROM Y",
    "CREATE STREAM Y OVER X KEY a",
    "DESCRIBE X",
    "DROP STREAM X",
)


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("user", USERS)
def test_a_broken_definition_is_the_only_mistake_of_its_users(broken: str, user: str) -> None:
    assert place(mistake(f"{broken};\n{user}"))[0] == 1


@pytest.mark.parametrize(
    "broken", ["CREATE FUNCTION f(x INTT) AS x", "CREATE FUNCTION f(x INT) AS x + zz", "CREATE FUNCTION f(x INT)"]
)
def test_the_same_holds_for_functions(broken: str) -> None:
    assert place(mistake(f"{broken};\nSELECT f(a) FROM T"))[0] == 1


@pytest.mark.parametrize("broken", ["CREATE WINDOW w AS [ROWS 0]", "CREATE WINDOW w [ROWS 5]"])
def test_and_for_windows(broken: str) -> None:
    assert place(mistake(f"{broken};\nSELECT a FROM S [w]"))[0] == 1


def test_the_kind_of_error_says_what_went_wrong() -> None:
    with pytest.raises(ParseError):
        session().execute("SELCT 1")
    with pytest.raises(BindError):
        session().execute("SELECT zz FROM T")
    assert issubclass(BindError, ValueError) and issubclass(ParseError, ContinuaError)


# What the reader sees.


def test_the_caret_stands_under_the_word() -> None:
    text = "SELECT a\nFROM T\nWHERE  cc > 5"
    assert mistake(text).render(text, "bids.sql") == (
        "error[UNKNOWN_COLUMN]: there is no column cc\n"
        "  --> bids.sql:3:8\n"
        "  3 | WHERE  cc > 5\n"
        "    |        ^^\n"
        "  hint: did you mean c?"
    )


def test_a_tab_before_the_word_stays_a_tab() -> None:
    text = "SELECT\tzz FROM T"
    assert mistake(text).render(text).splitlines()[2:4] == ["  1 | SELECT\tzz FROM T", "    |       \t^^"]


def test_the_caret_of_a_window_covers_all_of_it() -> None:
    text = "SELECT a FROM T [RANGE 5]"
    assert mistake(text).render(text).splitlines()[3] == "    |                 ^^^^^^^^^"


def test_all_mistakes_are_rendered_one_below_the_other() -> None:
    text = "SELECT zz FROM T;\nSELECT yy FROM T"
    with pytest.raises(BindError) as caught:
        session().execute(text)
    lines = caught.value.render(text).splitlines()
    assert [line for line in lines if "-->" in line] == ["  --> script:1:8", "  --> script:2:8"]
    assert caught.value.condition == "UNKNOWN_COLUMN"
    assert caught.value.parameters == {"column": "zz"}

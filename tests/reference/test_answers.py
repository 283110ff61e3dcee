"""Answers where views, joins, time and subqueries meet: one test for each way in which they once went wrong."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from decimal import Decimal

import pytest

from continua.answers.query import snapshot_of
from continua.errors import ContinuaError, Span
from continua.session import Session
from continua.types import Value

Rows = list[tuple[Value, ...]]


def session(definitions: str, **rows: Rows) -> Session:
    """A session with rows."""
    made = Session()
    made.execute(definitions)
    for name, data in rows.items():
        made.insert(name, data)
    return made


def changes(made: Session, query: str) -> list[tuple[int, str | None, tuple[Value, ...]]]:
    """The answer of a query."""
    handle = made.sql(query)
    assert handle is not None
    return [(a.instant, a.op, a.row) for a in made.answers([handle])]


def content(made: Session, query: str, t: int = 0) -> Rows:
    """What a query's relation holds; its written and its unnested plan must agree."""
    handle = made.sql(query)
    assert handle is not None
    reference = made.reference([handle])[handle.name]
    written = snapshot_of(handle.bound.plan, reference, t)
    assert snapshot_of(handle.bound.logical, reference, t) == written
    return sorted(Counter(written).elements(), key=repr)


S = "CREATE STREAM S (a INT, b INT, ts BIGINT) ORDERED BY ts;"
T = "CREATE STREAM T (a INT, x INT, ts BIGINT) ORDERED BY ts;"
KEYS = "".join(
    f"CREATE TABLE {name} (k INT) AS VALUES {values};"
    for name, values in (("A", "(1)"), ("B", "(1), (2)"), ("C", "(1), (2), (3)"))
)


def test_a_view_over_a_stream_that_changed_its_columns_is_broken() -> None:
    made = session(
        S + "CREATE VIEW v AS SELECT a FROM S; DROP STREAM S; CREATE STREAM S (b INT, ts BIGINT) ORDERED BY ts;"
    )
    with pytest.raises(ContinuaError) as caught:
        made.sql("SELECT * FROM v")
    assert caught.value.condition == "BROKEN_VIEW"
    assert caught.value.parameters == {"name": "v"}


def test_a_view_lives_by_the_chronon_of_its_user() -> None:
    made = session("CREATE STREAM M (a INT, ts TIMESTAMP) ORDERED BY ts; CREATE VIEW v AS SELECT a FROM M [NOW];")
    made.execute("SET chronon = '1 second'")
    made.insert("M", [(7, "1970-01-01T00:00:10.5Z")])
    second = 1_000_000
    assert changes(made, "SELECT * FROM v") == [(10 * second, "+", (7,)), (11 * second, "-", (7,))]


def test_an_alias_does_not_capture_names_inside_a_subquery() -> None:
    made = session(S + T, S=[(1, 10, 1)], T=[(1, 7, 2)])
    query = "SELECT a AS x, COUNT(*) AS n FROM S GROUP BY a HAVING COUNT(*) < (SELECT MAX(x) FROM T)"
    assert changes(made, query) == [(2, "+", (1, 1))]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT k FROM A RIGHT JOIN B USING (k) JOIN C USING (k)", [(1,), (2,)]),
        ("SELECT k FROM A JOIN B USING (k) RIGHT JOIN C USING (k)", [(1,), (2,), (3,)]),
        ("SELECT * FROM A JOIN B USING (k) RIGHT JOIN C USING (k)", [(1,), (2,), (3,)]),
    ],
)
def test_a_second_using_joins_the_merged_column(query: str, expected: Rows) -> None:
    assert content(session(KEYS), query) == expected


def test_two_columns_may_not_differ_by_case_alone() -> None:
    with pytest.raises(ContinuaError) as caught:
        session(S + "CREATE VIEW v (x, X) AS SELECT a, b FROM S;")
    assert caught.value.condition == "DUPLICATE_COLUMN"


def test_S9_a_synchronized_view_forgets_what_left_long_after_the_last_input() -> None:
    made = session(S, S=[(1, 10, 5)])
    made.execute("SET dialect = sync; CREATE STREAMED VIEW v AS SELECT a FROM S [RANGE 100];")
    made.execute("CREATE STREAMED VIEW Sync2 AS SELECT C.Timepoint FROM ℜ(clockStr) C WHERE C.Timepoint % 2 = 0;")
    assert changes(made, "SELECT STREAMED a FROM ℜ_Sync2(v)") == [(6, "+", (1,)), (106, "-", (1,))]


def test_P2_an_element_that_lasts_has_no_key_in_a_longer_window() -> None:
    made = session("CREATE STREAM A (id INT, f BIGINT, t BIGINT) VALID FROM f TO t KEY id;", A=[(1, 5, 8)])
    assert content(made, "SELECT id FROM A [RANGE 2]", 7) == [(1,), (1,), (1,)]
    made.execute("CREATE STREAMED VIEW v AS SELECT id FROM A [RANGE 2];")
    assert [len(content(made, "SELECT id FROM RELATION(v)", t)) for t in (5, 6, 7, 8, 9, 10)] == [1, 2, 3, 2, 1, 0]


def test_S1_an_element_that_lasts_is_deleted_when_it_ends() -> None:
    made = session("CREATE STREAM A (id INT, f BIGINT, t BIGINT) VALID FROM f TO t;", A=[(1, 5, 8)])
    assert changes(made, "SELECT STREAMED id FROM RELATION(A)") == [(5, "+", (1,)), (8, "-", (1,))]


def test_a_window_over_a_stream_without_end_is_refused() -> None:
    made = session(S, S=[(1, 10, 1)])
    query = "SELECT COUNT(*) FROM (SELECT RSTREAM(a) FROM S [RANGE UNBOUNDED SLIDE 2]) [RANGE 4]"
    with pytest.raises(ContinuaError) as caught:
        changes(made, query)
    assert caught.value.condition == "TOO_MANY_INSTANTS"


def test_C5_an_rstream_is_due_at_every_point_from_the_start() -> None:
    made = session(S, S=[(1, 10, 13)])
    found = changes(made, "SELECT RSTREAM COUNT(*) AS n FROM S [RANGE 10 SLIDE 5]")
    assert found == [
        (0, None, (0,)),
        (5, None, (0,)),
        (10, None, (0,)),
        (15, None, (1,)),
        (20, None, (1,)),
        (25, None, (0,)),
    ]
    assert [n.condition for n in made.inputs.notices] == ["ENDLESS_ANSWER"]


def test_A2_a_window_by_rows_is_first_evaluated_when_its_end_is_reached() -> None:
    made = session("CREATE STREAM M (a INT, ts TIMESTAMP) ORDERED BY ts;")
    made.insert("M", [(1, "1970-01-01T00:00:01Z"), (2, "1970-01-01T00:00:02Z")])
    found = changes(made, "SELECT a FROM M [FROM j SECONDS TO j + 3 SECONDS EVERY 2 ROWS]")
    assert found == [(3_000_000, "+", (1,)), (3_000_000, "+", (2,))]


def test_dropping_a_query_leaves_a_stream_of_that_name_alone() -> None:
    made = session(S)
    with pytest.raises(ContinuaError) as caught:
        made.execute("DROP QUERY S")
    assert caught.value.condition == "UNKNOWN_NAME"
    assert made.catalog.table("S") is not None


def test_rows_inserted_into_a_stream_go_with_it() -> None:
    made = session(S, S=[(1, 10, 1)])
    made.execute("DROP STREAM S;" + S)
    assert changes(made, "SELECT a FROM S") == []


@pytest.mark.parametrize("script", ["DROP STREAM S; SELECT nope;", "CREATE FUNCTION s(x INT) AS x; DROP FUNCTION s;"])
def test_rows_stay_where_no_stream_is_dropped(script: str) -> None:
    made = session(S, S=[(1, 10, 1)])
    with suppress(ContinuaError):
        made.execute(script)
    assert changes(made, "SELECT a FROM S") == [(1, None, (1,))]


def test_a_failed_script_leaves_nothing_behind() -> None:
    made = Session()
    with pytest.raises(ContinuaError):
        made.execute(S + "SELECT nope FROM S;")
    assert made.catalog.table("S") is None
    assert made.queries == {}


def test_a_query_keeps_its_source_when_the_stream_is_dropped() -> None:
    made = session(S, S=[(1, 10, 1)])
    handle = made.sql("SELECT a FROM S [NOW]")
    assert handle is not None
    before = made.answers([handle])
    made.execute("DROP STREAM S; CREATE STREAM S (z STRING, ts TIMESTAMP) ORDERED BY ts;")
    assert before == made.answers([handle])
    assert [a.row for a in before] == [(1,), (1,)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT k, (SELECT COLLECT_LIST(B.k) FROM B WHERE B.k > C.k) AS l FROM C", [(1, (2,)), (2, ()), (3, ())]),
        ("SELECT k FROM C WHERE (SELECT MAX(k) FROM A) < (SELECT MIN(k) FROM B WHERE B.k > 1)", [(1,), (2,), (3,)]),
        ("SELECT (SELECT MAX(k) FROM A) AS m, SUM((SELECT MAX(k) FROM B)) AS s FROM C GROUP BY m", [(1, 6)]),
        ("(SELECT k FROM C) UNION ALL (SELECT k FROM A) ORDER BY (SELECT MAX(k) FROM B) - k, k LIMIT 1", [(3,)]),
        ("SELECT k FROM C WHERE k NOT IN (SELECT k FROM B) AND NOT EXISTS (SELECT 1 FROM A WHERE A.k = C.k)", [(3,)]),
    ],
)
def test_subqueries_mean_the_same_written_and_unnested(query: str, expected: Rows) -> None:
    assert content(session(KEYS), query) == expected


def test_an_aggregate_of_outer_columns_alone_is_refused() -> None:
    with pytest.raises(ContinuaError) as caught:
        session(KEYS).sql("SELECT (SELECT SUM(A.k) FROM B) FROM A")
    assert caught.value.parameters == {"feature": "outer aggregate"}


def test_C7_a_sequence_of_rows_may_forget() -> None:
    made = session(S, S=[(1, 0, 1), (2, 0, 2), (3, 0, 2), (4, 0, 2)])
    handle = made.sql("SELECT a FROM S [FROM 0 ROWS TO 2*j ROWS EVERY 2 ROWS]")
    assert handle is not None
    assert "DEFAULT_OPERATOR" not in [n.condition for n in handle.bound.notices]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("CAST(2.7 AS INT)", 2),
        ("CAST(-2.7 AS INT)", -2),
        ("7.5 DIV 2", 3),
        ("SUBSTRING('abc', 0, 2)", "ab"),
        ("1 DIV 0", None),
        ("1 % 0", None),
        ("'a_c' LIKE 'a\\\\_c'", True),
        ("'abc' LIKE 'a\\\\_c'", False),
        ("'abc' NOT LIKE 'x%'", True),
        ("UNIX_MILLIS(TIMESTAMP '1970-01-01 00:00:00.0019')", 1),
        ("'it''s'", "it's"),
    ],
)
def test_expressions_have_sparks_values(expression: str, expected: Value) -> None:
    assert content(Session(), f"SELECT {expression} AS v") == [(expected,)]


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("COLLECT_LIST(1)", (1, 1, 1)),
        ("COLLECT_LIST('x')", ("x", "x", "x")),
        ("COLLECT_LIST(DISTINCT TRUE) FILTER (WHERE k > 1)", (True,)),
        ("COLLECT_SET(1.5)", (Decimal("1.5"),)),
        ("COLLECT_LIST(NULL)", ()),
        ("MODE('x')", "x"),
        ("MODE(NULL)", None),
        ("MIN_BY('x', k)", "x"),
        ("MAX_BY(k, 'x')", 3),
        ("MIN_BY(k, NULL)", None),
    ],
)
def test_constants_can_be_collected(aggregate: str, expected: Value) -> None:
    assert content(session(KEYS), f"SELECT {aggregate} AS v FROM C") == [(expected,)]


@pytest.mark.parametrize("expression", ["CAST('zz' AS INT)", "2147483647 + 1"])
def test_what_does_not_fit_is_an_error_with_its_instant(expression: str) -> None:
    with pytest.raises(ContinuaError) as caught:
        content(Session(), f"SELECT {expression} AS v")
    assert caught.value.condition == "EVALUATION_FAILED"
    assert caught.value.parameters["instant"] == 0


def test_what_fails_on_its_data_is_told_with_its_name_place_and_instant() -> None:
    made = session(S, S=[(300, 1, 7)])
    made.execute("SELECT a FROM S;\n  REGISTER QUERY small AS SELECT CAST(a AS TINYINT) AS b FROM S [NOW];")
    with pytest.raises(ContinuaError) as caught:
        made.answers()
    assert caught.value.parameters == {"query": "small", "instant": 7}
    assert caught.value.diagnostics[0].message.startswith("query small: ")
    assert caught.value.diagnostics[0].span == Span(2, 3, 67)
    with pytest.raises(ContinuaError) as caught:
        made.snapshot(made.queries["small"], 7)
    assert caught.value.parameters == {"query": "small", "instant": 7}


NOW_CASES = [
    ("SELECT a, NOW - ts AS age FROM S [RANGE 2]", [(1, (1, 0)), (2, (1, 1)), (3, (1, 2))]),
    ("SELECT a FROM S WHERE ABS(NOW - ts) >= 3", [(4, (1,))]),
    ("SELECT a FROM S WHERE NOW / 2 > ts + 5", [(13, (1,))]),
    ("SELECT a FROM S WHERE NOW >= 100", [(100, (1,))]),
    ("SELECT a FROM S WHERE NOW > ts + b", [(12, (1,))]),
]


@pytest.mark.parametrize(("query", "expected"), NOW_CASES)
def test_S10_an_answer_changes_with_the_instant_itself(
    query: str, expected: list[tuple[int, tuple[Value, ...]]]
) -> None:
    found = changes(session(S, S=[(1, 10, 1)]), query)
    assert [(t, row) for t, op, row in found if op == "+"] == expected


def test_not_null_is_checked_against_the_rows() -> None:
    with pytest.raises(ContinuaError) as caught:
        session("CREATE STREAM N (a INT NOT NULL, ts BIGINT) ORDERED BY ts;", N=[(None, 1)])
    assert caught.value.condition == "MALFORMED_ROW"


def test_a_stream_that_is_dropped_and_defined_alike_is_a_new_one() -> None:
    made = session(S, S=[(1, 10, 1)])
    query = "SELECT a FROM S [NOW]"
    first = made.sql(query)
    assert first is not None and made.answers([first])
    made.execute(f"DROP STREAM S; {S}")
    second = made.sql(query)
    assert second is not None
    assert made.answers([second]) == []


PAIRS = "CREATE TABLE R (a INT, b INT) AS VALUES (1, 1), (1, 2), (2, 3), (NULL, 3), (1, NULL);"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("(v, v + 1) IN (SELECT a, b FROM R WHERE b >= s.v ORDER BY b LIMIT 2)", {1: True, 2: None, 3: False}),
        ("(v, v + 1) IN (SELECT a, b FROM R WHERE b > s.v ORDER BY b LIMIT 1)", {1: True, 2: None, 3: False}),
        ("(v, v + 1) IN (SELECT a, b FROM R WHERE b >= s.v OR b IS NULL)", {1: True, 2: True, 3: False}),
        ("(v, v + 1) NOT IN (SELECT a, b FROM R WHERE b >= s.v ORDER BY b LIMIT 2)", {1: False, 2: None, 3: True}),
    ],
)
def test_an_in_with_several_columns_may_name_the_query_around_it(
    condition: str, expected: dict[int, bool | None]
) -> None:
    made = session(f"CREATE STREAM S (v INT, ts BIGINT) ORDERED BY ts; {PAIRS}", S=[(1, 0), (2, 0), (3, 0)])
    found = content(made, f"SELECT v, {condition} AS x FROM S [NOW] s")
    assert {row[0]: row[1] for row in found} == expected

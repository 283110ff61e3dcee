"""Queries inside queries: CTEs, views, functions, nested values, and the values of expressions."""

from __future__ import annotations

import pytest

from continua.algebra.expr import Call, walk
from continua.algebra.leaves import Source
from continua.algebra.traverse import expressions_of, nodes_of
from continua.errors import EvaluationError
from continua.session import Session
from tests.binding.scripts import mistake, query, rows, session

# CTEs.


def test_a_cte_is_a_relation_with_a_name() -> None:
    assert rows("WITH x AS (SELECT a FROM T WHERE a > 1) SELECT * FROM x") == [(2,), (2,)]


def test_a_cte_may_name_its_columns_and_use_those_before_it() -> None:
    text = "WITH x AS (SELECT a FROM T), y (k) AS (SELECT a + 1 FROM x) SELECT k FROM y WHERE k = 2"
    assert rows(text) == [(2,)]
    assert mistake("WITH y AS (SELECT a FROM x), x AS (SELECT a FROM T) SELECT * FROM y").condition == "UNKNOWN_STREAM"


def test_a_cte_may_be_used_twice() -> None:
    assert rows("WITH x AS (SELECT DISTINCT a FROM T) SELECT p.a, q.a FROM x p, x q WHERE p.a = q.a") == [
        (1, 1),
        (2, 2),
    ]


def test_a_cte_hides_a_table_of_its_name() -> None:
    assert rows("WITH U AS (SELECT c FROM T WHERE a = 1) SELECT * FROM U") == [(10,)]


def test_a_cte_may_be_used_in_a_subquery() -> None:
    assert rows("WITH x AS (SELECT 1 AS k) SELECT c FROM T WHERE a IN (SELECT k FROM x)") == [(10,)]


def test_a_cte_ends_with_its_query() -> None:
    text = "SELECT a FROM (WITH x AS (SELECT a FROM T) SELECT a FROM x) y, x"
    assert mistake(text).condition == "UNKNOWN_STREAM"


def test_names_given_to_a_cte_must_fit_its_columns() -> None:
    assert mistake("WITH x (p, q) AS (SELECT a FROM T) SELECT * FROM x").condition == "COLUMN_COUNT"


# Views.


def test_a_view_joined_with_itself_has_fresh_names() -> None:
    made = session()
    made.insert("S", [(1, 0, "x", 1), (1, 0, "x", 2), (2, 0, "y", 2)])
    found = made.sql("SELECT p.a, q.a AS other FROM V p, V q WHERE p.n > q.n")
    assert found is not None
    sources = [n.alias for n in nodes_of(found.bound.plan) if isinstance(n, Source)]
    assert len(set(sources)) == len(sources) == 2
    assert made.snapshot(found, 2) == [(1, 2)]


def test_a_view_is_bound_by_the_settings_of_its_definition() -> None:
    made = session()
    made.execute("SET dialect = pipes")
    made.execute("CREATE VIEW Latest AS SELECT a FROM S")
    made.execute("SET dialect = cql")
    made.insert("S", [(1, 0, "x", 1), (2, 0, "x", 3)])
    found = made.sql("SELECT a FROM Latest")
    assert found is not None
    assert [made.snapshot(found, t) for t in (1, 2, 3)] == [[(1,)], [], [(2,)]]


def test_a_view_may_name_its_columns() -> None:
    made = session()
    made.execute("CREATE VIEW W (x, y) AS SELECT a, c FROM T")
    found = made.sql("SELECT y FROM W WHERE x = 1")
    assert found is not None and made.snapshot(found, 0) == [(10,)]


def test_a_view_over_a_view() -> None:
    made = session()
    made.execute("CREATE VIEW A AS SELECT a FROM T; CREATE VIEW B AS SELECT a + 1 AS b FROM A")
    found = made.sql("SELECT A.a, B.b FROM A, B WHERE A.a = B.b")
    assert found is not None and made.snapshot(found, 0) == [(2, 2), (2, 2)]


def test_a_derived_stream_takes_a_window() -> None:
    made = session()
    made.execute("CREATE STREAM D AS SELECT ISTREAM(a) FROM S [ROWS 1]")
    made.insert("S", [(1, 0, "x", 1), (2, 0, "x", 3)])
    found = made.sql("SELECT a FROM D [RANGE 1]")
    assert found is not None
    assert [made.snapshot(found, t) for t in (1, 2, 3, 4, 5)] == [[(1,)], [(1,)], [(2,)], [(2,)], []]


# Functions.


def test_a_function_is_replaced_by_its_expression() -> None:
    made = session()
    made.execute("CREATE FUNCTION twice(x INT) RETURNS BIGINT AS x * 2")
    found = made.sql("SELECT twice(a + 1) AS y, twice(TWICE(a)) AS z FROM T WHERE a = 1")
    assert found is not None and made.snapshot(found, 0) == [(4, 4)]
    calls = {p.function for n in nodes_of(found.bound.plan) for e in expressions_of(n) for p in walk(e)
             if isinstance(p, Call)}  # fmt: skip
    assert "*" in calls and "twice" not in calls


def test_the_parameters_of_a_function_are_not_columns() -> None:
    made = session()
    made.execute("CREATE FUNCTION f(a INT) AS a + 100")
    found = made.sql("SELECT f(c) AS x FROM T WHERE a = 1")
    assert found is not None and made.snapshot(found, 0) == [(110,)]
    assert mistake("CREATE FUNCTION g(x INT) AS x + c; SELECT g(a) FROM T").condition == "UNKNOWN_COLUMN"


def test_functions_may_use_functions_and_stand_anywhere() -> None:
    made = session()
    made.execute("CREATE FUNCTION inc(x INT) AS x + 1; CREATE FUNCTION inc2(x INT) AS inc(inc(x))")
    found = made.sql("SELECT inc2(a) AS k, SUM(inc(c)) AS s FROM T WHERE inc(a) > 0 GROUP BY inc2(a) HAVING inc(3) = 4")
    assert found is not None and made.snapshot(found, 0) == [(3, 11), (4, 42)]


def test_a_python_function() -> None:
    made = session()
    made.execute("CREATE FUNCTION py_neg(x INT) RETURNS INT LANGUAGE PYTHON AS 'operator:neg'")
    found = made.sql("SELECT py_neg(a) AS x FROM T WHERE a = 2")
    assert found is not None and made.snapshot(found, 0) == [(-2,), (-2,)]


# Nested values.


def nested(text: str) -> list[tuple[object, ...]]:
    made = Session()
    made.execute("CREATE TABLE N (k INT, st STRUCT<x: INT, y: STRING>, arr ARRAY<INT>, m MAP<STRING, INT>)")
    made.insert("N", [(1, (7, "seven"), (10, 20), (("one", 1),))])
    found = made.sql(text)
    assert found is not None
    return made.snapshot(found, 0)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("st.x", 7),
        ("N.st.y", "seven"),
        ("ST.X + k", 8),
        ("arr[0]", 10),
        ("arr[k]", 20),
        ("arr[5]", None),
        ("m['one']", 1),
        ("m['two']", None),
        ("SIZE(arr)", 2),
        ("ELEMENT_AT(arr, 1)", 10),
        ("ARRAY_CONTAINS(arr, 20)", True),
    ],
)
def test_structs_arrays_and_maps(expression: str, value: object) -> None:
    assert nested(f"SELECT {expression} AS x FROM N") == [(value,)]


def test_nested_values_stay_whole() -> None:
    assert nested("SELECT st, arr FROM N") == [((7, "seven"), (10, 20))]
    assert nested("SELECT x.st.x FROM (SELECT st FROM N) x") == [(7,)]


# Values.


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("CASE WHEN NULL THEN 1 WHEN TRUE THEN 2 ELSE 3 END", 2),
        ("CASE 2 WHEN 1 THEN 'one' WHEN 2 THEN 'two' END", "two"),
        ("CASE WHEN FALSE THEN 1 END", None),
        ("CAST('5' AS INT) + 1", 6),
        ("TRY_CAST('five' AS INT)", None),
        ("CAST(2.7 AS INT)", 2),
        ("CAST(-2.7 AS INT)", -2),
        ("CAST(CAST(2.5 AS DOUBLE) AS BIGINT)", 2),
        ("1 IN (1, NULL)", True),
        ("2 IN (1, NULL)", None),
        ("2 NOT IN (1, NULL)", None),
        ("2 BETWEEN 1 AND 3", True),
        ("2 NOT BETWEEN 1 AND NULL", None),
        ("'abc' LIKE 'a%'", True),
        ("'abc' LIKE '_b_'", True),
        ("'abc' NOT LIKE '_b_'", False),
        ("'abc' NOT ILIKE 'A%'", False),
        ("'abc' NOT RLIKE 'b'", False),
        ("'a_c' LIKE 'a\\\\_c'", True),
        ("'abc' LIKE 'a\\\\_c'", False),
        ("'abc' RLIKE '^a.c$'", True),
        ("NULL = NULL", None),
        ("NULL <=> NULL", True),
        ("NOT (NULL AND FALSE)", True),
        ("NULL OR TRUE", True),
        ("NULL IS NOT NULL", False),
        ("1 < 2 < 3", True),
        ("COALESCE(NULL, 2, 3)", 2),
        ("NULLIF(1, 1)", None),
        ("7 % 3", 1),
        ("-7 % 3", -1),
        ("7 DIV 2", 3),
        ("-7 DIV 2", -3),
        ("7 / 2", 3.5),
        ("1 + NULL", None),
        ("'a' || 'b' || NULL", None),
        ("CONCAT('a', 1)", "a1"),
        ("CONCAT_WS('-', 'a', NULL, 'b')", "a-b"),
        ("'it''s'", "it's"),
        ("'it\\'s'", "it's"),
        ("SUBSTRING('abcdef', 2, 3)", "bcd"),
        ("LENGTH('äö')", 2),
        ("EXTRACT(YEAR FROM TIMESTAMP '2024-05-06 07:08:09')", 2024),
        ("HOUR(TIMESTAMP '2024-05-06 07:08:09')", 7),
        ("IF(1 > 2, 'x', 'y')", "y"),
        ("GREATEST(1, NULL, 3)", 3),
        ("ROUND(2.5)", 3),
        ("ARRAY(1, 2)[0]", 1),
        ("(1, 2) = (1, 3)", False),
        ("(1, NULL) <> (2, 3)", True),
    ],
)
def test_the_values_of_expressions(expression: str, value: object) -> None:
    assert rows(f"SELECT {expression} AS x") == [(value,)]


def outcome(expression: str) -> object:
    try:
        return rows(f"SELECT {expression} AS x")
    except EvaluationError as error:
        return error.condition


def test_a_division_by_zero_is_the_same_whatever_the_operator() -> None:
    assert outcome("1 / 0") == outcome("1 DIV 0") == outcome("1 % 0") == outcome("1.5 / 0")


@pytest.mark.parametrize("expression", ["CAST('x' AS INT)", "CAST('2.7' AS INT)", "CAST(300 AS TINYINT)"])
def test_a_cast_that_does_not_fit_fails(expression: str) -> None:
    assert outcome(expression) == "EVALUATION_FAILED"
    assert outcome(expression.replace("CAST", "TRY_CAST")) == [(None,)]


def test_rows_are_counted_by_all_columns() -> None:
    assert rows("SELECT COUNT(DISTINCT a, c) AS n FROM T") == [(2,)]
    assert rows("SELECT COUNT(DISTINCT *) AS n FROM T") == [(2,)]


def test_a_query_without_from_has_one_row() -> None:
    assert rows("SELECT 1 AS x") == [(1,)]
    assert rows("SELECT 1 AS x WHERE 1 = 0") == []
    assert rows("VALUES (1, 'a'), (2, NULL), (1, 'a')") == [(1, "a"), (1, "a"), (2, None)]


def test_the_expanded_query_means_the_same_and_is_stable() -> None:
    first = query("SELECT a FROM S WHERE b > 1")
    assert first.bound.expanded == "SELECT ISTREAM(a) FROM S [RANGE UNBOUNDED] WHERE b > 1"
    again = query(first.bound.expanded)
    assert (again.bound.plan, again.bound.expanded) == (first.bound.plan, first.bound.expanded)
    assert [n.condition for n in again.bound.notices] == []

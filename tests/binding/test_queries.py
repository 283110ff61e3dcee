"""What queries mean once they are bound: names, stars, scopes, joins, groups, orders, nested queries."""

from __future__ import annotations

import pytest

from continua.algebra.base import Kind
from continua.algebra.leaves import Source
from continua.algebra.relational import Aggregate, DuplicateElimination, Filter, Project, SetOperation, TopK
from continua.algebra.traverse import nodes_of
from continua.session import Session
from continua.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, DataType, decimal
from tests.binding.scripts import mistake, notices, query, rows, session

# Stars and names.


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT * FROM S [NOW]", ("a", "b", "s")),
        ("SELECT *, ts FROM S [NOW]", ("a", "b", "s", "ts")),
        ("SELECT ts FROM S [NOW]", ("ts",)),
        ("SELECT S.ts AS at, S.* FROM S [NOW]", ("at", "a", "b", "s")),
        ("SELECT * FROM R", ("a", "b")),
        ("SELECT x.* FROM S [NOW] x, T", ("a", "b", "s")),
        ("SELECT T.*, S.b FROM S [NOW], T", ("a", "c", "b")),
        ("SELECT * FROM S [NOW], T", ("a", "b", "s", "a_2", "c")),
        ("SELECT * FROM (SELECT ts, a FROM S [NOW]) x", ("ts", "a")),
        ("SELECT * FROM V", ("a", "n")),
        ("SELECT COUNT(*) FROM S [NOW]", ("count(1)",)),
    ],
)
def test_a_star_stands_for_all_columns_but_the_ordering_one(text: str, columns: tuple[str, ...]) -> None:
    assert query(text).columns == columns


def test_an_interval_of_validity_is_left_out_too() -> None:
    made = Session()
    made.execute("CREATE STREAM A (id INT, opened BIGINT, closed BIGINT) VALID FROM opened TO closed")
    found = made.sql("SELECT * FROM A [NOW]")
    named = made.sql("SELECT closed, opened FROM A [NOW]")
    assert found is not None and named is not None
    assert (found.columns, named.columns) == (("id",), ("closed", "opened"))


def test_naming_the_ordering_column_makes_it_an_attribute() -> None:
    made = session()
    made.insert("S", [(1, 1, "x", 3), (1, 1, "x", 5)])
    plain, named = made.sql("SELECT DISTINCT a FROM S [RANGE 9]"), made.sql("SELECT DISTINCT a, ts FROM S [RANGE 9]")
    assert plain is not None and named is not None
    assert made.snapshot(plain, 6) == [(1,)]
    assert made.snapshot(named, 6) == [(1, 3), (1, 5)]


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("a", "a"),
        ("T.a", "a"),
        ("(a)", "a"),
        ("a AS x", "x"),
        ("a x", "x"),
        ("a + 1", "a + 1"),
        ("T.a + T.c", "a + c"),
        ("COUNT(*)", "count(1)"),
        ("MAX(T.a)", "max(a)"),
        ("UPPER('x')", "upper('x')"),
        ("CAST(a AS STRING)", "CAST(a AS STRING)"),
        ("1", "1"),
    ],
)
def test_an_item_without_a_name_goes_by_its_text(item: str, name: str) -> None:
    assert query(f"SELECT {item} FROM T" + (" GROUP BY a, c" if "(" in item else "")).columns == (name,)


def test_names_that_occur_twice_are_numbered() -> None:
    assert query("SELECT a, c AS a, a AS A, c AS a_2 FROM T").columns == ("a", "a_2", "A_3", "a_2_2")


def test_the_columns_of_values_have_names_without_a_table() -> None:
    assert query("VALUES (1, 'a')").columns == ("col1", "col2")
    assert query("SELECT * FROM VALUES (1, 'a')").columns == ("col1", "col2")
    assert query("SELECT * FROM VALUES (1, 'a') AS v(p, q)").columns == ("p", "q")
    assert query("SELECT v.q FROM (VALUES (1, 'a')) AS v(p, q)").columns == ("q",)


def test_names_are_found_whatever_their_case_but_keep_their_own() -> None:
    assert query("SELECT A, t.C AS Big FROM t").columns == ("A", "Big")


# Scopes.


def test_the_inner_name_hides_the_outer_one() -> None:
    assert rows("SELECT c FROM T WHERE EXISTS (SELECT 1 FROM U WHERE a = 3)") == [(10,), (20,), (20,), (30,)]
    assert rows("SELECT c FROM T WHERE EXISTS (SELECT 1 FROM U WHERE U.a = T.a AND name = 'one')") == [(10,)]


def test_an_alias_hides_the_name_of_the_table() -> None:
    assert mistake("SELECT T.a FROM T x").condition == "UNKNOWN_TABLE"
    assert mistake("SELECT U.a FROM T WHERE EXISTS (SELECT 1 FROM U)").condition == "UNKNOWN_TABLE"


def test_columns_may_be_renamed_with_the_table() -> None:
    assert rows("SELECT p FROM T AS x(p, q) WHERE q = 10") == [(1,)]
    assert mistake("SELECT a FROM T AS x(p, q)").condition == "UNKNOWN_COLUMN"


def test_the_alias_of_an_item_is_not_a_column_in_where() -> None:
    assert mistake("SELECT a + 1 AS x FROM T WHERE x > 1").condition == "UNKNOWN_COLUMN"


# Joins.


def test_using_and_natural_joins_have_one_column_for_both_sides() -> None:
    assert rows("SELECT a, c, name FROM T JOIN U USING (a)") == [(1, 10, "one"), (2, 20, "two"), (2, 20, "two")]
    assert rows("SELECT * FROM T NATURAL JOIN U") == rows("SELECT a, c, name FROM T JOIN U USING (a)")
    assert query("SELECT * FROM T JOIN U USING (a)").columns == ("a", "c", "name")


def test_the_column_of_using_is_that_of_the_side_that_is_kept() -> None:
    assert (None, 30, None) in rows("SELECT a, c, name FROM T LEFT JOIN U USING (a)")
    assert (3, None, None) in rows("SELECT a, c, name FROM T RIGHT JOIN U USING (a)")


@pytest.mark.parametrize("kind", ["", "LEFT", "RIGHT"])
def test_the_columns_of_using_come_first(kind: str) -> None:
    found = query(f"SELECT * FROM (SELECT c, a FROM T) x {kind} JOIN (SELECT name, a FROM U) y USING (a)")
    assert found.columns == ("a", "c", "name")


def test_the_sides_of_using_can_still_be_told_apart() -> None:
    assert (None, 3) in rows("SELECT T.a, U.a FROM T RIGHT JOIN U USING (a)")


def test_a_semi_join_has_the_columns_of_its_left_side() -> None:
    assert query("SELECT * FROM T LEFT SEMI JOIN U ON T.a = U.a").columns == ("a", "c")
    assert mistake("SELECT U.a FROM T LEFT ANTI JOIN U ON T.a = U.a").condition == "UNKNOWN_TABLE"


# Groups.


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a + 1 AS k, SUM(c) AS s FROM T GROUP BY k",
        "SELECT a + 1 AS k, SUM(c) AS s FROM T GROUP BY 1",
        "SELECT a + 1 AS k, SUM(c) AS s FROM T GROUP BY a + 1",
        "SELECT a + 1 AS k, SUM(c) AS s FROM T GROUP BY T.a + 1",
        "SELECT a + 1 AS k, SUM(c) AS s FROM T GROUP BY K",
    ],
)
def test_groups_go_by_alias_position_or_expression(text: str) -> None:
    assert rows(text) == [(None, 30), (2, 10), (3, 40)]


def test_a_column_of_from_comes_before_an_alias_of_its_name() -> None:
    assert rows("SELECT MAX(c) AS a FROM T GROUP BY a") == [(10,), (20,), (30,)]


def test_an_expression_of_groups_and_aggregates() -> None:
    assert rows("SELECT (a + 1) * 2 + COUNT(*) AS x FROM T GROUP BY a + 1") == [(None,), (5,), (8,)]


@pytest.mark.parametrize("having", ["COUNT(*) > 1", "n > 1", "MAX(c) = 20", "a = 2 AND SUM(c) = 40"])
def test_having_filters_groups(having: str) -> None:
    assert rows(f"SELECT a, COUNT(*) AS n FROM T GROUP BY a HAVING {having}") == [(2, 2)]


def test_having_without_groups_is_one_group() -> None:
    assert rows("SELECT SUM(c) AS s FROM T HAVING COUNT(*) = 4") == [(80,)]
    assert rows("SELECT SUM(c) AS s FROM T HAVING COUNT(*) = 3") == []


@pytest.mark.parametrize(("dialect", "empty_row"), [("cql", True), ("pipes", False), ("sync", True)])
def test_the_aggregate_of_nothing_is_a_row_but_not_in_pipes(dialect: str, empty_row: bool) -> None:
    (found,) = [n for n in nodes_of(query("SELECT COUNT(*) FROM T", dialect).bound.plan) if isinstance(n, Aggregate)]
    assert found.empty_row is empty_row


def test_one_aggregate_is_computed_once() -> None:
    plan = query("SELECT SUM(c), SUM(c) + 1 FROM T HAVING SUM(c) > 0").bound.plan
    (found,) = [n for n in nodes_of(plan) if isinstance(n, Aggregate)]
    assert [call.function for _, call in found.aggregates] == ["SUM"]


# DISTINCT, ORDER BY, LIMIT, sets.


def test_distinct_makes_a_set() -> None:
    assert rows("SELECT DISTINCT a FROM T") == [(None,), (1,), (2,)]
    assert isinstance(query("SELECT DISTINCT a FROM T ORDER BY a LIMIT 9").bound.plan, TopK)
    assert mistake("SELECT DISTINCT a FROM T ORDER BY c LIMIT 1").condition == "ORDER_NOT_SELECTED"


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        ("ORDER BY a LIMIT 2", [(None, 30), (1, 10)]),
        ("ORDER BY a DESC LIMIT 1", [(2, 20)]),
        ("ORDER BY a NULLS LAST LIMIT 1", [(1, 10)]),
        ("ORDER BY a DESC NULLS FIRST LIMIT 1", [(None, 30)]),
        ("ORDER BY 2 DESC LIMIT 1", [(None, 30)]),
        ("ORDER BY c - 100 LIMIT 1", [(1, 10)]),
        ("ORDER BY c LIMIT 2 OFFSET 1", [(2, 20), (2, 20)]),
        ("ORDER BY c OFFSET 3", [(None, 30)]),
        ("LIMIT 1", [(None, 30)]),
    ],
)
def test_limit_takes_the_first_rows(tail: str, expected: list[tuple[object, ...]]) -> None:
    assert rows(f"SELECT a, c FROM T {tail}") == expected


def test_ties_are_broken_by_all_columns() -> None:
    text = "SELECT * FROM VALUES (1, 'b'), (1, 'a'), (0, 'z') AS v(k, s) ORDER BY k LIMIT 2"
    assert rows(text) == [(0, "z"), (1, "a")]


def test_an_order_by_what_is_not_selected_leaves_no_column_behind() -> None:
    assert query("SELECT a FROM T ORDER BY c DESC LIMIT 1").columns == ("a",)
    assert rows("SELECT a FROM T ORDER BY c DESC LIMIT 1") == [(None,)]


def test_the_author_is_told_of_an_order_without_effect() -> None:
    told = {n.condition for n in notices("SELECT a FROM T ORDER BY a")}
    assert "ORDER_IGNORED" in told
    assert not any(isinstance(n, TopK) for n in nodes_of(query("SELECT a FROM T ORDER BY a").bound.plan))
    assert "LIMIT_WITHOUT_ORDER" in {n.condition for n in notices("SELECT a FROM T LIMIT 1")}
    assert {"ORDER_IGNORED", "LIMIT_WITHOUT_ORDER"}.isdisjoint(
        n.condition for n in notices("SELECT a FROM T ORDER BY a LIMIT 1")
    )


def test_a_set_operation_has_the_names_of_its_left_side_and_the_wider_types() -> None:
    found = query("SELECT a AS x FROM T UNION ALL SELECT 2.5")
    assert (found.columns, found.types["x"]) == (("x",), decimal(11, 1))
    ordered = rows("SELECT a AS x FROM T UNION SELECT 7 ORDER BY x DESC LIMIT 2")
    assert sorted(ordered, key=str) == [(2,), (7,)]


def test_union_is_a_set_and_union_all_a_bag() -> None:
    assert isinstance(query("SELECT a FROM T UNION SELECT a FROM U").bound.plan.inputs[0], DuplicateElimination)
    assert isinstance(query("SELECT a FROM T UNION ALL SELECT a FROM U").bound.plan.inputs[0], SetOperation)
    assert len(rows("SELECT a FROM T UNION ALL SELECT a FROM U")) == 7


# Types.


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("a", INT),
        ("ts", BIGINT),
        ("a + 1", INT),
        ("a + ts", BIGINT),
        ("a / 2", DOUBLE),
        ("a DIV 2", BIGINT),
        ("a = 1", BOOLEAN),
        ("a IN (1, 2)", BOOLEAN),
        ("a BETWEEN 1 AND 2", BOOLEAN),
        ("s LIKE 'x%'", BOOLEAN),
        ("s IS NULL", BOOLEAN),
        ("s || 'x'", STRING),
        ("CAST(a AS STRING)", STRING),
        ("TRY_CAST(s AS INT)", INT),
        ("CASE WHEN a > 1 THEN a ELSE ts END", BIGINT),
        ("COALESCE(a, ts)", BIGINT),
        ("NOW", BIGINT),
        ("TIMESTAMP '2024-01-01 00:00:00'", TIMESTAMP),
    ],
)
def test_expressions_have_types(expression: str, kind: DataType) -> None:
    assert query(f"SELECT {expression} AS x FROM S [NOW]").types == {"x": kind}


def test_the_type_of_now_is_that_of_the_time_domain() -> None:
    assert query("SELECT NOW AS t FROM Bid [NOW]").types == {"t": TIMESTAMP}
    assert query("SELECT NOW AS t FROM S [NOW]").types == {"t": BIGINT}


@pytest.mark.parametrize(("text", "kind"), [("SELECT a FROM S [NOW]", Kind.RELATION), ("SELECT a FROM T", Kind.STREAM),
                                            ("SELECT DSTREAM(a) FROM T", Kind.STREAM),
                                            ("SELECT STREAMED a FROM T", Kind.TAGGED),
                                            ("SELECT COMPLETE a FROM T", Kind.RELATION)])  # fmt: skip
def test_queries_yield_streams_or_relations(text: str, kind: Kind) -> None:
    assert query(text).kind is kind


def test_a_plan_keeps_the_order_of_the_clauses() -> None:
    plan = query("SELECT a FROM S [NOW] WHERE b = 1").bound.plan
    assert [type(n) for n in nodes_of(plan)][:2] == [Project, Filter]
    assert [n.name for n in nodes_of(plan) if isinstance(n, Source)] == ["S"]

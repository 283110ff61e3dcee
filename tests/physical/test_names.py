"""Physical plans speak of columns by their names."""

from __future__ import annotations

import pytest

from continua.answers.query import Query
from continua.physical.level_text import explain, levels
from continua.runs.plans import graph_of
from continua.session import Session
from tests.physical.comparing import asked
from tests.square.graphs import draw


def _operators(session: Session, query: Query) -> list[str]:
    return [o.operator for level in levels([graph_of(query, session.functions)]) for o in level.operators]


@pytest.mark.parametrize(
    ("query", "operator"),
    [
        ("SELECT k, a + 1 AS n FROM S [RANGE 5] WHERE a > 2", "Evaluate k, a + 1, where a > 2"),
        ("SELECT k, COUNT(*), SUM(a) FROM S [RANGE 5] GROUP BY k", "Aggregate COUNT(*), SUM(a) by k"),
        (
            "SELECT k, MAX(a * 2) AS m FROM S [RANGE 5] GROUP BY k HAVING MAX(a * 2) > 7",
            "Evaluate where MAX(a * 2) > 7",
        ),
        ("SELECT * FROM S [RANGE 5], U [RANGE 9] WHERE S.k = U.k", "Hash join left.k = right.k"),
        ("SELECT * FROM S [RANGE 5], S [RANGE 9] x WHERE S.a < x.a", "Nested-loop join where right.a < left.a"),
        ("SELECT k, n FROM P", "Evaluate valid from 0"),
        ("SELECT * FROM M", "Relational view by key k"),
    ],
)
def test_operators_name_columns(query: str, operator: str) -> None:
    session, found = asked(query)
    assert operator in _operators(session, found), _operators(session, found)


def test_rows_move_by_named_columns() -> None:
    session, query = asked("SELECT k, COUNT(*) FROM S [RANGE 5] GROUP BY k")
    (moved,) = levels([graph_of(query, session.functions)])[1].receives
    assert moved.how.startswith("by k,")


def test_equal_names_of_both_sides_are_told_apart() -> None:
    session, query = asked("SELECT DISTINCT x.a, y.a FROM S [RANGE 5] x, S [RANGE 9] y WHERE x.k = y.k AND x.a < 3")
    (columns,) = (o for o in _operators(session, query) if o.startswith("Columns"))
    assert columns in ("Columns a, a_2", "Columns a_2, a")


@pytest.mark.parametrize("seed", range(4))
def test_any_plan_can_be_told(seed: int) -> None:
    graph = draw(seed, 24)
    for query in graph.queries:
        assert explain([graph_of(query, graph.session.functions)])


def test_expressions_that_stand_in_expressions_do_not_make_texts_grow() -> None:
    text = "SELECT a FROM S [RANGE 5]"
    for _ in range(30):
        text = f"SELECT a % 7 + a % 5 AS a FROM ({text})"
    session, query = asked(text)
    assert len(explain([graph_of(query, session.functions)])) < 20_000


def test_a_union_is_called_by_names_not_by_what_one_side_computes() -> None:
    session, query = asked("SELECT DISTINCT S.k, b FROM S [RANGE 5] LEFT JOIN U [RANGE 5] ON S.k = U.k")
    assert "Columns k, b" in _operators(session, query), _operators(session, query)


def test_a_long_condition_can_be_planned() -> None:
    conditions = " AND ".join(f"a <> {i}" for i in range(180))
    session, query = asked(f"SELECT a FROM S [RANGE 5] WHERE {conditions}")
    assert "where" in _operators(session, query)[2]

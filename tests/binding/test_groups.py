"""GROUP(item, function, j OF k): the group operator of PIPES in FROM."""

from __future__ import annotations

import pytest

from continua.algebra.relational import Group
from continua.algebra.traverse import nodes_of
from tests.binding.scripts import mistake
from tests.physical.comparing import agree, asked


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a, k FROM GROUP(S [RANGE 4], a % 3 + 1, 2 OF 3)",
        "SELECT g.a FROM GROUP(S [ROWS 3] AS x, CASE WHEN x.k = 'x' THEN 1 ELSE 2 END, 1 OF 2) AS g WHERE g.a > 1",
        "SELECT COUNT(*) AS n FROM GROUP((SELECT a, COUNT(*) AS n FROM S [RANGE 5] GROUP BY a) d, n, 1 OF 2)",
        "SELECT p.a, q.a AS b FROM GROUP(S [RANGE 9], a % 2 + 1, 1 OF 2) p, GROUP(S [RANGE 9], a % 2 + 1, 2 OF 2) q",
        "SELECT a FROM GROUP(S [RANGE 5], (a + NOW) % 2 + 1, 1 OF 2)",
        "SELECT g.a, P.n FROM GROUP(S [RANGE 5], a, 2 OF 9) g JOIN P ON g.k = P.k",
        "SELECT a FROM GROUP(S [RANGE 5], NULL, 1 OF 1)",
    ],
)
def test_a_group_holds_the_rows_for_which_the_function_gives_its_number(query: str) -> None:
    session, found = asked(query)
    agree(session, found)
    assert any(isinstance(node, Group) for node in nodes_of(found.bound.plan))


def test_the_groups_together_are_the_whole() -> None:
    parts = " UNION ALL ".join(f"SELECT a FROM GROUP(S [RANGE 4], a % 3 + 1, {j} OF 3)" for j in (1, 2, 3))
    session, whole = asked("SELECT a FROM S [RANGE 4]")
    divided = session.sql(parts)
    assert divided is not None
    assert [(a.instant, a.op, a.row) for a in session.answers([divided])] == [
        (a.instant, a.op, a.row) for a in session.answers([whole])
    ]


def test_the_text_of_a_group_with_its_defaults_is_read_as_it_was() -> None:
    session, query = asked("SELECT g.a FROM GROUP(S, a % 2 + 1, 2 OF 2) g")
    assert query.bound.expanded == "SELECT ISTREAM(g.a) FROM GROUP(S [RANGE UNBOUNDED], a % 2 + 1, 2 OF 2) AS g"
    again = session.sql(query.bound.expanded)
    assert again is not None
    assert again.bound.logical == query.bound.logical


@pytest.mark.parametrize(
    ("item", "condition"),
    [
        ("GROUP(S [NOW], a, 3 OF 2)", "GROUP_INDEX"),
        ("GROUP(S [NOW], a, 0 OF 2)", "GROUP_INDEX"),
        ("GROUP(S [NOW], s, 1 OF 2)", "TYPE_MISMATCH"),
        ("GROUP(S [NOW], c, 1 OF 2)", "UNKNOWN_COLUMN"),
        ("GROUP(S [NOW], a, 1)", "SYNTAX"),
        ("GROUP(S [NOW], 1 OF 2)", "SYNTAX"),
        ("GROUP(S [NOW], a, x OF 2)", "SYNTAX"),
    ],
)
def test_groups_that_make_no_sense_are_refused(item: str, condition: str) -> None:
    assert mistake(f"SELECT * FROM {item}").condition == condition

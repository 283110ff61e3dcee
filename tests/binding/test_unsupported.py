"""What Continua does not do is refused, with a reason and a place: never ignored, never a wrong answer."""

from __future__ import annotations

import pytest

from tests.binding.scripts import mistake, mistakes, place

FEATURES = [
    ("SELECT SUM(a) OVER (PARTITION BY c) FROM T", "OVER", (1, 8)),
    ("SELECT ROW_NUMBER() OVER (ORDER BY a) FROM T", "OVER", (1, 8)),
    ("SELECT * FROM T, LATERAL (SELECT 1)", "LATERAL", (1, 18)),
    ("SELECT * FROM UNNEST(x)", "UNNEST", (1, 15)),
    ("SELECT a, COUNT(*) FROM T GROUP BY GROUPING SETS ((a), ())", "GROUPING SETS", None),
    ("SELECT a, COUNT(*) FROM T GROUP BY ROLLUP(a)", "ROLLUP", None),
    ("SELECT a, COUNT(*) FROM T GROUP BY CUBE(a)", "CUBE", None),
    ("SELECT a, COUNT(*) FROM T GROUP BY a WITH ROLLUP", "ROLLUP", None),
    ("WITH RECURSIVE x AS (SELECT 1) SELECT * FROM x", "WITH RECURSIVE", None),
    ("SELECT * EXCEPT (a) FROM T", "* EXCEPT", (1, 8)),
    ("SELECT RAND() FROM T", "RAND", (1, 8)),
    ("SELECT FIRST_VALUE(a) FROM T", "FIRST_VALUE", (1, 8)),
    ("SELECT a FROM other.T", "qualified name", (1, 15)),
    ("CREATE TABLE X AS SELECT * FROM T", "CREATE TABLE AS", (1, 14)),
]


@pytest.mark.parametrize(("text", "feature", "where"), FEATURES)
def test_what_is_not_supported_is_named(text: str, feature: str, where: tuple[int, int] | None) -> None:
    found = mistake(text)
    assert (found.condition, found.parameters["feature"]) == ("NOT_SUPPORTED", feature)
    assert place(found) == (where or place(found))


IGNORED = [
    "SELECT * FROM T LATERAL VIEW explode(x) y AS z",
    "SELECT a FROM T QUALIFY a = 1",
    "SELECT a FROM T SORT BY a",
    "SELECT a FROM T CLUSTER BY a",
    "SELECT * FROM T PIVOT (COUNT(a) FOR c IN (1))",
    "SELECT * FROM (SELECT a, c FROM T) PIVOT (COUNT(a) FOR c IN (1))",
    "SELECT * FROM T TABLESAMPLE (10 PERCENT)",
    "SELECT DISTINCT ON (a) a, c FROM T",
    "SELECT a FROM T UNION BY NAME SELECT a FROM U",
    "SELECT T.a FROM T ASOF JOIN U ON T.a = U.a",
    "SELECT a FROM T LIMIT 50 PERCENT",
    "SELECT a FROM T ORDER BY a LIMIT 1 WITH TIES",
    "SELECT a FROM T ORDER BY a FETCH FIRST 1 ROWS WITH TIES",
    "SELECT a FROM T ORDER BY a FETCH FIRST 50 PERCENT ROWS ONLY",
    "SELECT a FROM T ORDER BY a LIMIT 1 BY a",
    "SELECT a FROM T FOR UPDATE",
    "SELECT a FROM T WHERE a BETWEEN SYMMETRIC 5 AND 1",
    "SELECT TRIM(LEADING 'x' FROM name) FROM U",
    "SELECT TRIM('x' FROM name) FROM U",
    "SELECT CAST(a AS STRING FORMAT 'x') FROM T",
    "SELECT a INTO X FROM T",
    "SELECT FROM T",
    "SELECT T.c FROM T NATURAL JOIN U ON T.a = 1",
    "SELECT SPLIT(name, ',')[0, 1] FROM U",
]


@pytest.mark.parametrize("text", IGNORED)
def test_a_clause_that_changes_the_answer_is_never_ignored(text: str) -> None:
    found = mistakes(text)
    assert found
    assert {d.condition for d in found} <= {"NOT_SUPPORTED", "SYNTAX", "UNKNOWN_FUNCTION"}


PLACED = [
    "SELECT ts + INTERVAL 1 MONTH FROM Bid [NOW]",
    "SELECT CURRENT_DATE",
    "SELECT ABS(NULL + TRUE)",
    "SELECT a FROM RELATION(R, T)",
    "SELECT COUNT(*) FROM T GROUP BY ALL",
    "SELECT S.a FROM S [NOW], Bid [NOW]",
    "SELECT T.a FROM T LEFT JOIN U ON T.a IN (SELECT a FROM R)",
    "SELECT a FROM T WHERE EXISTS (SELECT 1 FROM U FULL JOIN R ON U.a = R.a AND R.b = T.a)",
]


@pytest.mark.parametrize("text", PLACED)
def test_every_mistake_has_a_place(text: str) -> None:
    for found in mistakes(text):
        assert place(found)[0] == 1, found

"""Plain SQL by example: one query for each way in which a subquery, a join or a group is known to go wrong."""

from __future__ import annotations

import pytest

from continua.answers.query import snapshot_of
from continua.errors import ContinuaError, EvaluationError
from tests.properties.sql_grammar import SAMPLE
from tests.properties.test_sql_square import bound, check

EXAMPLES = (
    # IN, NOT IN, ANY and ALL, with NULLs on either side
    "SELECT a FROM t WHERE a IN (SELECT b FROM u)",
    "SELECT a FROM t WHERE a NOT IN (SELECT b FROM u)",
    "SELECT a FROM t WHERE a NOT IN (SELECT b FROM u WHERE b IS NOT NULL)",
    "SELECT a FROM t WHERE a NOT IN (SELECT b FROM u WHERE FALSE)",
    "SELECT a FROM t WHERE NOT (a IN (SELECT b FROM u))",
    "SELECT a FROM t WHERE (a IN (SELECT b FROM u)) IS NULL",
    "SELECT a FROM t WHERE (a NOT IN (SELECT b FROM u)) IS NOT TRUE",
    "SELECT a, (a, b) IN (SELECT b, c FROM u) FROM t",
    "SELECT a, b FROM t WHERE (a, b) NOT IN (SELECT b, c FROM u)",
    "SELECT a FROM t WHERE a <> ALL (SELECT b FROM u WHERE b IS NOT NULL)",
    "SELECT a FROM t WHERE a <= ALL (SELECT b FROM u WHERE FALSE)",
    "SELECT a FROM t WHERE a = ANY (SELECT b FROM u WHERE FALSE)",
    "SELECT a FROM t WHERE a IN (SELECT b FROM u) OR b IN (SELECT c FROM v)",
    # correlation
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.b = t.a)",
    "SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.b = t.a AND u.c = t.b)",
    "SELECT EXISTS (SELECT 1 FROM u WHERE u.b = t.a), a FROM t",
    "SELECT a FROM t WHERE a IN (SELECT b FROM u WHERE u.c = t.b)",
    "SELECT a FROM t WHERE a NOT IN (SELECT b FROM u WHERE u.c <> t.b)",
    "SELECT a FROM t WHERE a IN (SELECT t.b FROM u)",
    "SELECT a, (SELECT t.b) FROM t",
    "SELECT a FROM t WHERE EXISTS "
    "(SELECT 1 FROM u WHERE u.b = t.a AND EXISTS (SELECT 1 FROM v WHERE v.a = t.a AND v.c = u.c))",
    "SELECT COUNT(*) FROM t WHERE a IN (SELECT b FROM u WHERE c > ALL (SELECT c FROM v WHERE v.a = t.a))",
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u LEFT JOIN v ON u.b = v.a AND u.c = t.a)",
    "SELECT a FROM t WHERE a IN (SELECT b FROM u UNION SELECT c FROM v WHERE v.a = t.a)",
    "SELECT a FROM t WHERE a IN (SELECT x.k FROM (SELECT b AS k FROM u) AS x WHERE x.k = t.b)",
    "SELECT a, (SELECT COUNT(*) FROM (SELECT DISTINCT c FROM u WHERE u.b = t.a) AS x) FROM t",
    "SELECT t.a FROM t JOIN u ON t.a = u.b AND EXISTS (SELECT 1 FROM v WHERE v.a = u.b AND v.c = t.a)",
    # the count of nothing is 0, every other aggregate of nothing is NULL
    "SELECT a FROM t WHERE 0 = (SELECT COUNT(*) FROM u WHERE u.b = t.a)",
    "SELECT a, (SELECT COUNT(*) + 1 FROM u WHERE u.b = t.a) FROM t",
    "SELECT a, (SELECT CASE WHEN COUNT(*) = 0 THEN 7 END FROM u WHERE u.b = t.a) FROM t",
    "SELECT a, (SELECT COALESCE(SUM(c), 9) FROM u WHERE u.b = t.a) FROM t",
    "SELECT a, (SELECT 3 FROM u WHERE u.b = t.a HAVING COUNT(*) = 0) FROM t",
    "SELECT a FROM t WHERE 5 IN (SELECT COUNT(*) + 5 FROM u WHERE u.b = t.a)",
    "SELECT a FROM t WHERE EXISTS (SELECT COUNT(*) FROM u WHERE u.b = t.a)",
    "SELECT a, (SELECT SUM(c) FROM u WHERE u.b = t.a GROUP BY u.b) FROM t",
    "SELECT a, (SELECT SUM(c) FROM u WHERE u.b = t.a HAVING COUNT(*) > 1) FROM t",
    # subqueries around groups and orders
    "SELECT SUM((SELECT MAX(c) FROM u WHERE u.b = t.a)) FROM t",
    "SELECT a FROM t GROUP BY a HAVING COUNT(*) > (SELECT COUNT(*) FROM u WHERE u.b = t.a)",
    "SELECT (SELECT MAX(c) FROM u WHERE u.b = t.a) AS m, COUNT(*) FROM t GROUP BY m",
    "SELECT (SELECT MAX(c) FROM u WHERE u.b = t.a) AS m, COUNT(*) FROM t GROUP BY 1",
    "SELECT a FROM t ORDER BY (SELECT MAX(c) FROM u WHERE u.b = t.a) NULLS FIRST, a NULLS FIRST LIMIT 2",
    "SELECT a, (SELECT b FROM u WHERE u.b >= t.a ORDER BY b DESC LIMIT 1) FROM t",
    "SELECT a FROM t WHERE EXISTS (SELECT b FROM u WHERE u.b = t.a LIMIT 0)",
    "SELECT CASE WHEN a IN (SELECT b FROM u) THEN (SELECT MAX(c) FROM u) ELSE a END FROM t",
    # set operations in subqueries
    "SELECT a FROM t WHERE EXISTS (SELECT b FROM u EXCEPT SELECT c FROM v)",
    "SELECT a FROM t WHERE EXISTS ((SELECT b FROM u) EXCEPT (SELECT c FROM v))",
    "SELECT a FROM t WHERE a = ANY ((SELECT b FROM u) UNION (SELECT c FROM v))",
    "SELECT a FROM t WHERE a <= ALL ((SELECT b FROM u) INTERSECT (SELECT c FROM v))",
    "SELECT a FROM t WHERE a IN ((SELECT b FROM u) UNION ALL (SELECT c FROM v))",
    "SELECT a, ((SELECT MAX(b) FROM u) UNION (SELECT MAX(b) FROM u)) FROM t",
    # joins and names
    "SELECT * FROM t NATURAL JOIN v",
    "SELECT b, COUNT(*) FROM t JOIN u USING (b) GROUP BY b",
    "SELECT b, a, c FROM t LEFT JOIN u USING (b)",
    "SELECT b, a, c FROM t RIGHT JOIN u USING (b)",
    "SELECT t.a FROM t SEMI JOIN u ON t.a = u.b",
    "SELECT t.a FROM t ANTI JOIN u ON t.a = u.b",
    "SELECT t.a, u.c FROM t FULL JOIN u ON t.a = u.b AND t.b > 1",
    "WITH x AS (SELECT a FROM t) SELECT * FROM x WHERE a IN (SELECT a FROM x WHERE a > 1)",
    # groups, sets, limits
    "SELECT COUNT(*), SUM(a), MAX(b) FROM t WHERE FALSE",
    "SELECT a, COUNT(*) FROM t WHERE FALSE GROUP BY a",
    "SELECT 1 AS one FROM t HAVING COUNT(*) > 1",
    "SELECT a + 1 AS s, SUM(b) FROM t GROUP BY s",
    "SELECT a, b FROM t GROUP BY 1, 2",
    "SELECT COUNT(DISTINCT a), SUM(DISTINCT b), MAX(a) FILTER (WHERE b = 2) FROM t",
    "SELECT a, COUNT(*) FROM t GROUP BY a ORDER BY COUNT(*) DESC, a NULLS LAST LIMIT 1",
    "SELECT a FROM t EXCEPT ALL SELECT b FROM u",
    "SELECT a FROM t INTERSECT ALL SELECT b FROM u",
    "SELECT a, b FROM t UNION SELECT b, c FROM u EXCEPT SELECT a, c FROM v",
    "SELECT a FROM t UNION ALL SELECT b FROM u ORDER BY 1 NULLS FIRST LIMIT 3",
    "SELECT a FROM t LIMIT 0",
)


@pytest.mark.parametrize("text", EXAMPLES)
def test_the_answer_is_duckdbs(text: str) -> None:
    assert check(SAMPLE, text), "neither refused here nor by DuckDB"


MANY_ROWS = (
    "SELECT (SELECT b FROM t) AS x",
    "SELECT a, (SELECT c FROM u WHERE u.b >= t.a) AS x FROM t",
    "SELECT a FROM t WHERE a = (SELECT b FROM u)",
)


@pytest.mark.parametrize("text", MANY_ROWS)
@pytest.mark.parametrize("which", ["plan", "logical"])
def test_a_scalar_subquery_of_many_rows_is_an_error(text: str, which: str) -> None:
    session, query = bound(SAMPLE, text)
    reference = session.reference([query])[query.name]
    with pytest.raises(EvaluationError) as caught:
        snapshot_of(getattr(query.bound, which), reference, 0)
    assert caught.value.condition == "EVALUATION_FAILED"


REFUSED = (
    "SELECT t.a FROM t LEFT JOIN u ON t.a IN (SELECT a FROM v)",
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u FULL JOIN v ON u.b = v.a AND u.c = t.a)",
    "SELECT b FROM t FULL JOIN u USING (b)",
)


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_unnested_is_refused_where_it_stands(text: str) -> None:
    with pytest.raises(ContinuaError) as caught:
        bound(SAMPLE, text)
    assert caught.value.condition == "NOT_SUPPORTED"
    assert caught.value.diagnostics[0].span is not None

"""Relations in queries that start later: they are what all modifications so far have made of them."""

from __future__ import annotations

import pytest

from tests.physical.comparing import Rows, agree, asked, contents_agree

DEFINITIONS = """
CREATE RELATION K (id INT, b INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op KEY id;
CREATE RELATION B (b INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op;
CREATE STREAM S (a INT, ts BIGINT) ORDERED BY ts;
CREATE STREAMED VIEW Every AS SELECT C.Timepoint FROM RELATION(clockStr) C WHERE C.Timepoint % 4 = 0;
SET start_time = 3;
"""
ROWS: Rows = {
    "K": [(1, 1, "+", 1), (2, 1, "+", 2), (3, 3, "+", 2), (3, 0, "-", 3), (1, 5, "u", 4), (2, 0, "-", 9)],
    "B": [(1, "+", 0), (1, "+", 1), (2, "+", 2), (2, "-", 2), (1, "-", 5), (3, "+", 6)],
    "S": [(1, 1), (1, 3), (2, 6)],
}


def test_a_relation_is_what_it_is_when_a_query_starts() -> None:
    session, query = asked("SELECT * FROM K", DEFINITIONS, ROWS)
    assert [(a.instant, a.op, a.row) for a in session.answers([query])] == [
        (3, "+", (1, 1)), (3, "+", (2, 1)), (4, "-", (1, 1)), (4, "+", (1, 5)), (9, "-", (2, 1))
    ]  # fmt: skip
    assert agree(session, query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT b FROM B",
        "SELECT id, b, TS FROM RELATION(K)",
        "SELECT b, COUNT(*) AS n FROM RELATION(B, Every) GROUP BY b",
        "SELECT S.a, K.b FROM S [RANGE 4] JOIN K ON S.a = K.id",
        "SELECT ISTREAM(id, b) FROM K",
        "SELECT STREAMED id, b FROM K",
        "SELECT id FROM K WHERE TS + 3 > NOW",
    ],
)
def test_the_engine_sees_it_so(query: str) -> None:
    if "WHERE TS" in query:
        query = query.replace("FROM K", "FROM RELATION(K)")
    session, found = asked(query, DEFINITIONS, ROWS)
    assert agree(session, found)
    contents_agree(session, found, (3, 5, 8, 12))

"""MODE: the value that is there most often at every instant, and the least of several."""

from __future__ import annotations

import pytest

from continua.answers.query import answers_of
from continua.session import Session
from tests.physical.comparing import agree, asked, contents_agree

STREAM = "CREATE STREAM S (k INT, v STRING, d DOUBLE, ts BIGINT) ORDERED BY ts;"
NAN = float("nan")
ROWS = {
    "S": [
        (1, "b", NAN, 1),
        (1, "a", 0.0, 2),
        (1, "b", -0.0, 3),
        (2, None, NAN, 3),
        (1, "a", 1.0, 5),
        (1, None, NAN, 6),
        (2, "c", 1.0, 9),
        (1, "c", 1.0, 9),
    ]
}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT MODE(v) AS m FROM S [RANGE 3]",
        "SELECT MODE(d) AS m, MODE(k) AS n FROM S [RANGE 4 SLIDE 2]",
        "SELECT k, MODE(v) AS m FROM S [RANGE 3] GROUP BY k",
        "SELECT k, MODE(DISTINCT v) AS m, MODE(v) FILTER (WHERE ts > 2) AS n FROM S [ROWS 3] GROUP BY k",
        "SELECT k, COUNT(*) AS n FROM S [RANGE 3] GROUP BY k HAVING MODE(v) = 'a'",
        "SELECT k, MODE(v) AS m, COUNT(DISTINCT v) AS n, MEDIAN(d) AS o FROM S [RANGE 5] GROUP BY k",
        "SELECT v FROM S [RANGE 5] WHERE v = (SELECT MODE(v) FROM S [RANGE 5])",
        "SELECT k, (SELECT MODE(t.v) FROM S [RANGE 3] t WHERE t.k = s.k) AS m FROM S [RANGE 5] s",
        "SELECT MODE(v) AS m FROM S [RANGE 3] WHERE FALSE",
        "ISTREAM(SELECT k, MODE(v) AS m FROM S [RANGE UNBOUNDED] GROUP BY k)",
        "RSTREAM(SELECT MODE(k * 2) AS m FROM S [RANGE 2])",
    ],
)
def test_engine_and_reference_agree(query: str) -> None:
    session, found = asked(query, STREAM, ROWS)
    agree(session, found)
    contents_agree(session, found, (0, 3, 6, 20))


@pytest.mark.parametrize("relation", ["M", "N"])
def test_rows_that_are_taken_back(relation: str) -> None:
    for query in (f"SELECT MODE(v) AS m FROM {relation}", f"SELECT v, MODE(k) AS m FROM {relation} GROUP BY v"):
        assert agree(*asked(query))


def test_the_least_of_several_and_null_of_none() -> None:
    session, query = asked("SELECT MODE(v) AS m FROM S [RANGE 3]", STREAM, ROWS)
    found = [(a.instant, a.row) for a in answers_of(query, session.reference([query])[query.name]) if a.op == "+"]
    assert found[:4] == [(0, (None,)), (1, ("b",)), (2, ("a",)), (3, ("b",))]
    assert found[-1] == (13, (None,))


def test_in_a_live_run() -> None:
    session = Session()
    session.execute(STREAM)
    query = session.sql("SELECT k, MODE(v) AS m FROM S [RANGE 3] GROUP BY k")
    assert query is not None
    (handle,) = session.start()
    for row in ROWS["S"]:
        session.insert("S", [row])
        handle.processAllAvailable()
    session.insert("S", [(3, "z", 0.0, 20)])
    handle.processAllAvailable()
    found = [(a.instant, a.op, a.row) for a in handle.answers() if a.instant < 20]
    session.stop()
    other, same = asked("SELECT k, MODE(v) AS m FROM S [RANGE 3] GROUP BY k", STREAM, ROWS)
    expected = [(a.instant, a.op, a.row) for a in answers_of(same, other.reference([same])[same.name])]
    assert sorted(found, key=str) == sorted(expected, key=str)

"""The judge: what it counts as a difference, and what SQL leaves open."""

from __future__ import annotations

import pytest

from continua.session import Session
from tests.square.checking import Lines, compare, has_failing_part
from tests.square.graphs import Cut

STREAMS = """
    CREATE STREAM P (k BIGINT, ts BIGINT) ORDERED BY ts;
    CREATE STREAM S (k BIGINT, ts BIGINT) ORDERED BY ts;
"""
SQUARES = "(SELECT k FROM P [RANGE 2] WHERE k * k > 3) INTERSECT (SELECT SUM(k) FROM S [RANGE 8] HAVING SUM(k) <> 2)"


@pytest.mark.parametrize(("k", "fails"), [(5_000_000_000, True), (5, False)])
def test_a_part_that_fails_is_found_where_the_answer_does_not_need_it(k: int, fails: bool) -> None:
    session = Session()
    session.execute(STREAMS)
    session.insert("P", [(k, 3)])
    query = session.sql(SQUARES)
    assert query is not None
    assert has_failing_part(session, query) is fails
    assert compare(STREAMS, {"P": [(k, 3)]}, SQUARES, Cut()) is None


def test_an_engine_that_fails_where_no_part_does_differs() -> None:
    def fail(*_: object) -> dict[str, Lines]:
        raise ValueError("by itself")

    what = compare(STREAMS, {"P": [(5, 3)]}, SQUARES, Cut(), fail)
    assert what is not None and "by itself" in what

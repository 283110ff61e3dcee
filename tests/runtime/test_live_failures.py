"""A live query that fails on its data tells which it is, where and when."""

from __future__ import annotations

import pytest

from continua.errors import EvaluationError
from continua.session import Session
from tests.crash.world import forget_memory

SCRIPT = """
CREATE STREAM S (k STRING, ts BIGINT) ORDERED BY ts;
REGISTER QUERY fine AS SELECT k FROM S [RANGE 10];
REGISTER QUERY number AS SELECT CAST(k AS INT) AS n FROM S [RANGE 10];
"""


def test_the_query_its_place_and_the_first_instant() -> None:
    session = Session()
    session.execute(SCRIPT)
    session.start()
    session.insert("S", [("1", 1), ("b", 4), ("c", 3), ("5", 5)])
    try:
        with pytest.raises(EvaluationError) as caught:
            assert session.live is not None
            session.live.finish()
    finally:
        session.stop()
        forget_memory()
    assert caught.value.parameters == {"instant": 3, "query": "number"}
    assert str(caught.value).startswith("error[EVALUATION_FAILED]: query number: the query fails on its data: ")
    assert "c is not an integer (at 3)" in str(caught.value)
    span = caught.value.diagnostics[0].span
    assert span is not None and span.line == 4

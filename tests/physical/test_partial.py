"""Partial aggregation where rows are read: the same answers, and the plans that have it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.answers.query import Query, answers_of
from continua.errors import EvaluationError
from continua.physical.partial import Partial
from continua.runs.bounded import BoundedOptions
from continua.session import Session
from tests.acceptance.on_engine import BATCHES, engine_answers
from tests.physical.comparing import agree, asked, graph

STREAMS = """
    CREATE STREAM S (k STRING, i INT, n BIGINT, d DOUBLE, c DECIMAL(8,2), w DECIMAL(30,5), z DECIMAL(38,2), s STRING,
                     b BOOLEAN, ts BIGINT) ORDERED BY ts;
    CREATE STREAM U (k STRING, i INT, ts BIGINT) ORDERED BY ts;
"""
VALUES: dict[str, list[object]] = {
    "k": ["x", "y", None],
    "i": [1, 2, -3, None],
    "n": [1, 5_000_000_000, -7, 1 << 61, -(1 << 61), None],
    "d": [0.5, 0.1, 0.2, 1e16, -1e16, 1e-300, 1.7e308, float("nan"), float("inf"), -1.25, None],
    "c": [Decimal("1.25"), Decimal("-3.10"), Decimal("999999.99"), None],
    "w": [Decimal("1.25"), Decimal("-1234567890123456789012345.56789"), Decimal("1234567890123456789012344"), None],
    "z": [Decimal("0.01"), Decimal(10) ** 35, -(Decimal(10) ** 35) - Decimal("0.01"), None],
    "s": ["a", "", "Zoë", None],
    "b": [True, False, None],
}
WINDOWS = ["RANGE 4 SLIDE 2", "RANGE 9 SLIDE 3", "RANGE 2 SLIDE 5", "RANGE UNBOUNDED SLIDE 4", "RANGE 4 SLIDE 3 LAG 2",
           "FROM 2*j TO 2*j + 3 EVERY 2", "FIXED 5"]  # fmt: skip
rows = st.lists(
    st.tuples(*(st.sampled_from(values) for values in VALUES.values()), st.integers(0, 20)), max_size=20
).map(lambda found: sorted(found, key=lambda row: row[-1]))
CALLS = [
    "COUNT(*)", "COUNT(i)", "COUNT(i, s)", "COUNT_IF(b)", "ANY_VALUE(s)", "BOOL_AND(b)", "BOOL_OR(b)",
    "MIN(DISTINCT i)",
    *(f"{function}({column})" for function in ("SUM", "AVG") for column in "indcwz"),
    *(f"{function}({column})" for function in ("MIN", "MAX") for column in VALUES),
    "MIN_BY(s, i)", "MAX_BY(c, s)", "MAX_BY(i, w)", "FIRST(s)", "LAST(w)", "MIN_BY(w, d)",
]  # fmt: skip
filters = st.sampled_from(["", "", "", " FILTER (WHERE i > 1)", " FILTER (WHERE s IS NOT NULL)"])


@settings(max_examples=60, deadline=None)
@given(
    rows,
    st.lists(st.builds("{}{}".format, st.sampled_from(CALLS), filters), min_size=1, max_size=6),
    st.sampled_from(["", "", " WHERE i > 0", " GROUP BY k", " GROUP BY i, b", " GROUP BY i % 2"]),
    st.sampled_from(WINDOWS),
    st.sampled_from([BoundedOptions(batch_rows=rows, partitions=parts) for rows in BATCHES for parts in (1, 2)]),
)
def test_partial_results_give_the_answer_of_the_reference(
    arrived: list[tuple[object, ...]], items: list[str], tail: str, window: str, cut: BoundedOptions
) -> None:
    listed = ", ".join(f"{item} AS c{number}" for number, item in enumerate(items))
    session, query = asked(f"SELECT {listed} FROM S [{window}]{tail}", STREAMS, {"S": arrived, "U": []})
    assert _is_partial(session, query) is (window != "FIXED 5")
    try:
        agree(session, query, cuts=[cut])
    except EvaluationError:
        # a sum that does not fit is an error for both
        with pytest.raises(EvaluationError):
            answers_of(query, session.reference([query])[query.name])
        with pytest.raises(EvaluationError):
            engine_answers([query], session.inputs.read(query.sources), session.functions, cut)


def _is_partial(session: Session, query: Query) -> bool:
    return any(isinstance(node, Partial) for node in graph(session, query))


@pytest.mark.parametrize(
    ("query", "there"),
    [
        ("SELECT COUNT(*) AS n FROM S [RANGE 9 SLIDE 3]", True),
        ("SELECT k, SUM(i) AS n FROM S [RANGE 9 SLIDE 3] WHERE i > 1 GROUP BY k", True),
        (
            "SELECT COUNT(*) AS n FROM (SELECT i FROM S [RANGE 9 SLIDE 3] UNION ALL SELECT i FROM U [RANGE 4 SLIDE 2])",
            True,
        ),
        ("SELECT COUNT(*) AS n FROM S [RANGE 9]", False),
        ("SELECT COUNT(*) AS n FROM S [FIXED 5]", False),
        ("SELECT COUNT(*) AS n FROM S [ROWS 9 SLIDE 3]", False),
        ("SELECT COUNT(*) AS n FROM S [RANGE 9 SLIDE 1]", False),
        ("SELECT SUM(d) AS n FROM S [RANGE 9 SLIDE 3]", True),
        ("SELECT VAR_POP(i) AS n FROM S [RANGE 9 SLIDE 3]", False),
        ("SELECT COUNT(*) AS n, COUNT(DISTINCT i) AS m FROM S [RANGE 9 SLIDE 3]", False),
        ("SELECT MEDIAN(i) AS n FROM S [RANGE 9 SLIDE 3]", False),
        ("SELECT COUNT(*) AS n FROM (SELECT DISTINCT i FROM S [RANGE 9 SLIDE 3])", False),
        ("SELECT COUNT(*) AS n FROM S [RANGE 9 SLIDE 3] AS a, U [RANGE 9 SLIDE 3] AS b", False),
        ("SELECT COUNT(*) AS n FROM (ISTREAM(SELECT i FROM S [RANGE 2])) [RANGE 9 SLIDE 3]", False),
    ],
)
def test_which_plans_aggregate_before_rows_move(query: str, there: bool) -> None:
    assert _is_partial(*asked(query, STREAMS, {})) is there


def test_windows_of_timestamps_that_are_floored() -> None:
    definitions = "SET chronon = '1 minute'; CREATE STREAM T (i INT, ts TIMESTAMP) ORDERED BY ts;"
    assert _is_partial(*asked("SELECT COUNT(*) AS n FROM T [FIXED 1 HOUR]", definitions, {}))
    assert not _is_partial(*asked("SELECT i, COUNT(*) AS n FROM T [FIXED 1 HOUR] GROUP BY i", definitions, {}))


def test_explain_tells_what_is_aggregated_where() -> None:
    session = Session()
    session.execute(STREAMS)
    text = "EXPLAIN PHYSICAL SELECT COUNT(*) AS n, AVG(i) AS a FROM S [RANGE 9 SLIDE 3]"
    first, second = _aggregations(session, text)
    assert first == "#5 Partial aggregate COUNT(*), SUM(i), COUNT(i) <- #4"
    assert second.startswith("#6 Aggregate COUNT_MERGED(COUNT(*)), AVG_MERGED(SUM(i), COUNT(i)) <- #5")
    assert "no key: one partition, of partial results;" in second
    (only,) = _aggregations(session, text.replace("SLIDE 3", ""))
    assert "no key: one partition;" in only


def _aggregations(session: Session, text: str) -> list[str]:
    (outcome,) = session.execute(text)
    assert outcome.text is not None
    return [line.strip() for line in outcome.text.splitlines() if "ggregate" in line]

"""Which expressions Spark and the engine evaluate alike."""

from __future__ import annotations

import pytest

from continua.physical import nodes
from continua.sqltext.plain import is_plain
from tests.physical.comparing import asked, graph

DEFINITIONS = """
    CREATE STREAM S (a BIGINT, b INT, x DOUBLE, d DECIMAL(9,2), w DECIMAL(38,2), name STRING, at TIMESTAMP, ts BIGINT)
    ORDERED BY ts;
"""


def _is_plain(expression: str) -> bool:
    session, query = asked(f"SELECT {expression} AS e FROM S [NOW]", DEFINITIONS, {})
    found = [n for n in graph(session, query) if isinstance(n, nodes.Evaluate)]
    return all(is_plain(e) for n in found for step in n.steps for e in step.expressions)


@pytest.mark.parametrize(
    "expression",
    [
        "a > 3 AND b <> 2 OR NOT x IS NULL",
        "a % 3",
        "a / 4",
        "x * 0.5",
        "0.908 * a",
        "CASE WHEN a > b THEN 'more' WHEN a IS NULL THEN name END",
        "name LIKE 'a%' OR name IN ('b', 'c_c')",
        "CAST(b AS BIGINT)",
        "CAST(a AS STRING)",
        "COALESCE(b, a, 0)",
        "at >= TIMESTAMP '2020-01-01 00:00:02'",
        "a <=> b",
        "GREATEST(a, b) - ABS(a)",
    ],
)
def test_comparisons_logic_arithmetic_and_choices_are_plain(expression: str) -> None:
    assert _is_plain(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "UPPER(name)",
        "a / b",
        "d / 4",
        "a / 0",
        "w + 1",
        "a DIV 2",
        "CAST(x AS STRING)",
        "CAST(x AS INT)",
        "CAST(name AS INT)",
        "CAST(name AS DOUBLE)",
        "CAST(x AS DECIMAL(9,2))",
        "TRY_CAST(name AS INT)",
        "name RLIKE 'a'",
        "at + INTERVAL 1 DAY",
        "CONCAT(name, name)",
    ],
)
def test_what_has_ways_of_its_own_is_not_plain(expression: str) -> None:
    assert not _is_plain(expression)

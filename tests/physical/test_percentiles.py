"""What lies between values is a double, whatever the values are."""

from __future__ import annotations

from decimal import Decimal

import pytest

from continua.answers.query import answers_of
from tests.physical.comparing import CUTS, agree, asked

STREAM = "CREATE STREAM S (d DECIMAL(6,1), f FLOAT, w BIGINT, v DOUBLE, i INT, ts BIGINT) ORDERED BY ts;"
LARGE = 1 << 60
ROWS = [
    (Decimal("1.5"), 0.1, LARGE, 0.1, 1, 1),
    (Decimal("0.2"), -1.25, LARGE + 1, 0.3, 1, 2),
    (Decimal("0.2"), None, 3, float("nan"), 4, 2),
    (None, 7.0, 3, float("inf"), None, 4),
]


@pytest.mark.parametrize("column", "dfwvi")
@pytest.mark.parametrize(
    "call",
    [
        "MEDIAN({})",
        "MEDIAN(DISTINCT {})",
        "PERCENTILE({}, 0.25)",
        "PERCENTILE(DISTINCT {}, 0.9)",
        "MEDIAN({}) FILTER (WHERE ts > 1)",
    ],
)
def test_engine_and_reference_agree(column: str, call: str) -> None:
    session, query = asked(f"SELECT {call.format(column)} AS m FROM S [RANGE 9]", STREAM, {"S": ROWS})
    assert agree(session, query, CUTS[:4])


def test_known_values() -> None:
    session, query = asked("SELECT MEDIAN(d) AS m, MEDIAN(f) AS n FROM S [RANGE 9]", STREAM, {"S": ROWS[:2]})
    found = [a.row for a in answers_of(query, session.reference([query])[query.name])]
    single = 0.10000000149011612  # the FLOAT nearest to 0.1
    assert (0.85, (single - 1.25) / 2) in found

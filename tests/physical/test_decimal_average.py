"""The average of decimals is that of decimals: exact, rounded once."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.answers.query import answers_of
from tests.physical.comparing import CUTS, agree, asked

LARGE = Decimal("-123456789012345678901234.56789")


@pytest.mark.parametrize(
    ("of_type", "values", "mean"),
    [
        ("DECIMAL(30,5)", [LARGE, LARGE, LARGE], "-123456789012345678901234.567890000"),
        ("DECIMAL(8,2)", [Decimal("0.10"), Decimal("0.20"), Decimal("0.20")], "0.166667"),
        ("DECIMAL(8,2)", [Decimal("-0.10"), Decimal("-0.20"), Decimal("-0.20")], "-0.166667"),
        ("DECIMAL(38,2)", [Decimal(10) ** 30, Decimal("0.01")], "500000000000000000000000000000.005000"),
    ],
)
@pytest.mark.parametrize("window", ["RANGE 9", "RANGE 9 SLIDE 3", "ROWS 3"])
def test_known_means(of_type: str, values: list[Decimal], mean: str, window: str) -> None:
    definitions = f"CREATE STREAM S (d {of_type}, ts BIGINT) ORDERED BY ts;"
    text = f"SELECT AVG(d) AS m FROM S [{window}]"
    session, query = asked(text, definitions, {"S": [(v, 3) for v in values]})
    assert agree(session, query)
    found = answers_of(query, session.reference([query])[query.name])
    assert Decimal(mean) in [row for a in found for row in a.row]


decimals = st.decimals(-(10**6), 10**6, places=3, allow_nan=False)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(decimals | st.none(), st.integers(0, 9)), min_size=1, max_size=12), st.booleans())
def test_any_means(rows: list[tuple[Decimal | None, int]], distinct: bool) -> None:
    arrived = sorted(rows, key=lambda row: row[1])
    call = "AVG(DISTINCT d)" if distinct else "AVG(d)"
    definitions = "CREATE STREAM S (d DECIMAL(10,3), ts BIGINT) ORDERED BY ts;"
    session, query = asked(f"SELECT {call} AS m FROM S [RANGE UNBOUNDED]", definitions, {"S": arrived})
    agree(session, query, CUTS[:4])
    last = answers_of(query, session.reference([query])[query.name])[-1].row[0]
    numbers = [d for d, _ in rows if d is not None]
    kept = list(set(numbers)) if distinct else numbers
    step = Decimal(1).scaleb(-7)
    wide = Context(prec=60, rounding=ROUND_HALF_UP)
    assert last == (wide.divide(sum(kept), len(kept)).quantize(step, ROUND_HALF_UP) if kept else None)

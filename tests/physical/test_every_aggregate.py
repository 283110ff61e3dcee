"""Engine and reference agree on every aggregate that is declared, of every type that it takes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal

import pytest

from continua.functions.aggregates import AGGREGATES, AggregateFunction
from continua.functions.signatures import misfit
from continua.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, DataType, array, decimal
from tests.physical.comparing import CUTS, agree, asked

COLUMNS: dict[str, DataType] = {
    "i": INT,
    "w": BIGINT,
    "d": DOUBLE,
    "f": decimal(6, 1),
    "g": decimal(30, 2),
    "s": STRING,
    "b": BOOLEAN,
    "day": DATE,
    "t": TIMESTAMP,
    "l": array(INT),
}
STREAM = f"CREATE STREAM S ({', '.join(f'{n} {t}' for n, t in COLUMNS.items())}, ts BIGINT) ORDERED BY ts;"
NAN = float("nan")
FIRST_DAY, SECOND_DAY = date(2024, 1, 1), date(2024, 1, 2)
MORNING, NOON = datetime(2024, 1, 1, 8), datetime(2024, 1, 1, 12)
ROWS = {
    "S": [
        (2, 1 << 60, 0.5, Decimal("1.5"), Decimal("2.25"), "b", True, SECOND_DAY, NOON, (2,), 1),
        (1, 3, NAN, Decimal("-0.5"), Decimal("-7.00"), "a", False, FIRST_DAY, MORNING, (1, None), 2),
        (None, None, None, None, None, None, None, None, None, None, 2),
        (2, 1 << 60, NAN, Decimal("1.5"), Decimal("2.25"), "b", True, SECOND_DAY, NOON, (2,), 4),
        (1, 3, 0.5, Decimal("-0.5"), Decimal("-7.00"), "a", False, FIRST_DAY, MORNING, (1, None), 6),
        (3, -1, -1.0, Decimal("9.9"), Decimal("0.00"), "é", True, FIRST_DAY, NOON, (), 6),
        (1, 3, 0.5, None, Decimal("1.00"), "", False, SECOND_DAY, MORNING, (1, None), 9),
    ]
}


def calls() -> Iterator[tuple[str, str]]:
    """Calls of every aggregate, in its plain form and with what SQL lets one write at it."""
    for function in dict.fromkeys(AGGREGATES.values()):
        for column, kind in COLUMNS.items():
            if misfit(function.signature, [kind]) is None:
                yield function.name, arguments_of(function, column)


def arguments_of(function: AggregateFunction, column: str) -> str:
    """Arguments that begin with a column."""
    letters = function.signature.rstrip("*")
    others = ["0.3"] * function.constants or ["i"] * (len(letters) - 1)
    return ", ".join([column, *others])


@pytest.mark.parametrize(("name", "arguments"), list(calls()))
def test_engine_and_reference_agree(name: str, arguments: str) -> None:
    items = [
        f"{name}({arguments}) AS a",
        f"{name}(DISTINCT {arguments}) AS b",
        f"{name}({arguments}) FILTER (WHERE ts > 2) AS c",
        f"{name}(DISTINCT {arguments}) FILTER (WHERE ts > 2) AS e",
    ]
    session, query = asked(f"SELECT {', '.join(items)} FROM S [RANGE 4]", STREAM, ROWS)
    assert agree(session, query, CUTS[:3:2])

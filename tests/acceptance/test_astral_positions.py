"""Positions of a source (Astral, definitions 4 and 7, axiom 1): the order of simultaneous tuples is theirs."""

from __future__ import annotations

import random

import pytest

from continua.errors import ContinuaError
from continua.session import Session
from continua.types import Value
from tests.acceptance.sync_helpers import ask

POSITIONED = "CREATE STREAM S (v INT, k INT, p BIGINT, ts BIGINT) ORDERED BY ts POSITION p"
ROWS: list[tuple[Value, ...]] = [
    (1, 0, 3, 1), (2, 1, 1, 1), (3, 0, 2, 1), (4, 1, 5, 2), (5, 1, 4, 2), (6, 0, None, 2), (7, 0, 9, 5), (8, 1, 9, 5),
]  # fmt: skip


def session_with(rows: list[tuple[Value, ...]], definition: str = POSITIONED) -> Session:
    session = Session()
    session.execute(definition)
    session.insert("S", rows)
    return session


def told(session: Session, text: str) -> list[tuple[int, str | None, tuple[Value, ...]]]:
    return [(a.instant, a.op, a.row) for a in session.answers([ask(session, text)])]


def test_A1_windows_of_rows_go_by_the_positions_of_simultaneous_elements() -> None:
    session = session_with(ROWS)
    # without a position first, then by it, and those of one position as they arrived
    assert told(session, "SELECT v FROM S [ROWS 1]") == [
        (1, "+", (1,)), (2, "-", (1,)), (2, "+", (4,)), (5, "-", (4,)), (5, "+", (8,)),
    ]  # fmt: skip
    assert told(session, "SELECT v FROM S [PARTITION BY k ROWS 1]")[:3] == [
        (1, "+", (1,)),
        (1, "+", (2,)),
        (2, "-", (1,)),
    ]
    # definition 10: of the batch that holds position 6 the most recent element, in the order of positions
    assert told(session, "SELECT v FROM S [FROM 2*j TO 2*j EVERY 2 ROWS]")[-1] == (5, "+", (8,))


WINDOWS = (
    "ROWS 1",
    "ROWS 3",
    "PARTITION BY k ROWS 2",
    "ROWS 3 SLIDE 2",
    "ROWS 2 SLIDE 2 TICKS",
    "ROWS 2 RANGE 3",
    "FROM j TO j + 1 EVERY 2 ROWS",
    "PARTITION BY k FROM 2*j TO 2*j + 1 EVERY 2 ROWS",
    "RANGE 3 SLIDE 2 ROWS",
)


@pytest.mark.parametrize("seed", range(3))
def test_A1_the_order_of_arrival_at_one_instant_makes_no_difference(seed: int) -> None:
    chance = random.Random(seed)
    places = chance.sample(range(50), 12)
    rows: list[tuple[Value, ...]] = [
        (n, chance.randrange(2), place, chance.randrange(1, 6)) for n, place in enumerate(places)
    ]
    in_time = sorted(rows, key=lambda row: str(row[3]))
    others = sorted(sorted(rows, key=lambda row: -int(str(row[2]))), key=lambda row: str(row[3]))
    for window in WINDOWS:
        text = f"SELECT v, p FROM S [{window}]"
        assert told(session_with(in_time), text) == told(session_with(others), text), window


def test_A1_positions_are_what_arrival_would_have_been() -> None:
    rows: list[tuple[Value, ...]] = [(n, n % 2, n, 1 + n // 4) for n in range(14)]
    shuffled = sorted(rows, key=lambda row: (row[3], -int(str(row[2]))))
    plain = session_with(rows, POSITIONED.removesuffix(" POSITION p"))
    for window in WINDOWS:
        text = f"SELECT COUNT(*) AS n, SUM(v) AS s FROM S [{window}] WHERE v <> 3"
        assert told(session_with(shuffled), text) == told(plain, text), window


@pytest.mark.parametrize(
    ("definition", "condition"),
    [
        ("CREATE STREAM S (v INT, p BIGINT, ts BIGINT) ORDERED BY ts POSITION q", "UNKNOWN_COLUMN"),
        ("CREATE STREAM S (v INT, p STRING, ts BIGINT) ORDERED BY ts POSITION p", "TYPE_MISMATCH"),
        ("CREATE RELATION S (v INT, p INT, ts BIGINT) ORDERED BY ts POSITION p", "POSITION_OF_RELATION"),
        ("CREATE STREAM S (v INT, p INT, ts BIGINT) ORDERED BY ts POSITION", "SYNTAX"),
        ("CREATE STREAM S (v INT, p INT, ts BIGINT) ORDERED BY ts POSITION p POSITION p", "SYNTAX"),
    ],
)
def test_A1_mistakes_with_positions_are_told(definition: str, condition: str) -> None:
    with pytest.raises(ContinuaError) as caught:
        Session().execute(definition)
    assert caught.value.condition == condition

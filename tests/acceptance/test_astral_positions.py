"""Positions and batches of a source (Astral, definitions 2, 4, 6, 7 and 10): the order of simultaneous tuples."""

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


BATCHED = "CREATE STREAM S (v INT, k INT, b INT, p INT, ts BIGINT) ORDERED BY ts POSITION p BATCH b"
IN_BATCHES: list[tuple[Value, ...]] = [
    (1, 0, 2, 3, 1), (2, 1, 1, 1, 1), (3, 0, 1, 2, 1), (4, 1, 1, 5, 2), (5, 1, 1, 4, 2), (6, 0, None, 2, 2),
    (7, 0, 1, 9, 5), (8, 1, 2, 9, 5), (9, 1, 2, 10, 5),
]  # fmt: skip


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        # positions 2, 4 and 8: the first is a batch of its own, the second in one with position 5
        ("FROM 2*j TO 2*j EVERY 2 ROWS", {1: [1], 2: [4], 5: [9]}),
        # positions 0 to 1, 3 to 4, whose batch goes on to 5, and 6 to 7, whose batch goes on to 8
        ("FROM 3*j TO 3*j + 1 EVERY 3 ROWS", {1: [2, 3], 2: [4, 5], 5: [8, 9]}),
        # of v = 3, 1, 6, 7 positions 0 and 2, of 2, 5, 4, 8, 9 positions 0, 2 and 4
        ("PARTITION BY k FROM 2*j TO 2*j EVERY 2 ROWS", {1: [2, 3], 2: [4, 6], 5: [6, 9]}),
    ],
)
def test_A1_A2_a_window_between_positions_ends_with_a_batch(window: str, expected: dict[int, list[int]]) -> None:
    session = session_with(IN_BATCHES, BATCHED)
    query = ask(session, f"SELECT v FROM S [{window}]")
    session.answers([query])
    found = {t: sorted(str(row[0]) for row in session.snapshot(query, t)) for t in expected}
    assert found == {t: list(map(str, some)) for t, some in expected.items()}


def test_A1_elements_that_are_batches_of_their_own_are_a_full_spread_stream() -> None:
    """Definition 10: then a window holds the elements between its positions and no others."""
    chance = random.Random(5)
    rows: list[tuple[Value, ...]] = [(n, n % 2, n, 0, 1 + n // 5) for n in range(17)]
    chance.shuffle(rows)
    session = session_with(sorted(rows, key=lambda row: str(row[4])), BATCHED)
    for start, length, rate in ((0, 1, 2), (1, 3, 2), (2, 2, 3)):
        bounds = f"FROM {rate}*j + {start} TO {rate}*j + {start + length - 1}"
        query = ask(session, f"SELECT v FROM S [{bounds} EVERY {rate} ROWS]")
        session.answers([query])
        for t in range(1, 5):
            j = (min(5 * t, 17) - start - length) // rate
            held = {rate * j + start + n for n in range(length)} if j >= 0 else set()
            assert {row[0] for row in session.snapshot(query, t)} == held


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
        ("CREATE RELATION S (v INT, p INT, ts BIGINT) ORDERED BY ts BATCH p", "POSITION_OF_RELATION"),
        ("CREATE STREAM S (v INT, b DOUBLE, ts BIGINT) ORDERED BY ts BATCH b", "TYPE_MISMATCH"),
        ("CREATE STREAM S (v INT, p INT, ts BIGINT) ORDERED BY ts POSITION", "SYNTAX"),
        ("CREATE STREAM S (v INT, p INT, ts BIGINT) ORDERED BY ts POSITION p POSITION p", "SYNTAX"),
    ],
)
def test_A1_mistakes_with_positions_are_told(definition: str, condition: str) -> None:
    with pytest.raises(ContinuaError) as caught:
        Session().execute(definition)
    assert caught.value.condition == condition


def test_A1_a_plan_tells_batches_and_positions_and_keeps_them_below_windows_of_rows() -> None:
    session = session_with(IN_BATCHES, BATCHED)
    query = ask(session, "SELECT v FROM S [FROM 2*j TO 2*j EVERY 2 ROWS]")
    assert "Source S ORDER BY BATCH S.b, POSITION S.p" in session.explain(query)
    assert "BATCH S.b, POSITION S.p" in session.explain(query, "REWRITES")
    unordered = session.explain(ask(session, "SELECT v FROM S [RANGE 2]"), "PHYSICAL")
    assert "b, p" not in unordered

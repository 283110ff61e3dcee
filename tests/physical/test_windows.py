"""Windows over positions, window sequences, and windows in a rhythm of their own, on the engine."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.runs.bounded import BoundedOptions
from tests.acceptance.on_engine import BATCHES
from tests.physical.comparing import ROWS, STREAMS, agree, asked

WINDOWS = [
    "ROWS 2",
    "ROWS 3 RANGE 4",
    "ROWS 3 SLIDE 2",
    "ROWS 2 LAG 2",
    "PARTITION BY k ROWS 1",
    "PARTITION BY k ROWS 2 SLIDE 2",
    "RANGE 3 SLIDE 2 ROWS",
    "RANGE 4 SLIDE 3 LAG 2",
    "FIXED 4",
    "LANDMARK 3",
    "SESSION GAP 2",
    "SESSION GAP 3 PARTITION BY k",
    "PARTITION BY k SESSION GAP 1",
    "FROM 2*j TO 2*j + 3 EVERY 2",
    "FROM 2*j TO 2*j + 3 EVERY 2 LAG 1",
    "FROM 0 TO 2*j EVERY 2",
    "FROM j TO j + 3 EVERY 1 ROW",
    "FROM j ROWS TO j + 2 ROWS EVERY 2 ROWS",
    "FROM j ROWS TO j + 1 ROWS EVERY 2",
    "PARTITION BY k FROM j TO j EVERY 1 ROW",
    "PARTITION BY k FROM 2*j TO 2*j + 1 EVERY 2",
]
OWN = """
    CREATE WINDOW day_so_far(length) LANGUAGE PYTHON AS 'tests.acceptance.user_code:day_so_far';
    CREATE WINDOW delayed(by) LANGUAGE PYTHON AS 'tests.acceptance.user_code:delayed';
"""


@pytest.mark.parametrize("window", WINDOWS)
def test_windows_hold_what_their_definition_says(window: str) -> None:
    assert agree(*asked(f"SELECT a, k FROM S [{window}]"))


@pytest.mark.parametrize("window", WINDOWS)
def test_all_that_is_in_a_window_at_its_evaluations(window: str) -> None:
    agree(*asked(f"SELECT RSTREAM(a, k) FROM S [{window}]"))
    agree(*asked(f"SELECT RSTREAM(COUNT(*)) FROM S [{window}] WHERE a > 3"))


@pytest.mark.parametrize(
    "window", ["NOW", "ROWS 2", "RANGE 2", "RANGE 2 SLIDE 3", "SESSION GAP 2", "PARTITION BY a ROWS 2"]
)
def test_windows_over_elements_that_last(window: str) -> None:
    assert agree(*asked(f"SELECT * FROM I [{window}]"))


@pytest.mark.parametrize("operator", ["ISTREAM", "DSTREAM"])
@pytest.mark.parametrize(
    "window", ["ROWS 3", "PARTITION BY k ROWS 1", "SESSION GAP 2", "FROM j ROWS TO j + 1 ROWS EVERY 2 ROWS"]
)
def test_in_a_derived_stream_elements_of_one_instant_are_in_the_order_of_their_values(
    operator: str, window: str
) -> None:
    assert agree(*asked(f"SELECT a, k FROM ({operator}(SELECT a, k FROM S [RANGE 4])) [{window}]"))


@pytest.mark.parametrize("window", ["day_so_far(4)", "delayed(2)"])
@pytest.mark.parametrize("items", ["a", "RSTREAM(a)", "RSTREAM(COUNT(*))", "a, NOW"])
def test_windows_with_a_rhythm_of_their_own(window: str, items: str) -> None:
    assert agree(*asked(f"SELECT {items} FROM S [{window}]", STREAMS + OWN))


ELEMENTS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["x", "y", None]), st.integers(0, 12)), max_size=9)


@settings(max_examples=60, deadline=None, print_blob=True)
@given(
    elements=ELEMENTS.map(lambda rows: sorted(rows, key=lambda row: row[2])),
    window=st.sampled_from(WINDOWS),
    rows=st.sampled_from(BATCHES),
    partitions=st.integers(1, 3),
    rstream=st.booleans(),
)
def test_windows_over_any_elements(
    elements: list[tuple[int, str | None, int]], window: str, rows: int | None, partitions: int, rstream: bool
) -> None:
    items = "RSTREAM(a, k)" if rstream else "a, k"
    session, query = asked(f"SELECT {items} FROM S [{window}]", STREAMS, {**ROWS, "S": elements})
    agree(session, query, [BoundedOptions(batch_rows=rows, partitions=partitions)])

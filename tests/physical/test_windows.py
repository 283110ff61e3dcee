"""Windows over positions, window sequences, and windows in a rhythm of their own, on the engine."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.errors import EvaluationError
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
    "RANGE 4 FULL DELAY 1",
    "RANGE 4 SLIDE 3 FULL ALIGNED TO START",
    "RANGE 4 SLIDE 3 ALIGNED TO 1 FULL",
    "RANGE 3 SLIDE 2 ROWS FULL",
    "ROWS 3 SLIDE 2 FULL",
    "PARTITION BY k ROWS 2 SLIDE 4 TICKS ALIGNED TO 1 FULL",
    "FROM t - 4 TO t EVERY CASE WHEN t % 5 < 2 THEN 1 ELSE 6 END",
    "PARTITION BY k FROM t - 9 TO t - 1 EVERY CASE WHEN t % 8 = 3 THEN 2 WHEN t > 9 THEN 1 ELSE 5 END ALIGNED TO 1",
    "FOR (t = 2; t < 12; t = t + 3) WINDOWIS (t - 2, t)",
    "FOR (t = 1; t < 40; t = 2 * t) WINDOWIS (t - 4, t - 1)",
    "START 0 END 3 RATE 2 START_ADV 1 END_ADV 2 ALIGNED TO START",
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


@pytest.mark.parametrize(
    "window", ["RANGE 3 SLIDE 2 FULL", "FROM t - 4 TO t EVERY CASE WHEN t % 5 < 2 THEN 1 ELSE 6 END"]
)
def test_windows_that_depend_on_the_start_of_their_query(window: str) -> None:
    for aligned in ("", " ALIGNED TO START", " ALIGNED TO 1"):
        assert agree(*asked(f"SELECT a, k FROM S [{window}{aligned}]", "SET start_time = 3;" + STREAMS))


@pytest.mark.parametrize(
    "window", ["RANGE 3", "RANGE 3 SLIDE 2", "RANGE 3 SLIDE 5 LAG 1", "RANGE 2 FULL", "RANGE 3 SLIDE 4 FULL"]
)
def test_windows_over_elements_that_never_end(window: str) -> None:
    """Each is in the window at every instant of it, and from then on nothing changes."""
    assert agree(*asked(f"SELECT a, COUNT(*) AS n FROM (RSTREAM(SELECT a, k FROM S [ROWS 2])) [{window}] GROUP BY a"))


@pytest.mark.parametrize("window", ["ROWS 2", "RANGE UNBOUNDED", "FIXED 3"])
def test_a_window_that_needs_every_instant_of_elements_that_never_end(window: str) -> None:
    session, query = asked(f"SELECT a FROM (RSTREAM(SELECT a FROM S [RANGE UNBOUNDED])) [{window}]")
    for ask in (session.answers, lambda queries: agree(session, queries[0])):
        with pytest.raises(EvaluationError) as raised:
            ask([query])
        assert raised.value.condition == "TOO_MANY_INSTANTS"
        assert "ISTREAM" in (raised.value.diagnostics[0].hint or "")


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

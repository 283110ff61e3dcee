"""What windows of the papers hold, value by value, where queries write them in words of their own."""

from __future__ import annotations

from datetime import datetime

import pytest

from continua.errors import EvaluationError
from continua.session import Session
from continua.windows.sequence import SequenceWindow
from continua.windows.spec import GenericWindow
from tests.acceptance.sync_helpers import HOUR, ask, first_column, windows_of, working_hours
from tests.binding.scripts import expect, mistake
from tests.physical.comparing import agree, asked

DEFINITIONS = "CREATE STREAM S (a INT, ts BIGINT) ORDERED BY ts;"


def ticking(*instants: int, settings: str = "") -> Session:
    """A stream with an element at each of some instants, which is its value."""
    session = Session()
    session.execute(settings + DEFINITIONS)
    session.insert("S", [(t, t) for t in instants or range(20)])
    return session


def bounds(window: str, session: Session, instants: range) -> list[tuple[object, object] | None]:
    """The first and the last element of a window at each instant; None where it is empty."""
    found = first_column(session, f"SELECT a FROM S {window}", instants)
    return [(rows[0], rows[-1]) if rows else None for rows in found.values()]


def test_A7_figure_3_range_4_slide_2_has_an_initial_phase_unless_it_is_full() -> None:
    first, later = [(0, 0), (0, 0), (0, 2), (0, 2)], [(0, 4), (0, 4), (2, 6), (2, 6), (4, 8)]
    assert bounds("[RANGE 4 SLIDE 2]", ticking(), range(9)) == first + later
    assert bounds("[RANGE 4 SLIDE 2 FULL]", ticking(), range(9)) == [None] * 4 + later


def test_A7_windows_are_aligned_to_the_start_of_their_query() -> None:
    """t0 + i*y, and without an initial phase t0 + x + i*y: its first window begins with t0."""
    session = ticking(settings="SET start_time = 3;")
    assert bounds("[RANGE 3 SLIDE 2 ALIGNED TO START]", session, range(3, 10)) == [
        (3, 3), (3, 3), (3, 5), (3, 5), (4, 7), (4, 7), (6, 9)
    ]  # fmt: skip
    assert bounds("[RANGE 3 SLIDE 2 ALIGNED TO START FULL]", session, range(3, 10)) == [
        None, None, None, (3, 6), (3, 6), (5, 8), (5, 8)
    ]  # fmt: skip
    assert bounds("[RANGE 3 SLIDE 4 ALIGNED TO 1]", session, range(3, 10)) == [
        None, None, (3, 5), (3, 5), (3, 5), (3, 5), (6, 9)
    ]  # fmt: skip


def test_A7_delay_is_another_word_for_lag() -> None:
    late, delayed = (
        windows_of(ask(ticking(), f"SELECT a FROM S [RANGE 4 {w} 3]").bound.logical) for w in ("LAG", "DELAY")
    )
    assert late == delayed


def test_A7_the_five_values_have_words_of_their_own() -> None:
    query = ask(ticking(), "SELECT a FROM S [START 3 END 8 RATE 5 START_ADV 2 END_ADV 5]")
    assert windows_of(query.bound.logical) == [SequenceWindow.five_tuple(3, 8, 5, 2, 5)]


def test_A7_a_loop_in_the_words_of_telegraphcq() -> None:
    found = bounds("[FOR (t = 2; t < 10; t = 2 * t) WINDOWIS (t - 2, t)]", ticking(), range(20))
    assert [found[t] for t in (1, 2, 3, 5, 9, 19)] == [None, (0, 2), (0, 2), (2, 4), (6, 8), (14, 16)]


def test_A7_the_last_3_rows_every_5_ticks() -> None:
    session = ticking(1, 2, 4, 4, 7, 11, 12)
    found = first_column(session, "SELECT a FROM S [ROWS 3 SLIDE 5 TICKS]", (4, 5, 9, 10, 15))
    assert list(found.values()) == [[], [2, 4, 4], [2, 4, 4], [4, 4, 7], [7, 11, 12]]


def test_A4_example_5_in_the_language_is_the_window_of_its_functions() -> None:
    instants = [415, 425, 432, 1195, 1210, 1265, 1300]
    session = ticking(*instants)
    session.execute(
        "CREATE WINDOW working_hours(day, night) LANGUAGE PYTHON AS 'tests.acceptance.sync_helpers:working_hours'"
    )
    case = f"CASE WHEN t % {24 * HOUR} >= {7 * HOUR} AND t % {24 * HOUR} < {20 * HOUR} THEN 10 ELSE 60 END"
    moments = sorted({t + d for t in instants for d in range(0, 70, 5)})
    written = first_column(session, f"SELECT a FROM S [FROM t - {HOUR} TO t EVERY {case}]", moments)
    assert written == first_column(session, "SELECT a FROM S [working_hours(10, 60)]", moments)
    assert working_hours(10, 60).gamma(1259) == 1200


@pytest.mark.parametrize(("day", "night"), [(1, 6), (6, 1), (5, 7), (4, 3)])
def test_A4_example_5_has_an_answer_at_any_rates(day: int, night: int) -> None:
    """Where the rates change, an evaluation may lie before one that came earlier."""
    case = f"CASE WHEN t % 24 >= 7 AND t % 24 < 20 THEN {day} ELSE {night} END"
    rows = {"S": [(t, t) for t in (3, 6, 8, 17, 18, 19, 19, 20, 21, 25, 30, 31, 44)]}
    for items in ("a", "RSTREAM(a)"):
        assert agree(*asked(f"SELECT {items} FROM S [FROM t - 3 TO t EVERY {case}]", DEFINITIONS, rows))


def by_day_and_night(day: int, night: int, behind: int) -> GenericWindow:
    """The last three instants by the rates of example 5, in Python."""

    def gamma(t: int) -> int:
        rate = day if 7 <= t % 24 < 20 else night
        return t // rate * rate

    return GenericWindow("hours", lambda t: max(t - 3, 0), lambda t: t, gamma, (day, night), behind=behind)


def test_A4_a_window_in_python_says_how_far_its_rhythm_goes_back() -> None:
    created = f"CREATE WINDOW hours(day, night, behind) LANGUAGE PYTHON AS '{__name__}:by_day_and_night';"
    rows = {"S": [(t, t) for t in (15, 17, 18, 19, 20, 21, 25)]}
    assert agree(*asked("SELECT a FROM S [hours(1, 6, 6)]", DEFINITIONS + created, rows))


def test_a_window_in_python_that_goes_back_further_than_it_says_is_told() -> None:
    created = f"CREATE WINDOW hours(day, night, behind) LANGUAGE PYTHON AS '{__name__}:by_day_and_night';"
    rows = {"S": [(t, t) for t in (15, 17, 18, 19, 20, 21, 25)]}
    with pytest.raises(EvaluationError) as raised:
        agree(*asked("SELECT a FROM S [hours(1, 6, 0)]", DEFINITIONS + created, rows))
    assert raised.value.condition == "WINDOW_MOVES_BACK"
    assert "behind" in (raised.value.diagnostics[0].hint or "")


def test_A4_rates_over_timestamps_know_hours_and_units() -> None:
    definitions = "CREATE STREAM S (a INT, ts TIMESTAMP) ORDERED BY ts;"
    rows = {"S": [(n, datetime(2024, 5, 1, 6 + n // 2, n * 37 % 60)) for n in range(30)]}
    rows["S"].sort(key=lambda row: row[1])
    case = "CASE WHEN HOUR(t) BETWEEN 7 AND 19 AND DAYOFWEEK(t) = 4 THEN 15 MINUTES ELSE 6 HOURS END"
    assert agree(*asked(f"SELECT a FROM S [FROM t - INTERVAL 1 HOUR TO t EVERY {case}]", definitions, rows))
    loop = "FOR (t = '2024-05-01 08:00:00'; t < TIMESTAMP '2024-05-01 19:00:00'; t = t + 90 MINUTES)"
    assert agree(*asked(f"SELECT a FROM S [{loop} WINDOWIS (t - 3600, t)]", definitions, rows))


def test_a_half_open_range_of_no_length_is_empty() -> None:
    settings = "SET range_bounds = half_open;"
    for window in ("RANGE 0", "RANGE 0 SLIDE 2", "ROWS 2 RANGE 0", "PARTITION BY a ROWS 1 RANGE 0"):
        assert agree(*asked(f"SELECT a FROM S [{window}]", settings + DEFINITIONS, {"S": [(1, 1), (2, 4)]})) == 0
    count = asked("SELECT COUNT(*) AS n FROM S [RANGE 0]", settings + DEFINITIONS, {"S": [(1, 1), (2, 4)]})
    assert agree(*count) == 1


def test_a_window_over_a_stream_that_repeats_its_rows_for_ever() -> None:
    query = "SELECT a, COUNT(*) AS n FROM (SELECT RSTREAM a FROM S [ROWS 1]) [RANGE 3] AS x GROUP BY a"
    session, asked_for = asked(query, DEFINITIONS, {"S": [(1, 1), (2, 4)]})
    assert [(a.instant, a.row) for a in session.answers([asked_for]) if a.op == "+"] == [
        (1, (1, 1)), (2, (1, 2)), (3, (1, 3)), (4, (2, 1)),
        (5, (1, 2)), (5, (2, 2)), (6, (1, 1)), (6, (2, 3)), (7, (2, 4)),
    ]  # fmt: skip
    agree(session, asked_for)


@pytest.mark.parametrize("operator", ["ISTREAM", "RSTREAM", "DSTREAM", "STREAMED"])
def test_a_text_may_stand_alone_behind_an_operator(operator: str) -> None:
    rows = {"S": [(1, 1), (2, 4)]}
    session, query = asked(f"SELECT {operator} 'A' AS x FROM S [RANGE 2]", DEFINITIONS, rows)
    other = session.sql(f"SELECT {operator} ('A') AS x FROM S [RANGE 2]")
    assert other is not None
    assert other.bound.logical == query.bound.logical
    assert agree(session, query)


def test_is_distinct_from_is_the_contrary_of_the_null_safe_equality() -> None:
    rows = {"S": [(1, 1), (None, 2), (4, 4), (5, 6)]}
    found = {}
    for condition in (
        "a IS DISTINCT FROM ts",
        "NOT (a <=> ts)",
        "a IS NOT DISTINCT FROM ts",
        "a IS DISTINCT FROM NULL",
    ):
        session, query = asked(f"SELECT ISTREAM ts FROM S [RANGE 2] WHERE {condition}", DEFINITIONS, rows)
        assert agree(session, query)
        found[condition] = [a.row for a in session.answers([query])]
    assert list(found.values()) == [[(2,), (6,)], [(2,), (6,)], [(1,), (4,)], [(1,), (4,), (6,)]]


def test_a_comma_binds_like_a_cross_join_from_the_left() -> None:
    joined = "S [NOW] x, S [RANGE 2] y FULL JOIN S [RANGE UNBOUNDED] z ON y.a = z.a AND FALSE"
    session, query = asked(f"SELECT x.a, y.a AS b, z.a AS c FROM {joined}", DEFINITIONS, {"S": [(1, 1), (2, 4)]})
    other = session.sql(f"SELECT x.a, y.a AS b, z.a AS c FROM {joined.replace(',', ' CROSS JOIN')}")
    assert other is not None
    assert other.bound.logical == query.bound.logical
    assert agree(session, query)


@pytest.mark.parametrize(
    ("window", "condition", "parameters"),
    [
        ("RANGE UNBOUNDED FULL", "NOT_SUPPORTED", {"feature": "RANGE UNBOUNDED FULL"}),
        ("ROWS 3 RANGE 2 FULL", "NOT_SUPPORTED", {"feature": "ROWS RANGE FULL"}),
        ("RANGE 2 ALIGNED TO START", "NOT_SUPPORTED", {"feature": "ALIGNED TO"}),
        ("RANGE 2 SLIDE 3 ROWS ALIGNED TO 1", "NOT_SUPPORTED", {"feature": "ALIGNED TO"}),
        ("FROM j ROWS TO j ROWS EVERY 2 ALIGNED TO 1", "NOT_SUPPORTED", {"feature": "ALIGNED TO"}),
        ("FROM t - b TO t EVERY CASE WHEN TRUE THEN 1 ELSE 2 END", "WINDOW_BOUNDS", {}),
        ("FROM t - 1 TO t EVERY CASE WHEN t THEN 1 ELSE 2 END", "WINDOW_BOUNDS", {}),
        ("FROM t % 0 TO t EVERY CASE WHEN t > 1 THEN 1 ELSE 2 END", "WINDOW_BOUNDS", {}),
        ("FOR (t = t; t < 9; t = t + 1) WINDOWIS (t, t)", "WINDOW_BOUNDS", {}),
        (
            "FROM t - 1 TO t EVERY CASE WHEN t > 1 THEN 1 ELSE 2 END LAG 1",
            "NOT_SUPPORTED",
            {"feature": "LAG EVERY CASE"},
        ),
        ("RANGE 5 SLIDE CASE WHEN t > 1 THEN 1 ELSE 2 END", "NOT_SUPPORTED", {"feature": "SLIDE CASE"}),
        ("FROM t - 1 TO t EVERY CASE WHEN t > 1 THEN 0 ELSE 2 END", "NOT_POSITIVE", {"amount": 0}),
        ("FROM t - 1 TO t EVERY CASE WHEN t > 1 THEN 1 END", "SYNTAX", {"expected": "ELSE"}),
        ("FOR (t = 1; t < 9) WINDOWIS (t, t)", "SYNTAX", {"expected": ";"}),
        ("RANGE 2 ALIGNED START", "SYNTAX", {"expected": "TO"}),
    ],
)
def test_windows_that_make_no_sense_are_refused(window: str, condition: str, parameters: dict[str, object]) -> None:
    found = mistake(f"SELECT a FROM S [{window}]")
    assert found.condition == condition, found
    assert {name: found.parameters.get(name) for name in parameters} == parameters


def test_ticks_are_for_integers() -> None:
    expect("SELECT COUNT(*) FROM Bid [ROWS 3 SLIDE 2 TICKS]", "TICKS_OF_TIMESTAMPS", {"unit": "TICK"}, (1, 26))

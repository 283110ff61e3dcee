"""CQL 7.3: heartbeats from the system's clock and from a bound on the delay; late rows are never silently lost."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.instants import instant_of
from continua.session import Session
from tests.acceptance.helpers import Asked, Row, ask, ask_in, day, found, session_with
from tests.sources.reading import arrivals

SLACK = 3
LATE = "TIMESTAMP_OUT_OF_ORDER"


def stream(slack: int | str | None, time: str = "BIGINT") -> str:
    bound = "" if slack is None else f" SLACK {slack}"
    return f"CREATE STREAM S (A INT, ts {time}) ORDERED BY ts{bound};"


# A bound D on the delay.


def test_C19_rows_that_arrive_out_of_order_within_the_bound_are_put_in_order() -> None:
    asked = ask(stream(2), {"S": [(1, 3), (2, 1), (3, 4), (4, 2), (5, 9)]}, "SELECT ISTREAM(A) FROM S [RANGE 1]")
    assert asked.elements == [(1, (2,)), (2, (4,)), (3, (1,)), (4, (3,)), (9, (5,))]
    assert asked.session.inputs.notices == []


QUERIES = """
SELECT * FROM S;
SELECT A, COUNT(*) FROM S [RANGE 4] GROUP BY A;
SELECT DSTREAM(A) FROM S [ROWS 2];
SELECT * FROM S [PARTITION BY A ROWS 1];
"""
delayed = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, SLACK)), max_size=8, unique_by=lambda e: e[1]
)


@settings(max_examples=15, deadline=None, print_blob=True)
@given(delayed)
def test_C19_delays_within_the_bound_change_nothing_in_any_answer(rows: list[tuple[int, int, int]]) -> None:
    in_order: list[Row] = [(a, ts) for a, ts, _ in sorted(rows, key=lambda r: r[1])]
    as_arrived: list[Row] = [(a, ts) for a, ts, delay in sorted(rows, key=lambda r: (r[1] + r[2], r[2]))]
    punctual, tardy = (session_with(stream(SLACK) + QUERIES, {"S": order}) for order in (in_order, as_arrived))
    answers = tardy.answers()
    assert answers == punctual.answers()
    assert [a.row for a in answers if a.query == "q1"] == [(a,) for a, _ in in_order]
    assert tardy.inputs.notices == []


def test_C19_rows_of_one_instant_keep_their_order_of_arrival_whatever_comes_between() -> None:
    asked = ask(stream(2), {"S": [(5, 3), (7, 4), (6, 3), (9, 2)]}, "SELECT A FROM S [ROWS 1]")
    assert asked.contents([2, 3, 4]) == [[(9,)], [(6,)], [(7,)]]


def test_C19_later_rows_are_kept_apart_counted_and_reported(tmp_path: Path) -> None:
    # After 5 the heartbeat is 2, after 7 it is 4: the rows at 2, 4 and 1 are late, those at 3 and 5 are not.
    rows: list[Row] = [(1, 5), (2, 3), (3, 2), (4, 7), (5, 4), (6, 5), (7, 1)]
    asked = ask(stream(2), {"S": rows}, "SELECT ISTREAM(A) FROM S", Session(rejects=tmp_path))
    assert asked.elements == [(3, (2,)), (5, (1,)), (5, (6,)), (7, (4,))]
    assert found(asked.session.inputs.notices, LATE) == [
        {"source": "S", "count": 3, "file": "<inserted>", "line": 3, "behind": 4}
    ]
    kept = [json.loads(line) for line in (tmp_path / "S.rejected.jsonl").read_text().splitlines()]
    assert [(k["reason"], k["line"], k["values"]) for k in kept] == [
        ("late", 3, ["3", "2"]),
        ("late", 5, ["5", "4"]),
        ("late", 7, ["7", "1"]),
    ]


def test_C19_the_report_says_by_how_much_the_bound_was_too_small(tmp_path: Path) -> None:
    rows: list[Row] = [(1, 5), (2, 3), (3, 2), (4, 7), (5, 4), (6, 5), (7, 1)]
    asked = ask(stream(2 + 4), {"S": rows}, "SELECT ISTREAM(A) FROM S", Session(rejects=tmp_path))
    assert asked.elements == [(1, (7,)), (2, (3,)), (3, (2,)), (4, (5,)), (5, (1,)), (5, (6,)), (7, (4,))]
    assert asked.session.inputs.notices == []
    one_less = ask(stream(2 + 3), {"S": rows}, "SELECT ISTREAM(A) FROM S", Session(rejects=tmp_path))
    assert len(one_less.elements) == 6
    (notice,) = found(one_less.session.inputs.notices, LATE)
    assert (notice["count"], notice["behind"]) == (1, 1)


def test_C19_without_a_bound_any_row_behind_another_is_late_and_an_equal_one_is_not(tmp_path: Path) -> None:
    asked = ask(stream(None), {"S": [(1, 4), (2, 4), (3, 3), (4, 5)]}, "SELECT A FROM S", Session(rejects=tmp_path))
    assert asked.elements == [(4, (1,)), (4, (2,)), (5, (4,))]
    (notice,) = found(asked.session.inputs.notices, LATE)
    assert (notice["count"], notice["line"], notice["behind"]) == (1, 3, 1)


def test_C19_late_rows_are_reported_once_however_many_queries_read_them(tmp_path: Path) -> None:
    session = session_with(stream(0), {"S": [(1, 4), (3, 3)]}, Session(rejects=tmp_path))
    assert ask_in(session, "SELECT A FROM S").elements == [(4, (1,))]
    assert ask_in(session, "SELECT A + 1 FROM S [NOW]").at(4) == [(2,)]
    assert [n["count"] for n in found(session.inputs.notices, LATE)] == [1]


def test_C19_the_bound_is_a_length_of_time_in_the_domain_of_timestamps(tmp_path: Path) -> None:
    rows: list[Row] = [(1, day("10:00:05")), (2, day("10:00:00")), (3, day("09:59:59.999999")), (4, day("10:00:06"))]
    asked = ask(stream("5 SECONDS", "TIMESTAMP"), {"S": rows}, "SELECT A FROM S", Session(rejects=tmp_path))
    assert asked.elements == [(day("10:00:00"), (2,)), (day("10:00:05"), (1,)), (day("10:00:06"), (4,))]
    (notice,) = found(asked.session.inputs.notices, LATE)
    assert (notice["count"], notice["line"], notice["behind"]) == (1, 3, 1)


def test_C19_timestamped_updates_of_a_relation_may_be_delayed_too(tmp_path: Path) -> None:
    definition = "CREATE RELATION R (B INT, op STRING, ts BIGINT) ORDERED BY ts TAGGED BY op SLACK 2;"
    changes: list[Row] = [(7, "+", 1), (7, "-", 5), (8, "+", 3), (9, "+", 2)]
    asked = ask(definition, {"R": changes}, "SELECT * FROM R", Session(rejects=tmp_path))
    assert asked.contents(range(7)) == [[], [(7,)], [(7,)], [(7,), (8,)], [(7,), (8,)], [(8,)], [(8,)]]
    (notice,) = found(asked.session.inputs.notices, LATE)
    assert (notice["source"], notice["count"]) == ("R", 1)


def test_C19_each_stream_of_a_query_is_ordered_by_its_own_bound() -> None:
    definitions = f"{stream(1)} CREATE STREAM T (B INT, ts BIGINT) ORDERED BY ts SLACK 4;"
    rows: dict[str, list[Row]] = {"S": [(1, 2), (2, 1), (3, 6)], "T": [(1, 6), (2, 2), (3, 6)]}
    asked = ask(definitions, rows, "SELECT ISTREAM(A, B) FROM S [NOW], T [NOW]")
    assert asked.elements == [(2, (1, 2)), (6, (3, 1)), (6, (3, 3))]
    assert asked.session.inputs.notices == []


@settings(max_examples=60, deadline=None, print_blob=True)
@given(st.lists(st.integers(0, 12), max_size=12), st.integers(0, 4))
def test_C19_a_row_is_late_iff_a_heartbeat_had_promised_that_it_would_not_come(instants: list[int], bound: int) -> None:
    kept, late, rejects = arrivals(instants, bound)
    expected_late = [n for n, ts in enumerate(instants, 1) if any(ts < other - bound for other in instants[: n - 1])]
    assert [x.row.line for x in late] == expected_late
    accepted = [n for n in range(1, len(instants) + 1) if n not in expected_late]
    assert [a.line for a in kept] == sorted(accepted, key=lambda n: (instants[n - 1], n))
    assert [a.position for a in kept] == list(range(len(accepted)))
    assert rejects == []


# The system's clock.

UNTIMED = "CREATE STREAM S (A INT);"


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = day("10:00")

    def __call__(self) -> int:
        return instant_of(self.now)

    def advance(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)


def test_C19_a_stream_without_an_ordering_column_is_timed_by_the_systems_clock() -> None:
    clock = Clock()
    asked = ask(UNTIMED, {"S": [(1,), (2,)]}, "SELECT A FROM S", Session(clock=clock))
    assert asked.elements == [(day("10:00"), (1,)), (day("10:00"), (2,))]
    assert asked.query.columns == ("A",)


def arrivals_ten_seconds_apart() -> Asked:
    clock = Clock()
    session = session_with(UNTIMED, {"S": [(1,)]}, Session(clock=clock))
    clock.advance(10)
    session.insert("S", [(2,), (3,)])
    clock.advance(10)
    session.insert("S", [(4,)])
    clock.advance(100)
    return ask_in(session, "SELECT ISTREAM(A) FROM S [RANGE 15 SECONDS]")


def test_C19_rows_without_timestamps_are_timed_when_they_arrive_and_not_when_they_are_asked_for() -> None:
    asked = arrivals_ten_seconds_apart()
    assert asked.elements == [
        (day("10:00:00"), (1,)),
        (day("10:00:10"), (2,)),
        (day("10:00:10"), (3,)),
        (day("10:00:20"), (4,)),
    ]


def test_C19_rows_keep_their_time_of_arrival_when_more_arrive_after_a_query_was_answered() -> None:
    clock = Clock()
    session = session_with(UNTIMED, {"S": [(1,)]}, Session(clock=clock))
    asked = ask_in(session, "SELECT A FROM S")
    assert asked.elements == [(day("10:00"), (1,))]
    clock.advance(60)
    session.insert("S", [(2,)])
    assert asked.elements == [(day("10:00"), (1,)), (day("10:01"), (2,))]


def test_C19_the_systems_clock_orders_the_elements_so_none_is_late() -> None:
    asked = arrivals_ten_seconds_apart()
    assert asked.contents([day("10:00:00"), day("10:00:15"), day("10:00:16"), day("10:00:36")]) == [
        [(1,)],
        [(1,), (2,), (3,)],
        [(2,), (3,)],
        [],
    ]
    assert asked.session.inputs.notices == []


def test_C19_a_row_whose_timestamp_is_missing_has_no_place_in_time() -> None:
    with pytest.raises(ValueError) as error:
        ask(stream(2), {"S": [(1, 3), (2, None)]}, "SELECT A FROM S").at(3)
    assert getattr(error.value, "condition", None) == "NULL_TIMESTAMP"

"""PIPES 2005, 2.2, 2.6 and 4.2.4: the highway query, sliding and fixed windows, and the worked average speeds."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest

from continua.algebra.relational import Aggregate, Filter, SetOperation, SetOperator
from continua.algebra.streaming import ToStream
from continua.algebra.traverse import nodes_of
from continua.instants import instant_of
from continua.session import Session
from continua.windows.fixed import FixedWindow
from continua.windows.over_time import TimeWindow
from tests.acceptance.sync_helpers import ask, segments, windows_of

SECTION = """
CREATE STREAM HighwayStream{}(short lane, float speed, float length, Timestamp timestamp) ORDERED BY timestamp
"""
QUARTER = 15 * 60_000_000

HIGHWAY = """
SELECT sectionID
FROM (SELECT AVG(speed) AS avgSpeed, 1 AS sectionID

FROM HighwayStream1 [Range 15 minutes]
UNION ALL
SELECT AVG(speed) AS avgSpeed, 2 AS sectionID
FROM HighwayStream2 [Range 15 minutes]
UNION ALL
SELECT AVG(speed) AS avgSpeed, 3 AS sectionID
FROM HighwayStream3 [Range 15 minutes]

)
WHERE avgSpeed < 15;
"""

Vehicle = tuple[int, float, float, str]
VEHICLES: list[Vehicle] = [(5, 18.28, 5.27, "05:00:08"), (2, 21.33, 4.62, "05:01:32"), (4, 19.69, 9.97, "05:02:16")]


def moment(time: str) -> datetime:
    return datetime.fromisoformat(f"1993-03-11 {time}")


def at(time: str) -> int:
    return instant_of(moment(time))


def highway(*sections: list[Vehicle], dialect: str = "pipes") -> Session:
    session = Session(dialect=dialect)
    for number, vehicles in enumerate(sections, start=1):
        session.execute(SECTION.format(number))
        rows = [(lane, speed, length, moment(time)) for lane, speed, length, time in vehicles]
        session.insert(f"HighwayStream{number}", rows)
    return session


CONGESTION: list[list[Vehicle]] = [
    [(1, 20.0, 4.0, "05:00:00"), (2, 12.0, 4.0, "05:10:00"), (3, 10.0, 4.0, "05:12:00")],
    [(1, 14.0, 4.0, "05:05:00"), (1, 18.0, 4.0, "05:06:00")],
    [],
]


def test_Q2_the_highway_query_finds_the_sections_with_a_low_average_speed() -> None:
    # Section 1: 20, then (20 + 12) / 2 = 16, then 42 / 3 = 14; 11 once 20 has left, 10 once 12 has. Section 2: 14,
    # then 16, then 18 alone. The range is closed, so an element is in for 15 minutes and one instant.
    session = highway(*CONGESTION)
    assert segments(session.answers([ask(session, HIGHWAY)])) == [
        ((2,), at("05:05:00"), at("05:06:00"), 1),
        ((1,), at("05:12:00"), at("05:27:00") + 1, 1),
    ]


def test_Q2_a_section_without_vehicles_has_no_average_in_any_dialect() -> None:
    for dialect in ("cql", "pipes"):
        session = highway([], [], [], dialect=dialect)
        assert session.answers([ask(session, HIGHWAY)]) == []


def test_Q2_the_plan_filters_the_union_of_windowed_averages() -> None:
    plan = ask(highway(*CONGESTION), HIGHWAY).bound.logical
    assert isinstance(plan, ToStream)
    (filtered,) = (node for node in nodes_of(plan) if isinstance(node, Filter))
    union = filtered.input
    assert isinstance(union, SetOperation)
    assert (union.operator, union.distinct) == (SetOperator.UNION, False)
    averages = [node for node in nodes_of(union) if isinstance(node, Aggregate)]
    assert [call.function for node in averages for _, call in node.aggregates] == ["AVG", "AVG", "AVG"]
    assert windows_of(union) == [TimeWindow(QUARTER + 1)] * 3


def test_Q1_Q3_a_sliding_window_of_15_minutes_gives_the_three_intervals() -> None:
    session = highway(VEHICLES)
    query = ask(session, "SELECT lane FROM HighwayStream1 WINDOW(RANGE 15 MINUTES)")
    assert segments(session.answers([query])) == [
        ((5,), at("05:00:08"), at("05:15:08"), 1),
        ((2,), at("05:01:32"), at("05:16:32"), 1),
        ((4,), at("05:02:16"), at("05:17:16"), 1),
    ]


def test_Q1_a_fixed_window_ends_every_validity_where_the_next_section_starts() -> None:
    session = highway([*VEHICLES, (1, 1.0, 1.0, "05:14:59"), (1, 1.0, 1.0, "05:15:00"), (3, 1.0, 1.0, "05:31:00")])
    query = ask(session, "SELECT lane FROM HighwayStream1 [FIXED 15 MINUTES]")
    assert windows_of(query.bound.logical) == [FixedWindow(QUARTER)]
    assert segments(session.answers([query])) == [
        ((5,), at("05:00:08"), at("05:15:00"), 1),
        ((2,), at("05:01:32"), at("05:15:00"), 1),
        ((4,), at("05:02:16"), at("05:15:00"), 1),
        ((1,), at("05:14:59"), at("05:30:00"), 1),
        ((3,), at("05:31:00"), at("05:45:00"), 1),
    ]


def test_Q3_the_average_speed_has_the_five_segments() -> None:
    session = highway(VEHICLES)
    query = ask(session, "SELECT AVG(speed) FROM HighwayStream1 WINDOW(RANGE 15 MINUTES)")
    found = segments(session.answers([query]))
    assert [(start, end, count) for _, start, end, count in found] == [
        (at("05:00:08"), at("05:01:32"), 1),
        (at("05:01:32"), at("05:02:16"), 1),
        (at("05:02:16"), at("05:15:08"), 1),
        (at("05:15:08"), at("05:16:32"), 1),
        (at("05:16:32"), at("05:17:16"), 1),
    ]
    # The third value is printed as 19.766, with its digits cut off; the speeds are floats of 32 bits.
    averages = [row[0] for row, *_ in found]
    assert averages == pytest.approx([18.280, 19.805, 19.7666, 20.510, 19.690], abs=1e-4)


def test_Q3_the_sums_and_counts_of_the_five_segments_are_exact() -> None:
    session = Session(dialect="pipes")
    session.execute("CREATE STREAM H (speed DECIMAL(5, 2), ts TIMESTAMP) ORDERED BY ts")
    session.execute("CREATE STREAM Speeds AS SELECT CAST(speed * 100 AS INT) AS cm FROM H")
    session.insert("H", [(Decimal(str(speed)), moment(time)) for _, speed, _, time in VEHICLES])
    query = ask(session, "SELECT SUM(cm), COUNT(*) FROM Speeds WINDOW(RANGE 15 MINUTES)")
    assert segments(session.answers([query])) == [
        ((1828, 1), at("05:00:08"), at("05:01:32"), 1),
        ((3961, 2), at("05:01:32"), at("05:02:16"), 1),
        ((5930, 3), at("05:02:16"), at("05:15:08"), 1),
        ((4102, 2), at("05:15:08"), at("05:16:32"), 1),
        ((1969, 1), at("05:16:32"), at("05:17:16"), 1),
    ]

"""When results are refreshed, and when they reflect all of their input."""

from __future__ import annotations

import pytest

from continua.algebra.base import Plan
from continua.algebra.expr import Call, Exists, Expr, Literal, both, equal
from continua.algebra.leaves import Clock, Values
from continua.algebra.relational import (
    Aggregate,
    DuplicateElimination,
    Filter,
    Join,
    JoinKind,
    Project,
    Timeslice,
    Window,
)
from continua.algebra.schema import Field
from continua.algebra.streaming import RelationalView, StreamOperator, Synchronize, Tag, ToStream
from continua.algebra.synchronization import PointSet, Synchronization, synchronization
from continua.types import BIGINT, BOOLEAN, INT
from continua.windows.change_points import EVERY_INSTANT, EventPoints, Points
from continua.windows.fixed import FixedWindow
from continua.windows.measures import Axis, Linear, Rate
from continua.windows.over_rows import RowsWindow
from continua.windows.over_time import NOW, TimeWindow
from continua.windows.periodic import Periodic
from continua.windows.sequence import SequenceWindow
from continua.windows.spec import GenericWindow, WindowSpec
from tests.algebra.samples import (
    ALL_OPEN,
    BID,
    COUNT,
    EXPENSIVE,
    ITEM,
    LATE,
    NOW_BID,
    OPEN,
    column,
    every,
    number,
    same_item,
    tagged,
)

SYNC_2 = RelationalView(tagged("S2"), every(2, alias="C2"))
SYNC_3 = RelationalView(tagged("S3"), every(3, alias="C3"))
JOINED = Join(JoinKind.INNER, SYNC_2, SYNC_3, equal(column(SYNC_2, "room"), column(SYNC_3, "room")))
EVENT = RelationalView(tagged("E"), Project(RelationalView(tagged("H")), (("t", column(tagged("H"), "degrees")),)))


def leaves(plan: Plan) -> frozenset[PointSet]:
    return synchronization(plan).leaves


def points(synchronized: Synchronization, end: int = 8) -> tuple[list[int], list[int]]:
    instants = range(1, end)
    return [t for t in instants if synchronized.refreshes_at(t)], [t for t in instants if synchronized.is_full_at(t)]


def test_S12_a_unary_operator_keeps_the_points_of_its_input() -> None:
    for plan in (SYNC_2, Filter(SYNC_2, Literal(True, BOOLEAN)), DuplicateElimination(SYNC_2), Tag(SYNC_2)):
        assert points(synchronization(plan)) == ([2, 4, 6], [2, 4, 6])


def test_S12_example_16_the_join_of_sync2_and_sync3_refreshes_at_2_3_4_6_and_6_is_full() -> None:
    assert leaves(JOINED) == {Points(2), Points(3)}
    assert points(synchronization(JOINED)) == ([2, 3, 4, 6], [6])
    assert synchronization(Tag(JOINED)).is_synchronized


def test_S12_a_point_of_one_side_only_is_partial() -> None:
    unsynchronized = Join(JoinKind.INNER, SYNC_2, ALL_OPEN)
    assert points(synchronization(unsynchronized), 5) == ([1, 2, 3, 4], [2, 4])
    assert not synchronization(unsynchronized).is_synchronized


def test_static_relations_have_no_points() -> None:
    values = Values((Field("a", INT),), ((1,),))
    plan = Join(JoinKind.INNER, Join(JoinKind.INNER, ITEM, values), Timeslice(NOW_BID, 3))
    assert leaves(plan) == frozenset()
    assert not synchronization(plan).is_synchronized
    assert points(synchronization(plan), 4) == ([], [1, 2, 3])


def test_a_static_side_takes_no_part() -> None:
    assert points(synchronization(Join(JoinKind.INNER, SYNC_2, ITEM))) == ([2, 4, 6], [2, 4, 6])


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (NOW, EVERY_INSTANT),
        (TimeWindow(5), EVERY_INSTANT),
        (TimeWindow(5, Rate(2)), Points(2)),
        (TimeWindow(5, Rate(2), lag=1), Points(2, 1)),
        (TimeWindow(5, Rate(3, Axis.ROWS)), EventPoints("Bid")),
        (FixedWindow(5), EVERY_INSTANT),
        (RowsWindow(5), EVERY_INSTANT),
        (RowsWindow(5, slide=Rate(2)), Points(2)),
        (RowsWindow(5, slide=Rate(2, Axis.ROWS)), EventPoints("Bid")),
        (SequenceWindow(Linear(4, 0), Linear(4, 3), Rate(4)), Points(4, 3)),
        (SequenceWindow(Linear(4, 0), Linear(4, 3), Rate(4, Axis.ROWS), Axis.ROWS), EventPoints("Bid")),
        (GenericWindow("own", int, int, int), EventPoints("own")),
    ],
)
def test_a_window_changes_where_it_slides(spec: WindowSpec, expected: PointSet) -> None:
    assert leaves(Window(BID, spec)) == {expected}


def test_event_points_may_be_any_instant_and_surely_are_none() -> None:
    events = synchronization(EVENT)
    assert events.leaves == {EventPoints("sync")}
    assert events.is_synchronized
    assert points(events, 4) == ([1, 2, 3], [])


def test_points_are_counted_from_their_offset() -> None:
    assert [t for t in range(10) if Points(4, 7).contains(t)] == [3, 7]
    assert Points(4, 7) == Points(4, 3)
    assert Points(1, 5) == EVERY_INSTANT


def remainder(function: str, step: int) -> Expr:
    return Call(function, (column(Clock("C"), "Timepoint"), number(step)), BIGINT)


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (equal(remainder("%", 5), number(2)), Points(5, 2)),
        (equal(remainder("MOD", 5), number(2)), Points(5, 2)),
        (equal(number(2), remainder("%", 5)), Points(5, 2)),
        (equal(remainder("%", 5), number(5)), Periodic(1, ())),
        (equal(remainder("%", 0), number(0)), EventPoints("sync")),
        (equal(column(Clock("C"), "Timepoint"), number(2)), EventPoints("sync")),
        (both(equal(remainder("%", 5), number(2)), Literal(True, BOOLEAN)), Points(5, 2)),
    ],
)
def test_a_synchronization_stream_is_recognised_by_the_remainder_of_the_clock(
    predicate: Expr, expected: PointSet
) -> None:
    assert leaves(RelationalView(tagged("T"), Filter(Clock("C"), predicate))) == {expected}


def test_the_clock_itself_synchronizes_nothing() -> None:
    assert leaves(RelationalView(tagged("T"), Clock("C"))) == {EVERY_INSTANT}


def test_a_view_over_a_synchronization_stream_changes_at_its_points() -> None:
    assert leaves(RelationalView(every(2))) == {Points(2)}
    latest = Aggregate(RelationalView(every(2)), (), (("n", COUNT),))
    assert leaves(RelationalView(Tag(latest))) == {Points(2)}


def test_two_remainders_have_their_common_points() -> None:
    twice = Filter(every(2), equal(Call("%", (column(every(2), "Timepoint"), number(3)), BIGINT), number(0)))
    assert leaves(RelationalView(tagged("T"), twice)) == {Points(6)}


def test_a_slide_over_a_relation_takes_the_place_of_every_instant() -> None:
    assert leaves(Synchronize(ALL_OPEN, 5, 1)) == {Points(5, 1)}


def test_a_slide_over_a_synchronized_relation_is_full_where_both_are() -> None:
    assert points(synchronization(Synchronize(SYNC_2, 3))) == ([3, 6], [6])


def test_a_window_over_a_derived_stream_is_as_full_as_its_input() -> None:
    derived = ToStream(StreamOperator.RSTREAM, SYNC_2)
    assert points(synchronization(Window(derived, NOW)), 5) == ([1, 2, 3, 4], [2, 4])
    assert points(synchronization(Window(derived, TimeWindow(9, Rate(3))))) == ([3, 6], [6])


def test_what_asks_for_the_instant_can_change_at_any() -> None:
    assert leaves(Filter(Window(OPEN, TimeWindow(9, Rate(3))), EXPENSIVE)) == {Points(3)}
    assert leaves(Filter(Window(OPEN, TimeWindow(9, Rate(3))), LATE)) == {Points(3), EVERY_INSTANT}


def test_a_subquery_is_a_leaf_too() -> None:
    inner = Filter(Window(BID, TimeWindow(9, Rate(3))), same_item(BID, OPEN))
    assert leaves(Filter(Window(OPEN, TimeWindow(9, Rate(2))), Exists(inner))) == {Points(2), Points(3)}

"""What operators must remember, and what bounds it."""

from __future__ import annotations

import pytest

from continua.algebra.base import Plan
from continua.algebra.expr import TRUE, Exists, Expr, SortKey
from continua.algebra.leaves import Clock, Values
from continua.algebra.relational import (
    Aggregate,
    DuplicateElimination,
    Filter,
    Group,
    Join,
    JoinKind,
    Project,
    SetOperation,
    SetOperator,
    Timeslice,
    TopK,
    Window,
)
from continua.algebra.schema import Field
from continua.algebra.state_bounds import state, unbounded_state
from continua.algebra.streaming import (
    Coalesce,
    Complete,
    RelationalView,
    Split,
    StreamOperator,
    Synchronize,
    Tag,
    ToStream,
)
from continua.instants import INFINITY
from continua.types import INT
from continua.windows.fixed import FixedWindow
from continua.windows.landmark import LandmarkWindow
from continua.windows.measures import Axis, Linear, Rate
from continua.windows.over_rows import RowsWindow
from continua.windows.over_time import NOW, UNBOUNDED, TimeWindow
from continua.windows.sequence import SequenceWindow
from continua.windows.spec import GenericWindow, WindowSpec
from continua.windows.state import State
from tests.algebra.samples import (
    ALL_BID,
    ALL_OPEN,
    BID,
    COUNT,
    EXPENSIVE,
    ITEM,
    LATE,
    OPEN,
    PLAIN,
    RECENT_BID,
    column,
    compare,
    number,
    same_item,
    tagged,
)

HOUR = Window(BID, TimeWindow(3_600_000_000))
ON = same_item(OPEN, BID)
CHEAP = compare("<", column(BID, "price"), number(1))
ISTREAM, RSTREAM = StreamOperator.ISTREAM, StreamOperator.RSTREAM
EVERYTHING = "everything since the start of "


def join(kind: JoinKind, left: Plan, right: Plan, predicate: Expr | None = None) -> Join:
    return Join(kind, left, right, predicate, mark="m" if kind is JoinKind.MARK else "")


BOUNDED: dict[str, tuple[Plan, str]] = {
    "a stream": (BID, "nothing"),
    "a stored relation": (ITEM, "nothing"),
    "a filter": (Filter(ALL_OPEN, EXPENSIVE), "nothing"),
    "a filter of a stream by the instant": (Filter(OPEN, LATE), "nothing"),
    "a filter by the instant": (
        Filter(Window(OPEN, TimeWindow(9)), LATE),
        "the last 9 instants of Open",
    ),
    "a filter by a subquery": (
        Filter(Window(OPEN, TimeWindow(9)), Exists(HOUR)),
        "the last 9 instants of Open and the last 3600000000 instants of Bid",
    ),
    "a projection": (Project(ALL_OPEN, (("i", column(OPEN, "item")),)), "nothing"),
    "a group": (Group(ALL_OPEN, column(OPEN, "item"), 2, 1), "nothing"),
    "a union": (SetOperation(SetOperator.UNION, ALL_OPEN, ALL_BID), "nothing"),
    "split": (Split(ALL_OPEN), "nothing"),
    "duplicate elimination": (DuplicateElimination(HOUR), "the last 3600000000 instants of Bid"),
    "a union of sets": (
        SetOperation(SetOperator.UNION, HOUR, HOUR, distinct=True),
        "the last 3600000000 instants of Bid",
    ),
    "a join": (
        join(JoinKind.INNER, Window(OPEN, NOW), HOUR, ON),
        "the last 1 instants of Open and the last 3600000000 instants of Bid",
    ),
    "a join of a growing and a static relation": (join(JoinKind.INNER, ALL_OPEN, ITEM), "the rows of Item"),
    "an antijoin of a growing and a static relation": (join(JoinKind.ANTI, ALL_OPEN, ITEM), "the rows of Item"),
    "a join of a static and a growing relation": (join(JoinKind.INNER, ITEM, ALL_OPEN), "the rows of Item"),
    "a join of static relations": (join(JoinKind.INNER, ITEM, PLAIN), "the rows of Item and the rows of Plain"),
    "Istream of what only enters": (ToStream(ISTREAM, Filter(ALL_BID, CHEAP)), "nothing"),
    "Istream of rows": (ToStream(ISTREAM, Window(BID, RowsWindow(5, ("Bid.item",)))), "5 rows per Bid.item"),
    "Istream of an aggregate": (ToStream(ISTREAM, Aggregate(ALL_BID, (), (("n", COUNT),))), "1 row"),
    "Istream of the first rows": (ToStream(ISTREAM, TopK(ALL_BID, (), 3)), "3 rows"),
    "Istream of an intersection": (
        ToStream(ISTREAM, SetOperation(SetOperator.INTERSECTION, ALL_OPEN, HOUR)),
        "the last 3600000000 instants of Bid",
    ),
    "Istream of a difference": (
        ToStream(ISTREAM, SetOperation(SetOperator.DIFFERENCE, HOUR, ALL_OPEN)),
        "the last 3600000000 instants of Bid",
    ),
    "Istream of a semijoin": (ToStream(ISTREAM, join(JoinKind.SEMI, ITEM, ALL_BID)), "the rows of Item"),
    "duplicate elimination of constants": (DuplicateElimination(Values((Field("a", INT),), ((1,), (2,)))), "2 rows"),
    "a timeslice": (Timeslice(ALL_OPEN, 3), "the snapshot at 3"),
    "a tagger": (Tag(OPEN, ("Open.item",)), "1 row per Open.item"),
    "a tagger without key": (Tag(OPEN), "nothing"),
    "a view by key": (RelationalView(tagged("T", ("room",))), "1 row per T.room"),
    "a view of elements by key": (RelationalView(Tag(OPEN, ("Open.item",))), "1 row per Open.item"),
    "a view of a streamed range": (RelationalView(Tag(HOUR)), "the last 3600000000 instants of Bid"),
    "a slide": (Synchronize(HOUR, 5), "the last 3600000000 instants of Bid"),
    "rows of what a growing relation inserts": (
        DuplicateElimination(Window(ToStream(ISTREAM, ALL_BID), RowsWindow(2))),
        "2 rows of Bid",
    ),
}

UNBOUNDED_CASES: dict[str, tuple[Plan, str]] = {
    "duplicate elimination": (DuplicateElimination(ALL_BID), EVERYTHING + "Bid"),
    "aggregation": (Aggregate(ALL_BID, (), (("n", COUNT),)), EVERYTHING + "Bid"),
    "the first rows": (TopK(ALL_BID, (SortKey(column(BID, "item")),), 3), EVERYTHING + "Bid"),
    "a join": (join(JoinKind.INNER, ALL_OPEN, ALL_BID), f"{EVERYTHING}Open and {EVERYTHING}Bid"),
    "a join with one unbounded side": (join(JoinKind.INNER, ALL_OPEN, HOUR), EVERYTHING + "Open"),
    "a join with a static relation on the instant": (join(JoinKind.INNER, ALL_OPEN, ITEM, LATE), EVERYTHING + "Open"),
    "a semijoin of a static relation": (join(JoinKind.SEMI, ITEM, ALL_OPEN), EVERYTHING + "Open"),
    "a full outer join with a static relation": (join(JoinKind.FULL, ALL_OPEN, ITEM), EVERYTHING + "Open"),
    "an intersection": (SetOperation(SetOperator.INTERSECTION, ALL_OPEN, HOUR), EVERYTHING + "Open"),
    "Istream": (ToStream(ISTREAM, DuplicateElimination(Filter(ALL_BID, CHEAP))), EVERYTHING + "Bid"),
    "a filter by the instant": (Filter(ALL_OPEN, LATE), EVERYTHING + "Open"),
    "a landmark": (DuplicateElimination(Window(BID, LandmarkWindow(3))), "everything since instant 3 of Bid"),
    "a view without key": (RelationalView(tagged("T")), EVERYTHING + "T that is not deleted"),
    "a view of elements": (RelationalView(Tag(OPEN)), EVERYTHING + "Open"),
    "a view of the clock": (RelationalView(Filter(Clock("C"), TRUE)), EVERYTHING + "the clock"),
    "coalescing": (Coalesce(ALL_BID), EVERYTHING + "Bid"),
    "a complete view": (Complete(ALL_BID), EVERYTHING + "Bid"),
    "a growing relation, whole at every instant": (
        DuplicateElimination(Window(ToStream(RSTREAM, ALL_BID), NOW)),
        EVERYTHING + "Bid",
    ),
}


@pytest.mark.parametrize("case", BOUNDED)
def test_state_over_finite_windows_is_bounded(case: str) -> None:
    plan, by = BOUNDED[case]
    assert state(plan) == State(True, by)


@pytest.mark.parametrize("case", UNBOUNDED_CASES)
def test_state_over_what_grows_for_ever_is_not_bounded(case: str) -> None:
    plan, by = UNBOUNDED_CASES[case]
    assert state(plan) == State(False, by)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (NOW, State(True, "nothing")),
        (TimeWindow(5), State(True, "nothing")),
        (UNBOUNDED, State(True, "nothing")),
        (TimeWindow(5, lag=2), State(True, "the last 2 instants of Bid")),
        (TimeWindow(INFINITY, Rate(5), lag=2), State(True, "the last 7 instants of Bid")),
        (TimeWindow(INFINITY, Rate(5, Axis.ROWS)), State(True, "5 rows of Bid")),
        (TimeWindow(9, Rate(5, Axis.ROWS)), State(True, "the last 9 instants of Bid")),
        (FixedWindow(5), State(True, "nothing")),
        (LandmarkWindow(5), State(True, "nothing")),
        (RowsWindow(5), State(True, "5 rows of Bid")),
        (RowsWindow(5, ("Bid.item",)), State(True, "5 rows per Bid.item")),
        (RowsWindow(INFINITY), State(True, "nothing")),
        (RowsWindow(INFINITY, slide=Rate(3, Axis.ROWS)), State(True, "3 rows of Bid")),
        (SequenceWindow(Linear(2, 0), Linear(2, 1), Rate(2)), State(True, "the last 2 instants of Bid")),
        (SequenceWindow(Linear(0, 0), Linear(0, 9), Rate(2)), State(True, "10 instants of Bid")),
        (
            SequenceWindow(Linear(2, 0), Linear(2, 3), Rate(2, Axis.ROWS), Axis.ROWS),
            State(True, "4 rows of Bid"),
        ),
        (
            SequenceWindow(Linear(1, 0), Linear(1, 3), Rate(2)),
            State(False, "what waits for the windows of Bid, which fall behind"),
        ),
        (
            SequenceWindow(Linear(0, 0), Linear(2, 3), Rate(2, Axis.ROWS), Axis.ROWS),
            State(False, EVERYTHING + "Bid"),
        ),
        (GenericWindow("own", int, int, int), State(False, "whatever window own asks for of Bid")),
    ],
)
def test_windows_keep_what_their_ends_depend_on(spec: WindowSpec, expected: State) -> None:
    assert state(Window(BID, spec)) == expected


def test_a_window_over_the_changes_of_filtered_streams_is_bounded() -> None:
    changes = ToStream(ISTREAM, SetOperation(SetOperator.UNION, ALL_BID, Synchronize(ALL_OPEN, 5)))
    assert state(DuplicateElimination(Window(changes, TimeWindow(9)))).bounded
    joined = ToStream(ISTREAM, join(JoinKind.INNER, ALL_OPEN, HOUR, ON))
    assert not state(DuplicateElimination(Window(joined, TimeWindow(9)))).bounded


def test_the_operators_with_unbounded_state_are_found_from_the_top() -> None:
    distinct = DuplicateElimination(ALL_BID)
    joined = join(JoinKind.INNER, ALL_OPEN, distinct, ON)
    plan = Aggregate(Filter(RECENT_BID, Exists(joined)), (), (("n", COUNT),))
    asking = plan.input
    assert [node for node, _ in unbounded_state(plan)] == [asking, joined, distinct]
    assert dict(unbounded_state(plan))[distinct] == EVERYTHING + "Bid"


def test_a_query_over_finite_windows_has_no_unbounded_state() -> None:
    plan = ToStream(ISTREAM, join(JoinKind.LEFT, Window(OPEN, TimeWindow(9)), HOUR, ON))
    assert unbounded_state(plan) == []


def test_filtering_an_unbounded_window_needs_no_state() -> None:
    assert unbounded_state(Filter(ALL_OPEN, EXPENSIVE)) == []

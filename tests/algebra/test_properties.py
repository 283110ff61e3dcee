"""What is told of plans without running them: monotonicity, snapshot reducibility, synchronization, state."""

from __future__ import annotations

import pytest

from continua.algebra.base import Plan
from continua.algebra.expr import (
    Call,
    Exists,
    Expr,
    InSubquery,
    Literal,
    Now,
    Quantified,
    Quantifier,
    ScalarSubquery,
    SortKey,
    both,
    equal,
    negation,
)
from continua.algebra.leaves import Clock, Values
from continua.algebra.monotonicity import is_monotonic
from continua.algebra.reducibility import is_snapshot_reducible, snapshot_reducible_subplans
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
from continua.types import BOOLEAN, INT
from continua.windows.fixed import FixedWindow
from continua.windows.landmark import LandmarkWindow
from continua.windows.measures import Axis, Linear, Rate
from continua.windows.over_rows import RowsWindow
from continua.windows.over_time import NOW, UNBOUNDED, TimeWindow
from continua.windows.sequence import SequenceWindow
from tests.algebra.samples import (
    ALL_BID,
    ALL_OPEN,
    BID,
    COUNT,
    EXPENSIVE,
    ITEM,
    LATE,
    NOW_BID,
    OPEN,
    RECENT_BID,
    WINDOWS,
    column,
    compare,
    number,
    same_item,
    tagged,
)

ONE_ITEM = Project(ALL_BID, (("i", column(BID, "item")),))
RECENT_ITEM = Project(RECENT_BID, (("i", column(BID, "item")),))
ITEM_OF_OPEN = column(OPEN, "item")
SAME = same_item(OPEN, BID)
ON_BOTH = Filter(ALL_BID, SAME)


def join(kind: JoinKind, right: Plan = ALL_BID, predicate: Expr | None = SAME) -> Join:
    return Join(kind, ALL_OPEN, right, predicate, mark="found" if kind is JoinKind.MARK else "")


def combined(operator: SetOperator, right: Plan = ALL_BID, distinct: bool = False) -> SetOperation:
    return SetOperation(operator, ALL_OPEN, right, distinct)


def asked(predicate: Expr) -> Filter:
    return Filter(ALL_OPEN, predicate)


MONOTONIC: dict[str, Plan] = {
    "a static relation": ITEM,
    "constants": Values((Field("a", INT),), ((1,),)),
    "a timeslice of a window": Timeslice(RECENT_BID, 7),
    "an unbounded window": ALL_OPEN,
    "an unbounded window with a slide": Window(OPEN, TimeWindow(INFINITY, Rate(5))),
    "an unbounded window with a slide over rows": Window(OPEN, TimeWindow(INFINITY, Rate(5, Axis.ROWS))),
    "all rows": Window(OPEN, RowsWindow(INFINITY)),
    "a landmark window": Window(OPEN, LandmarkWindow(3)),
    "a window sequence with a fixed beginning": Window(OPEN, SequenceWindow(Linear(0, 0), Linear(2, 1), Rate(2))),
    "an unbounded window over a derived stream": Window(ToStream(StreamOperator.DSTREAM, RECENT_BID), UNBOUNDED),
    "a filter": asked(EXPENSIVE),
    "a projection": Project(ALL_OPEN, (("i", ITEM_OF_OPEN),)),
    "one group": Group(ALL_OPEN, ITEM_OF_OPEN, 2, 1),
    "a product": join(JoinKind.INNER, predicate=None),
    "a join": join(JoinKind.INNER),
    "a join with a static relation": join(JoinKind.INNER, ITEM, same_item(OPEN, ITEM)),
    "a semijoin": join(JoinKind.SEMI),
    "a union": combined(SetOperator.UNION),
    "a union of sets": combined(SetOperator.UNION, distinct=True),
    "a max-union": combined(SetOperator.MAX_UNION),
    "an intersection": combined(SetOperator.INTERSECTION),
    "an intersection of sets": combined(SetOperator.INTERSECTION, distinct=True),
    "duplicate elimination": DuplicateElimination(ALL_OPEN),
    "EXISTS over a growing relation": asked(Exists(ON_BOTH)),
    "IN a growing relation": asked(both(EXPENSIVE, InSubquery((ITEM_OF_OPEN,), ONE_ITEM))),
    "ANY of a growing relation": asked(Quantified("<", Quantifier.ANY, ITEM_OF_OPEN, ONE_ITEM)),
    "one of two growing relations": asked(Call("OR", (Exists(ON_BOTH), Exists(ITEM)), BOOLEAN)),
    "the view of untagged elements": RelationalView(Tag(OPEN)),
    "the view of the clock": RelationalView(Clock("C")),
    "the view of a filtered clock": RelationalView(Filter(Clock("C"), Literal(True, BOOLEAN))),
    "the view of what a growing relation streams": RelationalView(Tag(ALL_OPEN)),
    "a slide over a growing relation": Synchronize(ALL_OPEN, 5),
    "a complete view": Complete(ALL_OPEN),
    "split and coalesced": Coalesce(Split(ALL_OPEN)),
}

NOT_MONOTONIC: dict[str, Plan] = {
    "a now-window": NOW_BID,
    "a range": RECENT_BID,
    "some rows": Window(BID, RowsWindow(5)),
    "some rows of each partition": Window(BID, RowsWindow(1, ("Bid.item",))),
    "all rows of some age": Window(BID, RowsWindow(INFINITY, size=5)),
    "a fixed window": Window(BID, FixedWindow(5)),
    "a window sequence that moves on": Window(BID, SequenceWindow(Linear(2, 0), Linear(2, 1), Rate(2))),
    "a filter by the instant": asked(LATE),
    "a projection of the instant": Project(ALL_OPEN, (("now", Now()),)),
    "a projection of a subquery": Project(ALL_OPEN, (("n", ScalarSubquery(ONE_ITEM, INT)),)),
    "a filter over a range": Filter(RECENT_BID, compare(">", column(BID, "price"), number(1))),
    "a join with a range": join(JoinKind.INNER, RECENT_BID),
    "a join on the instant": join(JoinKind.INNER, predicate=compare("=", ITEM_OF_OPEN, Now())),
    "a semijoin with a range": join(JoinKind.SEMI, RECENT_BID),
    "a left outer join": join(JoinKind.LEFT),
    "a right outer join": join(JoinKind.RIGHT),
    "a full outer join": join(JoinKind.FULL),
    "an antijoin": join(JoinKind.ANTI),
    "a null-aware antijoin": join(JoinKind.NULL_AWARE_ANTI),
    "a mark join": join(JoinKind.MARK),
    "a single join": join(JoinKind.SINGLE),
    "a difference": combined(SetOperator.DIFFERENCE),
    "a strict difference": combined(SetOperator.STRICT_DIFFERENCE),
    "a union with a range": combined(SetOperator.UNION, RECENT_BID),
    "an intersection with a range": combined(SetOperator.INTERSECTION, RECENT_BID),
    "duplicate elimination of a range": DuplicateElimination(RECENT_BID),
    "an aggregation": Aggregate(ALL_BID, (), (("n", COUNT),)),
    "a grouping": Aggregate(ALL_BID, (("i", column(BID, "item")),), (("n", COUNT),)),
    "the first rows": TopK(ALL_BID, (SortKey(column(BID, "item")),), 3),
    "NOT EXISTS": asked(negation(Exists(ON_BOTH))),
    "NOT IN": asked(negation(InSubquery((ITEM_OF_OPEN,), ONE_ITEM))),
    "EXISTS over a range": asked(Exists(RECENT_BID)),
    "IN a range": asked(InSubquery((ITEM_OF_OPEN,), RECENT_ITEM)),
    "IN for an operand that is a subquery": asked(InSubquery((ScalarSubquery(ONE_ITEM, INT),), ONE_ITEM)),
    "ALL of a growing relation": asked(Quantified("<", Quantifier.ALL, ITEM_OF_OPEN, ONE_ITEM)),
    "a comparison with a subquery": asked(compare("=", ITEM_OF_OPEN, ScalarSubquery(ONE_ITEM, INT))),
    "EXISTS inside a comparison": asked(equal(Exists(ON_BOTH), Literal(False, BOOLEAN))),
    "one condition that lasts or one that does not": asked(Call("OR", (EXPENSIVE, Exists(RECENT_BID)), BOOLEAN)),
    "a subquery that asks for the instant": asked(Exists(Filter(ALL_OPEN, LATE))),
    "the view of an updated relation": RelationalView(tagged("T", ("room",))),
    "the view of elements by key": RelationalView(Tag(OPEN, ("Open.item",))),
    "the view of what a range streams": RelationalView(Tag(RECENT_BID)),
    "a slide over a range": Synchronize(RECENT_BID, 5),
    "a stream": OPEN,
    "a derived stream": ToStream(StreamOperator.ISTREAM, ALL_OPEN),
    "a tagged stream": Tag(OPEN),
}


@pytest.mark.parametrize("case", MONOTONIC)
def test_C7_a_relation_that_only_grows_is_monotonic(case: str) -> None:
    assert is_monotonic(MONOTONIC[case])


@pytest.mark.parametrize("case", NOT_MONOTONIC)
def test_C7_a_relation_that_may_lose_rows_is_not_monotonic(case: str) -> None:
    assert not is_monotonic(NOT_MONOTONIC[case])


def test_C7_the_union_that_feeds_a_partitioned_window_is_monotonic_and_its_window_is_not() -> None:
    union = SetOperation(SetOperator.UNION, ALL_BID, ALL_OPEN)
    window = Window(ToStream(StreamOperator.ISTREAM, union), RowsWindow(1, ("Bid.item",)))
    assert is_monotonic(union)
    assert not is_monotonic(window)


STANDARD: list[Plan] = [
    asked(EXPENSIVE),
    Filter(OPEN, EXPENSIVE),
    asked(Exists(RECENT_BID)),
    Project(NOW_BID, (("i", column(BID, "item")),)),
    *(join(kind, NOW_BID) for kind in JoinKind),
    *(combined(operator, NOW_BID) for operator in SetOperator),
    DuplicateElimination(NOW_BID),
    Aggregate(NOW_BID, (), (("n", COUNT),)),
    TopK(NOW_BID, (), 3),
    Group(NOW_BID, column(BID, "item"), 2, 1),
]


@pytest.mark.parametrize("plan", STANDARD, ids=lambda p: type(p).__name__)
def test_P9_standard_operators_are_marked_snapshot_reducible(plan: Plan) -> None:
    assert is_snapshot_reducible(plan)


@pytest.mark.parametrize("spec", WINDOWS, ids=lambda s: type(s).__name__)
def test_P9_window_operators_are_marked_not_snapshot_reducible(spec: TimeWindow) -> None:
    assert not is_snapshot_reducible(Window(OPEN, spec))


@pytest.mark.parametrize(
    "plan",
    [
        OPEN,
        ITEM,
        asked(LATE),
        Project(ALL_OPEN, (("now", Now()),)),
        join(JoinKind.INNER, predicate=compare("=", ITEM_OF_OPEN, Now())),
        *(ToStream(operator, ITEM) for operator in StreamOperator),
        Tag(ITEM),
        Filter(Tag(OPEN), EXPENSIVE),
        RelationalView(Tag(OPEN)),
        Synchronize(ITEM, 5),
        Timeslice(ITEM, 5),
        Complete(ITEM),
    ],
    ids=lambda p: type(p).__name__,
)
def test_P9_what_asks_for_the_time_or_leaves_the_snapshot_is_not_snapshot_reducible(plan: Plan) -> None:
    assert not is_snapshot_reducible(plan)


def test_snapshot_reducible_subplans_start_above_windows_and_end_below_streams() -> None:
    inner = Join(JoinKind.INNER, ALL_OPEN, NOW_BID, SAME)
    derived = Window(ToStream(StreamOperator.RSTREAM, DuplicateElimination(inner)), NOW)
    top = DuplicateElimination(derived)
    assert snapshot_reducible_subplans(ToStream(StreamOperator.ISTREAM, top)) == [DuplicateElimination(inner), top]


def test_leaves_are_no_snapshot_reducible_subplans() -> None:
    assert snapshot_reducible_subplans(ToStream(StreamOperator.ISTREAM, ALL_OPEN)) == []
    assert snapshot_reducible_subplans(ITEM) == []


def test_an_operator_that_asks_for_the_time_divides_subplans() -> None:
    below = Filter(ALL_OPEN, EXPENSIVE)
    above = DuplicateElimination(Filter(below, LATE))
    assert snapshot_reducible_subplans(above) == [below, above]


def test_a_subquery_belongs_to_the_subplan_that_asks_it() -> None:
    plan = asked(Exists(DuplicateElimination(RECENT_BID)))
    assert snapshot_reducible_subplans(plan) == [plan]
    timed = asked(both(LATE, Exists(DuplicateElimination(RECENT_BID))))
    assert snapshot_reducible_subplans(timed) == [DuplicateElimination(RECENT_BID)]

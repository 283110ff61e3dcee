"""Plans and expressions as people read them."""

from __future__ import annotations

import json
from dataclasses import fields
from textwrap import dedent

import pytest

from continua.algebra.base import Plan
from continua.algebra.expr import (
    AggregateCall,
    Call,
    Column,
    Exists,
    Expr,
    InSubquery,
    SortKey,
    both,
)
from continua.algebra.leaves import BaseRelation, Clock, Source, Values
from continua.algebra.printer import describe, to_json, tree, window_text
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
from continua.instants import INFINITY, TimeDomain
from continua.types import (
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
)
from continua.windows.fixed import FixedWindow
from continua.windows.landmark import LandmarkWindow
from continua.windows.measures import Axis, Linear, Rate
from continua.windows.over_rows import RowsWindow
from continua.windows.over_time import NOW, UNBOUNDED, TimeWindow
from continua.windows.sequence import SequenceWindow
from continua.windows.spec import GenericWindow, WindowSpec
from tests.algebra.samples import (
    ALL_BID,
    ALL_OPEN,
    BID,
    COUNT,
    EXPENSIVE,
    ITEM,
    NOW_BID,
    OPEN,
    PLAIN,
    RECENT_BID,
    column,
    compare,
    every,
    number,
    same_item,
    tagged,
)

P = Column("p", BOOLEAN)


def op(operator: str, *arguments: Expr) -> Call:
    return Call(operator, arguments, INT)


@pytest.mark.parametrize(
    ("spec", "domain", "text"),
    [
        (TimeWindow(7, text="WINDOW(RANGE 7)"), TimeDomain.TICKS, "WINDOW(RANGE 7)"),
        (TimeWindow(1), TimeDomain.TICKS, "[NOW]"),
        (TimeWindow(6), TimeDomain.TICKS, "[RANGE 5]"),
        (TimeWindow(300_000_001, Rate(60_000_000)), TimeDomain.MICROSECONDS, "[RANGE 5 MINUTES SLIDE 1 MINUTE]"),
        (TimeWindow(INFINITY, Rate(2, Axis.ROWS), 3), None, "[RANGE UNBOUNDED SLIDE 2 ROWS LAG 3]"),
        (RowsWindow(5), TimeDomain.TICKS, "[ROWS 5]"),
        (RowsWindow(INFINITY), TimeDomain.TICKS, "[ROWS UNBOUNDED]"),
        (RowsWindow(5, ("a", "b"), 11), TimeDomain.TICKS, "[PARTITION BY a, b ROWS 5 RANGE 10]"),
        (FixedWindow(900_000_000), TimeDomain.MICROSECONDS, "[FIXED 15 MINUTES]"),
        (LandmarkWindow(3), TimeDomain.TICKS, "[LANDMARK 3]"),
        (LandmarkWindow(0), TimeDomain.MICROSECONDS, "[LANDMARK '1970-01-01 00:00:00']"),
        (SequenceWindow(Linear(2, 0), Linear(2, 1), Rate(2)), None, "[FROM 2*j TO 2*j + 1 EVERY 2]"),
        (
            SequenceWindow(Linear(0, 0), Linear(2, 1), Rate(2, Axis.ROWS), Axis.ROWS),
            None,
            "[FROM 0 ROWS TO 2*j + 1 ROWS EVERY 2 ROWS]",
        ),
        (GenericWindow("own", int, int, int, (5,)), None, "[own(5)]"),
    ],
)
def test_windows_are_written_as_they_were_or_as_they_could_be(
    spec: WindowSpec, domain: TimeDomain | None, text: str
) -> None:
    assert window_text(spec, domain) == text


def join(kind: JoinKind, predicate: Expr | None = None) -> Join:
    return Join(kind, ITEM, PLAIN, predicate, mark="found" if kind is JoinKind.MARK else "")


ON = same_item(ITEM, PLAIN)
MAX = AggregateCall("MAX", (column(BID, "price"),), DOUBLE)
DISTINCT = AggregateCall("COUNT", (column(BID, "item"),), INT, distinct=True, where=P)

OPERATORS: list[tuple[Plan, str]] = [
    (OPEN, "Source Open"),
    (Source("Bid", "b", BID.columns, key=("Bid.item",), interval=True), "Source Bid AS b KEY Bid.item INTERVAL"),
    (BaseRelation("Item", "i", ITEM.columns), "Relation Item AS i"),
    (tagged("T", ("room",)), "TaggedSource T KEY T.room"),
    (Clock("C"), "Clock C"),
    (Values((Field("a", INT), Field("b", STRING)), ((1, "x"), (2, None))), "Values (1, 'x'), (2, NULL)"),
    (Values((Field("a", INT),), ((1,), (2,), (3,), (4,))), "Values (1), (2), (3), ..."),
    (ALL_OPEN, "Window [RANGE UNBOUNDED]"),
    (Filter(OPEN, EXPENSIVE), "Filter Open.price > 100"),
    (
        Project(OPEN, (("Open.item", column(OPEN, "item")), ("twice", op("*", column(OPEN, "price"), number(2))))),
        "Map Open.item, Open.price * 2 AS twice",
    ),
    (join(JoinKind.INNER), "Product"),
    (join(JoinKind.INNER, ON), "Join Item.item = Plain.item"),
    (join(JoinKind.LEFT, ON), "LeftOuterJoin Item.item = Plain.item"),
    (join(JoinKind.RIGHT, ON), "RightOuterJoin Item.item = Plain.item"),
    (join(JoinKind.FULL, ON), "FullOuterJoin Item.item = Plain.item"),
    (join(JoinKind.SEMI, ON), "Semijoin Item.item = Plain.item"),
    (join(JoinKind.ANTI, ON), "Antijoin Item.item = Plain.item"),
    (
        Join(JoinKind.NULL_AWARE_ANTI, ITEM, PLAIN, None, ((column(ITEM, "item"), column(PLAIN, "item")),)),
        "NullAwareAntijoin NULL-AWARE Item.item = Plain.item",
    ),
    (join(JoinKind.MARK, ON), "MarkJoin Item.item = Plain.item AS found"),
    (join(JoinKind.SINGLE, ON), "SingleJoin Item.item = Plain.item"),
    (SetOperation(SetOperator.UNION, ITEM, PLAIN), "Union"),
    (SetOperation(SetOperator.MAX_UNION, ITEM, PLAIN), "MaxUnion"),
    (SetOperation(SetOperator.INTERSECTION, ITEM, PLAIN, distinct=True), "Intersection DISTINCT"),
    (SetOperation(SetOperator.DIFFERENCE, ITEM, PLAIN), "Difference"),
    (SetOperation(SetOperator.STRICT_DIFFERENCE, ITEM, PLAIN), "StrictDifference"),
    (DuplicateElimination(ITEM), "DuplicateElimination"),
    (
        Aggregate(ALL_BID, (("item", column(BID, "item")),), (("m", MAX),)),
        "Grouping MAX(Bid.price) AS m BY Bid.item AS item",
    ),
    (Aggregate(ALL_BID, (), (("n", COUNT),)), "ScalarAggregation COUNT(*) AS n"),
    (
        Aggregate(ALL_BID, (), (("n", DISTINCT),), empty_row=False),
        "ScalarAggregation COUNT(DISTINCT Bid.item) FILTER (WHERE p) AS n WHEN EMPTY no row",
    ),
    (
        TopK(ITEM, (SortKey(column(ITEM, "item"), descending=True, nulls_first=False),), 5, 2),
        "TopK LIMIT 5 OFFSET 2 ORDER BY Item.item DESC",
    ),
    (
        TopK(ITEM, (SortKey(column(ITEM, "name"), nulls_first=False),), 1, partition=(column(ITEM, "item"),)),
        "TopK LIMIT 1 PARTITION BY Item.item ORDER BY Item.name NULLS LAST",
    ),
    (TopK(ITEM, (), 0), "Limit LIMIT 0"),
    (Timeslice(ALL_OPEN, 7), "Timeslice AT 7"),
    (Group(ITEM, op("%", column(ITEM, "item"), number(2)), 2, 1), "Group Item.item % 2 PART 1 OF 2"),
    (RelationalView(tagged("T"), timestamp="T.TS"), "RelationalView WITH T.TS"),
    (Synchronize(ITEM, 5, 1), "Synchronize EVERY 5 FROM 1"),
    (ToStream(StreamOperator.ISTREAM, ITEM), "Istream"),
    (ToStream(StreamOperator.DSTREAM, ITEM), "Dstream"),
    (ToStream(StreamOperator.RSTREAM, ITEM), "Rstream"),
    (Tag(ITEM), "Streamed"),
    (Tag(OPEN, ("Open.item",)), "Tagger KEY Open.item"),
    (Complete(ITEM), "Complete"),
    (Split(ITEM, 3), "Split INTO 3"),
    (Coalesce(ITEM), "Coalesce"),
    (Coalesce(ITEM, 9), "Coalesce UP TO 9"),
]


@pytest.mark.parametrize(("plan", "line"), OPERATORS, ids=[line for _, line in OPERATORS])
def test_operators_have_the_names_of_the_papers(plan: Plan, line: str) -> None:
    assert tree(plan).splitlines()[0] == line
    assert line.split()[0] == describe(plan)[0]


@pytest.mark.parametrize("plan", [plan for plan, _ in OPERATORS], ids=[line for _, line in OPERATORS])
def test_every_operator_becomes_json(plan: Plan) -> None:
    assert json.loads(json.dumps(to_json(plan))) == to_json(plan)


def test_a_tree_has_one_operator_a_line() -> None:
    prices = Project(OPEN, (("start_price", column(OPEN, "price")),))
    plan = Filter(Window(prices, UNBOUNDED), compare(">", Column("start_price", DOUBLE), number(100)))
    assert tree(plan) == _text(
        """
        Filter start_price > 100
        └─ Window [RANGE UNBOUNDED]
           └─ Map Open.price AS start_price
              └─ Source Open
        """
    )


def test_a_tree_forks_at_joins() -> None:
    plan = ToStream(StreamOperator.RSTREAM, Join(JoinKind.INNER, ALL_OPEN, NOW_BID, same_item(OPEN, BID)))
    assert tree(plan) == _text(
        """
        Rstream
        └─ Join Open.item = Bid.item
           ├─ Window [RANGE UNBOUNDED]
           │  └─ Source Open
           └─ Window [NOW]
              └─ Source Bid
        """
    )


def test_subqueries_stand_below_the_operator_that_asks_them() -> None:
    asked = both(Exists(RECENT_BID), InSubquery((column(OPEN, "item"),), Project(ITEM, (("i", column(ITEM, "item")),))))
    assert tree(Filter(ALL_OPEN, asked)) == _text(
        """
        Filter EXISTS(subquery 1) AND Open.item IN (subquery 2)
        ├─ Window [RANGE UNBOUNDED]
        │  └─ Source Open
        ├─ subquery 1: Window [RANGE 9]
        │  └─ Source Bid
        └─ subquery 2: Map Item.item AS i
           └─ Relation Item KEY Item.item
        """
    )


def test_a_synchronization_stream_is_labelled() -> None:
    plan = RelationalView(tagged("T"), every(2))
    assert tree(plan) == _text(
        """
        RelationalView
        ├─ TaggedSource T
        └─ sync: Streamed
           └─ Map C.Timepoint AS C_sync.Timepoint
              └─ Filter C.Timepoint % 2 = 0
                 └─ RelationalView
                    └─ Clock C
        """
    )


def test_json_holds_operator_parameters_schema_kind_inputs_and_subqueries() -> None:
    plan = ToStream(StreamOperator.ISTREAM, Filter(ITEM, Exists(Window(BID, NOW))))
    found = to_json(plan)
    assert found["operator"] == "Istream"
    assert found["parameters"] == {}
    assert found["kind"] == "stream"
    assert found["schema"] == [
        {"name": "Item.item", "type": "INT", "nullable": False},
        {"name": "Item.name", "type": "STRING", "nullable": True},
    ]
    assert found["inputs"] == [to_json(plan.input)]
    below = to_json(plan.input)
    assert below["parameters"] == {"predicate": "EXISTS(subquery 1)"}
    assert below["subqueries"] == [to_json(NOW_BID)]


def test_parameters_are_named() -> None:
    assert describe(Aggregate(ALL_BID, (("item", column(BID, "item")),), (("n", COUNT),))) == (
        "Grouping",
        {"aggregates": {"n": "COUNT(*)"}, "keys": {"item": "Bid.item"}},
    )
    assert describe(TopK(ITEM, (), 0)) == ("Limit", {"limit": 0})


def test_every_operator_is_described() -> None:
    described = {type(plan) for plan, _ in OPERATORS}
    assert described == {p for p in Plan.__subclasses__() if fields(p)}


def _text(block: str) -> str:
    return dedent(block).strip("\n")

"""Operators refuse inputs that make no sense, and derive their schemas from those that do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from continua.algebra.base import Kind, Plan, kind_of
from continua.algebra.expr import Exists, Literal
from continua.algebra.leaves import Clock, Source, Values
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
from continua.algebra.traverse import all_inputs, domain_of, free_columns, nodes_of, with_inputs
from continua.errors import PlanError
from continua.instants import TimeDomain
from continua.types import BIGINT, BOOLEAN, INT, STRING, TIMESTAMP
from continua.windows.over_rows import RowsWindow
from continua.windows.over_time import NOW, UNBOUNDED
from tests.algebra.samples import (
    ALL_BID,
    ALL_OPEN,
    BID,
    EXPENSIVE,
    ITEM,
    OPEN,
    PLAIN,
    number,
    same_item,
    tagged,
)

MISTAKES: dict[str, tuple[Callable[[], Plan], str]] = {
    "a window over a relation": (lambda: Window(ITEM, NOW), "WRONG_KIND"),
    "a window over a tagged stream": (lambda: Window(tagged("T"), NOW), "WRONG_KIND"),
    "a join of a stream": (lambda: Join(JoinKind.INNER, OPEN, ALL_BID), "WRONG_KIND"),
    "a join with a stream": (lambda: Join(JoinKind.INNER, ALL_OPEN, BID), "WRONG_KIND"),
    "a union of a stream": (lambda: SetOperation(SetOperator.UNION, OPEN, ALL_BID), "WRONG_KIND"),
    "duplicate elimination of a stream": (lambda: DuplicateElimination(OPEN), "WRONG_KIND"),
    "aggregation of a stream": (lambda: Aggregate(OPEN, (), ()), "WRONG_KIND"),
    "a limit on a stream": (lambda: TopK(OPEN, (), 1), "WRONG_KIND"),
    "a timeslice of a stream": (lambda: Timeslice(OPEN, 1), "WRONG_KIND"),
    "a group of a stream": (lambda: Group(OPEN, number(1), 1, 1), "WRONG_KIND"),
    "a relational view of a relation": (lambda: RelationalView(ITEM), "WRONG_KIND"),
    "a slide over a stream": (lambda: Synchronize(OPEN, 1), "WRONG_KIND"),
    "Istream of a stream": (lambda: ToStream(StreamOperator.ISTREAM, OPEN), "WRONG_KIND"),
    "COMPLETE of a stream": (lambda: Complete(OPEN), "WRONG_KIND"),
    "a union of unlike widths": (lambda: SetOperation(SetOperator.UNION, ITEM, ALL_BID), "COLUMN_COUNT"),
    "a union of unlike types": (
        lambda: SetOperation(SetOperator.UNION, ITEM, Values((Field("a", STRING), Field("b", STRING)), ())),
        "TYPE_MISMATCH",
    ),
    "a filter by a number": (lambda: Filter(ITEM, number(1)), "TYPE_MISMATCH"),
    "a join on a number": (lambda: Join(JoinKind.INNER, ITEM, PLAIN, number(1)), "TYPE_MISMATCH"),
    "a join of a relation with itself": (lambda: Join(JoinKind.SEMI, ITEM, ITEM), "DUPLICATE_COLUMN"),
    "a name twice in a projection": (lambda: Project(ITEM, (("a", number(1)), ("a", number(2)))), "DUPLICATE_COLUMN"),
    "a name twice in a stream": (lambda: Source("S", "S", (Field("S.a", INT), Field("S.a", INT))), "DUPLICATE_COLUMN"),
    "a row of another width": (lambda: Values((Field("a", INT),), ((1, 2),)), "ROW_WIDTH"),
    "a partition by an unknown column": (lambda: Window(OPEN, RowsWindow(1, ("Open.colour",))), "UNKNOWN_COLUMN"),
    "a tagger with an unknown key": (lambda: Tag(OPEN, ("Open.colour",)), "UNKNOWN_COLUMN"),
    "a tagger with a hidden key": (lambda: Tag(OPEN, ("Open.ts",)), "UNKNOWN_COLUMN"),
    "a negative limit": (lambda: TopK(ITEM, (), -1), "NEGATIVE_LIMIT"),
    "the third group of two": (lambda: Group(ITEM, number(1), 2, 3), "GROUP_INDEX"),
    "a synchronization stream of two columns": (lambda: RelationalView(tagged("T"), ITEM), "SYNC_COLUMNS"),
    "a slide of nothing": (lambda: Synchronize(ITEM, 0), "WINDOW_RATE"),
    "pieces of no length": (lambda: Split(ITEM, 0), "SPLIT_LENGTH"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_plan_that_makes_no_sense_cannot_be_built(mistake: str) -> None:
    build, condition = MISTAKES[mistake]
    with pytest.raises(PlanError) as caught:
        build()
    assert caught.value.condition == condition


def test_errors_carry_what_was_needed_and_what_was_given() -> None:
    with pytest.raises(PlanError) as kind:
        Window(ITEM, NOW)
    assert kind.value.parameters == {"needs": "stream", "got": "relation"}
    with pytest.raises(PlanError) as count:
        SetOperation(SetOperator.UNION, ITEM, ALL_BID)
    assert count.value.parameters == {"left": 2, "right": 3}
    with pytest.raises(PlanError) as types:
        Filter(ITEM, number(1))
    assert types.value.parameters == {"left": "BOOLEAN", "right": "INT"}
    with pytest.raises(PlanError) as duplicate:
        Join(JoinKind.SEMI, ITEM, ITEM)
    assert duplicate.value.parameters == {"columns": ["Item.item", "Item.name"]}


def test_outer_joins_make_the_other_side_nullable() -> None:
    def nullable(kind: JoinKind) -> list[bool]:
        joined = Join(kind, ITEM, PLAIN, same_item(ITEM, PLAIN), mark="found")
        return [f.nullable for f in joined.schema if f.short == "item"]

    assert nullable(JoinKind.INNER) == [False, False]
    assert nullable(JoinKind.LEFT) == nullable(JoinKind.SINGLE) == [False, True]
    assert nullable(JoinKind.RIGHT) == [True, False]
    assert nullable(JoinKind.FULL) == [True, True]
    assert nullable(JoinKind.SEMI) == nullable(JoinKind.ANTI) == nullable(JoinKind.MARK) == [False]


def test_a_mark_join_adds_a_condition() -> None:
    joined = Join(JoinKind.MARK, ITEM, PLAIN, same_item(ITEM, PLAIN), mark="found")
    assert joined.schema.get("found") == Field("found", BOOLEAN)


def test_set_operations_widen_columns() -> None:
    wide = Values((Field("a", BIGINT, nullable=False), Field("b", STRING)), ())
    assert SetOperation(SetOperator.UNION, ITEM, wide).schema.types == (BIGINT, STRING)


def test_a_relational_view_adds_the_timestamp_of_each_row() -> None:
    view = RelationalView(tagged("T"), timestamp="T.TS")
    assert view.schema.names == ("T.room", "T.degrees", "T.TS")
    assert RelationalView(Clock("C", TimeDomain.MICROSECONDS)).schema.types == (TIMESTAMP,)


def test_streams_show_the_columns_that_the_query_names() -> None:
    assert not any(f.hidden for f in ToStream(StreamOperator.ISTREAM, ALL_OPEN).schema)
    assert Tag(OPEN).schema.names == ("Open.item", "Open.price")


@pytest.mark.parametrize("wrap", [lambda p: Filter(p, Literal(True, BOOLEAN)), Split, Coalesce])
def test_some_operators_yield_what_their_input_does(wrap: Callable[[Plan], Plan]) -> None:
    assert [kind_of(wrap(p)) for p in (OPEN, ALL_OPEN, Tag(OPEN))] == [Kind.STREAM, Kind.RELATION, Kind.TAGGED]


def test_plans_are_compared_by_value() -> None:
    assert Filter(ALL_OPEN, EXPENSIVE) == Filter(Window(OPEN, UNBOUNDED), EXPENSIVE)
    assert hash(Filter(ALL_OPEN, EXPENSIVE)) == hash(Filter(Window(OPEN, UNBOUNDED), EXPENSIVE))


def test_walks_reach_the_plans_of_subqueries() -> None:
    asked = Filter(ALL_OPEN, Exists(ALL_BID))
    assert all_inputs(asked) == (ALL_OPEN, ALL_BID)
    assert list(nodes_of(asked)) == [asked, ALL_OPEN, OPEN, ALL_BID, BID]
    assert domain_of(Filter(ITEM, Exists(ALL_BID))) is TimeDomain.TICKS
    assert domain_of(ITEM) is None


def test_a_name_that_the_inputs_do_not_supply_is_free() -> None:
    inner = Filter(ALL_BID, same_item(BID, OPEN))
    assert free_columns(inner) == {"Open.item"}
    assert free_columns(Filter(ALL_OPEN, Exists(inner))) == frozenset()


def test_inputs_can_be_changed_one_by_one() -> None:
    joined = Join(JoinKind.INNER, ALL_OPEN, ALL_BID, same_item(OPEN, BID))
    changed = with_inputs(joined, DuplicateElimination)
    assert changed.inputs == (DuplicateElimination(ALL_OPEN), DuplicateElimination(ALL_BID))
    assert with_inputs(OPEN, DuplicateElimination) is OPEN

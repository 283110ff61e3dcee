"""Keys of relations, found in their plans."""

from __future__ import annotations

import pytest

from continua.algebra.base import Plan
from continua.algebra.expr import Call, Cast, Column, Expr, SortKey, both, equal
from continua.algebra.keys import keys
from continua.algebra.leaves import BaseRelation, Clock, Values
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
from continua.types import BIGINT, DOUBLE, INT, STRING
from continua.windows.over_rows import RowsWindow
from continua.windows.over_time import NOW, UNBOUNDED, TimeWindow
from tests.algebra.samples import BID, COUNT, ITEM, PLAIN, SOLD, column, number, same_item, stored, stream, tagged

OTHER = stored("Other", key=("item",))
ALL_SOLD = Window(SOLD, UNBOUNDED)
NO_KEY = Window(BID, TimeWindow(5))
LAST_BIDS = Window(BID, RowsWindow(1, ("Bid.item",)))
ONE = Values((Field("one", INT),), ((1,),))
NULLABLE = BaseRelation("N", "N", (Field("N.item", INT), Field("N.name", STRING)), ("N.item",))
DOUBLES = Values((Field("d", DOUBLE), Field("s", STRING)), ((1.0, "x"), (1.0, "x")))
COUNTED = Aggregate(LAST_BIDS, (), (("n", COUNT),))


def named(**outputs: Expr) -> tuple[tuple[str, Expr], ...]:
    return tuple(outputs.items())


def join(kind: JoinKind, left: Plan, right: Plan, predicate: Expr | None = None) -> Join:
    return Join(kind, left, right, predicate, mark="m" if kind is JoinKind.MARK else "")


ON = same_item(ITEM, OTHER)
PAIR = "Item.item Other.item"

CASES: dict[str, tuple[Plan, list[str]]] = {
    "a declared key of a relation": (ITEM, ["Item.item"]),
    "no declared key": (PLAIN, []),
    "a declared key that the relation does not have": (BaseRelation("I", "I", ITEM.columns, ("item",)), []),
    "a stream's key in any window": (ALL_SOLD, ["Sold.item"]),
    "a stream's key in a now-window": (Window(SOLD, NOW), ["Sold.item"]),
    "a stream without key": (NO_KEY, []),
    "the last row of each partition": (LAST_BIDS, ["Bid.item"]),
    "the last row": (Window(BID, RowsWindow(1)), [""]),
    "the last two rows of each partition": (Window(BID, RowsWindow(2, ("Bid.item",))), []),
    "a tagged stream's key in its view": (RelationalView(tagged("T", ("room",)), timestamp="T.TS"), ["T.room"]),
    "a tagged stream without key": (RelationalView(tagged("T")), []),
    "a tagger's key": (RelationalView(Tag(BID, ("Bid.item",))), ["Bid.item"]),
    "the key of a stream that is tagged without one": (RelationalView(Tag(SOLD)), ["Sold.item"]),
    "the key of a relation that is streamed": (RelationalView(Tag(LAST_BIDS)), ["Bid.item"]),
    "the clock": (RelationalView(Clock("C")), ["C.Timepoint"]),
    "one constant row": (ONE, [""]),
    "two constant rows": (Values((Field("a", INT),), ((1,), (1,))), []),
    "a grouping": (Aggregate(NO_KEY, named(i=column(BID, "item")), (("n", COUNT),)), ["i"]),
    "a grouping by more than a key": (
        Aggregate(LAST_BIDS, named(i=column(BID, "item"), p=column(BID, "price")), ()),
        ["i"],
    ),
    "a scalar aggregation": (COUNTED, [""]),
    "distinct rows": (DuplicateElimination(PLAIN), ["Plain.item Plain.name"]),
    "distinct rows that had a key": (DuplicateElimination(ITEM), ["Item.item"]),
    "a projection that keeps the key": (Project(ITEM, named(i=column(ITEM, "item"), n=column(ITEM, "name"))), ["i"]),
    "a projection that drops the key": (Project(ITEM, named(n=column(ITEM, "name"))), []),
    "a projection that computes with the key": (Project(ITEM, named(i=Cast(column(ITEM, "item"), STRING))), []),
    "a projection of one row": (Project(ONE, named(x=number(1))), [""]),
    "a filter": (Filter(ITEM, equal(column(ITEM, "item"), number(1))), ["Item.item"]),
    "one group": (Group(ITEM, column(ITEM, "item"), 2, 1), ["Item.item"]),
    "the first rows": (TopK(ITEM, (SortKey(column(ITEM, "name")),), 3), ["Item.item"]),
    "the first row": (TopK(PLAIN, (SortKey(column(PLAIN, "name")),), 1), [""]),
    "the first row of each partition": (TopK(PLAIN, (), 1, partition=(column(PLAIN, "name"),)), ["Plain.name"]),
    "the first row by an expression": (TopK(PLAIN, (), 1, partition=(Cast(column(PLAIN, "name"), INT),)), []),
    "a timeslice": (Timeslice(LAST_BIDS, 3), ["Bid.item"]),
    "a slide": (Synchronize(LAST_BIDS, 3), ["Bid.item"]),
    "complete, split, coalesced": (Complete(Split(Coalesce(LAST_BIDS))), ["Bid.item"]),
    "a product": (join(JoinKind.INNER, ITEM, OTHER), [PAIR]),
    "a product with one row": (join(JoinKind.INNER, ITEM, ONE), ["Item.item"]),
    "a join on both keys": (join(JoinKind.INNER, ITEM, OTHER, ON), ["Item.item", "Other.item"]),
    "a join on one side's key": (join(JoinKind.INNER, LAST_BIDS, PLAIN, same_item(BID, PLAIN)), []),
    "a join that finds by key": (
        join(JoinKind.INNER, ALL_SOLD, ITEM, same_item(SOLD, ITEM)),
        ["Item.item", "Sold.item"],
    ),
    "a join on a part of the other side": (
        join(JoinKind.INNER, ITEM, OTHER, equal(column(ITEM, "name"), column(OTHER, "name"))),
        [PAIR],
    ),
    "a join that widens the key": (
        join(JoinKind.INNER, OTHER, DOUBLES, equal(column(OTHER, "item"), Column("d", DOUBLE))),
        [],
    ),
    "a join on the key and more": (join(JoinKind.LEFT, ITEM, OTHER, both(ON, Column("c", ON.type))), ["Item.item"]),
    "a left outer join on the right key": (join(JoinKind.LEFT, ITEM, OTHER, ON), ["Item.item"]),
    "a left outer join on something": (
        join(JoinKind.LEFT, ITEM, OTHER, equal(column(ITEM, "name"), column(OTHER, "name"))),
        [PAIR],
    ),
    "a right outer join on the left key": (join(JoinKind.RIGHT, ITEM, OTHER, ON), ["Other.item"]),
    "a full outer join": (join(JoinKind.FULL, ITEM, OTHER, ON), [PAIR]),
    "a full outer join whose rows may all be NULL": (join(JoinKind.FULL, NULLABLE, ONE), []),
    "a full outer join of single rows": (join(JoinKind.FULL, COUNTED, ONE), []),
    "a semijoin": (join(JoinKind.SEMI, ITEM, OTHER, ON), ["Item.item"]),
    "an antijoin": (join(JoinKind.ANTI, ITEM, PLAIN), ["Item.item"]),
    "a mark join": (join(JoinKind.MARK, ITEM, PLAIN), ["Item.item"]),
    "a single join": (join(JoinKind.SINGLE, ITEM, PLAIN), ["Item.item"]),
    "a union": (SetOperation(SetOperator.UNION, ITEM, OTHER), []),
    "a union of sets": (SetOperation(SetOperator.UNION, ITEM, OTHER, distinct=True), ["Item.item Item.name"]),
    "a max-union": (SetOperation(SetOperator.MAX_UNION, ITEM, OTHER), []),
    "an intersection": (SetOperation(SetOperator.INTERSECTION, ITEM, PLAIN), ["Item.item"]),
    "a difference": (SetOperation(SetOperator.DIFFERENCE, ITEM, PLAIN), ["Item.item"]),
    "a difference that widens the key": (SetOperation(SetOperator.DIFFERENCE, ITEM, DOUBLES), []),
    "a now-window over a derived stream": (
        Window(ToStream(StreamOperator.RSTREAM, LAST_BIDS), NOW),
        ["Bid.item"],
    ),
    "a longer window over a derived stream": (Window(ToStream(StreamOperator.RSTREAM, LAST_BIDS), UNBOUNDED), []),
    "any window over what a growing relation inserts": (
        Window(ToStream(StreamOperator.ISTREAM, ALL_SOLD), TimeWindow(5)),
        ["Sold.item"],
    ),
    "any window over what a shrinking relation inserts": (
        Window(ToStream(StreamOperator.ISTREAM, LAST_BIDS), TimeWindow(5)),
        [],
    ),
    "a window over a mapped stream": (
        Window(Project(Filter(SOLD, Column("c", ON.type)), named(i=column(SOLD, "item"))), UNBOUNDED),
        ["i"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_keys_tell_the_rows_of_an_instant_apart(case: str) -> None:
    plan, expected = CASES[case]
    assert keys(plan) == {frozenset(key.split()) for key in expected}


def test_a_key_with_a_hidden_column_is_lost_where_the_column_is() -> None:
    timed = stream("S", key=("item", "ts"))
    assert keys(Window(timed, NOW)) == {frozenset(("S.item", "S.ts"))}
    assert keys(RelationalView(Tag(timed))) == frozenset()


def test_a_column_handed_on_twice_names_the_key_once() -> None:
    twice = Project(ITEM, named(a=column(ITEM, "item"), b=column(ITEM, "item")))
    assert keys(twice) == {frozenset(("a",))}


def test_integers_of_different_widths_are_compared_exactly() -> None:
    wide = Values((Field("w", BIGINT),), ((1,), (2,)))
    joined = Join(JoinKind.LEFT, DuplicateElimination(wide), OTHER, equal(Column("w", BIGINT), column(OTHER, "item")))
    assert keys(joined) == {frozenset(("w",))}


def test_an_equality_on_columns_of_one_side_finds_nothing() -> None:
    own = Call("=", (column(OTHER, "item"), column(OTHER, "item")), ON.type)
    assert keys(join(JoinKind.INNER, ITEM, OTHER, own)) == {frozenset(PAIR.split())}

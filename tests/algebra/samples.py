"""Small plans to ask questions about: an auction, as in the papers."""

from __future__ import annotations

from continua.algebra.base import Plan
from continua.algebra.expr import AggregateCall, Call, Column, Expr, Literal, Now, equal
from continua.algebra.leaves import BaseRelation, Clock, Source, TaggedSource
from continua.algebra.relational import Filter, Project, Window
from continua.algebra.schema import Field
from continua.algebra.streaming import RelationalView, Tag
from continua.instants import INFINITY
from continua.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING
from continua.windows.fixed import FixedWindow
from continua.windows.landmark import LandmarkWindow
from continua.windows.measures import Axis, Linear, Rate
from continua.windows.over_rows import RowsWindow
from continua.windows.over_time import NOW, UNBOUNDED, TimeWindow
from continua.windows.sequence import SequenceWindow
from continua.windows.spec import GenericWindow


def stream(alias: str, name: str = "", key: tuple[str, ...] = ()) -> Source:
    """A stream of items and prices, with a hidden ordering column."""
    columns = (
        Field(f"{alias}.item", INT, nullable=False),
        Field(f"{alias}.price", DOUBLE),
        Field(f"{alias}.ts", BIGINT, nullable=False, hidden=True),
    )
    return Source(name or alias, alias, columns, key=tuple(f"{alias}.{k}" for k in key))


def stored(alias: str, key: tuple[str, ...] = ()) -> BaseRelation:
    """A static relation of items and their names."""
    columns = (Field(f"{alias}.item", INT, nullable=False), Field(f"{alias}.name", STRING))
    return BaseRelation(alias, alias, columns, tuple(f"{alias}.{k}" for k in key))


def tagged(alias: str, key: tuple[str, ...] = ()) -> TaggedSource:
    """A tagged stream of rooms and temperatures."""
    columns = (Field(f"{alias}.room", STRING, nullable=False), Field(f"{alias}.degrees", INT))
    return TaggedSource(alias, alias, columns, key=tuple(f"{alias}.{k}" for k in key))


def column(plan: Plan, short: str) -> Column:
    """The column of a short name."""
    return next(f.column for f in plan.schema if f.short == short)


def number(value: int) -> Literal:
    """An integer constant."""
    return Literal(value, INT)


def compare(operator: str, left: Expr, right: Expr) -> Call:
    """A condition."""
    return Call(operator, (left, right), BOOLEAN)


def same_item(left: Plan, right: Plan) -> Expr:
    """Both rows speak of one item."""
    return equal(column(left, "item"), column(right, "item"))


def every(step: int, offset: int = 0, alias: str = "C") -> Plan:
    """SyncSQL's example 10: the clock's points with a remainder, as a tagged stream."""
    clock = RelationalView(Clock(alias))
    timepoint = column(clock, "Timepoint")
    remainder = Call("%", (timepoint, number(step)), BIGINT)
    ticks = Filter(clock, equal(remainder, number(offset)))
    return Tag(Project(ticks, ((f"{alias}_sync.Timepoint", timepoint),)))


OPEN = stream("Open")
BID = stream("Bid")
SOLD = stream("Sold", key=("item",))
ITEM = stored("Item", key=("item",))
PLAIN = stored("Plain")

ALL_OPEN = Window(OPEN, UNBOUNDED)
ALL_BID = Window(BID, UNBOUNDED)
RECENT_BID = Window(BID, TimeWindow(10))
NOW_BID = Window(BID, NOW)

EXPENSIVE = compare(">", column(OPEN, "price"), number(100))
LATE = compare("<", column(OPEN, "ts"), Now())
COUNT = AggregateCall("COUNT", (), BIGINT, nullable=False)

WINDOWS = (
    NOW,
    UNBOUNDED,
    TimeWindow(5),
    TimeWindow(5, Rate(2)),
    FixedWindow(5),
    LandmarkWindow(3),
    RowsWindow(5),
    RowsWindow(INFINITY),
    SequenceWindow(Linear(2, 0), Linear(2, 1), Rate(2)),
    SequenceWindow(Linear(0, 0), Linear(2, 1), Rate(2), Axis.ROWS),
    GenericWindow("own", lambda t: t, lambda t: t, lambda t: t),
)

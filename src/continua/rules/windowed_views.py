"""Windows that are written as conditions on the timestamp of a view's rows (SyncSQL 2.2, 3.3).

``NOW - 5 < R.TS AND R.TS <= NOW`` says how long ago a row came: of a view of a stream's elements that is a window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from continua.algebra.base import Kind, Plan, kind_of
from continua.algebra.expr import Call, Cast, Column, Expr, Literal, Now, conjuncts, transform
from continua.algebra.leaves import Source
from continua.algebra.relational import Filter, Join, JoinKind, Project, Window
from continua.algebra.safety import cannot_fail
from continua.algebra.streaming import RelationalView, Tag
from continua.algebra.synchronization import clock_points
from continua.instants import INFINITY, TimeDomain
from continua.rules.substitution import combined, filtered
from continua.types import BIGINT, INTERVAL, TIMESTAMP
from continua.windows.change_points import EVERY_INSTANT, Points
from continua.windows.measures import Rate
from continua.windows.over_rows import RowsWindow
from continua.windows.over_time import TimeWindow
from continua.windows.spec import WindowSpec

MOST = 1 << 60
"""No length of time in a condition is that long: sums of them fit an instant."""


@dataclass(frozen=True, slots=True)
class Age:
    """How long ago a row may have come: at least ``least`` instants, and less than ``end``."""

    least: int = 0
    end: int = INFINITY

    def of(self, chronon: int) -> Age:
        """In whole chronons: instants have no others between them."""
        end = self.end if self.end >= INFINITY else -(-self.end // chronon) * chronon
        return Age(max(-(-self.least // chronon) * chronon, 0), end)

    def and_also(self, other: Age) -> Age:
        """Both."""
        return Age(max(self.least, other.least), min(self.end, other.end))


# Conditions.


def age(condition: Expr, present: Callable[[Expr], bool]) -> tuple[str, Age] | None:
    """The column that a condition compares with the present, and how long ago that has to be; None for others.

    ``present`` says which expressions are the present instant.
    """
    match condition:
        case Call(function=comparison, arguments=(left, right)) if comparison in _TURNED:
            found, other = _Sum.of(left, present), _Sum.of(right, present)
        case _:
            return None
    if found is None or other is None:
        return None
    total = found.minus(other)
    column = total.column
    if column is None or total.present * total.times != -1 or abs(total.constant) > MOST:
        return None
    if total.present < 0:
        total, comparison = total.negated(), _TURNED[comparison]
    # now the present, less the column, is compared with a length of time
    bound = -total.constant
    least = bound + 1 if comparison == ">" else bound if comparison in (">=", "=") else -MOST
    end = bound if comparison == "<" else bound + 1 if comparison in ("<=", "=") else INFINITY
    return column, Age(least, end)


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


@dataclass(frozen=True, slots=True)
class _Sum:
    """So many times the present, so many times a column, and a length of time."""

    present: int = 0
    times: int = 0
    column: str | None = None
    constant: int = 0

    @classmethod
    def of(cls, expr: Expr, present: Callable[[Expr], bool]) -> _Sum | None:
        if present(expr):
            return cls(present=1)
        match expr:
            case Column(name=name, type=kind) if kind == TIMESTAMP or kind.is_integer:
                return cls(times=1, column=name)
            case Literal(value=bool()):
                return None
            case Literal(value=int(value)):
                return cls(constant=value)
            case Literal(value=timedelta() as value):
                return cls(constant=value // timedelta(microseconds=1))
            case Cast(operand=operand, type=kind) if kind == BIGINT and operand.type.is_integer:
                return cls.of(operand, present)
            case Call(function="+" | "-" as sign, arguments=(left, right)) if _is_time(expr):
                one, other = cls.of(left, present), cls.of(right, present)
                if one is None or other is None:
                    return None
                return one.minus(other if sign == "-" else other.negated())
            case _:
                return None

    def negated(self) -> _Sum:
        """Its opposite."""
        return replace(self, present=-self.present, times=-self.times, constant=-self.constant)

    def minus(self, other: _Sum) -> _Sum:
        """The difference; of two columns it is of neither."""
        times = self.times - other.times
        if self.column is not None and other.column is not None and self.column != other.column:
            return _Sum()
        return _Sum(self.present - other.present, times, self.column or other.column, self.constant - other.constant)


def _is_time(expr: Expr) -> bool:
    return expr.type in (TIMESTAMP, INTERVAL) or expr.type.is_integer


def is_now(expr: Expr) -> bool:
    """Whether it is the present instant."""
    return isinstance(expr, Now)


def always_has_a_value(condition: Expr) -> bool:
    """Whether a condition, perhaps on NOW, has a value for every row: ages fit an instant."""
    if age(condition, is_now) is not None:
        return True
    return cannot_fail(transform(condition, lambda part: Column("NOW", part.type) if isinstance(part, Now) else part))


# Trees of inner joins with filters among them.


def inputs_of(plan: Plan) -> Iterator[Plan]:
    """What is joined in a tree of inner joins with filters among them."""
    match plan:
        case Join(join=JoinKind.INNER, left=left, right=right):
            yield from inputs_of(left)
            yield from inputs_of(right)
        case Filter(input=below) if kind_of(plan) is Kind.RELATION:
            yield from inputs_of(below)
        case _:
            yield plan


def conditions_of(plan: Plan) -> Iterator[Expr]:
    """The conditions of such a tree."""
    match plan:
        case Join(join=JoinKind.INNER, left=left, right=right, predicate=predicate):
            yield from conjuncts(predicate)
            yield from conditions_of(left)
            yield from conditions_of(right)
        case Filter(input=below, predicate=predicate) if kind_of(plan) is Kind.RELATION:
            yield from conjuncts(predicate)
            yield from conditions_of(below)
        case _:
            pass


def replaced(plan: Plan, inputs: Mapping[Plan, Plan | None], dropped: Iterable[Expr]) -> Plan | None:
    """A tree with other inputs, and without some conditions; what has None in its place is left out."""
    if plan in inputs:
        return inputs[plan]
    match plan:
        case Join(join=JoinKind.INNER, predicate=predicate):
            left, right = (replaced(side, inputs, dropped) for side in (plan.left, plan.right))
            kept = [part for part in conjuncts(predicate) if part not in dropped]
            if left is None or right is None:
                side = left or right
                return None if side is None else filtered(side, kept)
            return replace(plan, left=left, right=right, predicate=combined(kept))
        case Filter(input=below, predicate=predicate) if kind_of(plan) is Kind.RELATION:
            inner = replaced(below, inputs, dropped)
            kept = [part for part in conjuncts(predicate) if part not in dropped]
            return None if inner is None else filtered(inner, kept)
        case _:
            return plan


# Views and windows.


@dataclass(frozen=True, slots=True)
class WindowedView:
    """A window that holds the rows of a view of some ages, under the same names; and whether it holds no others."""

    plan: Plan
    exact: bool
    holds_all: bool


def has_ages(view: Plan) -> bool:
    """Whether it is a view, with timestamps, of a stream whose elements have an instant each."""
    match view:
        case RelationalView(input=Tag(input=Source() as source), timestamp=str()):
            return not source.interval and _ordering(source) is not None
        case _:
            return False


def windowed(view: Plan, wanted: Age, chronon: int, points: Points = EVERY_INSTANT) -> WindowedView | None:
    """A window for the rows of a view that are of some ages at the last of some points.

    None where no window has them, or they stay for ever.
    """
    assert isinstance(view, RelationalView) and isinstance(view.input, Tag)
    source, keys = view.input.input, view.input.key
    assert isinstance(source, Source)
    refreshed = EVERY_INSTANT if view.sync is None else clock_points(view.sync)
    ages = wanted.of(chronon)
    if refreshed is None or not ages.least < ages.end < INFINITY:
        return None
    if points == EVERY_INSTANT:
        moves, exact = refreshed, refreshed == EVERY_INSTANT
    elif points == refreshed:
        moves, exact = points, True
    else:
        # Rows are seen before the first of the points that follows them, unless a condition keeps them back; what
        # updates them is seen before it in any case.
        moves, exact = points, refreshed == EVERY_INSTANT and wanted.least >= 0 and not keys
        if not exact:
            return None
    if moves != EVERY_INSTANT and (moves.step % chronon or moves.offset % chronon):
        return None
    lag = ages.least if exact and not keys else 0
    slide = None if moves == EVERY_INSTANT else Rate(moves.step, origin=moves.offset - lag)
    spec: WindowSpec = RowsWindow(1, keys, ages.end, slide) if keys else TimeWindow(ages.end - lag, slide, lag)
    spec = replace(spec, text=f"[{spec.body(source.domain)}]")
    outputs = [*((f.name, f.column) for f in view.input.schema), (view.timestamp or "", _timestamp(view, chronon))]
    plan = Project(Window(source, spec), tuple(outputs))
    return WindowedView(plan, exact and lag == ages.least, spec.holds_all and not keys)


def _ordering(source: Source) -> Column | None:
    """The column that gives a stream its time."""
    column = next((f.column for f in source.columns if f.hidden), None)
    return column if column is not None and (column.type == TIMESTAMP or column.type.is_integer) else None


def _timestamp(view: RelationalView, chronon: int) -> Expr:
    """The instant at which a row came, by its ordering column."""
    (source,) = view.input.inputs
    assert isinstance(source, Source)
    column, kind = _ordering(source), view.schema.fields[-1].type
    assert column is not None
    if source.domain is TimeDomain.MICROSECONDS and chronon > 1:
        instant, length = Call("UNIX_MICROS", (column,), BIGINT), Literal(chronon, BIGINT)
        rest = Call("%", (Call("+", (Call("%", (instant, length), BIGINT), length), BIGINT), length), BIGINT)
        return Call("MAKE_TIMESTAMP", (Call("-", (instant, rest), BIGINT),), TIMESTAMP)
    return column if column.type == kind else Cast(column, kind)

"""Filters and projections as typed trees: what an evaluation does to rows, step by step.

A step computes columns, an interval and conditions over the columns ``c0``, ``c1``, ... of the one before it, or of the
input. Steps follow each other because a condition guards what stands above it: what can fail is only asked of rows that
came so far. Where that makes no difference two steps are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from continua.algebra.expr import Call, Column, Expr, transform, walk
from continua.algebra.identity import identity
from continua.algebra.safety import cannot_fail
from continua.types import BIGINT, DataType

START, END, WEIGHT = "#start", "#end", "#weight"
"""The columns of a row's interval and weight, behind its payload."""

OLD_START = Column(START, BIGINT, False)
OLD_END = Column(END, BIGINT, False)
ROW_WEIGHT = Column(WEIGHT, BIGINT, False)

_OUTSIDE = (START, END, WEIGHT)


@dataclass(frozen=True, eq=False)
class Step:
    """Columns of rows that satisfy all conditions, and the interval of each; steps are equal when they do the same."""

    columns: tuple[Expr, ...]
    where: tuple[Expr, ...] = ()
    start: Expr = OLD_START
    end: Expr = OLD_END

    @cached_property
    def identity(self) -> str:
        """What it does, as a text that is the same in every process."""
        parts = (self.columns, self.where, (self.start,), (self.end,))
        return "|".join(";".join(map(identity, exprs)) for exprs in parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Step) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    @property
    def expressions(self) -> Iterator[Expr]:
        """All of its expressions."""
        yield from self.columns
        yield from self.where
        yield self.start
        yield self.end

    @cached_property
    def passes(self) -> tuple[int | None, ...]:
        """For each column the one before that it is, if it is one."""
        return tuple(map(place_of, self.columns))

    @property
    def picks(self) -> bool:
        """Whether all its columns are some that were there, with the intervals that were."""
        return self.same_times and None not in self.passes

    @property
    def whole(self) -> bool:
        """Whether it only picks columns: every row stays."""
        return self.picks and not self.where

    @property
    def same_times(self) -> bool:
        """Whether intervals stay as they are."""
        return place_is(self.start, START) and place_is(self.end, END)

    @cached_property
    def keeps_times(self) -> bool:
        """Whether intervals stay as they are, and nothing depends on them."""
        asked = (part for expr in (*self.columns, *self.where) for part in walk(expr))
        return self.same_times and not any(place_is(part, START) or place_is(part, END) for part in asked)

    @cached_property
    def is_safe(self) -> bool:
        """Whether none of its conditions can fail."""
        return all(map(cannot_fail, self.where))

    def keeps_all(self, width: int) -> bool:
        """Whether it lets all columns of so many through, in their order."""
        return self.passes == tuple(range(width))


def place_is(expr: Expr, name: str) -> bool:
    """Whether an expression is the column of a name."""
    return isinstance(expr, Column) and expr.name == name


@lru_cache(maxsize=4096)
def column(place: int, data_type: DataType, nullable: bool = True) -> Column:
    """A column by its place; equal ones are one object, which goes to other processes once."""
    return Column(f"c{place}", data_type, nullable)


def place_of(expr: Expr) -> int | None:
    """The place of a column of the payload; None for any other expression."""
    return int(expr.name[1:]) if isinstance(expr, Column) and expr.name not in _OUTSIDE else None


def placed(expr: Expr, place: Callable[[str], int]) -> Expr:
    """An expression with columns by their places; long conditions are flat in it, as ANDs and ORs of many parts."""

    def change(part: Expr) -> Expr:
        match part:
            case Column(name=name) if name not in _OUTSIDE:
                return column(place(name), part.type, part.nullable)
            case Call(function="AND" | "OR" as word, arguments=arguments):
                inner = (a.arguments if isinstance(a, Call) and a.function == word else (a,) for a in arguments)
                return replace(part, arguments=tuple(a for some in inner for a in some))
            case _:
                return part

    return transform(expr, change)


def composed(steps: tuple[Step, ...], step: Step) -> tuple[Step, ...]:
    """Steps with one more: together with the last where the rows that each condition is asked of stay the same."""
    if not steps:
        return (step,)
    last = steps[-1]
    if step.whole:
        picked = tuple(last.columns[p] for p in step.passes if p is not None)
        return (*steps[:-1], replace(last, columns=picked))
    if last.picks and (not last.where or not step.where or (last.is_safe and step.is_safe)):
        return (*steps[:-1], _over(step, last))
    return (*steps, step)


def _over(step: Step, last: Step) -> Step:
    """A step over columns that the last one has only picked as one over those that they were picked from."""

    def change(part: Expr) -> Expr:
        place = place_of(part)
        return part if place is None else last.columns[place]

    def moved(expr: Expr) -> Expr:
        return expr if not renamed else transform(expr, change)

    renamed = any(place != number for number, place in enumerate(last.passes))
    return Step(
        tuple(map(moved, step.columns)),
        last.where + tuple(map(moved, step.where)),
        moved(step.start),
        moved(step.end),
    )

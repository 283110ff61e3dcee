"""Formulas of the instant t: bounds and conditions of windows that are evaluated in a rhythm of their own.

A formula is data, so that it can be compared, shown and sent to where it is worked out. Conditions are 1 or 0. Beside
its value a formula tells until when that surely stays the same: so evaluations are found without looking at every
instant.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

from continua.instants import INFINITY


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, or a length of time in instants."""

    value: int


@dataclass(frozen=True, slots=True)
class Instant:
    """The instant t itself, or one that lies so much later."""

    later: int = 0


@dataclass(frozen=True, slots=True)
class Start:
    """The query's start t0, or an instant that lies so much later."""

    later: int = 0


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on formulas, by its name in :data:`OPERATIONS`."""

    name: str
    operands: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The value of the first branch whose condition holds, else the last one."""

    branches: tuple[tuple[Formula, Formula], ...]
    otherwise: Formula


Formula: TypeAlias = Constant | Instant | Start | Operation | Choice

COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OPERATIONS: dict[str, Callable[..., int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "DIV": operator.floordiv,
    "%": operator.mod,
    "NEG": operator.neg,
    "ABS": abs,
    "GREATEST": max,
    "LEAST": min,
    "AND": lambda *parts: prod(parts),
    "OR": lambda *parts: max(parts),
    "NOT": lambda a: 1 - a,
    **{name: lambda a, b, holds=holds: int(holds(a, b)) for name, holds in COMPARISONS.items()},
}
"""What formulas are made with; DIV and % round down, so that they go on evenly before instant 0."""


def value_at(formula: Formula, t: int) -> int:
    """The value of a formula at an instant; division by zero raises."""
    match formula:
        case Constant(value=value):
            return value
        case Instant(later=later):
            return t + later
        case Operation(name=name, operands=operands):
            return OPERATIONS[name](*(value_at(part, t) for part in operands))
        case Choice(branches=branches, otherwise=otherwise):
            chosen = next((value for condition, value in branches if value_at(condition, t)), otherwise)
            return value_at(chosen, t)
        case Start():
            raise ValueError("the start of a query is known when it starts")


def started(formula: Formula, start: int) -> Formula:
    """The formula in a query that starts at an instant."""
    match formula:
        case Start(later=later):
            return Constant(start + later)
        case Operation(operands=operands):
            return replace(formula, operands=tuple(started(part, start) for part in operands))
        case Choice(branches=branches, otherwise=otherwise):
            chosen = tuple((started(a, start), started(b, start)) for a, b in branches)
            return Choice(chosen, started(otherwise, start))
        case _:
            return formula


def uses_start(formula: Formula) -> bool:
    """Whether it depends on the query's start."""
    return started(formula, 0) != formula


def stays_until(formula: Formula, t: int) -> int:
    """An instant after t before which the value is that at t: the first one at which it may be another."""
    match formula:
        case Constant() | Start():
            return INFINITY
        case Instant():
            return t + 1
        case Operation(name=name, operands=(left, Constant(value=bound))) if name in COMPARISONS:
            return _comparison_stays(left, bound, t)
        case Operation(name="DIV", operands=(Instant(later=later), Constant(value=step))) if step > 0:
            return t + step - (t + later) % step
        case Operation(operands=operands):
            return min((stays_until(part, t) for part in operands), default=INFINITY)
        case Choice(branches=branches, otherwise=otherwise):
            parts = [part for branch in branches for part in branch]
            return min(stays_until(part, t) for part in (*parts, otherwise))


def _comparison_stays(left: Formula, bound: int, t: int) -> int:
    """Where a comparison with a constant may turn: where that is reached, and where it is passed."""
    match left:
        case Instant(later=later):
            turns = [bound - later, bound - later + 1]
        case Operation(name="%", operands=(part, Constant(value=count))) if count > 0 and (unit := _unit(part)):
            begin = t - value_at(part, t) % count * unit - _since(part, unit, t)
            turns = [begin + unit * n for n in (bound, bound + 1, count)]
        case _:
            return stays_until(left, t)
    return min((turn for turn in turns if turn > t), default=INFINITY)


def _unit(formula: Formula) -> int | None:
    """After how many instants it grows by one, if it does so evenly: t, or t DIV a number."""
    match formula:
        case Instant():
            return 1
        case Operation(name="DIV", operands=(Instant(), Constant(value=unit))) if unit > 0:
            return unit
        case _:
            return None


def _since(formula: Formula, unit: int, t: int) -> int:
    """How long ago it grew to what it is at t."""
    match formula:
        case Instant(later=later) | Operation(operands=(Instant(later=later), _)):
            return (t + later) % unit
        case _:
            return 0


def text_of(formula: Formula) -> str:
    """The formula as it could be written, with instants and lengths as numbers of instants."""
    match formula:
        case Constant(value=value):
            return str(value)
        case Instant(later=later) | Start(later=later):
            name = "t" if isinstance(formula, Instant) else "START"
            return name if later == 0 else f"{name} {'+' if later > 0 else '-'} {abs(later)}"
        case Operation(name=name, operands=(one,)):
            return f"ABS({text_of(one)})" if name == "ABS" else f"{'-' if name == 'NEG' else 'NOT '}{_inner(one)}"
        case Operation(name="GREATEST" | "LEAST" as name, operands=operands):
            return f"{name}({', '.join(map(text_of, operands))})"
        case Operation(name=name, operands=operands):
            return f" {name} ".join(map(_inner, operands))
        case Choice(branches=branches, otherwise=otherwise):
            cases = " ".join(f"WHEN {text_of(a)} THEN {text_of(b)}" for a, b in branches)
            return f"CASE {cases} ELSE {text_of(otherwise)} END"


def _inner(formula: Formula) -> str:
    plain = isinstance(formula, Constant | Choice) or (isinstance(formula, Instant | Start) and not formula.later)
    return text_of(formula) if plain else f"({text_of(formula)})"

"""What conditions of a query let through, as its operators have shown while it ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from continua.algebra.base import Plan
from continua.algebra.expr import Expr, conjuncts, has_subquery
from continua.algebra.identity import identity
from continua.algebra.relational import Filter, Join, JoinKind
from continua.rules.cost import LEAST, estimate
from continua.rules.rule import Facts

ENOUGH = 50.0
"""So many rows at least must have come through, or must have been expected to."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """How many rows operators have yielded in an epoch, and how many instants it has closed."""

    rows: Mapping[str, int]
    length: int


def measured(operators: Mapping[Plan, str], epochs: Sequence[Epoch], last: int, facts: Facts) -> dict[str, float]:
    """By their identity, the part of rows or of pairs that conditions have let through in the last epochs.

    The epochs before those tell how many rows windows held. Where several conditions are asked together, each of them
    has the same part in what is left.
    """
    found: dict[str, float] = {}
    seen = {plan: name for plan, name in operators.items() if all(name in epoch.rows for epoch in epochs[-last:])}
    for conditions, before, after, expected in _asked(seen, epochs, last, facts):
        if conditions and before > 0 and max(after, expected) >= ENOUGH:
            part = min(1.0, (after + 1) / (before + 1)) ** (1 / len(conditions))
            found |= dict.fromkeys(map(identity, conditions), part)
    return found


def _asked(
    operators: Mapping[Plan, str], epochs: Sequence[Epoch], last: int, facts: Facts
) -> Iterator[tuple[list[Expr], float, float, float]]:
    """Conditions that are asked together, of how many, how many they let through, and how many were expected."""
    latest = epochs[-last:]
    for plan, name in operators.items():
        after = float(sum(epoch.rows[name] for epoch in latest))
        match plan:
            case Filter(input=below, predicate=predicate) if below in operators:
                before = float(sum(epoch.rows[operators[below]] for epoch in latest))
                part = estimate(plan, facts).rate / max(estimate(below, facts).rate, LEAST)
                yield _plain(predicate), before, after, before * part
            case Join(join=JoinKind.INNER, left=left, right=right) if left in operators and right in operators:
                one, other = estimate(left, facts), estimate(right, facts)
                pairs = _pairs(operators[left], one.size / max(one.rate, LEAST), operators[right], epochs, last)
                pairs += _pairs(operators[right], other.size / max(other.rate, LEAST), operators[left], epochs, last)
                part = estimate(plan, facts).rate / max(one.rate * other.size + other.rate * one.size, LEAST)
                yield _plain(plan.predicate), pairs, after, pairs * part
            case _:
                pass


def _pairs(held: str, life: float, new: str, epochs: Sequence[Epoch], last: int) -> float:
    """How many pairs the new rows of one side made with those that the other side held, each for some instants.

    Nothing, where the epochs do not tell what it held.
    """
    found = 0.0
    for place in range(len(epochs) - min(last, len(epochs)), len(epochs)):
        size, left = 0.0, life
        for epoch in reversed(epochs[: place + 1]):
            if left <= 0 or held not in epoch.rows:
                break
            size += epoch.rows[held] * min(1.0, left / epoch.length)
            left -= epoch.length
        if left > 0:
            return -float("inf")
        found += epochs[place].rows[new] * size
    return found


def _plain(predicate: Expr | None) -> list[Expr]:
    """The conditions of a predicate; none where one of them asks further queries."""
    parts = list(conjuncts(predicate))
    return [] if any(map(has_subquery, parts)) else parts

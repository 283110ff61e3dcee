"""Duplicate elimination and set operations: at every instant what their definition says, in the least form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.kernels.relation.multiplicity import Multiplicity, Rule
from continua.kernels.store.arena import Arena
from continua.kernels.words.batch import INFINITY, Batch
from tests.kernels.logical import (
    Payload,
    Rows,
    assert_same,
    batch_of,
    content,
    epochs,
    rows_of,
    run,
    sizes,
    small,
    streams,
    within,
)

MEANING: dict[Rule, Callable[[int, int], int]] = {
    Rule.DISTINCT: lambda n1, n2: min(n1, 1),  # noqa: ARG005
    Rule.UNION_DISTINCT: lambda n1, n2: min(n1 + n2, 1),
    Rule.DIFFERENCE: lambda n1, n2: max(n1 - n2, 0),
    Rule.DIFFERENCE_DISTINCT: lambda n1, n2: int(n1 > 0 and n2 == 0),
    Rule.INTERSECTION: min,
    Rule.INTERSECTION_DISTINCT: lambda n1, n2: min(n1, n2, 1),
    Rule.MAX_UNION: max,
    Rule.MAX_UNION_DISTINCT: lambda n1, n2: min(max(n1, n2), 1),
    Rule.STRICT_DIFFERENCE: lambda n1, n2: n1 if n2 == 0 else 0,
    Rule.STRICT_DIFFERENCE_DISTINCT: lambda n1, n2: int(n1 > 0 and n2 == 0),
}


def result(rule: Rule, left: Rows, right: Rows, instant: int) -> Counter[Payload]:
    """By definition, payload for payload."""
    one, two = content(left, instant), content(right, instant)
    return Counter({p: MEANING[rule](one[p], two[p]) for p in {*one, *two}})


def segments(rule: Rule, left: Rows, right: Rows, edges: list[int]) -> Counter[tuple[Payload, int, int, int]]:
    """The rows that must be written: one for each change, closed if it ends in the same epoch."""
    rows: list[list[object]] = []
    for payload in {r[0] for r in left + right}:
        open_row: list[object] | None = None
        known = 0
        for after, until in pairwise(edges):
            for now in range(after + 1, until + 1):
                n = result(rule, left, right, now)[payload]
                if n == known:
                    continue
                if open_row is not None:
                    open_row[2] = now
                elif known:
                    rows.append([payload, now, INFINITY, -known])
                open_row = [payload, now, INFINITY, n] if n else None
                rows += [open_row] if open_row else []
                known = n
            open_row = None
    return Counter(tuple(r) for r in rows)  # type: ignore[misc]


@pytest.mark.parametrize("rule", Rule)
@settings(max_examples=40, deadline=None)
@given(left=streams(), right=streams(), edges=epochs, size=sizes, modes=st.lists(st.booleans(), min_size=1))
def test_changes_are_written_at_once_whenever_that_is_asked_for(
    rule: Rule, left: Rows, right: Rows, edges: list[int], size: int, modes: list[bool]
) -> None:
    """From one epoch to the next as well: then what was written as open is taken back."""
    right = [] if rule is Rule.DISTINCT else right
    numbers = count()

    def step(arena: Arena, after: int, until: int) -> Rows:
        at_once = modes[next(numbers) % len(modes)]
        operator = Multiplicity(arena, "m", 1, rule, at_once)
        second = None if rule is Rule.DISTINCT else batch_of(within(right, after, until), 1)
        with small(size):
            rows = rows_of(operator.epoch(batch_of(within(left, after, until), 1), second, after, until))
        if at_once:
            assert all(end == INFINITY for *_, end, _ in rows)
            order = [(start, weight > 0) for _, start, _, weight in rows]
            assert order == sorted(order), "what is less comes before what is more"
            assert len({row[:2] for row in rows}) == len(rows), "a payload changes once at an instant"
        return rows

    assert_same(run(edges, step), lambda t: result(rule, left, right, t))


@pytest.mark.parametrize("rule", Rule)
@settings(max_examples=40, deadline=None)
@given(left=streams(), right=streams(), edges=epochs, size=sizes)
def test_every_rule_is_its_function_of_both_counts(
    rule: Rule, left: Rows, right: Rows, edges: list[int], size: int
) -> None:
    right = [] if rule is Rule.DISTINCT else right
    held: list[int] = []

    def step(arena: Arena, after: int, until: int) -> Rows:
        operator = Multiplicity(arena, "m", 1, rule)
        second = None if rule is Rule.DISTINCT else batch_of(within(right, after, until), 1)
        with small(size):
            rows = rows_of(operator.epoch(batch_of(within(left, after, until), 1), second, after, until))
        held.append(operator.state_rows)
        return rows

    output = run(edges, step)
    assert_same(output, lambda t: result(rule, left, right, t))
    assert Counter(output) == segments(rule, left, right, edges)
    assert held[-1] == len({*content(left, edges[-1]), *content(right, edges[-1])})


def test_payloads_without_state_are_given_up() -> None:
    operator = Multiplicity(Arena(), "m", 2, Rule.DISTINCT)
    count = 5000
    for first in range(0, 200, 10):
        start = np.full(count, first + 1)
        words = np.vstack([np.arange(count) + first * count, np.zeros(count, np.int64)])
        rows = Batch(words, start, start + 15, np.ones(count, np.int64))
        assert len(operator.epoch(rows, None, first, first + 10)) == (2 * count if first else count)
        assert operator.state_rows == 2 * count
    assert sorted(operator.interned([0])[0].tolist()) == list(range(190 * count, 191 * count))
    assert len(operator.epoch(Batch.empty(2), None, 200, 300)) == count
    assert operator.state_rows == 0


def test_a_row_outside_the_epoch_is_refused() -> None:
    operator = Multiplicity(Arena(), "m", 1, Rule.DISTINCT)
    with pytest.raises(ValueError, match="outside the epoch"):
        operator.epoch(batch_of([((1,), 3, 5, 1)], 1), None, 3, 9)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 9), st.integers(10, 20))
def test_a_payload_that_is_always_there_is_written_once(first: int, last: int) -> None:
    operator = Multiplicity(Arena(), "m", 1, Rule.DISTINCT)
    rows: Rows = [((7,), t, t + 2, 1) for t in range(first, last)]
    written = [
        row
        for t in range(first, last)
        for row in rows_of(operator.epoch(batch_of(within(rows, t - 1, t), 1), None, t - 1, t))
    ]
    assert written == [((7,), first, INFINITY, 1)]

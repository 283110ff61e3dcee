"""Semijoin and antijoin: at every instant what the definition says, and the guard for single joins."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.kernels.join.gate import Gate, Mode, SecondMatch
from continua.kernels.store.arena import Arena
from continua.kernels.words.batch import INFINITY, Batch
from tests.kernels.logical import (
    HORIZON,
    Payload,
    Rows,
    assert_same,
    batch_of,
    content,
    epochs,
    keys_of,
    rows_of,
    run,
    sizes,
    small,
    streams,
    within,
)

NEVER = 9
"""A key that has no match."""


def passing(left: Rows, right: Rows, instant: int, match: bool) -> Counter[Payload]:
    """By definition: the left payloads whose key counts on the right, or does not."""
    keys = {p[0] for p in content(right, instant)} - {NEVER}
    return Counter({p: n for p, n in content(left, instant).items() if (p[0] in keys) == match})


def gate_epoch(gate: Gate, left: Rows, right: Rows, after: int, until: int) -> tuple[Batch, Batch]:
    left = within(left, after, until)
    right = [r for r in within(right, after, until) if r[0][0] != NEVER]
    never = np.array([r[0][0] == NEVER for r in left], np.bool_)
    arguments = (keys_of(left, 1), batch_of(left, 2), keys_of(right, 1), batch_of(right, 1), after, until, never)
    if gate.mode is Mode.BOTH:
        return gate.both(*arguments)
    return gate.epoch(*arguments), Batch.empty(2)


def with_never(rows: Rows) -> Rows:
    return [((NEVER if p[0] == 2 else p[0], *p[1:]), *rest) for p, *rest in rows]  # type: ignore[misc]


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("retract", [False, True])
@settings(max_examples=60, deadline=None)
@given(data=st.data(), edges=epochs, size=sizes)
def test_a_gate_passes_the_rows_of_every_instant(
    mode: Mode, retract: bool, data: st.DataObject, edges: list[int], size: int
) -> None:
    left = with_never(data.draw(streams(width=2, retract=retract)))
    right = with_never(data.draw(streams()))
    second: Rows = []

    def step(arena: Arena, after: int, until: int) -> Rows:
        gate = Gate(arena, "g", 1, 2, retract, mode)
        with small(size):
            one, two = gate_epoch(gate, left, right, after, until)
        assert within(rows_of(two), after, until) == rows_of(two)
        second.extend(rows_of(two))
        check_state(gate, left, right, until)
        return rows_of(one)

    output = run(edges, step)
    assert_same(output, lambda t: passing(left, right, t, mode is not Mode.ANTI))
    if mode is Mode.BOTH:
        assert_same(second, lambda t: passing(left, right, t, False))


def check_state(gate: Gate, left: Rows, right: Rows, until: int) -> None:
    """What is held are live left rows, and keys that count or will change."""
    held: Counter[tuple[Payload, int]] = Counter()
    for payload, start, end, weight in left:
        if start <= until < end and payload[0] != NEVER:
            held[payload, end] += weight
    rows = {row for row, n in held.items() if n}
    waiting = [r[0][0] for r in right if r[1] <= until < r[2] < INFINITY and r[0][0] != NEVER]
    counted = {p[0] for p in content(right, until)} - {NEVER}
    if any(r[3] < 0 for r in left):
        assert gate.state_rows == len(rows) + len(waiting)
    assert {*gate.interned([1])[0].tolist()} == {p[1] for p, _ in rows}
    keys = {p[0] for p, _ in rows} | {*waiting} | counted
    assert gate.state_keys == len(keys)
    assert {*gate.interned_keys([0])[0].tolist()} == keys


def first_second_match(left: Rows, right: Rows) -> int | None:
    """The first instant at which a live left row has two matches."""
    for now in range(HORIZON + 1):
        many = Counter[int]()
        for p, n in content(right, now).items():
            many[p[0]] += n
        if any(many[p[0]] > 1 for p in content(left, now)):
            return now
    return None


@settings(max_examples=120, deadline=None)
@given(left=streams(width=2, most=5), right=streams(most=5), edges=epochs, size=sizes)
def test_a_second_match_is_found_at_its_instant(left: Rows, right: Rows, edges: list[int], size: int) -> None:
    def step(arena: Arena, after: int, until: int) -> Rows:
        with small(size):
            return rows_of(gate_epoch(Gate(arena, "g", 1, 2, True, Mode.SEMI, True), left, right, after, until)[0])

    wrong = first_second_match(left, right)
    if wrong is None:
        assert_same(run(edges, step), lambda t: passing(left, right, t, True))
    else:
        with pytest.raises(SecondMatch) as caught:
            run(edges, step)
        assert caught.value.time == wrong


def test_a_match_that_is_replaced_at_an_instant_changes_nothing() -> None:
    gate = Gate(Arena(), "g", 1, 2, False, Mode.SEMI, True)
    left: Rows = [((1, 5), 2, 20, 1)]
    right: Rows = [((1,), 1, 6, 1), ((1,), 6, 9, 1), ((1,), 12, INFINITY, 1)]
    output = rows_of(gate_epoch(gate, left, right, 0, 15)[0])
    assert output == [((1, 5), 2, 20, 1), ((1, 5), 9, 20, -1), ((1, 5), 12, 20, 1)]


def test_nothing_is_left_when_all_has_expired() -> None:
    gate = Gate(Arena(), "g", 1, 2, True, Mode.BOTH, True)
    count = 3000
    for epoch in range(10):
        left: Rows = [((epoch * count + k, 0), 10 * epoch + 1, 10 * epoch + 25, 1) for k in range(count)]
        right: Rows = [((epoch * count + k,), 10 * epoch + 3, 10 * epoch + 14, 1) for k in range(count)]
        gate_epoch(gate, left, right, 10 * epoch, 10 * epoch + 10)
        assert gate.state_rows <= 9 * count and gate.state_keys <= 3 * count
    assert all(len(b) for b in gate_epoch(gate, [], [], 100, 200))
    assert gate.state_rows == gate.state_keys == 0


def test_a_gate_for_both_sides_has_no_single_answer() -> None:
    gate = Gate(Arena(), "g", 1, 2, False, Mode.BOTH)
    none = np.empty((1, 0), np.int64)
    with pytest.raises(ValueError, match="both"):
        gate.epoch(none, Batch.empty(2), none, Batch.empty(1), 0, 1)

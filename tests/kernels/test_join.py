"""Joins: at every instant the pairs that the definition has, with state that is bounded by the live rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.kernels.join.pairing import Join
from continua.kernels.store.arena import Arena
from continua.kernels.store.rowstore import RowStore
from continua.kernels.store.sweeparea import SWEEP_AREAS, SweepArea
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


def pairs(left: Rows, right: Rows, key_width: int, instant: int) -> Counter[Payload]:
    """By definition: every left payload with every right one of its key."""
    found: Counter[Payload] = Counter()
    for p, n in content(left, instant).items():
        for q, m in content(right, instant).items():
            if p[:key_width] == q[:key_width]:
                found[p + q] += n * m
    return found


def join_epoch(join: Join, left: Rows, right: Rows, key_width: int, after: int, until: int) -> Rows:
    left, right = within(left, after, until), within(right, after, until)
    batches = join.epoch(
        keys_of(left, key_width), batch_of(left, 2), keys_of(right, key_width), batch_of(right, 1), after, until
    )
    return [row for batch in batches for row in rows_of(batch)]


@pytest.mark.parametrize("key_width", [0, 1])
@pytest.mark.parametrize("retract", [False, True])
@settings(max_examples=70, deadline=None)
@given(data=st.data(), edges=epochs, size=sizes)
def test_a_join_has_the_pairs_of_every_instant(
    key_width: int, retract: bool, data: st.DataObject, edges: list[int], size: int
) -> None:
    left = data.draw(streams(width=2, payloads=2, retract=retract))
    right = data.draw(streams(retract=retract))

    def step(arena: Arena, after: int, until: int) -> Rows:
        join = Join(arena, "j", key_width, 2, 1, retract, retract)
        with small(size):
            rows = join_epoch(join, left, right, key_width, after, until)
        check_state(join, left, right, key_width, until)
        return rows

    output = run(edges, step)
    assert all(start < end for _, start, end, _ in output)
    assert_same(output, lambda t: pairs(left, right, key_width, t))


def check_state(join: Join, left: Rows, right: Rows, key_width: int, until: int) -> None:
    """The state has one row for live rows with the same payload and end, or one for each if nothing is taken back."""
    live = [Counter[tuple[Payload, int]](), Counter[tuple[Payload, int]]()]
    for side, rows in enumerate((left, right)):
        for payload, start, end, weight in rows:
            if start <= until < end:
                live[side][payload, end] += weight
    held = [{row for row, n in side.items() if n} for side in live]
    if any(r[3] < 0 for r in left + right):
        assert join.state_rows == len(held[0]) + len(held[1])
    assert join.state_keys == len({p[:key_width] for side in held for p, _ in side})
    assert {*join.interned([1])[0].tolist()} == {p[1] for p, _ in held[0]}
    assert {*join.interned([2])[0].tolist()} == {p[0] for p, _ in held[1]}
    if key_width:
        assert {*join.interned_keys([0])[0].tolist()} == {p[0] for side in held for p, _ in side}


@settings(max_examples=30, deadline=None)
@given(left=streams(width=2), right=streams(), edges=epochs)
def test_rows_may_be_taken_back_without_notice(left: Rows, right: Rows, edges: list[int]) -> None:
    def step(arena: Arena, after: int, until: int) -> Rows:
        return join_epoch(Join(arena, "j", 1, 2, 1, False, False), left, right, 1, after, until)

    assert_same(run(edges, step), lambda t: pairs(left, right, 1, t))


A, B, C, D, E = range(5)
TABLE_VI_A: Rows = [((C, 0), 1, 8, 1), ((A, 0), 5, 11, 1), ((D, 0), 6, 14, 1), ((A, 0), 9, 10, 1), ((B, 0), 12, 17, 1)]
TABLE_VI_B: Rows = [((B,), 1, 7, 1), ((D,), 3, 9, 1), ((A,), 4, 5, 1), ((B,), 7, 15, 1), ((E,), 10, 18, 1)]


@pytest.mark.parametrize("step", [1, 4, 20])
def test_P14_the_equijoin_of_table_VI_is_table_VII(step: int) -> None:
    join = Join(Arena(), "j", 1, 2, 1, False, False)
    output = [
        row for t in range(0, 20, step) for row in join_epoch(join, TABLE_VI_A, TABLE_VI_B, 1, t, min(t + step, 20))
    ]
    assert output == [((D, 0, D), 6, 9, 1), ((B, 0, B), 12, 15, 1)]
    assert join.state_rows == join.state_keys == 0


def test_updates_leave_no_state_behind() -> None:
    join = Join(Arena(), "j", 1, 2, 1, True, False)
    count = 400
    for t in range(1, 200):
        new: Rows = [((k, t), t, 1_000_000, 1) for k in range(count)]
        old: Rows = [((k, t - 1), t, 1_000_000, -1) for k in range(count)] if t > 1 else []
        join_epoch(join, new + old, [], 1, t - 1, t)
        assert join.state_rows == join.state_keys == count
    assert len(join._left._ends) <= 2 * count + 1024
    assert join_epoch(join, [], [((3,), 500, INFINITY, 1)], 1, 199, 500) == [((3, 199, 3), 500, 1_000_000, 1)]
    join_epoch(join, [], [((3,), 1_000_000, 1_000_001, 1)], 1, 500, 1_000_001)
    assert join.state_rows == join.state_keys == 1


def test_large_epochs_come_in_batches() -> None:
    count = 1500
    start = np.arange(count) // 10 + 1
    rows = Batch(np.arange(count)[np.newaxis, :], start, start + 1000, np.ones(count, np.int64))
    join = Join(Arena(), "j", 0, 1, 1, False, False)
    none = np.empty((0, count), np.int64)
    batches = list(join.epoch(none, rows, none, rows, 0, 200))
    assert max(len(b) for b in batches) <= 1 << 18
    output = Batch.concat(batches, 2)
    assert len(output) == count * count
    assert len(np.unique(output.words[0] * count + output.words[1])) == count * count
    assert (output.start == np.maximum(start[output.words[0]], start[output.words[1]])).all()


def test_P13_a_row_store_is_a_sweep_area() -> None:
    store = RowStore(Arena(), "s", 1, True)
    assert isinstance(store, SweepArea)
    rows: Rows = [((1,), 1, 9, 1), ((2,), 2, 5, 3), ((3,), 2, INFINITY, 1), ((1,), 3, 9, -1), ((4,), 3, 4, 1)]
    slots = np.array([0, 1, 1, 0, 0])
    store.make_slots(8)
    assert store.insert(slots, batch_of(rows, 1)).tolist() == [0, 0]
    assert len(store) == 3
    found = list(store.probe(np.array([1, 1, 0]), np.array([2, 3, 3]), False))
    assert [places.tolist() for places, _ in found] == [[1, 1]]
    slot, expired = store.extract_expired(HORIZON)
    assert slot.tolist() == [0, 1]
    assert rows_of(expired) == [((4,), 3, 4, 1), ((2,), 2, 5, 3)]
    assert store.purge(HORIZON).size == 0 and len(store) == 1


def test_P13_every_operator_of_table_V_is_described() -> None:
    assert len(SWEEP_AREAS) == 10
    assert all(p.order in ("t_S", "t_E") and p.remove and p.played_by for p in SWEEP_AREAS.values())

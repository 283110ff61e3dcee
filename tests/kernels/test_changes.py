"""Changes, coalesce and split: what the definitions say at every instant."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.kernels.relation.changes import ChangeKind, Changes
from continua.kernels.relation.coalesce import coalesce, split
from continua.kernels.store.arena import Arena
from continua.kernels.words.batch import INFINITY
from tests.kernels.logical import (
    HORIZON,
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


def difference(rows: Rows, instant: int) -> Counter[Payload]:
    """The net change of each payload from the instant before."""
    change = Counter(content(rows, instant))
    change.subtract(content(rows, instant - 1))
    return Counter({p: n for p, n in change.items() if n})


def expected(kind: ChangeKind, rows: Rows, chronon: int) -> Counter[tuple[Payload, int, int, int]]:
    """The rows that must be written."""
    found: Counter[tuple[Payload, int, int, int]] = Counter()
    for now in range(1, HORIZON + 1):
        for payload, n in difference(rows, now).items():
            if kind is ChangeKind.NET:
                found[payload, now, INFINITY, n] += 1
            elif (n > 0) == (kind is ChangeKind.ISTREAM):
                found[payload, now, now + chronon, abs(n)] += 1
    return found


@pytest.mark.parametrize("kind", ChangeKind)
@settings(max_examples=60, deadline=None)
@given(rows=streams(width=2, payloads=2), edges=epochs, chronon=st.sampled_from([1, 1000]), size=sizes)
def test_changes_are_differences_of_neighbouring_instants(
    kind: ChangeKind, rows: Rows, edges: list[int], chronon: int, size: int
) -> None:
    def step(arena: Arena, after: int, until: int) -> Rows:
        operator = Changes(arena, "c", 2, kind, chronon)
        with small(size):
            output = rows_of(operator.epoch(batch_of(within(rows, after, until), 2), after, until))
        waiting = [r for r in rows if r[1] <= until < r[2] < INFINITY]
        assert operator.state_rows == len(waiting)
        assert Counter(operator.interned([1])[0].tolist()) == Counter(r[0][1] for r in waiting)
        return output

    output = run(edges, step)
    assert Counter(output) == expected(kind, rows, chronon)
    if kind is ChangeKind.NET:
        assert_same(output, lambda t: content(rows, t))


@settings(max_examples=200, deadline=None)
@given(streams(payloads=2, most=20), st.sampled_from([None, 1, 3, 5]))
def test_coalescing_keeps_the_logical_stream(rows: Rows, max_length: int | None) -> None:
    output = rows_of(coalesce(batch_of(rows, 1), max_length))
    assert_same(output, lambda t: content(rows, t))
    assert len(output) <= len(rows)
    assert all(weight for *_, weight in output)
    assert len({r[:3] for r in output}) == len(output)
    if max_length is not None:
        longest = {r[:3] for r in rows}
        assert all(end - start <= max_length for p, start, end, _ in output if (p, start, end) not in longest)


def test_meeting_intervals_become_one() -> None:
    rows: Rows = [((1,), 5, 9, 2), ((1,), 1, 3, 2), ((1,), 3, 5, 2), ((2,), 9, INFINITY, 1), ((2,), 2, 9, 1)]
    rows += [((3,), 1, 4, 1), ((3,), 1, 4, -1), ((4,), 1, 4, 1), ((4,), 4, 6, 3), ((4,), 4, 6, -2)]
    assert sorted(rows_of(coalesce(batch_of(rows, 1)))) == [((1,), 1, 9, 2), ((2,), 2, INFINITY, 1), ((4,), 1, 6, 1)]
    limited = sorted(rows_of(coalesce(batch_of(rows, 1), 4)))
    assert limited[:2] == [((1,), 1, 5, 2), ((1,), 5, 9, 2)]
    assert ((2,), 9, INFINITY, 1) in limited


@settings(max_examples=150, deadline=None)
@given(streams(), st.integers(1, 6), st.integers(-4, 4), st.sampled_from([None, 10, 12]))
def test_splitting_keeps_the_logical_stream(rows: Rows, length: int, offset: int, until: int | None) -> None:
    output = rows_of(split(batch_of(rows, 1), length, offset, until))
    assert_same(output, lambda t: content(rows, t))
    for _, start, end, _ in output:
        if until is None:
            assert end == INFINITY or end - start <= length
        else:
            assert start <= until and (end - start <= length or end > until)


def test_split_cuts_to_chronons() -> None:
    rows: Rows = [((1,), 3, 6, 2), ((2,), 4, INFINITY, 1)]
    pieces = [((1,), 3, 4, 2), ((1,), 4, 5, 2), ((1,), 5, 6, 2), ((2,), 4, INFINITY, 1)]
    assert rows_of(split(batch_of(rows, 1), 1)) == pieces

"""Relational views: at every instant what applying all modifications gives, however they are cut into epochs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.kernels.jit import Int64s
from continua.kernels.relation.tagged_view import DELETE, INSERT, UPDATE, TaggedView
from continua.kernels.store.arena import Arena
from continua.kernels.words.batch import INFINITY, Batch
from continua.reference.elements import Modification
from continua.reference.semantics import _apply

OPS = {"+": INSERT, "-": DELETE, "u": UPDATE}


@st.composite
def modifications(draw: st.DrawFn) -> list[Modification]:
    t, found = draw(st.integers(-2, 2)), []
    for gap in draw(st.lists(st.sampled_from([0, 0, 0, 1, 2]), max_size=25)):
        t += gap
        row = draw(st.integers(0, 2)), draw(st.integers(0, 1))
        found.append(Modification(draw(st.sampled_from("++++--u")), row, t))
    return found


def run(view: TaggedView, given: list[Modification], after: int, until: int) -> Batch:
    words: Int64s = np.array([m.row for m in given], np.int64).reshape(-1, 2).T
    op = np.array([OPS[m.op] for m in given], np.int8)
    instant = np.array([m.instant for m in given], np.int64)
    return view.epoch(words[:1], words, op, instant, after, until)


def at(rows: list[Batch], t: int) -> Counter[tuple[int, ...]]:
    """What rows count at an instant."""
    found: Counter[tuple[int, ...]] = Counter()
    for batch in rows:
        for i in np.flatnonzero((batch.start <= t) & (t < batch.end)):
            found[tuple(batch.words[:, i].tolist())] += int(batch.weight[i])
    return Counter({row: count for row, count in found.items() if count})


@settings(max_examples=250, deadline=None)
@given(modifications(), st.booleans(), st.booleans(), st.sets(st.integers(-2, 30), max_size=8), st.booleans())
def test_the_relation_at_every_instant(
    given: list[Modification], keyed: bool, stamped: bool, cuts: set[int], in_file: bool
) -> None:
    found: list[Batch] = []
    after = -10
    with TemporaryDirectory() as folder:
        path = Path(folder) / "arena" if in_file else None
        arena = Arena(path)
        view = TaggedView(arena, "v", 1, 2, stamped, keyed)
        for until in [*sorted(cuts), 60]:
            out = run(view, [m for m in given if after < m.instant <= until], after, until)
            assert ((out.start > after) & (out.start <= until) & (out.start < out.end)).all()
            found.append(out)
            after = until
            if path:
                arena.save()
                arena = Arena(path)
                view = TaggedView(arena, "v", 1, 2, stamped, keyed)
        for t in range(-3, 61):
            state = _apply([m for m in given if m.instant <= t], [0] if keyed else [])
            expected = Counter((*row, *([ts] if stamped else [])) for row, ts in state)
            assert at(found, t) == expected, t
        assert view.state_rows == len(state)
        assert Counter(view.interned([1])[0].tolist()) == Counter(row[1] for row, _ in state)
        assert set(view.interned_keys([0])[0].tolist()) == {row[0] for row, _ in state}


def view_of(ops: str, keyed: bool, stamped: bool = False) -> list[tuple[int, int, int]]:
    """Starts, ends and weights that come of operations on one row, one epoch for each group of operations."""
    view = TaggedView(Arena(), "v", 1, 2, stamped, keyed)
    found: list[tuple[int, int, int]] = []
    for t, group in enumerate(ops.split()):
        out = run(view, [Modification(op, (1, 2), t) for op in group], t - 1, t)
        found += zip(out.start.tolist(), out.end.tolist(), out.weight.tolist(), strict=True)
    return found


def test_modifications_of_one_instant_net_out() -> None:
    assert view_of("+-", keyed=False) == []
    assert view_of("+ u", keyed=True) == [(0, INFINITY, 1)]
    assert view_of("+ -+", keyed=False) == [(0, INFINITY, 1)]
    assert view_of("+ -+ -", keyed=False) == [(0, INFINITY, 1), (2, INFINITY, -1)]


def test_with_a_timestamp_an_equal_row_is_another() -> None:
    assert sorted(view_of("+ u", keyed=True, stamped=True)) == [(0, INFINITY, 1), (1, INFINITY, -1), (1, INFINITY, 1)]


def test_both_ends_in_one_epoch_make_one_row() -> None:
    view = TaggedView(Arena(), "v", 1, 2, False, False)
    out = run(view, [Modification("+", (1, 2), 3), Modification("-", (1, 2), 5)], 0, 9)
    assert (out.start.tolist(), out.end.tolist(), out.weight.tolist()) == ([3], [5], [1])

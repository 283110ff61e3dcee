"""Session windows: at every instant what the definition says, and nothing is kept of sessions that are over."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continua.kernels.store.arena import Arena
from continua.kernels.window.session_sweep import SessionSweep
from continua.kernels.words.batch import INFINITY
from continua.windows.sessions import SessionWindow
from tests.kernels.window_content import Elements, batch_of, check, elements


def sweep_of(window: SessionWindow, arena: Arena) -> SessionSweep:
    return SessionSweep(arena, "w", len(window.partition), 2, window.size)


@settings(max_examples=250, deadline=None)
@given(
    elements(),
    st.builds(SessionWindow, st.sampled_from([1, 2, 3, 6, 100]), st.sampled_from([(), ("key",)])),
    st.sets(st.integers(-6, 40), max_size=8),
    st.booleans(),
)
def test_content_at_every_instant(rows: Elements, window: SessionWindow, cuts: set[int], in_file: bool) -> None:
    check(window, lambda arena: sweep_of(window, arena), rows, cuts, in_file)


def test_elements_a_gap_apart_belong_together() -> None:
    sweep = sweep_of(SessionWindow(6), Arena())
    batch = batch_of([(0, 0, 1, 1), (5, 0, 2, 1), (11, 0, 3, 1)])
    out = sweep.epoch(batch.words[:0], batch, -1, 40)
    assert (out.start.tolist(), out.end.tolist()) == ([0, 5, 11], [11, 11, 17])
    assert sweep.state_rows == 0


def test_a_session_that_goes_on_is_taken_back_when_it_is_over() -> None:
    sweep = sweep_of(SessionWindow(6), Arena())
    first, second = batch_of([(0, 0, 1, 1)]), batch_of([(4, 0, 2, 1)])
    assert sweep.epoch(first.words[:0], first, -1, 2).end.tolist() == [INFINITY]
    assert sweep.epoch(second.words[:0], second, 2, 8).end.tolist() == [INFINITY]
    assert sweep.state_rows == 2
    over = sweep.epoch(second.words[:0, :0], second.take(np.zeros(1, np.bool_)), 8, 20)
    assert (over.start.tolist(), over.weight.tolist()) == ([10, 10], [-1, -1])
    assert sweep.state_rows == 0


@pytest.mark.parametrize("epochs", [3, 300])
def test_keys_that_are_over_leave_nothing_behind(epochs: int) -> None:
    sweep = sweep_of(SessionWindow(3, ("key",)), Arena())
    for n in range(epochs):
        batch = batch_of([(10 * n, 1000 + 7 * n + k, k, 1) for k in range(7)])
        sweep.epoch(batch.words[:1], batch, 10 * n - 1, 10 * n + 9)
        assert sweep.state_rows == 0
        assert sweep._keys.live == 0
    assert sweep._keys.top <= 7

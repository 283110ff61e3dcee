"""Kernels of windows against their definition: at every instant, however the input is cut into epochs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np
from hypothesis import strategies as st

from continua.kernels.jit import Int64s
from continua.kernels.store.arena import Arena
from continua.kernels.words.batch import Batch
from continua.windows.occurrences import Element, Timeline
from continua.windows.spec import WindowSpec

Elements = list[tuple[int, int, int, int]]
"""Instant, key, value, number of copies."""


@st.composite
def elements(draw: st.DrawFn) -> Elements:
    t, found = draw(st.integers(-5, 5)), []
    for gap in draw(st.lists(st.sampled_from([0, 0, 0, 1, 1, 2, 5]), max_size=25)):
        t += gap
        copies = draw(st.sampled_from([1, 1, 1, 2, 3]))
        found.append((t, draw(st.integers(0, 2)), draw(st.integers(0, 3)), copies))
    return found


class Sweep(Protocol):
    """The kernel of a window over partitions."""

    def epoch(self, keys: Int64s, batch: Batch, after: int, until: int) -> Batch:
        """What enters and leaves."""


def batch_of(rows: Elements) -> Batch:
    columns: Int64s = np.array(rows, np.int64).reshape(-1, 4).T
    return Batch(np.ascontiguousarray(columns[1:3]), columns[0].copy(), columns[0] + 1, columns[3].copy())


def at(rows: list[Batch], t: int) -> Counter[tuple[int, ...]]:
    """What rows count at an instant."""
    found: Counter[tuple[int, ...]] = Counter()
    for batch in rows:
        for i in np.flatnonzero((batch.start <= t) & (t < batch.end)):
            found[tuple(batch.words[:, i].tolist())] += int(batch.weight[i])
    return Counter({row: count for row, count in found.items() if count})


def check(
    window: WindowSpec, sweep_of: Callable[[Arena], Sweep], rows: Elements, cuts: Iterable[int], in_file: bool
) -> None:
    """Runs a kernel epoch by epoch, with its state in a file between them or not, and looks at every instant."""
    copies = [(t, k, v) for t, k, v, n in rows for _ in range(n)]
    stream = Timeline([Element((k, v), t, t + 1, i) for i, (t, k, v) in enumerate(copies)], -10, 1)
    last = max((t for t, *_ in rows), default=0) + 15
    found: list[Batch] = []
    after = -10
    with TemporaryDirectory() as folder:
        path = Path(folder) / "arena" if in_file else None
        arena = Arena(path)
        sweep = sweep_of(arena)
        for until in [*sorted(c for c in cuts if c < last), last]:
            part = batch_of([e for e in rows if after < e[0] <= until])
            out = sweep.epoch(part.words[: len(window.partition)], part, after, until)
            assert ((out.start > after) & (out.start <= until) & (out.start < out.end)).all()
            found.append(out)
            after = until
            if path:
                arena.save()
                arena = Arena(path)
                sweep = sweep_of(arena)
        for t in range(-10, last + 1):
            assert at(found, t) == Counter(o.row for o in window.content(stream, t, lambda _: 0)), t

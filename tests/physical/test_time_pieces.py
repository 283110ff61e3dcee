"""An epoch is cut in pieces of time: each row is in the piece that it starts in, in the order of arrival."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from continua.physical import time_pieces
from continua.physical.epoch import Arrived, Epoch
from continua.physical.nodes import START

PARTS = st.lists(st.lists(st.integers(1, 30), max_size=12), max_size=4)


def arrived(starts: list[int], origin: int) -> Arrived:
    numbers = [100 * origin + place for place in range(len(starts))]
    return Arrived(pa.table({"number": numbers, START: pa.array(starts, pa.int64())}), origin)


def rows_of(parts: list[Arrived]) -> list[tuple[int, int, int]]:
    return [(row["number"], row[START], p.origin) for p in parts for row in p.table.to_pylist()]


@given(PARTS, PARTS, st.integers(1, 5))
def test_every_row_is_in_the_piece_that_it_starts_in(left: list[list[int]], right: list[list[int]], rows: int) -> None:
    received = {name: [arrived(s, i) for i, s in enumerate(parts)] for name, parts in (("l", left), ("r", right))}
    whole = Epoch(7, 0, 20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time_pieces, "ROWS", rows)
        pieces = list(time_pieces.time_pieces(whole, received))
    assert {e.number for e, _ in pieces} == {7}
    assert pieces[0][0].after == 0
    assert pieces[-1][0].until == 20
    assert all(a.until == b.after and a.after < a.until for (a, _), (b, _) in pairwise(pieces))
    for name, parts in received.items():
        found = [(epoch, row) for epoch, mine in pieces for row in rows_of(list(mine.get(name, ())))]
        assert sorted(row for _, row in found) == sorted(rows_of(parts))
        for epoch, (_, start, _) in found:
            assert epoch.after < start
            assert start <= epoch.until or epoch is pieces[-1][0]
        for _, mine in pieces:
            assert [row[0] for row in rows_of(list(mine.get(name, ())))] == sorted(
                row[0] for row in rows_of(list(mine.get(name, ())))
            )


def test_a_short_epoch_is_one_piece() -> None:
    received = {"c": [arrived([3, 1, 2], 0)]}
    whole = Epoch(1, 0, 5)
    assert list(time_pieces.time_pieces(whole, received)) == [(whole, received)]


def test_rows_of_one_instant_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_pieces, "ROWS", 2)
    pieces = list(time_pieces.time_pieces(Epoch(1, 0, 5), {"c": [arrived([3] * 9, 0)]}))
    assert [(e.after, e.until, len(rows_of(list(mine["c"])))) for e, mine in pieces if mine.get("c")] == [(0, 3, 9)]

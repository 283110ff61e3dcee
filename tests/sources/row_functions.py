"""Functions that make rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pyarrow as pa


def squares(first: int, end: int, times: int = 1) -> Iterator[tuple[int, int, int]]:
    """Rows by the range of their offsets."""
    for i in range(first, end):
        yield i % 5, i * i * times, i


def from_here(offset: int) -> Iterator[dict[str, object]]:
    """Rows from an offset on, for ever."""
    while True:
        yield {"ts": offset, "k": offset % 3, "v": -offset}
        offset += 1


def timed(first: int, end: int) -> list[tuple[int, int, datetime]]:
    """Rows a tenth of a second apart."""
    return [(i % 7, i, datetime(2024, 1, 1) + timedelta(milliseconds=100 * i)) for i in range(first, end)]


def as_table(first: int, end: int) -> pa.Table:
    """Rows as a table of Arrow."""
    return pa.table({"ts": range(first, end), "v": [7] * (end - first), "k": range(first, end)})


def with_flaws(first: int, end: int) -> Iterator[tuple[object, ...]]:
    """Rows of which every seventh is none."""
    for i in range(first, end):
        yield ("seven" if i % 7 == 3 else i, i, i)


def too_few(first: int, end: int) -> list[tuple[int, int, int]]:
    """Not all rows that were asked for."""
    return [(i, i, i) for i in range(first, end - 1)]


def failing(first: int, end: int) -> Iterator[tuple[int, int, int]]:
    """An error behind some rows."""
    for i in range(first, end):
        yield 12 // (4 - i), i, i


def once() -> Iterator[tuple[int, int, int]]:
    """Rows that can be read once."""
    yield from ((i % 2, i, i) for i in range(6))

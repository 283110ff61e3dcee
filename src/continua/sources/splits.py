"""Splits: the stretches of files that tasks read, each by itself.

A split of a text file is a range of bytes. It holds the records that begin on lines that begin in it, so that every
record belongs to one split whatever the cut. A split of a columnar file is a range of its row groups or stripes, and
one of a generated source a range of the numbers that its rows are made from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from continua.kernels.jit import Int64s
from continua.sources.source_spec import Malformed


@dataclass(frozen=True, slots=True)
class Split:
    """A stretch of a file."""

    path: str
    shown: str
    """The file's name as messages tell it."""
    begin: int
    end: int
    size: int
    """How large the file is: what is appended to it later is not of this split."""
    entry: int | None = None
    """Where the first record begins, if that is known; otherwise it is taken to begin with the first line."""
    rows: int | None = None
    """At most so many records are read."""
    line: int = 0
    """How many lines of the file lie before the entry, where reading goes on there."""
    checked: bool = False
    """Whether a checksum of what is read is wanted."""
    parts: tuple[tuple[str, str], ...] = ()
    """The columns and values that the names of its folders give."""
    growing: bool = False
    """Whether more may come: then a record that is open at the end of the file is not read yet."""
    begun_at: int | None = None
    """When a generated source began, where that is not in its definition."""
    width: int = 1
    """How many bytes a step from its beginning to its end stands for, about."""
    identity: str = ""
    """What tells the topic of Kafka that it is of from others of its name."""

    @property
    def begins_file(self) -> bool:
        """Whether the first record of the file is in it."""
        return not self.begin and not self.entry


def split_of(content: Mapping[str, Any]) -> Split:
    """The split that plain data stands for."""
    return Split(**{**content, "parts": tuple((name, value) for name, value in content["parts"])})


@dataclass(frozen=True, slots=True)
class Extent:
    """From where to where a split was read."""

    passed: int = 0
    """How many lines were passed."""
    entry: int = 0
    """Where the first record was taken to begin."""
    exit: int = 0
    """Where the first record behind the split begins."""
    ended: bool = False
    """Whether it reaches to the end of the file."""
    stop: int = 0
    """Where the lines of the split end: records that begin there or behind it are of later splits."""
    checksum: int = 0
    """Of the bytes from ``entry`` to ``exit``, or of the ends of a columnar file, where it is wanted."""
    inside: tuple[int, int] | None = None
    """If the split began within quotes: where its first record would begin, and its ``exit`` then."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What a split holds."""

    columns: pa.Table
    """The declared columns, c0, c1, ..., of the rows that are well formed, in the order of the file."""
    lines: Int64s
    """The line where each row starts, counted from 0 at the first line of the split."""
    wrong: tuple[Malformed, ...] = ()
    """The records that are no rows; their lines are counted in the same way."""
    extent: Extent = Extent()
    offsets: Int64s | None = None
    """Where each row stands in its file, whatever the cut: by bytes, or by its number; where that is asked for."""


def entries(extents: Iterable[Extent]) -> list[int | None]:
    """Where each of some consecutive splits of one file truly begins; None where that follows only from reading.

    A record that begins in a split may end behind it. The split behind that was read as if a record began with its
    first line, and has noted what would hold if it began within quotes: so the true beginnings follow from one split
    to the next without reading any of them again.
    """
    found: list[int | None] = []
    reached: int | None = None
    for extent in extents:
        if reached is None and found:
            found.append(None)
            continue
        begins = extent.entry if reached is None or reached <= extent.entry else reached
        found.append(begins)
        if begins == extent.entry:
            reached = extent.exit
        elif extent.inside is not None and extent.inside[0] == begins:
            reached = extent.inside[1]
        else:
            reached = begins if begins >= extent.stop else None
    return found

"""Where rows stand: a number for what they are from, and an offset there, which do not depend on how the input is cut.

A row of a file stands where its record begins, by bytes or by its number. A row of a source whose columns tell
partition and offset stands there, and one that comes by itself is counted as it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from continua.kernels.jit import Int64s
from continua.physical.nodes import OFFSET, ORIGIN
from continua.sources.compression import codec_of, decompressed
from continua.sources.jsonl_split import line_starts
from continua.sources.stored_files import part_of

WhereIs: TypeAlias = Callable[[str, int, int], tuple[str, int]]
"""Gives the file and the line of a row of a source that stands at an origin and an offset."""


@lru_cache(maxsize=1024)
def origin_of(shown: str) -> int:
    """The number of a file, or of whatever rows are from, by its name."""
    digest = sha256(shown.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little", signed=True)


def alike(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Rows of one source, where they stand only if that is known of all: of frames without offsets it is not."""
    if all(ORIGIN in t.column_names for t in tables):
        return list(tables)
    return [t.drop_columns([ORIGIN, OFFSET]) if ORIGIN in t.column_names else t for t in tables]


def with_places(columns: pa.Table, origin: int | Int64s, offsets: Int64s) -> pa.Table:
    """Columns, and behind them where their rows stand."""
    origins = np.full(offsets.size, origin, np.int64) if isinstance(origin, int) else origin
    return columns.append_column(ORIGIN, pa.array(origins)).append_column(OFFSET, pa.array(offsets))


def has_places(columns: pa.Table) -> bool:
    """Whether the last two columns tell where rows stand."""
    names: list[str] = columns.column_names[-2:]
    return names == [ORIGIN, OFFSET]


def split_places(columns: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The columns without the two that tell where rows stand, and these."""
    width = columns.num_columns - 2
    return columns.select(list(range(width))), columns.select([width, width + 1])


def without_places(rows: pa.Table) -> pa.Table:
    """Rows without the columns that tell where they stand, wherever these are, if they are there."""
    return rows.drop_columns([n for n in (ORIGIN, OFFSET) if n in rows.column_names])


@dataclass(frozen=True, slots=True)
class Known:
    """What an origin is: its name, and the file whose lines are counted up to an offset in bytes, if it is such."""

    shown: str
    path: str | None = None
    first: int = 1
    """How its first row is told: lines are counted from 1, the records of a topic by their offsets."""


def line_at(known: Known, offset: int) -> int:
    """The line where a row stands, from 1."""
    if known.path is None:
        return offset + known.first
    try:
        data = decompressed(known.path) if codec_of(known.shown) else part_of(known.path, 0, offset)
    except OSError:
        return 0
    return line_starts(data[:offset]).size


def place_of(origins: Mapping[int, Known], source: str, origin: int, offset: int) -> tuple[str, int]:
    """The file and the line of a row."""
    known = origins.get(origin)
    return (f"<{source}>", offset + 1) if known is None else (known.shown, line_at(known, offset))

"""What the reference reads: timed elements, stored rows and tagged modifications, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from continua.windows.occurrences import Element, Row

Places: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Of rows in their order the numbers of the source partitions that they are from, and their offsets there."""


@dataclass(frozen=True, slots=True)
class Modification:
    """An operation of a tagged stream: ``+``, ``-`` or ``u`` (SyncSQL 2.1)."""

    op: str
    row: Row
    instant: int


@dataclass(frozen=True, slots=True)
class Inputs:
    """The rows of every base stream, relation and tagged source, by name."""

    streams: Mapping[str, tuple[Element, ...]] = field(default_factory=dict)
    relations: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    tagged: Mapping[str, tuple[Modification, ...]] = field(default_factory=dict)
    places: Mapping[str, Places] = field(default_factory=dict)
    """Of streams where their rows stand, where that is known."""

    @property
    def size(self) -> int:
        """How many rows there are."""
        parts = (*self.streams.values(), *self.relations.values(), *self.tagged.values())
        return sum(len(rows) for rows in parts)

    def last_instant(self) -> int | None:
        """The last instant at which any input says something."""
        ends = [e.start for elements in self.streams.values() for e in elements]
        ends += [m.instant for modifications in self.tagged.values() for m in modifications]
        return max(ends, default=None)

"""Which rows of a source are late, and up to where it is complete.

A row is late when it lies more than the slack behind the latest time before it in its own source (CQL 7.3, the third
way): after a row, with m the latest time so far, the heartbeat is m - slack - 1, so a row may lie exactly the slack
behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from continua.kernels.jit import Int64s
from continua.sources.intervals import FAR, NEVER, Mask
from continua.sources.partition_sequences import PartitionColumns


def is_late(start: Int64s, slack: int, latest: int) -> Mask:
    """Which rows lie more than the slack behind the latest time before them; ``latest`` is that before all of them."""
    if not start.size or slack >= FAR:
        return np.zeros(start.size, np.bool_)
    late: Mask = start < latest_before(start, max(latest, -FAR)) - slack
    return late


def latest_before(start: Int64s, latest: int) -> Int64s:
    """For each row the latest time before it; ``latest`` is that before all of them."""
    return np.maximum.accumulate(np.concatenate([[latest], start[:-1]]))


def heartbeat_after(latest: int, slack: int) -> int:
    """Up to where a source is complete whose latest time is that: later rows of these instants are late."""
    return NEVER if latest == NEVER or slack >= FAR else latest - slack - 1


@dataclass(frozen=True, slots=True)
class Promise:
    """What is known of a source before an epoch: how late its rows may be, and up to where it has said to be complete.

    Rows of some sources have an order only from one epoch to the next.
    """

    slack: int = FAR
    latest: int = NEVER
    promised: int = NEVER
    ordered: bool = True
    columns: PartitionColumns | None = None
    """By what its partitions are told apart."""
    parts: Mapping[int, int] = field(default_factory=dict)
    """Of each partition the latest time."""

    def late(self, start: Int64s, origin: int = 0) -> Mask:
        """Which of some rows of a partition are late, by their instants in the order in which they come."""
        latest = self.latest if self.columns is None else self.parts.get(origin, NEVER)
        if self.ordered:
            return is_late(start, self.slack, latest) | (start <= self.promised)
        late: Mask = start <= max(heartbeat_after(latest, self.slack), self.promised)
        return late

    @property
    def of_frames(self) -> Promise:
        """The same for rows of frames: without an offset they have an order only from one epoch to the next."""
        return replace(self, ordered=self.columns is not None and self.columns.offset is not None)

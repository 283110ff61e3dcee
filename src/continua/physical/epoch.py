"""An epoch for a partition: the instants that it closes, and the rows that have arrived for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Epoch:
    """The instants that an epoch closes: (after, until]."""

    number: int
    after: int
    until: int


@dataclass(frozen=True, slots=True)
class Arrived:
    """Rows that were sent, and the partition of the source that they are from."""

    table: pa.Table
    origin: int = 0


Received = Mapping[str, Sequence[Arrived]]
"""The rows of each channel."""

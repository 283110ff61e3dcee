"""The rows of SOURCE rate(...): numbers that count up, so many a second."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from continua.kernels.jit import Int64s
from continua.types import BIGINT, TIMESTAMP, DataType

_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class CountedRows:
    """Rows by number, the first of which happens at the start."""

    rows_per_second: int
    start: int

    time_column = "timestamp"

    @property
    def columns(self) -> dict[str, DataType]:
        """The columns that there are, with their types."""
        return {"value": BIGINT, "timestamp": TIMESTAMP}

    def width(self, names: tuple[str, ...]) -> float:
        """How many bytes some columns of a row have."""
        return 8 * len(names)

    def instant(self, number: int) -> int:
        """When a row happens, in microseconds."""
        return self.start + number * _SECOND // self.rows_per_second

    def due(self, now: int) -> int:
        """How many rows there are at a moment: each is there from its own moment on."""
        return max(((now - self.start + 1) * self.rows_per_second - 1) // _SECOND + 1, 0)

    def rows_below(self, number: int) -> int:
        """Every number is a row."""
        return number

    def numbers(self, first: int, end: int) -> Int64s:
        """The numbers of rows."""
        return np.arange(first, end, dtype=np.int64)

    def make(self, numbers: Int64s, names: tuple[str, ...]) -> pa.Table:
        """Some columns of the rows of these numbers."""
        return pa.table({name: self._column(name, numbers) for name in names})

    def _column(self, name: str, numbers: Int64s) -> pa.Array:
        if name == "value":
            return pa.array(numbers)
        # whole seconds apart from the rest, so that nothing overflows
        seconds, rest = np.divmod(numbers, self.rows_per_second)
        times = self.start + seconds * _SECOND + rest * _SECOND // self.rows_per_second
        return pa.array(times).view(pa.timestamp("us"))

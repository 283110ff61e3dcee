"""The rows that an aggregation writes in an epoch, as columns that grow."""

from __future__ import annotations

import numpy as np

from continua.kernels.aggregate.aggregation_plan import AggregationPlan
from continua.kernels.aggregate.aggregation_sweep import lay_out
from continua.kernels.aggregate.distinct_values import Keys
from continua.kernels.jit import Int64s
from continua.kernels.words.batch import Batch
from continua.kernels.words.columns import Codec

_TIMES = 3


class Output:
    """Columns of output: start, end and weight, then the words of rows."""

    def __init__(self, codec: Codec, plan: AggregationPlan, keys: Keys) -> None:
        self._codec = codec
        self._plan = plan
        self._keys = keys
        self._lines = np.empty((_TIMES + codec.width, 0), np.int64)
        self._count = 0

    def add(self, rows: Int64s, count: int, expected: int = 0) -> None:
        """Adds rows as a sweep writes them, when so many more are expected afterwards."""
        self._reserve(self._count + count, expected)
        plan, keys, lines = self._plan, self._keys, self._lines
        lay_out(
            rows, count, plan.result_width, keys.flat, plan.key_lines, keys.width - plan.key_lines,
            self._codec.null_words[0], self._count, lines[_TIMES:], lines[0], lines[1], lines[2],
        )  # fmt: skip
        self._count += count

    def _reserve(self, count: int, expected: int) -> None:
        if count <= self._lines.shape[1]:
            return
        grown = np.empty((self._lines.shape[0], count + expected), np.int64)
        grown[:, : self._count] = self._lines[:, : self._count]
        self._lines = grown

    def batch(self) -> Batch:
        """The rows. Columns that fill most of their room move together in place: new memory costs more than that."""
        count, lines = self._count, self._lines
        if 2 * count <= lines.shape[1]:
            packed = lines[:, :count].copy()
        else:
            flat = lines.reshape(-1)
            for number in range(1, lines.shape[0] if count < lines.shape[1] else 0):
                flat[number * count : (number + 1) * count] = lines[number, :count]
            packed = flat[: lines.shape[0] * count].reshape(lines.shape[0], count)
        return Batch(packed[_TIMES:], packed[0], packed[1], packed[2])

"""Samples at work: rows are chosen where they are read, by a hash of the seed and of where each of them stands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from continua.errors import Diagnostic, EvaluationError
from continua.kernels.jit import Int64s
from continua.kernels.words.columns import Codec
from continua.physical import check_nodes
from continua.physical.nodes import OFFSET, ORIGIN
from continua.physical.rows import RowSet
from continua.physical.stateless_operators import Stateless

_Words = NDArray[np.uint64]
_STEP, _FIRST, _SECOND = (np.uint64(word) for word in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


class Sampled(Stateless):
    """The rows that a sample has."""

    def __init__(self, node: check_nodes.Sampled, codec: Codec) -> None:
        self._sample, self._codec = node.sample, codec

    def epoch(self, inputs: Sequence[RowSet], after: int, until: int) -> RowSet:  # noqa: ARG002
        """Those of the rows."""
        rows = inputs[0]
        if not len(rows):
            return RowSet.empty(self._codec)
        origin, offset = (np.asarray(rows.payload.column(n).to_numpy(), np.int64) for n in (ORIGIN, OFFSET))
        if bool((offset < 0).any()):
            message = "a sample is of rows that stand somewhere, and these come without an offset"
            hint = "declare the source with PARTITIONED BY column OFFSET column"
            raise EvaluationError(Diagnostic("NO_OFFSETS", message, hint=hint))
        kept = rows.take(is_sampled(self._sample.seed, self._sample.below, origin, offset))
        payload = kept.payload.select(list(range(len(self._codec.schema)))).rename_columns(self._codec.schema.names)
        return RowSet(self._codec, kept.start, kept.end, kept.weight, payload=payload)


def is_sampled(seed: int, below: int, origin: Int64s, offset: Int64s) -> NDArray[np.bool_]:
    """Which rows a sample has, of hashes below a bound."""
    if below >= 1 << 64:
        return np.ones(origin.size, np.bool_)
    with np.errstate(over="ignore"):
        first = _mixed(np.array([seed], np.uint64))
        found: NDArray[np.bool_] = _mixed(_mixed(first ^ origin.view(np.uint64)) ^ offset.view(np.uint64)) < np.uint64(
            below
        )
    return found


def _mixed(words: _Words) -> _Words:
    """Words with their bits well mixed (SplitMix64)."""
    words = words + _STEP
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))

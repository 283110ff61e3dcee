"""Random numbers by counter: a number depends on the seed, the event and the field alone, never on its neighbours."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def _mixed(words: Words) -> Words:
    """The finalizer of SplitMix64; multiplication wraps around."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))


class RandomFields:
    """Draws for some events; each field has a sequence of its own."""

    def __init__(self, seed: int, events: Longs) -> None:
        self._seed = np.array([seed], dtype=np.int64).astype(np.uint64)
        self._events = events.astype(np.uint64)

    def words(self, field: str) -> Words:
        """64 random bits an event."""
        key = _mixed(self._seed * _GOLDEN + np.uint64(zlib.crc32(field.encode())))
        return _mixed(_mixed(key + self._events * _GOLDEN) ^ key)

    def unit(self, field: str) -> NDArray[np.float64]:
        """Uniform in [0, 1)."""
        return (self.words(field) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def below(self, field: str, bound: int | Longs) -> Longs:
        """Uniform whole numbers from 0 to below a bound, which may differ from event to event."""
        return (self.unit(field) * bound).astype(np.int64)

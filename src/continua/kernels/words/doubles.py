"""Doubles as integers of the same order, and back: there is one zero and one NaN, above infinity."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from continua.kernels.jit import Int64s, compiled

_MAGNITUDE = (1 << 63) - 1
_NAN_WORD = 0x7FF8 << 48


@compiled
def float_to_word(value: float) -> int:
    """A double as an integer of the same order; -0.0 as 0.0, every NaN as one above infinity."""
    if value != value:
        return _NAN_WORD
    if value == 0.0:
        return 0
    bits = np.float64(value).view(np.int64)
    return int(bits ^ ((bits >> 63) & _MAGNITUDE))


@compiled
def word_to_float(word: int) -> float:
    """The double of a word."""
    return np.int64(word ^ ((word >> 63) & _MAGNITUDE)).view(np.float64)


@compiled
def put_floats(values: NDArray[np.float64], words: Int64s) -> None:
    """Writes ``float_to_word`` of every value."""
    for i in range(values.size):
        words[i] = float_to_word(values[i])


@compiled
def _put_words(words: Int64s, values: NDArray[np.float64]) -> None:
    for i in range(words.size):
        values[i] = word_to_float(words[i])


def floats_to_words(values: NDArray[np.floating[Any]]) -> Int64s:
    """``float_to_word`` of every value."""
    words = np.empty(values.size, np.int64)
    put_floats(values.astype(np.float64, copy=False), words)
    return words


def words_to_floats(words: Int64s) -> NDArray[np.float64]:
    """``word_to_float`` of every word."""
    values = np.empty(words.size, np.float64)
    _put_words(words, values)
    return values

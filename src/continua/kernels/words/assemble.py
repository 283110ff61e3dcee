"""Rows put together from columns that are words already."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from continua.kernels.jit import Int64s
from continua.kernels.words.columns import NULLS_PER_WORD, Codec


def assemble(codec: Codec, parts: Sequence[tuple[Codec, Int64s, Sequence[int]]]) -> Int64s:
    """The words of rows whose columns are, in order, the chosen columns of the parts."""
    count = parts[0][1].shape[1]
    result = np.empty((codec.width, count), np.int64)
    result[codec.null_words[0] :] = 0
    column = 0
    for source, words, chosen in parts:
        has_nulls = [bool(words[n].any()) for n in source.null_words]
        for number in chosen:
            for target, origin in zip(codec.columns[column], source.columns[number], strict=True):
                result[target] = words[origin]
            if has_nulls[number // NULLS_PER_WORD]:
                bit = (words[source.null_words[number // NULLS_PER_WORD]] >> (number % NULLS_PER_WORD)) & 1
                result[codec.null_words[column // NULLS_PER_WORD]] |= bit << (column % NULLS_PER_WORD)
            column += 1
    return result

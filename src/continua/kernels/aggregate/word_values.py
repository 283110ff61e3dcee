"""What the words of a column say about its values: their order, and the least and greatest of a type."""

from __future__ import annotations

import pyarrow as pa

from continua.kernels.aggregate.extremes import BY_STRING, BY_TWO_WORDS, BY_WORD
from continua.kernels.words.columns import Codec, is_interned

_BYTES_TYPES = (
    pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary,
    pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary,
)  # fmt: skip


def word_order(codec: Codec, column: int) -> int | None:
    """How the words of a column are ordered; None where they say nothing about the order of values."""
    lines = codec.columns[column]
    if lines[0] not in codec.string_columns:
        return BY_WORD if len(lines) == 1 else BY_TWO_WORDS
    return BY_STRING if is_ordered(codec.schema.field(column).type) else None


def is_ordered(kind: pa.DataType) -> bool:
    """Whether the words of a type, or the strings that they stand for, are in the order of its values."""
    return not is_interned(kind) or any(test(kind) for test in _BYTES_TYPES)


def two_words(number: int) -> tuple[int, int]:
    """An integer as its high and its low word."""
    low = number & ((1 << 64) - 1)
    return number >> 64, low - (low >> 63 << 64)


def bounds(kind: pa.DataType) -> tuple[int, int]:
    """The least and the greatest value of an integer or decimal type."""
    if pa.types.is_decimal(kind):
        most = 10**kind.precision - 1
        return -most, most
    most = (1 << (kind.bit_width - 1)) - 1
    return -most - 1, most

"""Partitions: which rows belong to which, by the values of their key columns.

The hash depends on values alone (an interned id would differ from partition to partition), so that equal keys meet
whatever node they come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from continua.kernels.jit import Bytes, Int64s, compiled
from continua.kernels.store.interner import binary_buffers, hash_bytes
from continua.kernels.store.keytable import hash_all
from continua.kernels.words.columns import fixed_width, is_binary, is_interned, put_fixed, to_bytes


def partition_of(data: pa.Table | pa.RecordBatch, columns: Sequence[int], count: int) -> Int64s:
    """The partition of each row: a number below ``count``."""
    if count == 1:
        return np.zeros(data.num_rows, np.int64)
    lines: list[Int64s] = []
    for number in columns:
        column = data.column(number)
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(whole, pa.ChunkedArray):
            whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
        lines += _hashable(whole)
    return np.abs(hash_all(np.vstack(lines)) % count)


def _hashable(array: pa.Array) -> list[Int64s]:
    """Words that are equal for equal values; NULL is a value."""
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    if not is_interned(array.type):
        words = np.empty((fixed_width(array.type), len(array)), np.int64)
        put_fixed(array, nulls, words)
    else:
        values = array.cast(pa.large_binary()) if is_binary(array.type) else to_bytes(array)
        offsets, data = binary_buffers(values)
        words = _hashes(offsets, data)[None]
    if nulls is not None:
        words[:, nulls] = -1
    return list(words)


@compiled
def _hashes(offsets: Int64s, data: Bytes) -> Int64s:
    result = np.empty(offsets.size - 1, np.int64)
    for i in range(result.size):
        result[i] = hash_bytes(data, offsets[i], offsets[i + 1])
    return result


def divided(parts: Int64s, count: int) -> Iterator[tuple[int, Int64s]]:
    """For each partition that gets rows, their places in the order in which they came."""
    order, bounds = _by_part(parts, count)
    for part in range(count):
        if bounds[part] < bounds[part + 1]:
            yield part, order[bounds[part] : bounds[part + 1]]


@compiled
def _by_part(parts: Int64s, count: int) -> tuple[Int64s, Int64s]:
    bounds = np.zeros(count + 1, np.int64)
    for part in parts:
        bounds[part + 1] += 1
    for part in range(count):
        bounds[part + 1] += bounds[part]
    cursor = bounds[:-1].copy()
    order = np.empty(parts.size, np.int64)
    for i in range(parts.size):
        order[cursor[parts[i]]] = i
        cursor[parts[i]] += 1
    return order, bounds

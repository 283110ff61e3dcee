"""Keys of rows as words, and the order of elements of one instant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from continua.kernels.jit import Int64s
from continua.kernels.words.columns import NULLS_PER_WORD, Codec
from continua.physical.rows import RowSet

_DAY = 86_400_000_000_000


def keys_of(rows: RowSet, columns: Sequence[int]) -> Int64s:
    """The key words of rows; none for no key."""
    if not columns:
        return np.empty((0, len(rows)), np.int64)
    return rows.codec.key_words(rows.words, columns)


def key_width(codec: Codec, keys: Sequence[int]) -> int:
    """How many words a key has."""
    if not keys:
        return 0
    return sum(len(codec.columns[k]) for k in keys) + -(-len(keys) // NULLS_PER_WORD)


def string_keys(codec: Codec, keys: Sequence[int]) -> list[int]:
    """The words of a key that are interned."""
    found: list[int] = []
    place = 0
    for key in keys:
        if codec.columns[key][0] in codec.string_columns:
            found.append(place)
        place += len(codec.columns[key])
    return found


def rows_in_order(rows: RowSet, by_value: bool, order: Sequence[int] = ()) -> RowSet:
    """Elements in the order of their positions: at one instant by some columns, as they came, or by their values."""
    if len(rows) < 2:
        return rows
    if order:
        return _sorted(rows, [pa.array(rows.start), *(rows.payload.column(place) for place in order)])
    if not by_value:
        if bool((rows.start[1:] >= rows.start[:-1]).all()):
            return rows
        return rows.take(np.argsort(rows.start, kind="stable"))
    columns = [pa.array(rows.start), pa.array(rows.weight > 0)]
    for column in rows.payload.columns:
        columns += _ordered(column)
    return _sorted(rows, columns)


def _sorted(rows: RowSet, columns: list[pa.Array | pa.ChunkedArray]) -> RowSet:
    """Rows by some columns; those that have them in common stay as they are."""
    names = [str(i) for i in range(len(columns))]
    table = pa.Table.from_arrays(columns, names=names)
    order = pc.sort_indices(table, [(n, "ascending", "at_start") for n in names])
    return rows.take(order.to_numpy())


def _ordered(column: pa.ChunkedArray) -> list[pa.ChunkedArray | pa.Array]:
    """Columns by which the values of a column are in their order: NULL first, NaN last, nested values as texts."""
    if pa.types.is_floating(column.type):
        missing = pc.is_nan(column)
        return [pc.and_kleene(missing, True), pc.if_else(missing, 0.0, column)]
    if pa.types.is_interval(column.type):
        return [
            pa.array([None if v is None else v.days * _DAY + v.nanoseconds for v in column.to_pylist()], pa.int64())
        ]
    if pa.types.is_nested(column.type):
        return [pa.array([None if v is None else repr(_plain(v)) for v in column.to_pylist()], pa.string())]
    return [column]


def _plain(value: object) -> object:
    """Arrays and structs as tuples."""
    if isinstance(value, dict):
        return tuple(map(_plain, value.values()))
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value

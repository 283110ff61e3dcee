"""The order of values: as SQL has it, within lists and structures too."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from continua.kernels.jit import Int64s


def ordered(values: pa.Array) -> Int64s:
    """The places of values in their order; NaN behind all other numbers."""
    if not pa.types.is_nested(values.type):
        try:
            places: Int64s = pc.sort_indices(values).to_numpy().astype(np.int64)
            return places
        except pa.ArrowNotImplementedError:
            pass
    keys = [sort_key(value) for value in values.to_pylist()]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def sort_key(value: object) -> tuple[object, ...]:
    """What a value is ordered by: NaN is the greatest number, and NULL above all."""
    if value is None:
        return (2,)
    if value != value:
        return (1,)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return (0, tuple(sort_key(part) for part in value))
    return (0, value)

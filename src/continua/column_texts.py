"""Columns as text: lines are put together column by column, and each distinct value is written once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_AT_ONCE = 1 << 16
_BITS = {pa.float64(): pa.int64(), pa.float32(): pa.int32()}


def texts_of(column: pa.ChunkedArray, write: Callable[[object], str], null: str) -> pa.Array:
    """The values of a column as text. Integers are their digits, whatever ``write`` says."""
    values = column.combine_chunks()
    kind = values.type
    if pa.types.is_integer(kind):
        return values.cast(pa.string()).fill_null(null)
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        return pa.array([null if v is None else write(v) for v in values.to_pylist()], pa.string())
    # By their bits, so that the two zeros stay apart.
    encoded = (values.view(_BITS[kind]) if kind in _BITS else values).dictionary_encode()
    distinct = encoded.dictionary.view(kind) if kind in _BITS else encoded.dictionary
    texts = pa.array([write(v) for v in distinct.to_pylist()], pa.string())
    return texts.take(encoded.indices).fill_null(null)


def joined(*pieces: str | pa.Array) -> pa.Array:
    """Texts put together, line by line; a piece that is one text is in every line."""
    return pc.binary_join_element_wise(*pieces, "")


def text_of(lines: pa.Array) -> str:
    """Lines as one text: their bytes lie one behind the other."""
    _, offsets, data = lines.buffers()
    places = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return memoryview(data)[int(places[0]) : int(places[-1])].tobytes().decode()


def json_objects(table: pa.Table) -> Iterator[str]:
    """The rows of a table as JSON objects, a line each, many lines to a text."""
    for first in range(0, table.num_rows, _AT_ONCE):
        part = table.slice(first, _AT_ONCE)
        pieces: list[str | pa.Array] = []
        for place, name in enumerate(table.column_names):
            pieces += [f"{', ' if place else '{'}{_json(name)}: ", texts_of(part.column(place), _json, "null")]
        yield text_of(joined(*pieces, "}\n"))


def _json(value: object) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)

"""What an epoch changes in a table, as text that PostgreSQL copies, and the types of columns there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from continua.answers.encoding.column_texts import csv_texts, text_of
from continua.answers.encoding.record_texts import csv_records, json_objects
from continua.errors import Diagnostic, SourceError
from continua.types import DataType

_AT_ONCE = 1 << 16
_WHOLE = ("smallint", "integer", "bigint", "numeric")
_TEXTS = ("text", "character varying")
_TYPES: dict[str, tuple[str, ...]] = {
    "BOOLEAN": ("boolean",),
    "TINYINT": _WHOLE,
    "SMALLINT": _WHOLE,
    "INT": _WHOLE[1:],
    "BIGINT": _WHOLE[2:],
    "FLOAT": ("real", "double precision"),
    "DOUBLE": ("double precision",),
    "DECIMAL": ("numeric",),
    "STRING": _TEXTS,
    "BINARY": ("bytea",),
    "DATE": ("date",),
    "TIMESTAMP": ("timestamp with time zone",),
}


@dataclass(frozen=True)
class Changed:
    """Rows that come, and of those with a key which of them are gone: then only the key counts."""

    rows: pa.Table
    gone: pa.Array | None = None


def types_of(query: str, columns: Sequence[tuple[str, DataType]]) -> dict[str, tuple[str, ...]]:
    """The types that the columns of a table may have, by the types of a query's."""
    for name, of in columns:
        if of.name not in _TYPES:
            message = f"column {name} of {query} is {of}, for which a table of PostgreSQL gets no values"
            parameters: dict[str, object] = {"query": query, "column": name, "type": str(of)}
            raise SourceError(
                Diagnostic("TYPE_MISMATCH", message, hint="leave it out, or CAST it", parameters=parameters)
            )
    return {name: _TYPES[of.name] for name, of in columns}


def last_of_each_key(answers: pa.Table, columns: Sequence[str], key: Sequence[str]) -> Changed:
    """What is there of each key after the last of its changes, which are in their order."""
    values = answers.columns[-len(columns) :]
    texts = json_objects(key, [values[columns.index(name)] for name in key])
    codes = np.asarray(texts.dictionary_encode().indices.to_numpy(), np.int64)
    # the last place of each: of equal codes, numpy keeps what was written last
    places = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
    places[codes] = np.arange(codes.size)
    rows = pa.table(dict(zip(columns, values, strict=True))).take(pa.array(np.sort(places)))
    ops = answers.column(1).take(pa.array(np.sort(places)))
    return Changed(rows, pa.array([op == "-" for op in ops.to_pylist()], pa.bool_()))


def copied(changed: Changed) -> Iterator[str]:
    """Rows as records of CSV, many to a text."""
    columns = list(changed.rows.columns)
    if changed.gone is not None:
        columns.append(pa.chunked_array([changed.gone]))
    for first in range(0, changed.rows.num_rows, _AT_ONCE):
        yield text_of(csv_records([_texts(column.slice(first, _AT_ONCE)) for column in columns]))


def _texts(column: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_binary(column.type):
        column = pa.chunked_array(
            [pa.array([None if v is None else "\\x" + v.hex() for v in column.to_pylist()], pa.string())]
        )
    return csv_texts(column)

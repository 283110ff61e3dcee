"""Columns put together: JSON objects, answers as JSON, records of CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from continua.answers.encoding.column_texts import bytes_of, csv_texts, joined, json_texts
from continua.answers.encoding.value_texts import csv_field, quoted

_AT_ONCE = 1 << 16


def json_objects(names: Sequence[str], columns: Sequence[pa.ChunkedArray | pa.Array], after: str = "") -> pa.Array:
    """Rows as JSON objects, with a text after each; there is at least one column."""
    pieces: list[str | pa.Array] = []
    for name, column in zip(names, columns, strict=True):
        pieces += [f"{', ' if pieces else '{'}{quoted(name)}: ", json_texts(column)]
    return joined(*pieces, "}" + after)


def answer_rows(columns: Sequence[str], deletion_key: Sequence[str], answers: pa.Table) -> pa.Array:
    """The rows of answers as JSON objects; of a deletion only the key, where there is one."""
    values = answers.columns[-len(columns) :]
    rows = json_objects(columns, values)
    if not deletion_key or answers.num_columns == len(columns) + 1:
        return rows
    short = json_objects(deletion_key, [values[columns.index(name)] for name in deletion_key])
    return pc.if_else(pc.equal(answers.column(1).combine_chunks(), "-"), short, rows)


def answer_lines(
    query: str, label: str, times: pa.Array, untils: pa.Array | None, ops: pa.Array | None, rows: pa.Array
) -> pa.Array:
    """Answers as JSON, a line each. All but ``ops`` are JSON already; of ``untils`` and ``ops`` NULL is left out."""
    pieces = [f'{{"query": {quoted(query)}, {quoted(label)}: ', times]
    if untils is not None:
        pieces.append(joined(', "until": ', untils).fill_null(""))
    if ops is not None:
        pieces.append(joined(', "op": "', ops, '"').fill_null(""))
    return joined(*pieces, ', "row": ', rows, "}\n")


def csv_records(fields: Sequence[str | pa.Array]) -> pa.Array:
    """Fields, which are CSV already, as records, a line each."""
    pieces: list[str | pa.Array] = []
    for place, field in enumerate(fields):
        pieces += [",", field] if place else [field]
    return joined(*pieces, "\n")


def csv_header(names: Sequence[str]) -> str:
    """The record of the names of fields."""
    return ",".join(map(csv_field, names)) + "\n"


def json_file(table: pa.Table) -> Iterator[memoryview]:
    """The rows of a table as JSON objects, a line each, many lines at a time in UTF-8."""
    for part in _parts(table):
        yield bytes_of(json_objects(table.column_names, part.columns, "\n"))


def csv_file(table: pa.Table) -> Iterator[memoryview]:
    """The same as CSV; first comes the header, whose names are always in quotes."""
    header = ",".join('"' + name.replace('"', '""') + '"' for name in table.column_names) + "\n"
    yield memoryview(header.encode())
    for part in _parts(table):
        yield bytes_of(csv_records([csv_texts(column) for column in part.columns]))


def _parts(table: pa.Table) -> Iterator[pa.Table]:
    for first in range(0, table.num_rows, _AT_ONCE):
        yield table.slice(first, _AT_ONCE)

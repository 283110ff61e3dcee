"""Parquet files: columns by name, values through Arrow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from continua.errors import did_you_mean, listing
from continua.runtime.sources.convert import lookup
from continua.runtime.sources.rows import RowReader
from continua.runtime.sources.show import show_value
from continua.runtime.sources.spec import Malformed, SourceRow, SourceSpec, missing_column

_UNREADABLE = (pa.ArrowException, OSError, ValueError)


@dataclass(frozen=True, slots=True)
class _Unheld:
    """A cell that Python has no value for (a far year, text that is not UTF-8), and so fits no type."""

    reason: str

    def __repr__(self) -> str:
        return f"<{self.reason}>"


def read_parquet(path: Path, file: str, spec: SourceSpec) -> Iterator[SourceRow | Malformed]:
    """The rows of a Parquet file; a file that is none is malformed at line 0."""
    reader = RowReader(spec, file)
    with path.open("rb") as handle:
        try:
            parquet = pq.ParquetFile(handle)
        except _UNREADABLE as error:
            yield reader.malformed(0, f"not a Parquet file: {error}", "", "a Parquet file")
            return
        names = own_names(parquet.schema_arrow.names, spec, file)
        done = 0
        batches = parquet.iter_batches(columns=list(dict.fromkeys(names)))
        while True:
            try:
                batch = next(batches, None)
                columns = [] if batch is None else [_cells(batch.column(name)) for name in names]
            except _UNREADABLE as error:
                yield reader.malformed(done + 1, f"damaged from here on: {error}", "", "a Parquet file")
                return
            if batch is None:
                return
            for fields in zip(*columns, strict=True):
                done += 1
                yield reader.row(fields, done, partial(_text, names, fields))


def own_names(present: list[str], spec: SourceSpec, file: str) -> list[str]:
    """The file's own spelling of each declared column."""
    names = []
    for column, _ in spec.columns:
        name = lookup({name: name for name in present}, column)
        if name is None:
            hint = did_you_mean(column, present) or f"the file has {listing(present) or 'no columns'}"
            raise missing_column(spec, column, file, hint)
        names.append(name)
    return names


def _cells(column: pa.Array) -> list[object]:
    """The Python values of a column, what Python cannot hold as :class:`_Unheld`."""
    wanted = plain_type(column.type)
    plain = column if wanted == column.type else column.cast(wanted, safe=False)
    try:
        cells: list[object] = plain.to_pylist()
    except (ValueError, OverflowError):
        cells = [_cell(scalar) for scalar in plain]
    return cells


def _cell(scalar: pa.Scalar) -> object:
    try:
        value: object = scalar.as_py()
    except (ValueError, OverflowError) as error:
        return _Unheld(str(error))
    return value


def plain_type(of: pa.DataType) -> pa.DataType:
    """The type with timestamps in UTC and no finer than a microsecond, which is as fine as instants are.

    The coarser units stay: multiplying a far timestamp could overflow, dividing cannot.
    """
    if pa.types.is_timestamp(of):
        return pa.timestamp("us" if of.unit == "ns" else of.unit)
    if pa.types.is_struct(of):
        return pa.struct([field.with_type(plain_type(field.type)) for field in of])
    if pa.types.is_map(of):
        return pa.map_(plain_type(of.key_type), plain_type(of.item_type))
    if pa.types.is_large_list(of):
        return pa.large_list(plain_type(of.value_type))
    if pa.types.is_list(of):
        return pa.list_(plain_type(of.value_type))
    if pa.types.is_fixed_size_list(of):
        return pa.list_(plain_type(of.value_type), of.list_size)
    return of


def _text(names: list[str], fields: tuple[object, ...]) -> str:
    """A row as a JSON object of texts: Parquet has no text of its own to keep."""
    return json.dumps({n: show_value(f) for n, f in zip(names, fields, strict=True)}, ensure_ascii=False)

"""Rows that a program hands over: lists, tuples and dicts of values, arrays, and tables of any library.

A table's columns are found by their names, in any order; they are converted as columns where their types allow. Rows
one by one are put into columns first. Either way they are checked like the rows of files (:mod:`convert`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from continua.errors import BindError, Diagnostic, did_you_mean, listing
from continua.kernels.jit import Int64s
from continua.sources.arrow_types import check_columns, check_names
from continua.sources.columnar_split import columns_of
from continua.sources.convert import lookup
from continua.sources.intervals import Source, timed
from continua.sources.source_spec import Malformed, SourceSpec
from continua.sources.values import Failures, column_of_cells
from continua.sqltext.duckdb_types import arrow_type
from continua.types import DataType, Value

INSERTED = "<inserted>"
"""What stands for a file where rows were inserted."""


class ArrowStream(Protocol):
    """A table of any library that speaks Arrow's C stream interface: Polars, DuckDB, pandas and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """It as a stream of record batches."""
        ...


class Frame(Protocol):
    """A DataFrame of Spark."""

    @property
    def isStreaming(self) -> bool:  # noqa: N802
        """Whether its rows are still to come."""
        ...

    def toArrow(self) -> pa.Table:  # noqa: N802
        """All of its rows."""
        ...


Rows = Iterable[Sequence[Value] | Mapping[str, Value] | np.ndarray[Any, np.dtype[Any]]] | ArrowStream | Frame
"""What can be inserted: rows in the declared order or by name, or a table by the names of its columns."""


@dataclass(frozen=True)
class Inserted:
    """What was handed over: the declared columns of the rows that are fine, and what is wrong with the others."""

    columns: pa.Table
    wrong: tuple[Malformed, ...]


def inserted(info: Source, rows: object) -> Inserted:
    """Rows as columns of the declared types; BindError where a table as a whole does not fit."""
    columns, numbers, wrong = columns_of_rows(info, rows)
    refused = timed(info, columns, 0).refused if columns.num_rows else []
    wrong += [r.malformed(INSERTED, int(numbers[r.row]), _shown(columns, r.row)) for r in refused]
    if refused:
        fine = np.setdiff1d(np.arange(columns.num_rows), [r.row for r in refused])
        columns = columns.take(pa.array(fine))
    return Inserted(columns, tuple(sorted(wrong, key=lambda m: m.line)))


def columns_of_rows(info: Source, rows: object, shown: str = INSERTED) -> tuple[pa.Table, Int64s, list[Malformed]]:
    """The columns of rows that have values of the declared types, their numbers from 1, and what the others are."""
    table = _as_table(info, rows)
    if table is None:
        return _from_rows(info, rows, shown)
    names = check_columns(info, table.schema, "what is inserted" if shown == INSERTED else f"what {shown} gives")
    spec = SourceSpec("", shown, tuple((f.name, f.type) for f in info.columns), (), info.skip_errors, info.name)
    columns, kept, wrong = columns_of(_plain(table), names, spec, shown, 1)
    return columns, kept + 1, wrong


def _shown(columns: pa.Table, row: int) -> str:
    return str(tuple(columns.slice(row, 1).to_pylist()[0].values()))


# Tables.


def _as_table(info: Source, rows: object) -> pa.Table | None:
    """What is a table, as one of Arrow; None for rows one by one."""
    if isinstance(rows, pa.Table):
        return rows
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if isinstance(rows, np.ndarray):
        return _of_array(info, rows)
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(rows, pandas.DataFrame):
        return _of_pandas(rows)
    if hasattr(rows, "isStreaming"):
        if rows.isStreaming:
            message = f"a streaming DataFrame cannot be inserted into {info.name}: its rows are still to come"
            raise BindError(
                Diagnostic("STREAMING_FRAME", message, hint="attach it instead", parameters={"name": info.name})
            )
        return rows.toArrow()  # type: ignore[attr-defined]
    if hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__"):
        return pa.table(rows)
    return None


def _of_pandas(frame: Any) -> pa.Table | None:
    """A DataFrame of pandas, where NaN is a missing value; None where a column holds values of several types."""
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _of_array(info: Source, array: np.ndarray[Any, np.dtype[Any]]) -> pa.Table | None:
    """An array of records by the names of their fields, or one of two dimensions by the order of its columns."""
    if array.dtype.names:
        return pa.table({name: pa.array(np.ascontiguousarray(array[name])) for name in array.dtype.names})
    if array.ndim != 2 or array.dtype == object or array.shape[1] != len(info.columns):
        return None
    columns = [pa.array(np.ascontiguousarray(array[:, i])) for i in range(array.shape[1])]
    return pa.table(dict(zip((f.name for f in info.columns), columns, strict=True)))


def _plain(table: pa.Table) -> pa.Table:
    """Categories as their values, and texts as all readers have them."""
    for place, field in enumerate(table.schema):
        of = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        of = pa.large_string() if pa.types.is_string_view(of) else of
        of = pa.large_binary() if pa.types.is_binary_view(of) else of
        if of != field.type:
            table = table.set_column(place, field.name, table.column(place).cast(of))
    return table


# Rows one by one.


def _from_rows(info: Source, rows: object, shown: str) -> tuple[pa.Table, Int64s, list[Malformed]]:
    """The columns of rows that have as many values as there are columns, and their numbers."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(rows, pandas.DataFrame):
        check_names(info, list(map(str, rows.columns)), "what is inserted")
        rows = rows.to_dict("records")
    if isinstance(rows, Mapping | str | bytes) or not isinstance(rows, Iterable):
        message = f"{type(rows).__name__} is not a table, and no list of rows for {info.name}"
        hint = "a single row goes into a list: [row]"
        raise BindError(Diagnostic("NO_ROWS", message, hint=hint, parameters={"name": info.name}))
    cells: list[Sequence[Value]] = []
    numbers: list[int] = []
    wrong: list[Malformed] = []
    for number, row in enumerate(rows, start=1):
        try:
            cells.append(_values(info, row))
            numbers.append(number)
        except ValueError as error:
            wrong.append(Malformed(shown, number, str(error), str(row), str(row), "a row of the declared types"))
    failures = Failures()
    by_column = list(zip(*cells, strict=True)) if cells else [()] * len(info.columns)
    columns = [_column(by_column[i], f.type, i, failures) for i, f in enumerate(info.columns)]
    table = pa.Table.from_arrays(columns, names=[f"c{i}" for i in range(len(columns))])
    for place, (number, value, reason) in sorted(failures.reasons.items()):
        field = info.columns[number]
        text = str(tuple(cells[place]))
        wrong.append(Malformed(shown, numbers[place], reason, text, value, str(field.type), column=field.name))
    kept = np.array(numbers, np.int64)
    if failures.reasons:
        fine = np.setdiff1d(np.arange(kept.size), np.fromiter(failures.reasons, np.int64))
        table, kept = table.take(pa.array(fine)), kept[fine]
    return table, kept, wrong


def _values(info: Source, row: object) -> Sequence[Value]:
    """The values of a row in the declared order. Raises ValueError."""
    if isinstance(row, np.void) and row.dtype.names:
        row = dict(zip(row.dtype.names, row.item(), strict=True))
    elif isinstance(row, tuple) and hasattr(row, "__fields__"):  # a Row of Spark knows its names
        row = dict(zip(row.__fields__, row, strict=True))
    if isinstance(row, Mapping):
        return _by_name(info, row)
    if not isinstance(row, list | tuple) and not (isinstance(row, np.ndarray) and row.ndim == 1):
        kind = type(row).__name__
        raise ValueError(f"a row is a list or tuple of values in the order of the columns, or a dict, not {kind}")
    if len(row) != len(info.columns):
        raise ValueError(f"a row of {info.name} has {len(row)} values for {len(info.columns)} columns")
    return tuple(row)


def _by_name(info: Source, row: Mapping[str, Value]) -> Sequence[Value]:
    names = [f.name for f in info.columns]
    known = {name.casefold() for name in names}
    for key in row:
        if not isinstance(key, str) or key.casefold() not in known:
            hint = did_you_mean(str(key), names) or f"it has {listing(names)}"
            raise ValueError(f"{info.name} has no column {key}: {hint}")
    given = {key: (value,) for key, value in row.items()}
    found = [lookup(given, name) for name in names]
    missing = [name for name, value in zip(names, found, strict=True) if value is None]
    if missing:
        raise ValueError(f"the row has no {listing(missing)}, and None would stand for NULL")
    return [value[0] for value in found if value is not None]


_OF_PYTHON: dict[str, frozenset[type]] = {
    "BOOLEAN": frozenset({bool, type(None)}),
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), frozenset({int, type(None)})),
    "DOUBLE": frozenset({float, type(None)}),
    "STRING": frozenset({str, type(None)}),
}
"""The types whose values Arrow takes as they are, if they are of these classes and fit."""


def _column(cells: Sequence[Value], of: DataType, number: int, failures: Failures) -> pa.Array:
    """The values of a column; those that fit no value of the type are noted."""
    if set(map(type, cells)) <= _OF_PYTHON.get(of.name, frozenset()):
        try:
            return pa.array(cells, arrow_type(of))
        except (pa.ArrowException, OverflowError, UnicodeError):
            pass
    return column_of_cells([_python(v) for v in cells], of, number, failures)


def _python(value: Value) -> Value:
    """A value of NumPy or pandas as Python has it; what they write for a missing time or value is NULL."""
    if isinstance(value, np.datetime64):
        day = np.datetime_data(value.dtype)[0] == "D"
        return None if np.isnat(value) else (value if day else value.astype("datetime64[us]")).item()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return [_python(v) for v in value]
    if type(value).__name__ in ("NaTType", "NAType"):
        return None
    if isinstance(value, datetime) and type(value) is not datetime:
        return datetime.combine(value.date(), value.timetz())
    return value

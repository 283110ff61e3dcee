"""Folders whose names are values: ``year=2024/month=05/bids.csv`` gives each of its rows a year and a month."""

from __future__ import annotations

from pathlib import PurePath
from urllib.parse import unquote

import pyarrow as pa

from continua.errors import Diagnostic, SourceError
from continua.sources.convert import convert
from continua.sources.source_spec import SourceSpec
from continua.sources.splits import Split
from continua.sqltext.duckdb_types import arrow_type, to_arrow
from continua.types import Value

_NULL = "__HIVE_DEFAULT_PARTITION__"


def is_part(name: str) -> bool:
    """Whether a folder's name is that of a column and a value."""
    column, sign, _ = name.partition("=")
    return bool(column and sign) and not name.startswith((".", "_"))


def parts_of(path: PurePath, columns: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The values that the folders of a file give to columns that are declared."""
    known = {name.casefold() for name in columns}
    found = [part.partition("=") for part in path.parent.parts if is_part(part)]
    return tuple((name, unquote(value)) for name, _, value in found if name.casefold() in known)


def with_parts(columns: pa.Table, count: int, spec: SourceSpec, split: Split) -> pa.Table:
    """The columns of a file and those that its folders give, as they are declared."""
    given = {name.casefold(): text for name, text in split.parts}
    arrays: list[pa.ChunkedArray | pa.Array] = []
    place = 0
    for name, of in spec.columns:
        if name.casefold() in given:
            value = to_arrow(_value(given[name.casefold()], name, spec, split), of)
            arrays.append(pa.array([value] * count, arrow_type(of)))
        else:
            arrays.append(columns.column(place))
            place += 1
    return pa.Table.from_arrays(arrays, names=[f"c{i}" for i in range(len(arrays))])


def _value(text: str, name: str, spec: SourceSpec, split: Split) -> Value:
    of = dict(spec.columns)[name]
    try:
        return None if text == _NULL else convert(text, of)
    except ValueError as error:
        message = f"the folder of {split.shown} says that {name} is {text}: {error}"
        raise SourceError(
            Diagnostic("BAD_FOLDER", message, parameters={"source": spec.name, "column": name, "file": split.shown})
        ) from None

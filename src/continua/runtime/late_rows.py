"""Rows that came too late for a live run: as a table, and in the side file that bounded runs write too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from continua.catalog import StreamInfo
from continua.sources.intervals import Source
from continua.sources.rejects import add_rejects, rejects_path, write_rejects
from continua.sources.source_spec import Late, Malformed, SourceRow
from continua.sqltext.duckdb_types import arrow_type, from_duckdb
from continua.types import STRING, DataType, Value

ARRIVED = "<arrived>"
"""What stands for a file in lines of rows that arrived one by one."""


def columns_of(source: Source) -> dict[str, DataType]:
    """The columns of rows as they arrive: of a relation its own, then the operation."""
    if isinstance(source, StreamInfo):
        return {f.name: f.type for f in source.columns}
    return {**{f.name: f.type for f in source.columns if not f.hidden}, source.tagged_by or "op": STRING}


def late_table(source: Source, rows: pa.Table | None) -> pa.Table:
    """Late rows under the names of their columns."""
    columns = columns_of(source)
    if rows is None:
        return pa.table({name: pa.array([], arrow_type(of)) for name, of in columns.items()})
    return pa.table({name: rows.column(i) for i, name in enumerate(columns)})


class LateFile:
    """The side file of a source: ``<folder>/<name>.rejected.jsonl``, a line for each row. It follows the checkpoint."""

    def __init__(self, folder: Path, name: str, source: Source | None, goes_on: bool = False) -> None:
        """``source``: None where none of its rows can be late. ``goes_on``: what a run before has written stays."""
        self._folder = folder
        self._name = name
        self._source = source
        self._lines = 0
        path = rejects_path(folder, name)
        self._path = path if goes_on and path.exists() else None

    def append(self, rows: pa.Table) -> None:
        """Adds late rows; the first ones of a run are all that the checkpoint has, and begin the file anew.

        So a line that a crash left out comes back.
        """
        assert self._source is not None
        first = self._lines + 1
        found = [SourceRow(row, ARRIVED, line) for line, row in enumerate(_rows(self._source, rows), start=first)]
        self._lines += len(found)
        self.add([], [Late(row, 0, 0) for row in found])

    def add(self, wrong: Sequence[Malformed], late: Sequence[Late]) -> None:
        """Adds rows of files that are no rows or late, with the places where they stand."""
        if not wrong and not late:
            return
        if self._path is None:
            self._path = write_rejects(self._folder, self._name, [m.reject() for m in wrong], late)
            return
        add_rejects(self._path, [m.reject() for m in wrong], late)


def _rows(source: Source, rows: pa.Table) -> Iterator[tuple[Value, ...]]:
    values = [
        [from_duckdb(v, of) for v in rows.column(i).to_pylist()] for i, of in enumerate(columns_of(source).values())
    ]
    return zip(*values, strict=True)

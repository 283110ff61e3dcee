"""The events of NEXMark as files that every system reads: as many of each kind as tasks read at a time.

Events go to the files of their kind in turn, as to the partitions of a topic, so that readers are equally far in time.
CSV has no header, since Flink knows none, and moments are written as all three read them.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.nexmark.generator import Settings, side_input, table
from benchmarks.peers.tables import PARALLELISM, TABLES
from continua.answers.encoding.record_texts import json_file

FORMATS = ("csv", "jsonl", "parquet")
_AT_ONCE = 250_000
"""So many events are made at once."""


def write(settings: Settings, form: str, folder: Path, events: int) -> None:
    """Writes the first events of all kinds, and the side input of q13."""
    with ExitStack() as files:
        opened = {kind: [_File(folder / kind, n, form, files) for n in range(PARALLELISM)] for kind in TABLES}
        for first in range(0, events, _AT_ONCE):
            for kind, parts in opened.items():
                rows = table(kind, first, min(first + _AT_ONCE, events), settings)
                for number, part in enumerate(parts):
                    part.append(rows.take(pa.array(range(number, rows.num_rows, len(parts)), pa.int64())))
        _File(folder / "side", 0, form, files).append(side_input())


class _File:
    """One of the files of a folder."""

    def __init__(self, folder: Path, number: int, form: str, closing: ExitStack) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = closing.enter_context((folder / f"{number}.{form}").open("wb"))
        self._form, self._closing = form, closing
        self._parquet: pyarrow.parquet.ParquetWriter | None = None

    def append(self, rows: pa.Table) -> None:
        """Writes some rows."""
        match self._form:
            case "parquet":
                if self._parquet is None:
                    self._parquet = self._closing.enter_context(pyarrow.parquet.ParquetWriter(self._file, rows.schema))
                self._parquet.write_table(rows)
            case "csv":
                how = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
                pyarrow.csv.write_csv(_with_moments_as_text(rows), self._file, how)
            case _:
                self._file.writelines(json_file(_with_moments_as_text(rows)))


def _with_moments_as_text(rows: pa.Table) -> pa.Table:
    """With moments as SQL writes them, down to milliseconds."""
    for place, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            rows = rows.set_column(place, field.name, rows[field.name].cast(pa.timestamp("ms")).cast(pa.string()))
    return rows

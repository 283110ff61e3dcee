"""Tables as files that are written piece by piece: CSV, JSON lines or Parquet."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

FORMATS = ("csv", "jsonl", "parquet")
_PLAIN = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")


class TableFile:
    """A file that takes tables of one schema."""

    def __init__(self, path: Path, form: str, example: pa.Table) -> None:
        """``example``: any table of the schema, such as an empty one."""
        self._form = form
        self._file = path.open("wb")
        self._parquet = pyarrow.parquet.ParquetWriter(self._file, example.schema) if form == "parquet" else None
        if form == "csv":
            self._file.write((",".join(example.column_names) + "\n").encode())

    def __enter__(self) -> TableFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._parquet is not None:
            self._parquet.close()
        self._file.close()

    def append(self, table: pa.Table) -> None:
        """Writes the rows of a table."""
        if not table.num_rows:
            return
        if self._parquet is not None:
            self._parquet.write_table(table)
        elif self._form == "csv":
            # no text has a comma, a quote or a line break in it
            columns = [_plain(column) for column in table.columns]
            pyarrow.csv.write_csv(pa.table(columns, names=table.column_names), self._file, _PLAIN)
        else:
            for chunk in _lines(table).chunks:
                self._file.write(_bytes_of(chunk))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column with timestamps as texts, as ISO 8601 has them; of many at one instant the text is made once."""
    if not pa.types.is_timestamp(column.type):
        return column
    encoded = column.combine_chunks().dictionary_encode()
    shown = pc.replace_substring(encoded.dictionary.cast(pa.string()), " ", "T")
    return pa.chunked_array([shown.take(encoded.indices)])


def _lines(table: pa.Table) -> pa.ChunkedArray:
    """The rows as JSON objects, each with its line break."""
    parts: list[pa.ChunkedArray | str] = []
    for i, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        quote = "" if pa.types.is_integer(column.type) else '"'
        parts += [f'{"," if i else "{"}"{name}":{quote}', _plain(column).cast(pa.string()), quote]
    return pc.binary_join_element_wise(*parts, "}\n", "")


def _bytes_of(chunk: pa.Array) -> memoryview:
    """The texts of an array one after the other."""
    _, offsets, data = chunk.buffers()
    begin, end = (int.from_bytes(offsets[4 * i : 4 * i + 4].to_pybytes(), "little") for i in _ends(chunk))
    return memoryview(data)[begin:end]


def _ends(chunk: pa.Array) -> tuple[int, int]:
    """Where among the offsets of an array its first and last are."""
    return chunk.offset, chunk.offset + len(chunk)

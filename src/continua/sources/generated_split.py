"""Splits of generated sources: ranges of numbers, and the rows that these have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from continua.sources.columnar_split import columns_of
from continua.sources.generated import generated
from continua.sources.python_rows import PythonRows, read_python
from continua.sources.source_spec import Malformed, SourceSpec
from continua.sources.splits import Extent, Piece, Split
from continua.sources.text_bytes import as_columns

_AT_ONCE = 1 << 16
"""So many rows are made at once: what they are made of stays near the processor."""


def read_generated(spec: SourceSpec, split: Split) -> Piece:
    """The rows of a split. A line is the number of a row."""
    found = generated(spec, split.begun_at)
    generator = found.generator
    if isinstance(generator, PythonRows):
        return read_python(spec, split, generator)
    entry = split.begin if split.entry is None else split.entry
    first, end, exit_ = generator.rows_below(entry), generator.rows_below(split.end), max(split.end, entry)
    if split.rows is not None and first + split.rows < end:
        end = first + split.rows
        exit_ = int(generator.numbers(end - 1, end)[0]) + 1
    names = list(found.names)
    tables: list[pa.Table] = []
    lines = [np.empty(0, np.int64)]
    wrong: list[Malformed] = []
    for begin in range(first, end, _AT_ONCE):
        numbers = generator.numbers(begin, min(begin + _AT_ONCE, end))
        made = generator.make(numbers, tuple(dict.fromkeys(names)))
        table, kept, refused = columns_of(made, names, spec, split.shown, 0)
        tables.append(table)
        lines.append(numbers[kept] - entry)
        wrong += [replace(m, line=int(numbers[m.line]) - entry) for m in refused]
    columns = pa.concat_tables(tables) if tables else as_columns([], spec)
    extent = Extent(exit_ - entry, entry, exit_, exit_ >= split.size, split.end)
    relative = np.concatenate(lines)
    return Piece(columns, relative, tuple(wrong), extent, relative + entry if spec.placed else None)

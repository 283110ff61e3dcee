"""Splits of plain text files: every line is a row of one column."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from continua.errors import Diagnostic, SourceError
from continua.kernels.jit import Int64s
from continua.sources.jsonl_split import line_bounds, line_starts, lines_of
from continua.sources.source_spec import Malformed, SourceSpec
from continua.sources.splits import Piece, Split
from continua.sources.text_bytes import Text, as_columns, flaw, is_utf8, open_text, readable
from continua.types import STRING


def read_text(spec: SourceSpec, split: Split, here: Text | None = None) -> Piece:
    """The lines of a split, without their ends. ``here``: its text, where it is in no file."""
    if [of for _, of in spec.columns] != [STRING]:
        message = f"text('{spec.path}') has one column, a STRING: {spec.name} declares something else"
        raise SourceError(Diagnostic("BAD_COLUMNS", message, parameters={"source": spec.name}))
    text = here or open_text(split)
    begin, stop = line_bounds(text, split, blank=True)
    data = text.data[begin:stop]
    lines = lines_of(data.removeprefix(b"\xef\xbb\xbf") if split.begins_file else data)
    wrong: list[Malformed] = []
    numbers: Int64s = np.arange(len(lines))
    if b"\0" in data or not is_utf8(data):
        texts = [line.decode("utf-8", "surrogateescape") for line in lines]
        flaws = {number: found for number, line in enumerate(texts) if (found := flaw(line)) is not None}
        for number, reason in flaws.items():
            shown = readable(texts[number])
            wrong.append(Malformed(split.shown, number, reason, shown, shown, "text in UTF-8"))
        numbers = np.array([n for n in range(len(lines)) if n not in flaws], np.int64)
        lines = [lines[n] for n in numbers.tolist()]
    columns = as_columns([pa.array(lines, pa.binary()).cast(pa.string())], spec)
    extent = text.extent(int(numbers.size) + len(wrong), begin, stop)
    offsets = text.base + begin + line_starts(data)[numbers] if spec.placed else None
    return Piece(columns, numbers, tuple(wrong), extent, offsets)

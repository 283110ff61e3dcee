"""Splits of CSV files: records of fields, by the names of a header or by position."""

from __future__ import annotations

import codecs
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pyarrow as pa

from continua.kernels.jit import Bytes, Int64s
from continua.kernels.text import csv_records as kernel
from continua.sources.csv_header import Layout, layout_of_first
from continua.sources.format_options import CsvOptions, csv_options
from continua.sources.source_spec import Malformed, SourceSpec
from continua.sources.splits import Extent, Piece, Split
from continua.sources.stored_files import state_of
from continua.sources.text_bytes import Text, as_columns, flaw, is_utf8, open_text, readable
from continua.sources.values import Failures, Fields, column_of_texts

_REASONS = {
    kernel.NOT_CLOSED: "not CSV: a quote is not closed",
    kernel.AFTER_QUOTE: "not CSV: a closing quote is followed by something else than a delimiter or a line end",
}
_ALL = 1 << 62
MOST_OPEN = 1 << 20
"""A quote that is open for longer than that is a wrong one, also where more may come."""


def read_csv(spec: SourceSpec, split: Split, here: Text | None = None, known: Layout | None = None) -> Piece:
    """The rows of a split; ``here``: its text, where it is in no file, and ``known`` then the layout of its records."""
    options = csv_options(spec)
    text = here or open_text(split)
    layout = _layout(spec, split, options, text) if here is None else known
    if layout is None:
        return _without_records(spec, split, text)
    begin = _begin(text, split)
    header = layout.header and split.begins_file
    walked = _walk(text, begin, options, layout.width, _ALL if split.rows is None else split.rows + header)
    if split.growing:
        _leave_open(walked)
    rows, wrong = _separated(walked, text, split, layout, int(header))
    failures = Failures()
    columns = [
        column_of_texts(Fields(walked.text, *walked.field(place, rows)), options.null, of, number, failures)
        for number, (place, (_, of)) in enumerate(zip(layout.positions, spec.columns, strict=True))
    ]
    lines, offsets = walked.lines[rows], walked.starts[rows] + text.base if spec.placed else None
    for row, (number, value, reason) in failures.reasons.items():
        name, of = spec.columns[number]
        record = readable(walked.record(int(rows[row])))
        wrong.append(Malformed(split.shown, int(lines[row]), reason, record, value, str(of), column=name))
    table = as_columns(columns, spec)
    if failures.reasons:
        kept = np.setdiff1d(np.arange(rows.size), np.fromiter(failures.reasons, np.int64))
        table, lines, offsets = table.take(pa.array(kept)), lines[kept], None if offsets is None else offsets[kept]
    wrong.sort(key=lambda m: m.line)
    inside = None if split.rows is not None or not split.begin else _inside(walked, text, options)
    entry = 0 if split.begins_file else walked.begin
    extent = text.extent(walked.passed, entry, walked.exit)
    extent = replace(extent, stop=text.base + walked.stop, inside=inside)
    return Piece(table, lines, tuple(wrong), extent, offsets)


def _without_records(spec: SourceSpec, split: Split, text: Text) -> Piece:
    """A file that has no record: of nothing but blank lines, or of nothing at all."""
    size = max(split.size, 0)
    checksum = text.checksum(0, len(text.data)) if split.begins_file else 0
    entry = 0 if split.begins_file else size
    return Piece(as_columns([], spec), np.empty(0, np.int64), (), Extent(0, entry, size, True, size, checksum))


def _leave_open(walked: _Walked) -> None:
    """Leaves a record unread whose quotes are open where the text ends: the rest of it may come."""
    for number in np.flatnonzero(walked.states[: walked.count] == kernel.NOT_CLOSED).tolist():
        begin = int(walked.starts[number])
        if walked.text.size - begin <= MOST_OPEN:
            walked.count, walked.exit, walked.passed = number, begin, int(walked.lines[number])
            return


class _Walked:
    """The records of a stretch of text."""

    def __init__(self, text: Bytes, begin: int, room: int, width: int) -> None:
        self.text, self.begin = text, begin
        self.starts, self.ends, self.lines, self.widths = (np.empty(room, np.int64) for _ in range(4))
        self.states = np.empty(room, np.uint8)
        self.fields = np.empty((2 * width, room), np.int64)
        self.count = self.passed = self.exit = self.stop = 0
        self.high = False

    def walk(self, options: CsvOptions, stop: int, last: bool, most: int, width: int) -> bool:
        """Walks the records; whether the text ends where one of them does."""
        self.stop = stop
        self.count, self.exit, self.passed, self.high = kernel.walk(
            self.text, kernel.classes(ord(options.delimiter)), self.begin, stop, last, most, width,
            self.starts, self.ends, self.lines, self.widths, self.states, self.fields,
        )  # fmt: skip
        finished = self.exit != kernel.UNFINISHED
        self.exit = max(self.exit, self.begin)
        return finished

    def field(self, place: int, rows: Int64s) -> tuple[Int64s, Int64s]:
        """The bounds of a field of some records."""
        first, end = self.fields[2 * place, : self.count], self.fields[2 * place + 1, : self.count]
        return (first, end) if rows.size == self.count else (first[rows], end[rows])

    def record(self, number: int) -> str:
        """A record as it is written."""
        raw = self.text[int(self.starts[number]) : int(self.ends[number])].tobytes()
        return raw.decode("utf-8", "surrogateescape")


def _begin(text: Text, split: Split) -> int:
    """Where the first record begins in the text."""
    begin = text.entry(split.entry)
    mark = split.begins_file and text.data.startswith(codecs.BOM_UTF8)
    return len(codecs.BOM_UTF8) if mark else begin


def _walk(text: Text, begin: int, options: CsvOptions, width: int, most: int) -> _Walked:
    """Walks the records that begin in a split, reading on until the last of them ends."""
    while True:
        stop, data = text.stop, text.data
        room = 2 + max(data.count(b"\n", begin, stop) + data.count(b"\r", begin, stop), 0)
        walked = _Walked(np.frombuffer(data, np.uint8), begin, room, width)
        if walked.walk(options, stop, text.last, min(most, room), width):
            return walked
        text.read_on()


def _separated(
    walked: _Walked, text: Text, split: Split, layout: Layout, header: int
) -> tuple[Int64s, list[Malformed]]:
    """The records that are rows, by number, and those that are none; the header is neither."""
    states = walked.states[: walked.count]
    if walked.high and not is_utf8(text.data[walked.begin : walked.exit]):
        for number in np.flatnonzero(states == kernel.FINE).tolist():
            if flaw(walked.record(number)) is not None:
                states[number] = kernel.FLAWED
    if layout.width == 1 and walked.high:
        for number in np.flatnonzero(states == kernel.FINE).tolist():
            if not walked.record(number).strip():
                states[number] = kernel.WIDTH
    rows = np.flatnonzero(states == kernel.FINE)
    others = np.flatnonzero(states != kernel.FINE)
    wrong = [_malformed(walked, number, split, layout) for number in others[others >= header].tolist()]
    return rows[rows >= header], [m for m in wrong if m is not None]


def _malformed(walked: _Walked, number: int, split: Split, layout: Layout) -> Malformed | None:
    record, state, line = walked.record(number), int(walked.states[number]), int(walked.lines[number])
    text, found = readable(record), flaw(record)
    if state in _REASONS or found is not None:
        return Malformed(split.shown, line, _REASONS.get(state) or str(found), text, text, "CSV in UTF-8")
    if not record.strip():
        return None  # a line of nothing but spaces, of a kind that ASCII does not have
    reason = f"{walked.widths[number]} fields where {layout.width} are expected"
    return Malformed(split.shown, line, reason, text, text, f"{layout.width} fields")


def _inside(walked: _Walked, text: Text, options: CsvOptions) -> tuple[int, int] | None:
    """Where the first record would begin if the split began within quotes, and where the first one behind it."""
    if b'"' not in text.data[: walked.stop]:
        return None
    kinds = kernel.classes(ord(options.delimiter))
    begin = kernel.leave_quotes(walked.text, kinds, text.entry(None), text.last)
    if begin == kernel.UNFINISHED or begin >= walked.stop:
        return None
    other = _walk(text, begin, options, 1, _ALL)
    return text.base + begin, text.base + other.exit


def layout_of(spec: SourceSpec, shown: str, text: Text) -> Layout | None:
    """The layout of the records that begin with a text; None when it has none."""
    return _layout_of_text(spec, shown, csv_options(spec), text)


def _layout(spec: SourceSpec, split: Split, options: CsvOptions, text: Text) -> Layout | None:
    """The layout of a split's file; those that were asked for lately are remembered."""
    if split.end < 0:
        return _layout_of_text(spec, split.shown, options, text)
    return _remembered(spec, split.path, split.shown, split.size, options, state_of(split.path).identity)


@lru_cache(maxsize=256)
def _remembered(
    spec: SourceSpec, path: str, shown: str, size: int, options: CsvOptions, identity: object
) -> Layout | None:
    del identity
    return _layout_of_text(spec, shown, options, open_text(Split(path, shown, 0, 0, size, entry=0, rows=1)))


def _layout_of_text(spec: SourceSpec, shown: str, options: CsvOptions, text: Text) -> Layout | None:
    """The layout of the file that a text begins; None when it has no records."""
    begin = len(codecs.BOM_UTF8) if text.data.startswith(codecs.BOM_UTF8) else 0
    number = 0
    while True:
        found = _walk(text, begin, options, 1, number + 1)
        if found.count <= number:
            return None
        if found.states[number] == kernel.WIDTH and not found.record(number).strip():
            number += 1
            continue
        break
    width = int(found.widths[number])
    if found.states[number] in _REASONS:
        return layout_of_first((), shown, spec, options)
    first = _walk(text, begin, options, width, number + 1)
    fields = [Fields(first.text, *first.field(i, np.arange(first.count))).cell(number) for i in range(width)]
    return layout_of_first(fields, shown, spec, options)

"""CSV files: records of fields, by the names of a header or by position."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from continua.errors import SourceError, did_you_mean, listing
from continua.runtime.sources.options import CsvOptions, csv_options
from continua.runtime.sources.rows import RowReader
from continua.runtime.sources.spec import Malformed, SourceRow, SourceSpec, missing_column
from continua.runtime.sources.text import flaw, readable, text_lines


@dataclass(frozen=True, slots=True)
class Layout:
    """Where records have the declared columns, how many fields they have, and whether the first one is a header."""

    positions: list[int]
    width: int
    header: bool


@dataclass(frozen=True, slots=True)
class _Record:
    """The fields of a record, the line where it starts, its raw text, and why it is none."""

    fields: list[str]
    line: int
    text: str
    flaw: str | None


class _Lines:
    """Physical lines that remember which of them the current record took, and can take some back."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._returned: deque[str] = deque()
        self._taken: list[str] = []
        self.line = 1

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._returned.popleft() if self._returned else next(self._lines)
        self._taken.append(line)
        return line

    def start_record(self) -> None:
        self.line += len(self._taken)
        self._taken = []

    def return_all_but_first(self) -> None:
        self._returned.extendleft(reversed(self._taken[1:]))
        del self._taken[1:]

    @property
    def text(self) -> str:
        return "".join(self._taken)


def read_csv(path: Path, file: str, spec: SourceSpec) -> Iterator[SourceRow | Malformed]:
    """The rows of a CSV file, in the order of the file."""
    options = csv_options(spec)
    reader = RowReader(spec, file)
    layout: Layout | None = None
    for record in _records(path, options.delimiter):
        if layout is None:
            layout = _layout(record, file, spec, options)
            positions, width = layout.positions, layout.width
            if layout.header:
                continue
        if record.flaw is not None:
            yield reader.malformed(record.line, record.flaw, readable(record.text), "CSV in UTF-8")
        elif len(record.fields) != width:
            reason = f"{len(record.fields)} fields where {width} are expected"
            yield reader.malformed(record.line, reason, readable(record.text), f"{width} fields")
        else:
            fields = (None if record.fields[p] == options.null else record.fields[p] for p in positions)
            yield reader.row(fields, record.line, partial(readable, record.text))


def csv_layout(path: Path, file: str, spec: SourceSpec, options: CsvOptions) -> Layout | None:
    """The layout of a CSV file; None when it has no records."""
    first = next(_records(path, options.delimiter), None)
    return None if first is None else _layout(first, file, spec, options)


def _layout(first: _Record, file: str, spec: SourceSpec, options: CsvOptions) -> Layout:
    if options.header is not False:
        named = _header_positions(first, spec)
        if None in named and (options.header or _resembles_header(named)):
            raise _missing_from_header(first, spec, file, said=options.header is True)
        if None not in named:
            return Layout([p for p in named if p is not None], len(first.fields), header=True)
    return Layout(list(range(len(spec.columns))), len(spec.columns), header=False)


def _records(path: Path, delimiter: str) -> Iterator[_Record]:
    lines = _Lines(text_lines(path))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        lines.start_record()
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            # A quote that is never closed swallows what follows: only its own line is to blame.
            lines.return_all_but_first()
            yield _Record([], lines.line, lines.text, f"not CSV: {error}")
            continue
        text = lines.text
        if len(fields) > 1 or text.strip():
            yield _Record(fields, lines.line, text, flaw(text))


def _header_positions(record: _Record, spec: SourceSpec) -> list[int | None]:
    """Where a header has each declared column."""
    places: dict[str, int] = {}
    for position, field in enumerate(record.fields):
        places.setdefault(field.strip().casefold(), position)
    return [places.get(name.casefold()) for name, _ in spec.columns]


def _resembles_header(named: list[int | None]) -> bool:
    """Whether most of the declared names stand in the record: then it is a header with a name missing."""
    return 2 * sum(p is not None for p in named) > len(named)


def _missing_from_header(record: _Record, spec: SourceSpec, file: str, said: bool) -> SourceError:
    positions = _header_positions(record, spec)
    column = next(name for (name, _), p in zip(spec.columns, positions, strict=True) if p is None)
    names = [readable(field.strip()) for field in record.fields]
    hint = did_you_mean(column, names) or f"the header has {listing(names) or 'no names'}"
    return missing_column(spec, column, file, hint if said else f"{hint} (header => false if the first line is a row)")

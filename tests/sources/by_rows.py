"""CSV files read record by record with Python's own reader: what the reading by splits and columns is held against.

How a record is found, and which line it starts at, is worked out here independently; what a text means as a value, and
which column a field is, has one rule everywhere.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from continua.sources.convert import converter
from continua.sources.csv_header import Layout, layout_of_first
from continua.sources.format_options import csv_options
from continua.sources.source_spec import Malformed, SourceRow, SourceSpec
from continua.sources.text_bytes import flaw, readable
from continua.types import Value

csv.field_size_limit(1 << 24)


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


def read_csv(spec: SourceSpec, path: Path) -> tuple[list[SourceRow], list[Malformed]]:
    """The rows of a CSV file, and the records that are none."""
    options = csv_options(spec)
    layout: Layout | None = None
    rows: list[SourceRow] = []
    wrong: list[Malformed] = []
    for record in _records(path, options.delimiter):
        if layout is None:
            layout = layout_of_first(record.fields, path.name, spec, options)
            if layout.header:
                continue
        text = readable(record.text)
        if record.flaw is not None:
            wrong.append(Malformed(path.name, record.line, record.flaw, text, text, "CSV in UTF-8"))
        elif len(record.fields) != layout.width:
            reason = f"{len(record.fields)} fields where {layout.width} are expected"
            wrong.append(Malformed(path.name, record.line, reason, text, text, f"{layout.width} fields"))
        else:
            quoted = _in_quotes(record.text, options.delimiter)
            fields: list[str | None] = []
            for place, (_, of) in zip(layout.positions, spec.columns, strict=True):
                field = record.fields[place]
                empty = not field and quoted[place] and of.name in ("STRING", "BINARY")
                fields.append(None if field == options.null and not empty else field)
            found = _row(spec, fields, path.name, record.line, text)
            (rows if isinstance(found, SourceRow) else wrong).append(found)  # type: ignore[arg-type]
    return rows, wrong


def _in_quotes(text: str, delimiter: str) -> list[bool]:
    """Which fields of a record begin with a quote."""
    found: list[bool] = []
    place = 0
    while True:
        found.append(text[place : place + 1] == '"')
        if found[-1]:
            place = text.index('"', place + 1)
            while text[place + 1 : place + 2] == '"':
                place = text.index('"', place + 2)
        place = text.find(delimiter, place)
        if place < 0:
            return found
        place += 1


def _row(spec: SourceSpec, fields: list[str | None], file: str, line: int, text: str) -> SourceRow | Malformed:
    values: list[Value] = []
    for (name, of), field in zip(spec.columns, fields, strict=True):
        try:
            values.append(converter(of)(field))
        except ValueError as error:
            return Malformed(file, line, str(error), text, field, str(of), column=name)
    return SourceRow(tuple(values), file, line)


def _records(path: Path, delimiter: str) -> Iterator[_Record]:
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        lines = _Lines(iter(file))
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
            if len(fields) > 1 or lines.text.strip():
                yield _Record(fields, lines.line, lines.text, flaw(lines.text))

"""Sources read row by row, as plainly as it can be done: what the reading by splits and columns is held against."""

from __future__ import annotations

import csv
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from continua.errors import ContinuaError, Diagnostic, SourceError, did_you_mean, listing
from continua.sources.convert import converter, lookup, parse_json
from continua.sources.options import CsvOptions, check_options, csv_options
from continua.sources.paths import SourceFile, find_files
from continua.sources.show import show_value
from continua.sources.spec import Malformed, Reject, SourceRow, SourceSpec, missing_column
from continua.types import Value

csv.field_size_limit(1 << 24)


_ESCAPED = re.compile("[\udc80-\udcff]")


def text_lines(path: Path) -> Iterator[str]:
    """The physical lines with their line ends; a leading byte order mark is dropped."""
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        yield from file


def flaw(text: str) -> str | None:
    """Why no text may look like this, or None."""
    if "\0" in text:
        return "a NUL byte"
    if not text.isascii() and _ESCAPED.search(text):
        return "bytes that are not UTF-8"
    return None


def readable(text: str) -> str:
    """A raw record as text that can be written again: no line end, odd bytes as ``\\xNN``."""
    raw = text.rstrip("\r\n").encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "backslashreplace")


class RowReader:
    """Builds the rows of one file."""

    def __init__(self, spec: SourceSpec, file: str) -> None:
        self._columns = [(name, of, converter(of)) for name, of in spec.columns]
        self._file = file

    def row(self, fields: Iterable[object], line: int, text: Callable[[], str]) -> SourceRow | Malformed:
        """The row of the raw fields, one a declared column; ``text`` gives the record if it must be kept."""
        values: list[Value] = []
        for (name, of, read), field in zip(self._columns, fields, strict=True):
            try:
                values.append(read(field))
            except ValueError as error:
                return Malformed(self._file, line, str(error), text(), field, str(of), column=name)
        return SourceRow(tuple(values), self._file, line)

    def malformed(self, line: int, reason: str, text: str, expected: str) -> Malformed:
        """A record that is malformed as a whole."""
        return Malformed(self._file, line, reason, text, text, expected)


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


def read_jsonl(path: Path, file: str, spec: SourceSpec) -> Iterator[SourceRow | Malformed]:
    """The rows of a JSON Lines file, in the order of the file; a field that is not there is NULL."""
    reader = RowReader(spec, file)
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip():
            continue
        try:
            fields = _object(line)
        except ValueError as error:
            yield reader.malformed(number, str(error), readable(line), "a JSON object")
            continue
        values = (lookup(fields, name) for name, _ in spec.columns)
        yield reader.row(values, number, partial(readable, line))


def _object(line: str) -> dict[str, object]:
    reason = flaw(line)
    if reason is not None:
        raise ValueError(reason)
    parsed = parse_json(line)
    if not isinstance(parsed, dict):
        raise ValueError("not a JSON object")
    return parsed


_UNREADABLE = (pa.ArrowException, OSError, ValueError)


@dataclass(frozen=True, slots=True)
class _Unheld:
    """A cell that Python has no value for (a far year, text that is not UTF-8), and so fits no type."""

    reason: str

    def __repr__(self) -> str:
        return f"<{self.reason}>"


def read_parquet(path: Path, file: str, spec: SourceSpec) -> Iterator[SourceRow | Malformed]:
    """The rows of a Parquet file; a file that is none is malformed at line 0."""
    reader = RowReader(spec, file)
    with path.open("rb") as handle:
        try:
            parquet = pq.ParquetFile(handle)
        except _UNREADABLE as error:
            yield reader.malformed(0, f"not a Parquet file: {error}", "", "a Parquet file")
            return
        names = own_names(parquet.schema_arrow.names, spec, file)
        done = 0
        batches = parquet.iter_batches(columns=list(dict.fromkeys(names)))
        while True:
            try:
                batch = next(batches, None)
                columns = [] if batch is None else [_cells(batch.column(name)) for name in names]
            except _UNREADABLE as error:
                yield reader.malformed(done + 1, f"damaged from here on: {error}", "", "a Parquet file")
                return
            if batch is None:
                return
            for fields in zip(*columns, strict=True):
                done += 1
                yield reader.row(fields, done, partial(_text, names, fields))


def own_names(present: list[str], spec: SourceSpec, file: str) -> list[str]:
    """The file's own spelling of each declared column."""
    names = []
    for column, _ in spec.columns:
        name = lookup({name: name for name in present}, column)
        if name is None:
            hint = did_you_mean(column, present) or f"the file has {listing(present) or 'no columns'}"
            raise missing_column(spec, column, file, hint)
        names.append(name)
    return names


def _cells(column: pa.Array) -> list[object]:
    """The Python values of a column, what Python cannot hold as :class:`_Unheld`."""
    wanted = plain_type(column.type)
    plain = column if wanted == column.type else column.cast(wanted, safe=False)
    try:
        cells: list[object] = plain.to_pylist()
    except (ValueError, OverflowError):
        cells = [_cell(scalar) for scalar in plain]
    return cells


def _cell(scalar: pa.Scalar) -> object:
    try:
        value: object = scalar.as_py()
    except (ValueError, OverflowError) as error:
        return _Unheld(str(error))
    return value


def plain_type(of: pa.DataType) -> pa.DataType:
    """The type with timestamps in UTC and no finer than a microsecond, which is as fine as instants are.

    The coarser units stay: multiplying a far timestamp could overflow, dividing cannot.
    """
    if pa.types.is_timestamp(of):
        return pa.timestamp("us" if of.unit == "ns" else of.unit)
    if pa.types.is_struct(of):
        return pa.struct([field.with_type(plain_type(field.type)) for field in of])
    if pa.types.is_map(of):
        return pa.map_(plain_type(of.key_type), plain_type(of.item_type))
    if pa.types.is_large_list(of):
        return pa.large_list(plain_type(of.value_type))
    if pa.types.is_list(of):
        return pa.list_(plain_type(of.value_type))
    if pa.types.is_fixed_size_list(of):
        return pa.list_(plain_type(of.value_type), of.list_size)
    return of


def _text(names: list[str], fields: tuple[object, ...]) -> str:
    """A row as a JSON object of texts: Parquet has no text of its own to keep."""
    return json.dumps({n: show_value(f) for n, f in zip(names, fields, strict=True)}, ensure_ascii=False)


FileReader: TypeAlias = Callable[[Path, str, SourceSpec], Iterator[SourceRow | Malformed]]


def read_source(spec: SourceSpec, base: Path) -> tuple[list[SourceRow], list[Reject]]:
    """All rows of a source in the order of its files, and the records left out under ON ERROR SKIP.

    Without ON ERROR SKIP the first malformed record raises DataError. A source that cannot be read at all
    raises SourceError.
    """
    check_options(spec)
    reader = _reader(spec.format)
    rows: list[SourceRow] = []
    rejects: list[Reject] = []
    for file in find_files(spec, base):
        for item in _read_file(reader, file, spec):
            if isinstance(item, SourceRow):
                rows.append(item)
            elif spec.skip_malformed:
                rejects.append(item.reject())
            else:
                raise item.error(spec.name)
    return rows, rejects


def _reader(format_: str) -> FileReader:
    match format_:
        case "csv":
            return read_csv
        case "jsonl":
            return read_jsonl
        case _:
            # Arrow takes longer to import than most scripts take to run.

            return read_parquet


def _read_file(reader: FileReader, file: SourceFile, spec: SourceSpec) -> Iterator[SourceRow | Malformed]:
    try:
        yield from reader(file.path, file.shown, spec)
    except ContinuaError:
        raise
    except OSError as error:
        raise SourceError(
            Diagnostic(
                "SOURCE_NOT_READABLE",
                f"{file.shown} cannot be read: {error.strerror or error}",
                parameters={"source": spec.name, "path": spec.path, "file": file.shown},
            )
        ) from error

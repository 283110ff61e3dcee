"""The rows behind the catalog: files and rows inserted by hand, as timed inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from continua.algebra.schema import Field
from continua.catalog import Catalog, RelationInfo, StreamInfo
from continua.errors import DataError, Diagnostic, SourceError, did_you_mean
from continua.instants import INFINITY, instant_of, show_instant, show_length
from continua.lang.statements import SourceCall
from continua.reference.elements import Element, Inputs, Modification, Row
from continua.runtime.sources import (
    Late,
    Reject,
    SourceRow,
    SourceSpec,
    convert,
    late_diagnostic,
    order_rows,
    read_source,
    write_rejects,
)
from continua.types import Value

if TYPE_CHECKING:
    import pyarrow as pa

    from continua.runtime.columnar import Loaded

FORMATS = ("csv", "jsonl", "parquet")


@dataclass(frozen=True, slots=True)
class Rows:
    """What was read of one source: it is of one of these kinds."""

    elements: tuple[Element, ...] = ()
    stored: tuple[Row, ...] = ()
    modifications: tuple[Modification, ...] = ()


class InputReader:
    """Reads each source once; what was kept apart is told in ``notices`` and written to a side file."""

    def __init__(self, catalog: Catalog, data: Path, rejects: Path | None, clock: Callable[[], int]) -> None:
        self._catalog = catalog
        self._data = data
        self._rejects = rejects or Path("rejected")
        self._clock = clock
        self._inserted: dict[str, list[SourceRow]] = {}
        self._arrivals: dict[tuple[str, str, int], int] = {}
        self._read: dict[StreamInfo | RelationInfo, Rows] = {}
        self._tables: dict[StreamInfo | RelationInfo, pa.Table | None] = {}
        self.notices: list[Diagnostic] = []

    def insert(self, name: str, rows: Iterable[Sequence[Value]]) -> None:
        """Adds rows to a stream or relation, in the declared column order."""
        info = self._catalog.table(name)
        if not isinstance(info, StreamInfo | RelationInfo):
            raise SourceError(Diagnostic("UNKNOWN_STREAM", f"there is no stream or relation {name}"))
        kept = self._inserted.setdefault(name.casefold(), [])
        for number, row in enumerate(rows, start=len(kept) + 1):
            if len(row) != len(info.columns):
                raise DataError(
                    Diagnostic(
                        "MALFORMED_ROW",
                        f"row {number} of {info.name} has {len(row)} values for {len(info.columns)} columns",
                        parameters={"file": "<inserted>", "line": number, "source": info.name},
                    )
                )
            try:
                values = _converted(tuple(row), info.columns)
            except ValueError as error:
                raise _malformed(SourceRow(tuple(row), "<inserted>", number), str(error)) from None
            kept.append(SourceRow(values, "<inserted>", number))
            self._arrival(info.name, kept[-1])
        self._read.pop(info, None)
        self._tables.pop(info, None)

    def converted(self, info: StreamInfo | RelationInfo, rows: Iterable[Sequence[Value]]) -> list[Row]:
        """Rows as values of the declared types; of malformed ones the first is an error, unless they are skipped."""
        found: list[Row] = []
        skipped: list[str] = []
        for number, row in enumerate(rows, start=1):
            try:
                found.append(_arrived(info, row))
            except ValueError as error:
                if not info.skip_errors:
                    raise _malformed(SourceRow((str(row),), "<inserted>", number), str(error)) from None
                skipped.append(str(error))
        if skipped:
            message = f"{len(skipped)} malformed rows of {info.name} are left out; the first: {skipped[0]}"
            parameters = {"source": info.name, "count": len(skipped)}
            self.notices.append(Diagnostic("ROWS_SKIPPED", message, parameters=parameters))
        return found

    def drop(self, name: str) -> None:
        """Rows inserted into a stream or relation go with it."""
        self._inserted.pop(name.casefold(), None)

    def created(self, info: StreamInfo | RelationInfo) -> None:
        """Rows that were read for one that was defined alike, and dropped, are not those of the new one."""
        self._read.pop(info, None)
        self._tables.pop(info, None)

    def forget(self) -> None:
        """Files are read anew when they are asked for next: they may have changed."""
        self._read.clear()
        self._tables.clear()
        self.notices.clear()

    def read(self, sources: Iterable[StreamInfo | RelationInfo]) -> Inputs:
        """The rows of streams and relations as they were declared when a query was registered."""
        streams: dict[str, tuple[Element, ...]] = {}
        relations: dict[str, tuple[Row, ...]] = {}
        tagged: dict[str, tuple[Modification, ...]] = {}
        for info in sorted(sources, key=lambda s: s.name):
            if info not in self._read:
                self._read[info] = self._load(info)
            rows = self._read[info]
            name = info.name.casefold()
            streams[name], relations[name], tagged[name] = rows.elements, rows.stored, rows.modifications
        return Inputs(streams, relations, tagged)

    def load(self, sources: Iterable[StreamInfo | RelationInfo]) -> Loaded:
        """The same rows for the engine: as tables where that can be done without looking at each of them."""
        # Arrow takes longer to import than most scripts take to run.
        from continua.runtime.columnar import Loaded

        chosen = sorted(sources, key=lambda s: s.name)
        if len({info.name.casefold() for info in chosen}) < len(chosen):
            return Loaded(others=self.read(chosen))
        tables = {info: self._table(info) for info in chosen}
        found = {info.name.casefold(): table for info, table in tables.items() if table is not None}
        return Loaded(found, self.read(info for info in chosen if tables[info] is None))

    def _table(self, info: StreamInfo | RelationInfo) -> pa.Table | None:
        """The table of a source; None if it has other rows than those of clean files, or these were read before."""
        from continua.runtime.columnar import read_table

        inserted = bool(self._inserted.get(info.name.casefold()))
        stored = isinstance(info, RelationInfo) and info.rows is not None
        if info in self._read or info.source is None or inserted or stored:
            return None
        if info not in self._tables:
            first = min(0, self._catalog.settings.start_time)
            try:
                self._tables[info] = read_table(info, self._spec(info, info.source), self._data, first)
            except SourceError:
                self._tables[info] = None
        return self._tables[info]

    def _load(self, info: StreamInfo | RelationInfo) -> Rows:
        match info:
            case StreamInfo():
                return Rows(elements=self._stream(info))
            case RelationInfo(order_by=None):
                return Rows(stored=tuple(r.values for r in self._rows(info)[0]))
            case RelationInfo():
                return Rows(modifications=self._modifications(info))

    def _rows(self, info: StreamInfo | RelationInfo) -> tuple[list[SourceRow], list[Reject]]:
        rows = list(self._inserted.get(info.name.casefold(), []))
        if isinstance(info, RelationInfo) and info.rows is not None:
            rows += [
                SourceRow(_converted(values, info.columns), "<values>", number)
                for number, values in enumerate(info.rows, start=1)
            ]
        if info.source is None:
            if not rows and info.name.casefold() not in self._inserted:
                message = f"{info.name} has no SOURCE and no rows: it is empty"
                self.notices.append(Diagnostic("NO_SOURCE", message, parameters={"source": info.name}))
            return _complete_rows(rows, info)
        try:
            read, rejects = read_source(self._spec(info, info.source), self._data)
        except SourceError as error:
            first = error.diagnostics[0]
            raise SourceError(replace(first, span=first.span or info.source.function.span)) from None
        rows, nulls = _complete_rows(rows + read, info)
        rejects += nulls
        if rejects and isinstance(info, RelationInfo) and info.order_by is None:
            self._report(info, rejects, [])
        return rows, rejects

    def _spec(self, info: StreamInfo | RelationInfo, source: SourceCall) -> SourceSpec:
        function = source.function.text.lower()
        if function not in FORMATS:
            raise SourceError(
                Diagnostic(
                    "UNKNOWN_SOURCE",
                    f"{info.name} reads from {source.function}(...), which is not a source that can be read",
                    source.function.span,
                    did_you_mean(function, FORMATS) or f"sources: {', '.join(FORMATS)}",
                    {"source": function, "stream": info.name},
                )
            )
        if len(source.arguments) != 1 or not isinstance(source.arguments[0], str):
            raise SourceError(
                Diagnostic("BAD_OPTION", f"{function}(...) takes one path", source.function.span, f"{function}('file')")
            )
        columns = tuple((f.name, f.type) for f in info.columns)
        return SourceSpec(function, source.arguments[0], columns, source.options, info.skip_errors, info.name)

    def _stream(self, info: StreamInfo) -> tuple[Element, ...]:
        rows, rejects = self._rows(info)
        names = [f.name for f in info.columns]
        ends: dict[int, int] = {}
        if info.valid is not None:
            start, end = names.index(info.valid[0]), names.index(info.valid[1])
            rows, empty = _valid_rows(rows, start, end, info.skip_errors)
            rejects += empty
            ends = {id(r): INFINITY if r.values[end] is None else _instant(r.values[end]) for r in rows}
            place: int | None = start
        else:
            place = names.index(info.order_by) if info.order_by else None
        arrivals, late, untimed = order_rows(rows, self._timer(info.name, place), info.slack, info.skip_errors)
        self._report(info, rejects + untimed, late)
        self._check_start(info, arrivals[0].instant if arrivals else 0)
        return tuple(Element(a.row.values, a.instant, ends.get(id(a.row), a.instant + 1), a.position) for a in arrivals)

    def _modifications(self, info: RelationInfo) -> tuple[Modification, ...]:
        rows, rejects = self._rows(info)
        names = [f.name for f in info.columns]
        place = names.index(info.order_by or "")
        tag = names.index(info.tagged_by) if info.tagged_by else None
        if tag is not None:
            rows, wrong = _tagged_rows(rows, tag, info)
            rejects += wrong
        arrivals, late, untimed = order_rows(rows, self._timer(info.name, place), info.slack, info.skip_errors)
        self._report(info, rejects + untimed, late)
        visible = [i for i, f in enumerate(info.columns) if not f.hidden]
        return tuple(
            Modification(
                "+" if tag is None else str(a.row.values[tag]), tuple(a.row.values[i] for i in visible), a.instant
            )
            for a in arrivals
        )

    def _arrival(self, name: str, row: SourceRow) -> int:
        """When a row was first seen, by the clock."""
        return self._arrivals.setdefault((name.casefold(), row.file, row.line), self._clock())

    def _timer(self, name: str, place: int | None) -> Callable[[SourceRow], int | None]:
        """The instant of a row: of its ordering column, or of its arrival."""
        if place is None:
            return lambda row: self._arrival(name, row)
        return lambda row: None if row.values[place] is None else _instant(row.values[place])

    def _check_start(self, info: StreamInfo, first: int) -> None:
        if first < min(0, self._catalog.settings.start_time):
            raise DataError(
                Diagnostic(
                    "BEFORE_START",
                    f"{info.name} has an element at {show_instant(first, info.domain)}, before time begins",
                    hint="SET start_time to an instant before all data",
                    parameters={"source": info.name, "instant": first},
                )
            )

    def _report(self, info: StreamInfo | RelationInfo, rejects: Sequence[Reject], late: Sequence[Late]) -> None:
        if not rejects and not late:
            return
        name = info.name
        try:
            path = write_rejects(self._rejects, name, rejects, late)
        except OSError as error:
            message = f"the rows of {name} that are kept apart cannot be written to {self._rejects}: {error}"
            raise SourceError(Diagnostic("CANNOT_WRITE", message, parameters={"path": str(self._rejects)})) from None
        if rejects:
            rows = "1 malformed row" if len(rejects) == 1 else f"{len(rejects)} malformed rows"
            self.notices.append(
                Diagnostic(
                    "ROWS_SKIPPED",
                    f"{rows} of {name} kept apart in {path}; "
                    f"the first is {rejects[0].file}:{rejects[0].line} ({rejects[0].reason})",
                    parameters={"source": name, "count": len(rejects), "path": str(path)},
                )
            )
        if late:
            self.notices.append(late_diagnostic(name, late, lambda n: show_length(n, info.domain), str(path)))


def _instant(value: Value) -> int:
    assert isinstance(value, int | datetime)
    return instant_of(value)


def _arrived(info: StreamInfo | RelationInfo, row: Sequence[Value]) -> Row:
    """A row as it arrives at a source: as many values as columns, those there that must be, its time among them."""
    if not isinstance(row, list | tuple):
        raise ValueError(f"a row is a list or tuple of values in the order of the columns, not {type(row).__name__}")
    if len(row) != len(info.columns):
        raise ValueError(f"a row of {info.name} has {len(row)} values for {len(info.columns)} columns")
    values = _converted(tuple(row), info.columns)
    first = info.valid[0] if isinstance(info, StreamInfo) and info.valid else info.order_by
    for value, column in zip(values, info.columns, strict=True):
        if value is None and column.name == first:
            raise ValueError(f"{column.name} is NULL, so that the row has no place in time")
        if value is None and not column.nullable:
            raise ValueError(f"{column.name} is NULL, and declared NOT NULL")
    return values


def _converted(values: Row, columns: tuple[Field, ...]) -> Row:
    return tuple(
        v if v is None or isinstance(v, tuple) else convert(v, f.type) for v, f in zip(values, columns, strict=True)
    )


def _complete_rows(rows: list[SourceRow], info: StreamInfo | RelationInfo) -> tuple[list[SourceRow], list[Reject]]:
    """The rows that have a value in every column declared NOT NULL."""
    required = [(i, f.name) for i, f in enumerate(info.columns) if not f.nullable]
    if not required:
        return rows, []
    kept: list[SourceRow] = []
    rejects: list[Reject] = []
    for row in rows:
        missing = [name for i, name in required if row.values[i] is None]
        if not missing:
            kept.append(row)
            continue
        reason = f"{missing[0]} is NULL, and declared NOT NULL"
        if not info.skip_errors:
            raise _malformed(row, reason)
        rejects.append(Reject(row.file, row.line, reason, str(row.values)))
    return kept, rejects


def _valid_rows(rows: list[SourceRow], start: int, end: int, skip: bool) -> tuple[list[SourceRow], list[Reject]]:
    """The rows whose interval is not empty."""
    kept: list[SourceRow] = []
    rejects: list[Reject] = []
    for row in rows:
        a, b = row.values[start], row.values[end]
        if a is None or b is None or _instant(a) < _instant(b):
            kept.append(row)
            continue
        reason = f"its validity ends at {b}, not after it starts at {a}"
        if not skip:
            raise _malformed(row, reason)
        rejects.append(Reject(row.file, row.line, reason, str(row.values)))
    return kept, rejects


def _tagged_rows(rows: list[SourceRow], tag: int, info: RelationInfo) -> tuple[list[SourceRow], list[Reject]]:
    """The rows with a tag that makes sense: + and -, and u where there is a key."""
    allowed = ("+", "-", "u") if info.key else ("+", "-")
    kept: list[SourceRow] = []
    rejects: list[Reject] = []
    for row in rows:
        if row.values[tag] in allowed:
            kept.append(row)
            continue
        hint = "" if info.key else " (u needs KEY)"
        reason = f"tag {row.values[tag]!r} is not one of {' '.join(allowed)}{hint}"
        if not info.skip_errors:
            raise _malformed(row, reason)
        rejects.append(Reject(row.file, row.line, reason, str(row.values)))
    return kept, rejects


def _malformed(row: SourceRow, reason: str) -> DataError:
    return DataError(
        Diagnostic(
            "MALFORMED_ROW",
            f"{row.file}:{row.line}: {reason}",
            hint="ON ERROR SKIP in the definition of the source skips malformed rows and counts them",
            parameters={"file": row.file, "line": row.line},
        )
    )

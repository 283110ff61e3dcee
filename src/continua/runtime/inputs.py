"""The rows behind the catalog: files and rows inserted by hand, for the engine and for the reference."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from continua.catalog import Catalog, RelationInfo, StreamInfo, is_by_file, is_logged
from continua.errors import Diagnostic, SourceError, Span, did_you_mean
from continua.kernels.jit import Int64s
from continua.lang.statements import Name, SourceCall
from continua.physical.nodes import OFFSET, ORIGIN
from continua.reference.elements import Inputs, Modification, Places
from continua.runtime.clock import ForwardClock
from continua.runtime.kept_apart import KeptApart
from continua.runtime.reference_rows import reference_rows
from continua.runtime.waiting_rows import Taken, WaitingRows
from continua.sources.declared_files import at_its_source, file_spec, refuse_once
from continua.sources.frame_sources import FRAMES, FrameSource, frame_spec, is_streaming, read_frame
from continua.sources.generated import generated
from continua.sources.given import FileInput, Given
from continua.sources.incoming import Incoming
from continua.sources.incoming_connections import is_endless, is_incoming, opened
from continua.sources.incoming_rows import IncomingRows, all_rows
from continua.sources.inserted_rows import INSERTED, Rows, inserted
from continua.sources.intervals import NEVER, Source
from continua.sources.logged import LoggedSource, Past, all_there, untimed
from continua.sources.partition_sequences import pieces
from continua.sources.places import Known, alike, origin_of, place_of
from continua.sources.planning import list_splits
from continua.sources.postgres.declared import as_a_whole, declared_table, is_of_postgres
from continua.sources.postgres.reading import read_now
from continua.sources.refreshed import Refreshed
from continua.sources.source_spec import SourceSpec, Unit
from continua.sources.split_reader import read_split
from continua.sources.splits import Piece, Split
from continua.sources.stored_files import state_of
from continua.sources.stretches import FileSource, Stretch, stretch_of
from continua.windows.occurrences import Element, Row

VALUES = "<values>"
"""What stands for a file where rows were given with the definition."""


@dataclass(frozen=True)
class _Loaded:
    """The rows of a source as they were read once."""

    version: object
    """Which inserted rows were there."""
    table: pa.Table


class InputReader:
    """Knows the rows of every source; what was kept apart is told in ``notices`` and written to a side file."""

    def __init__(
        self,
        catalog: Catalog,
        data: Path,
        rejects: Path | None,
        clock: Callable[[], int],
        frame: Callable[[FrameSource], pa.Table] | None = None,
    ) -> None:
        """``frame`` gives the rows of a source that Spark reads."""
        self._frame = frame
        self._catalog = catalog
        self._data = data
        self._now = ForwardClock(clock)
        self.waiting = WaitingRows(self._now)
        """The rows that were inserted and that no live run has taken."""
        self.keep: Callable[[Source, pa.Table], int | None] = lambda *_: None
        """Called with rows before they wait, by whoever keeps them until a run does; returns by what it knows them."""
        self.are_kept: Callable[[Sequence[int]], None] = lambda _: None
        """Called with such marks when a run has kept their rows."""
        self._stamps: dict[Source, int] = {}
        self._loaded: dict[Source, _Loaded] = {}
        self._versions: dict[Source, object] = {}
        """Another object whenever the inserted rows of a source are others."""
        self._values: dict[Source, tuple[pa.Table, tuple[Any, ...]]] = {}
        """For the reference, the rows of a table as values."""
        self._attached: dict[str, SourceCall] = {}
        """By name the tables of Spark that were given for streams and relations."""
        self._origins: dict[int, Known] = {origin_of(INSERTED): Known(INSERTED)}
        """The files, and what else rows are from, by their numbers."""
        self.notices: list[Diagnostic] = []
        self.apart = KeptApart(rejects or Path("rejected"), self.notices)
        """The rows that are kept apart."""

    def insert(self, name: str, rows: Rows) -> None:
        """Rows come to a stream or relation, from any thread; one that is malformed is an error, and none is taken."""
        info = self._catalog.table(name)
        if not isinstance(info, StreamInfo | RelationInfo):
            hint = did_you_mean(name, [e.name for e in self._catalog.entries()])
            message = f"there is no stream or relation {name}"
            raise SourceError(Diagnostic("UNKNOWN_STREAM", message, hint=hint, parameters={"name": name}))
        self.add(info, rows)

    def add(self, info: Source, rows: Rows) -> None:
        """The same for a source that is known.

        Rows are refused for the same reasons as those of files. Where the source skips such, they are left out.
        """
        found = inserted(info, rows)
        if found.wrong and not info.skip_errors:
            raise found.wrong[0].error(info.name)
        if found.wrong:
            self.apart.report_refused(info, len(found.wrong), f"; the first: {found.wrong[0].reason}")
        self.waiting.add(info.name.casefold(), found.columns, self.keep(info, found.columns))
        self._versions[info] = object()

    def take(self, names: Iterable[str]) -> Taken:
        """The rows that were inserted into sources and wait for a live run: from now on they are its."""
        taken = self.waiting.take(names)
        self._changed(taken.tables)
        return taken

    def give_back(self, taken: Taken) -> None:
        """Rows that were taken and not worked on wait again."""
        self.waiting.give_back(taken)
        self._changed(taken.tables)

    def _changed(self, names: Collection[str]) -> None:
        for info in [i for i in list(self._versions) if i.name.casefold() in names]:
            self._versions[info] = object()
            self._loaded.pop(info, None)
            self._values.pop(info, None)

    def created(self, info: Source) -> None:
        """Forgets rows that were read for an earlier source of the same definition."""
        self._loaded.pop(info, None)
        self._stamps.pop(info, None)
        self.apart.created(info)

    def forget(self) -> None:
        """Files are read anew when they are asked for next: they may have changed."""
        self._loaded.clear()
        self._values.clear()
        self._stamps.clear()
        self.apart.forget()
        self.notices.clear()

    # What is read.

    def read(self, sources: Iterable[Source]) -> Inputs:
        """The rows of streams and relations as they were declared when a query was registered, for the reference."""
        streams: dict[str, tuple[Element, ...]] = {}
        relations: dict[str, tuple[Row, ...]] = {}
        tagged: dict[str, tuple[Modification, ...]] = {}
        sources = sorted(sources, key=lambda s: s.name)
        for info in sources:
            name, rows = info.name.casefold(), self._as_values(info)
            streams[name], relations[name], tagged[name] = (), (), ()
            match info:
                case StreamInfo():
                    streams[name] = rows
                case RelationInfo(order_by=None):
                    relations[name] = rows
                case RelationInfo():
                    tagged[name] = rows
        known = {i.name.casefold(): self.places(i) for i in sources if isinstance(i, StreamInfo)}
        return Inputs(streams, relations, tagged, {n: p for n, p in known.items() if p is not None})

    def places(self, info: Source) -> Places | None:
        """Where the rows of a source stand that was read, in their order; None where that is not known."""
        table = self._table(info)
        if ORIGIN not in table.column_names:
            return None
        origin, offset = (np.asarray(table.column(n).to_numpy(), np.int64) for n in (ORIGIN, OFFSET))
        return origin, offset

    def _as_values(self, info: Source) -> tuple[Any, ...]:
        """The rows of a source as the reference has them."""
        table = self._table(info)
        known = self._values.get(info)
        if known is None or known[0] is not table:
            known = self._values[info] = (table, tuple(reference_rows(info, table)))
        return known[1]

    def given(self, sources: Iterable[Source]) -> Given:
        """The same rows for the engine: those of files are left where they are."""
        chosen = sorted(sources, key=lambda s: s.name)
        names = [info.name.casefold() for info in chosen]
        tables: dict[str, pa.Table] = {}
        files: dict[str, FileInput] = {}
        frames: dict[str, FrameSource] = {}
        for name, info in zip(names, chosen, strict=True):
            if names.count(name) == 1 and not self._has_inserted(info) and (frame := self.frame(info)) is not None:
                frames[name] = frame
                continue
            found = self._file_input(info) if names.count(name) == 1 and info not in self._loaded else None
            if found is None:
                tables[name] = self._table(info)
            else:
                files[name] = found
        return Given({name: table for name, table in tables.items() if table.num_rows}, files, frames)

    def _file_input(self, info: Source) -> FileInput | None:
        """The files of a source; None if it has other rows too, or rows that can be read only once."""
        found = None if self._has_inserted(info) else self.files(info)
        if found is None or found.source.spec.unit is not Unit.NUMBERS:
            return found
        return replace(found, splits=self._splits(info, found.source.spec))

    def files(self, info: Source, followed: bool = False) -> FileInput | None:
        """The files of a source as they are now; None if it has none, or they come once, which ``followed`` refuses.

        A generated source is one file, and how much there is of it now is a matter of the clock.
        """
        stored = isinstance(info, RelationInfo) and info.rows is not None
        source = self._source(info)
        if source is None or _is_frame(source) or stored or source.made is not None:
            return None
        if is_logged(info) or is_of_postgres(source):
            return None
        if is_endless(source):
            raise endless_source(info)
        spec = file_spec(info, source, self._data)
        splits: tuple[Split, ...] = ()
        if spec.unit is Unit.NUMBERS:
            with at_its_source(info):
                shown = generated(spec).shown
            self._origins[origin_of(shown)] = Known(shown)
        else:
            splits = self._splits(info, spec)
        if any(split.end < 0 and not state_of(split.path).is_regular for split in splits):
            return refuse_once(info, spec) if followed else None
        return FileInput(FileSource(info, spec, self._first, self._stamp_of(info)), splits)

    def incoming(
        self, info: Source, news: threading.Event, past: Past, lasting: bool
    ) -> Incoming | IncomingRows | LoggedSource | None:
        """A source whose rows come by themselves, and once, read from now on; None for another.

        ``past``: what is logged of it; ``lasting``: whether what is read is logged for another process too.
        """
        source = self._source(info)
        if isinstance(info, RelationInfo) and is_logged(info):
            logged = self._logged(info, past, lasting)
            self._origins[origin_of(logged.shown)] = Known(logged.shown)
            return logged
        if source is None or not is_incoming(source):
            return None
        found = opened(info, source, news, self._first)
        self._origins[origin_of(found.shown)] = Known(found.shown)
        return found

    def _logged(self, info: RelationInfo, past: Past, lasting: bool) -> LoggedSource:
        """A relation that is asked for its changes."""
        if info.refresh is not None:
            return Refreshed(info, lambda: self._load(untimed(info)), past, self._first)
        from continua.sources.postgres.replication import Replication

        assert info.source is not None
        return Replication(info, declared_table(info, info.source, followed=True), past, self._first, lasting)

    def waits_for_rows(self, info: Source) -> bool:
        """Whether a source has no rows but those that are inserted."""
        return self._source(info) is None

    def follows(self, info: Source) -> bool:
        """Whether the rows of a source come for ever, so that no run has all of them."""
        source = self._source(info)
        if source is None or _is_frame(source) or is_incoming(source):
            return is_endless(source)
        if is_of_postgres(source):
            return False
        spec = file_spec(info, source, self._data)
        with at_its_source(info):
            return spec.unit is Unit.NUMBERS and generated(spec).count is None

    def _has_inserted(self, info: Source) -> bool:
        return any(a.columns.num_rows for a in self.waiting.of(info.name.casefold()))

    def attach(self, name: str, table: str) -> None:
        """Makes a table that Spark knows the rows of a stream or relation."""
        self._attached[name.casefold()] = SourceCall(Name("table", Span(1, 1)), (table,), ())

    def _source(self, info: Source) -> SourceCall | None:
        """From where the rows of a source come."""
        return self._attached.get(info.name.casefold(), info.source)

    def frame(self, info: Source) -> FrameSource | None:
        """The frame of a source that Spark reads; None for others."""
        source = self._source(info)
        if source is None or not _is_frame(source) or is_streaming(source) or is_logged(info):
            return None
        return FrameSource(info, frame_spec(info, source), self._first, self._stamp_of(info))

    def stream(self, info: Source) -> FrameSource | None:
        """A source that Spark reads as a stream; None for others."""
        source = self._source(info)
        if source is None or not is_streaming(source):
            return None
        return FrameSource(info, frame_spec(info, source), self._first, 0)

    @property
    def _first(self) -> int:
        """The instant before which no stream has elements."""
        return min(0, self._catalog.settings.start_time)

    def _splits(self, info: Source, spec: SourceSpec) -> tuple[Split, ...]:
        with at_its_source(info):
            found = list_splits(spec, self._data, self._catalog.policy)
        for split in {split.shown: split for split in found}.values():
            path = split.path if spec.unit is Unit.BYTES else None
            first = 0 if spec.unit is Unit.OFFSETS else 1
            self._origins[origin_of(split.shown)] = Known(split.shown, path, first)
        return found

    def where(self, source: str, origin: int, offset: int) -> tuple[str, int]:
        """The file and the line of a row of a source."""
        return place_of(self._origins, source, origin, offset)

    def _table(self, info: Source) -> pa.Table:
        """All rows of a source that are in time, in the order of time."""
        version = self._versions.setdefault(info, object())
        known = self._loaded.get(info)
        if known is None or known.version is not version:
            known = self._loaded[info] = _Loaded(version, self._load(info))
        return known.table

    def _load(self, info: Source) -> pa.Table:
        if isinstance(info, RelationInfo) and is_logged(info):
            plain, source = untimed(info), self._source(info)
            if info.refresh is None and source is not None and declared_table(info, source, followed=True):
                plain = replace(plain, source=as_a_whole(source))
            return all_there(info, self._load(plain), info.name, self._first).rows
        found: list[Stretch] = []
        latest: dict[str, int] = {}

        def add(piece: Piece, file: str, stamp: int | Int64s, base: int) -> None:
            for origin, mine in pieces(info, piece):
                sequence = file if is_by_file(info) else str(origin)
                stamps = stamp if isinstance(stamp, int) or mine is piece else 0
                found.append(stretch_of(info, mine, file, stamps, latest.get(sequence, NEVER), base, self._first))
                latest[sequence] = found[-1].latest

        arrivals = self.waiting.of(info.name.casefold())
        if arrivals:
            rows = pa.concat_tables([a.columns for a in arrivals])
            stamps = np.repeat([a.stamp for a in arrivals], [a.columns.num_rows for a in arrivals])
            add(Piece(rows, np.arange(rows.num_rows)), INSERTED, stamps.astype(np.int64), 1)
        if isinstance(info, RelationInfo) and info.rows is not None:
            add(_defined_rows(info, info.rows), VALUES, 0, 1)
        source, frame = self._source(info), self.frame(info)
        if frame is not None:
            found += self._load_frame(frame)
        elif source is not None:
            self._load_files(info, source, add)
        elif not found and not arrivals:
            message = f"{info.name} has no SOURCE and no rows: it is empty"
            self.notices.append(Diagnostic("NO_SOURCE", message, parameters={"source": info.name}))
        self.apart.report(info, [m for s in found for m in s.wrong], [x for s in found for x in s.late])
        tables = [s.rows for s in found if s.rows.num_rows]
        if not tables:
            return _no_rows(info)
        table = pa.concat_tables(alike(tables)).combine_chunks()
        start = np.concatenate([s.start for s in found if s.rows.num_rows])
        order = np.argsort(start, kind="stable")
        return table if bool((order == np.arange(order.size)).all()) else table.take(pa.array(order))

    def _load_frame(self, source: FrameSource) -> list[Stretch]:
        """The rows of a frame, here."""
        if self._frame is None:
            raise needs_spark(source.info)
        return [stretch for _, stretch in read_frame(source, self._frame(source))]

    def _load_files(self, info: Source, source: SourceCall, add: Callable[[Piece, str, int, int], None]) -> None:
        """Reads the files of a source split by split, each beginning where the one before it ended."""
        if is_endless(source):
            raise endless_source(info)
        if source.made is not None:
            self._origins[origin_of(source.made.shown)] = Known(source.made.shown)
            add(all_rows(info, source.made), source.made.shown, self._stamp_of(info), 1)
            return
        if is_of_postgres(source):
            table = declared_table(info, source, followed=False)
            add(read_now(table), table.shown, 0, 1)
            return
        spec = replace(file_spec(info, source, self._data), placed=True)
        path, exit_, base = "", 0, 1
        for split in self._splits(info, spec):
            if split.path != path:
                path, exit_, base = split.path, 0, 1 + split.line
            elif split.end >= 0 and spec.unit is not Unit.GROUPS:
                split = replace(split, entry=exit_)
            piece = read_split(spec, split)
            add(piece, split.shown, self._stamp_of(info), base)
            exit_, base = piece.extent.exit, base + piece.extent.passed

    # Arrival.

    def _stamp_of(self, info: Source) -> int:
        """When the files of a source were first seen."""
        if info not in self._stamps:
            self._stamps[info] = self._now()
        return self._stamps[info]


def _is_frame(source: SourceCall) -> bool:
    return source.function.text.lower() in FRAMES


def endless_source(info: Source) -> SourceError:
    """What a source is whose rows never end, where all of them are asked for."""
    span = info.source.function.span if info.source is not None else None
    message = f"{info.name} never ends: there is no answer over all of its rows"
    hint = "continua run --follow answers while rows come"
    return SourceError(Diagnostic("ENDLESS_SOURCE", message, span, hint, {"source": info.name}))


def needs_spark(info: Source) -> SourceError:
    """What a source is that only Spark can read, where there is none."""
    span = info.source.function.span if info.source is not None else None
    message = f"{info.name} is read by Spark, and this run works without it"
    hint = "name a Spark master instead of none"
    return SourceError(Diagnostic("NEEDS_SPARK", message, span, hint, {"source": info.name}))


def _defined_rows(info: Source, rows: Iterable[Row]) -> Piece:
    """Rows that were given with the definition."""
    found = inserted(info, rows)
    if found.wrong:
        raise found.wrong[0].error(info.name)
    return Piece(found.columns, np.arange(found.columns.num_rows))


def _no_rows(info: Source) -> pa.Table:
    return stretch_of(info, _defined_rows(info, ()), "", 0, NEVER).rows

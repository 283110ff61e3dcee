"""The files of the sources of a live run: what is in them that has not been read.

The files of a source are one sequence in the order in which they were found, those found together by name. Of a text
file whole lines are read only, and of CSV whole records: what has no end yet is still being written. What was read must
stay as it was; a file of which everything was read may go. A generated source is a file that grows by the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from continua.catalog import is_by_file, is_logged
from continua.errors import Diagnostic, SourceError
from continua.runtime.engine import Engine
from continua.runtime.file_ends import reached_by
from continua.runtime.inflow import next_rows, readings_of
from continua.sources import planning
from continua.sources.csv_split import MOST_OPEN
from continua.sources.declared_files import at_its_source
from continua.sources.generated import complete_after, due_splits
from continua.sources.given import FileInput
from continua.sources.incoming_connections import is_incoming
from continua.sources.intervals import Source
from continua.sources.paths import NoFilesYetError
from continua.sources.positions import FilePosition, Position, changed, checksum_of_edges
from continua.sources.source_spec import Unit
from continua.sources.split_readings import Reading
from continua.sources.splits import Split
from continua.sources.stored_files import exists, is_object, state_of

_CHUNK = 1 << 16
EPOCH_BYTES = 128 << 20
"""So much of files is read in an epoch: one that catches up answers meanwhile."""

Listing = Callable[[Source], FileInput | None]
"""Gives the files of a source as they are now; None for one that has none."""
Identity = tuple[object, int]
"""The number and the size of a file."""


class LiveFiles:
    """Finds what the next epochs of a run read of files."""

    def __init__(self, engine: Engine, listing: Listing) -> None:
        self._engine = engine
        self._listing = listing
        self._known: dict[tuple[str, str], Identity] = {}
        """By source and path, files as they were when they were last looked at for it."""
        self._tried: dict[tuple[str, str], tuple[int, int]] = {}
        """By source and path from where to where files were read last: their end may be in a record that goes on."""
        self._trying: dict[tuple[str, str], tuple[int, int]] = {}
        self._sizes: dict[str, dict[str, tuple[str, int]]] = {}
        """By source its files when they were last looked for: the path of each, and how much it had."""
        self._reading: dict[tuple[str, str], str] = {}
        """By source and name the paths of the text files that were given last."""
        self._edges: dict[tuple[str, str], int] = {}
        """Of those that were read here, a checksum of the first and the last bytes that were read."""
        self._short: dict[str, float] = {}
        """By source since when a topic has ended before what was read of it."""
        self.notices: list[Diagnostic] = []
        """What is to be told of files."""
        self.behind = False
        """Whether there may be more than what was given last."""
        self.complete: dict[str, int] = {}
        """Up to where sources are complete with what was given last, as far as they know more than their rows tell."""
        self.brings: dict[tuple[str, int | None], int] = {}
        """Up to which times sources, and their partitions, reach at least with what was given last."""

    def check_unchanged(self, sources: Mapping[str, Source]) -> None:
        """Refuses files that are not as they were when the checkpoint read them."""
        for name in self._engine.positions:
            file = self._listed(name, sources[name]) if name in sources else None
            if file is not None:
                self._check(file, self._engine.positions[name], {split.shown for split in file.splits})

    def _listed(self, name: str, info: Source) -> FileInput | None:
        """The files of a source; where there are none yet, some may come, and those that were read may have gone."""
        if is_incoming(info.source) or is_logged(info):
            return None
        try:
            return self._listing(info)
        except NoFilesYetError:
            return None
        except SourceError as error:
            if error.condition == "SOURCE_NOT_FOUND" and name in self._engine.positions:
                return None
            raise

    def next(
        self,
        sources: Mapping[str, Source],
        stamp: int,
        since: Mapping[str, int],
        to_the_end: bool = False,
        by: int | None = None,
        rows: int | None = None,
    ) -> tuple[Reading, ...]:
        """What has not been read, up to so much as an epoch reads; the engine is told how it is read.

        ``stamp`` is the instant of rows that have no time of their own. ``since``: from when on sources are of use.
        ``to_the_end``: nothing more comes, so that what has no line end is a line too. ``by``: up to which moment
        generated sources are read, by default ``stamp``. ``rows``: at most so many rows of each source are read.
        """
        found: list[Reading] = []
        self._trying, self._reading, self.behind, self.complete, self.brings = {}, {}, False, {}, {}
        room = EPOCH_BYTES // max(len(sources), 1)
        for rank, (name, info) in enumerate(sorted(sources.items()), start=1):
            file = self._listed(name, info)
            position = self._engine.positions.get(name, Position())
            self._look_for_gone(name, info, file, position)
            if file is None:
                continue
            file = replace(file, source=replace(file.source, stamp=stamp))
            try:
                file = self._looked_at(name, file, position, stamp if by is None else by, to_the_end)
            except FileNotFoundError:
                continue  # it is gone since it was listed: the next look finds that
            is_made = file.source.spec.unit is Unit.NUMBERS
            left = file.left(position)
            left = left if is_made or to_the_end else self._untried(name, left, position)
            if rows is None:
                chosen = _first(left, room, is_by_file(info))
            else:
                chosen = _numbers(left, rows) if is_made else _rows(file, left, position, rows)
            self.behind |= chosen != left
            if file.source.spec.unit is Unit.OFFSETS:
                chosen = _all_begun(chosen, left, position)
            reading = {split.path for split in chosen}
            stretches = _stretches(left, position).items()
            self._trying |= {(name, path): stretch for path, stretch in stretches if path in reading}
            if file.source.spec.unit is Unit.BYTES:
                self._reading |= {(name, s.shown): s.path for s in chosen if s.end >= 0}
            self._engine.reads({name: file.source}, {})
            if chosen and is_made:
                complete = complete_after(info, file.source.spec, chosen[-1])
                self.complete |= {} if complete is None else {name: complete}
            checked = [replace(split, checked=True) for split in chosen]
            of_source = readings_of(name, rank, file, position, checked)
            if chosen == left and not is_made:
                reaches = reached_by(file.source, of_source)
                self.brings |= {(name, place if is_by_file(info) else None): t for place, t in reaches.items()}
            found += [replace(reading, since=since.get(name, reading.since)) for reading in of_source]
        return tuple(found)

    def _looked_at(self, name: str, file: FileInput, position: Position, now: int, to_the_end: bool) -> FileInput:
        """A source with what can be read of it now, if it is as it was where it has been read."""
        unit = file.source.spec.unit
        if unit is Unit.NUMBERS:
            return self._due(file, position, now)
        if unit is Unit.OFFSETS:
            return self._followed(name, file, position)
        try:
            self._check_again(name, file, position)
            splits = file.splits if unit is not Unit.BYTES or to_the_end else tuple(_whole_lines(file.splits))
        except FileNotFoundError:
            raise
        except OSError:
            with at_its_source(file.source.info):
                raise
        return replace(file, splits=splits)

    def _followed(self, name: str, file: FileInput, position: Position) -> FileInput:
        """A topic with what can be read of it now: nothing while it ends before what was read, if that passes."""
        from continua.sources.kafka.offsets import EndsEarlierError
        from continua.sources.kafka.topic import topic_of

        try:
            file.check_unchanged(position)
        except EndsEarlierError:
            since = self._short.setdefault(name, time.monotonic())
            if time.monotonic() > since + topic_of(file.source.spec).cluster.timeout:
                raise
            return replace(file, splits=())
        self._short.pop(name, None)
        return file

    def _due(self, file: FileInput, position: Position, now: int) -> FileInput:
        """A generated source with what is there of it by now."""
        # one moment for all of a run, so that what belongs together has the same numbers
        known = (f.begun_at for p in self._engine.positions.values() for f in p.files.values())
        begun_at = min((moment for moment in known if moment is not None), default=now)
        read = next(iter(position.files.values()), FilePosition()).offset
        return replace(file, splits=tuple(due_splits(file.source.spec, read, now, begun_at, planning.BYTES)))

    def done(self) -> None:
        """What was given last has been read."""
        self._tried |= self._trying
        for (name, shown), path in self._reading.items():
            known = self._engine.positions[name].files.get(shown)
            if known is not None:
                with suppress(OSError):
                    self._edges[name, shown] = checksum_of_edges(path, known.offset)

    def _untried(self, name: str, left: list[Split], position: Position) -> list[Split]:
        """Without files of a source of which no more is there than when they were last read."""
        tried = {
            path for path, stretch in _stretches(left, position).items() if self._tried.get((name, path)) == stretch
        }
        return [split for split in left if split.path not in tried]

    # What was read must not change, and what was not must be there until it is.

    def _look_for_gone(self, name: str, info: Source, file: FileInput | None, position: Position) -> None:
        """Tells of files that are gone and had not been read to their end."""
        splits = () if file is None else file.splits
        found = {split.shown: (split.path, split.size) for split in splits if split.end >= 0}
        for shown, (path, size) in self._sizes.get(name, {}).items():
            if shown in found:
                continue
            if exists(path):
                found[shown] = path, size
            elif not (read := position.files.get(shown, FilePosition())).ended and read.offset < size:
                self.notices.append(_gone(info.name, shown))
        self._sizes[name] = found

    def _check_again(self, name: str, file: FileInput, position: Position) -> None:
        """Looks at files that are others than they were, or shorter."""
        others: set[str] = set()
        for split in {s.path: s for s in file.splits}.values():
            now, before = _identity(split.path), self._known.get((name, split.path))
            self._known[name, split.path] = now
            known = position.files.get(split.shown)
            if known is None or before is None or now == before:
                continue
            by_bytes = split.end >= 0 and file.source.spec.unit is Unit.BYTES
            if not by_bytes:
                self._known[name, split.path] = before
                raise changed(file.source.info.name, split.shown, "has been written again")
            if now[0] != before[0] or now[1] < before[1] or self._is_rewritten(name, split, known):
                self._known[name, split.path] = before
                others.add(split.shown)
        self._check(file, position, others)
        for path in {split.path for split in file.splits if split.shown in others}:
            del self._known[name, path]

    def _is_rewritten(self, name: str, split: Split, known: FilePosition) -> bool:
        """Whether the edges of what was read of a file are others now: it was not added to, but written anew."""
        edges = self._edges.get((name, split.shown))
        return edges is not None and edges != checksum_of_edges(split.path, known.offset)

    def _check(self, file: FileInput, position: Position, names: Iterable[str]) -> None:
        is_whole = file.source.spec.unit in (Unit.NUMBERS, Unit.OFFSETS)
        chosen = position.files.keys() if is_whole else set(names)
        mine = {name: known for name, known in position.files.items() if name in chosen}
        file.check_unchanged(replace(position, files=mine))


def _identity(path: str) -> Identity:
    if is_object(path):
        found = state_of(path)
        return found.identity, found.size
    status = Path(path).stat()
    return status.st_ino, status.st_size


def _gone(source: str, shown: str) -> Diagnostic:
    return Diagnostic(
        "FILE_GONE",
        f"{shown} is gone before all of it was read: its last rows of {source} are missing",
        hint="of logs that are rotated, remove a file only when another has been read behind it",
        parameters={"source": source, "file": shown},
    )


def _stretches(splits: Iterable[Split], position: Position) -> dict[str, tuple[int, int]]:
    """By path, from where to where the files of splits have not been read."""
    found: dict[str, tuple[int, int]] = {}
    for split in splits:
        known = position.files.get(split.shown)
        found[split.path] = (known.offset if known else 0, split.end)
    return found


def _first(splits: list[Split], room: int, by_file: bool) -> list[Split]:
    """As many splits as there is room for: of all together, or of each file, of which each has its share."""
    sequences = [list(some) for _, some in groupby(splits, key=lambda s: s.path)] if by_file else [splits]
    share = room // max(len(sequences), 1)
    found: list[Split] = []
    for some in sequences:
        taken = 0
        for split in some:
            if taken and taken >= share:
                break
            found.append(split)
            taken += min(max((split.end - split.begin) * split.width, 1 << 12), planning.BYTES)
    return found


def _all_begun(chosen: list[Split], left: list[Split], position: Position) -> list[Split]:
    """With the beginnings of partitions of which nothing is read yet: from now on they are waited for."""
    begun = {split.shown for split in chosen} | position.files.keys()
    first = {split.shown: split for split in reversed(left) if split.shown not in begun}
    return [*chosen, *(replace(split, end=split.begin) for split in first.values())]


def _numbers(left: list[Split], rows: int) -> list[Split]:
    """So many numbers of what is left of a generated source: no number has more than one row."""
    first = left[:1]
    return [replace(s, end=min(s.end, (s.begin if s.entry is None else s.entry) + rows)) for s in first]


def _rows(file: FileInput, left: list[Split], position: Position, rows: int) -> list[Split]:
    """At most so many rows of what is left; a record that is open at the end of a file is not read yet."""
    if not left:
        return []
    growing = {split.path for split in left if split.growing}
    found = next_rows(replace(file, splits=tuple(left)), position, rows)
    return [replace(split, growing=split.path in growing) for split in found]


def _whole_lines(splits: Iterable[Split]) -> Iterable[Split]:
    """Splits up to the last line end of their files; compressed files and objects are read as they are.

    The last split is so long that a record which is still open began in it.
    """
    for _, some in groupby(splits, key=lambda s: s.path):
        mine = list(some)
        if mine[0].end < 0 or is_object(mine[0].path):
            yield from mine
            continue
        end = _last_line_end(mine[0])
        whole = [replace(s, end=min(s.end, end), size=end) for s in mine if s.begin < end]
        while len(whole) > 1 and end - whole[-1].begin < MOST_OPEN:
            last = whole.pop()
            whole[-1] = replace(whole[-1], end=last.end)
        yield from whole[:-1]
        yield from (replace(s, growing=True) for s in whole[-1:])


def _last_line_end(split: Split) -> int:
    """Where the last line of a file ends that has an end; 0 if none has."""
    place = split.size
    with Path(split.path).open("rb") as file:
        while place > 0:
            begin = max(place - _CHUNK, 0)
            file.seek(begin)
            found = file.read(place - begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            place = begin
    return 0

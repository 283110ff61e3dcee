"""What the epochs of a bounded run read: tables that are here, and splits of files, up to which instant.

A source is complete for the instants before its latest time less its slack. An epoch closes what all sources are
complete for by what was read before it; when all have been read to their end, one more closes everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from continua.catalog import is_by_arrival, is_by_file, is_timed
from continua.instants import floor_to
from continua.physical.nodes import Node
from continua.physical.ordered_operators import FINAL
from continua.physical.placement import placement_of
from continua.reference.elements import Inputs
from continua.runtime.engine import Engine
from continua.runtime.feed import Fed, Feed
from continua.sources.frame_sources import FrameSource
from continua.sources.given import FileInput, Given, bytes_of
from continua.sources.intervals import NEVER
from continua.sources.lateness import heartbeat_after
from continua.sources.positions import FilePosition, Position
from continua.sources.source_spec import Unit
from continua.sources.split_readings import Reading
from continua.sources.splits import Split
from continua.sources.stored_files import exists, state_of
from continua.types import DataType

EPOCH_BYTES = 1 << 30
"""So much of the files of a run is read in an epoch where queries hold state: what it takes in memory follows that."""


@dataclass(frozen=True)
class Inflow:
    """The sources of a bounded run."""

    feed: Feed
    files: Mapping[str, FileInput]
    frames: Mapping[str, FrameSource]
    grain: int = 1
    batch_rows: int | None = None
    checked: bool = False
    """Whether what is read of files is remembered by a checksum."""
    cut: bool = False
    """Whether files are read in several epochs where they are large."""
    epoch_bytes: int | None = None
    """How much of the files is read in an epoch, if somebody waits for the first answers."""

    @classmethod
    def of(
        cls,
        inputs: Inputs | Given,
        types: Mapping[str, Sequence[DataType]],
        grain: int,
        batch_rows: int | None = None,
        checked: bool = False,
        epoch_bytes: int | None = None,
    ) -> Inflow:
        """The sources that queries read, whose columns are of these types."""
        given = Given() if isinstance(inputs, Inputs) else inputs
        files = {n: f for n, f in given.files.items() if n in types}
        frames = {n: f for n, f in given.frames.items() if n in types}
        feed = Feed.of_inputs(inputs, types, grain)
        return cls(feed, files, frames, grain, batch_rows, checked, epoch_bytes=epoch_bytes)

    @property
    def size(self) -> int:
        """How many bytes of files there are, as far as that is known."""
        return sum(file.size for file in self.files.values())

    def left(self, engine: Engine) -> int:
        """How many of them have not been read."""
        positions = engine.positions
        return sum(
            bytes_of(split) for n, file in self.files.items() for split in file.left(positions.get(n, Position()))
        )

    def is_cut(self, graph: Sequence[Node]) -> bool:
        """Whether files are read in more than one epoch: not where no query holds state, which takes no memory."""
        if self.epoch_bytes is not None:
            return self.size > self.epoch_bytes
        stateless = all(place.level == 0 for place in placement_of(graph, single_epoch=True).places.values())
        return self.size > EPOCH_BYTES and not stateless

    def epochs(self, engine: Engine, last: int = FINAL) -> Iterator[Fed]:
        """What the epochs that are left read; each is asked for when the one before it is done."""
        while engine.until < last:
            yield self._next(engine, last)

    def can_read_again(self, readings: Sequence[Reading]) -> bool:
        """Whether what an epoch was going to read is still there: a file may have been made shorter since."""
        sizes = {r.split.path: r.split.size for r in readings if self._is_file(r.source)}
        return all(exists(path) and state_of(path).size >= size for path, size in sizes.items())

    def check_unchanged(self, engine: Engine) -> None:
        """Refuses files that are not as they were when a checkpoint read them."""
        for name, position in engine.positions.items():
            if name in self.files:
                self.files[name].check_unchanged(position)

    def _is_file(self, source: str) -> bool:
        return source not in self.files or self.files[source].source.spec.unit in (Unit.BYTES, Unit.GROUPS)

    def _next(self, engine: Engine, last: int) -> Fed:
        fed = self.feed.next(self.batch_rows, self.feed.places(engine.offsets.rows), last)
        until = fed.until
        readings: list[Reading] = []
        for rank, (name, file) in enumerate(sorted(self.files.items()), start=1):
            position = engine.positions.get(name, Position())
            splits = self._splits(file, position)
            readings += readings_of(name, rank, file, position, [replace(s, checked=self.checked) for s in splits])
            whole = self.batch_rows is None and len(splits) == len(file.left(position))
            if splits and not whole and is_timed(file.source.info):
                until = min(until, self._complete(file, position))
        frames = tuple(sorted(name for name in self.frames if name not in engine.positions))
        return replace(fed, until=max(until, engine.until), readings=tuple(readings), frames=frames)

    def _complete(self, file: FileInput, position: Position) -> int:
        """Up to where a source is complete by what was read of it: the least of its partitions that go on."""
        info = file.source.info
        if is_by_arrival(info):
            return floor_to(file.source.stamp, self.grain) - 1
        latest = position.latest
        if is_by_file(info):
            known = (position.files.get(s.shown, FilePosition()) for s in file.unfinished(position))
            latest = min((found.latest for found in known), default=latest)
        complete = heartbeat_after(latest, info.slack)
        return complete if complete == NEVER else floor_to(complete + 1, self.grain) - 1

    def _splits(self, file: FileInput, position: Position) -> list[Split]:
        """What is read next of a source: all that is left, or so many rows of the file that is at hand."""
        if not is_timed(file.source.info):
            return [] if position.files else list(file.splits)
        if self.batch_rows is None:
            return self._stretch(file, position)
        return next_rows(file, position, self.batch_rows)

    def _stretch(self, file: FileInput, position: Position) -> list[Split]:
        """The next splits of a source: of every source the same share, so that they go through time together."""
        left = file.left(position)
        if not self.cut or self.size <= (self.epoch_bytes or EPOCH_BYTES):
            return left
        if not is_by_file(file.source.info):
            return left[: self._share(len(file.splits))]
        found: list[Split] = []
        for _, mine in groupby(left, key=lambda s: s.path):
            splits = list(mine)
            found += splits[: self._share(sum(s.path == splits[0].path for s in file.splits))]
        return found

    def _share(self, splits: int) -> int:
        """How many of some splits an epoch reads."""
        return max(1, round(splits * (self.epoch_bytes or EPOCH_BYTES) / self.size))


def next_rows(file: FileInput, position: Position, rows: int) -> list[Split]:
    """So many rows of a source: of the file that is at hand, or of each of those that are sequences of their own."""
    going_on = file.unfinished(position)
    if not is_by_file(file.source.info):
        return [_some_rows(file, split, position, rows) for split in going_on[:1]]
    # where there are more files than rows, of those only that are most behind
    numbers = position.numbered(s.shown for s in file.splits)
    behind = sorted(going_on, key=lambda s: (position.files.get(s.shown, FilePosition()).latest, numbers[s.shown]))
    chosen = sorted(behind[:rows], key=lambda s: numbers[s.shown])
    return [_some_rows(file, split, position, rows // len(chosen)) for split in chosen]


def _some_rows(file: FileInput, split: Split, position: Position, rows: int) -> Split:
    """So many rows of a file, from where reading has stopped."""
    known = position.files.get(split.shown, FilePosition(offset=split.begin, line=split.line))
    end = file.ends[split.path]
    begin = 0 if file.source.spec.unit is Unit.GROUPS or split.end < 0 else known.offset
    return replace(split, begin=begin, end=end, entry=known.offset, rows=rows, line=known.line)


def readings_of(name: str, rank: int, file: FileInput, position: Position, splits: Sequence[Split]) -> list[Reading]:
    """Splits of a source as an epoch reads them: each partition of the source in the order of its rows."""
    if not is_by_file(file.source.info):
        before = position.latest
        return [
            Reading(name, rank, number, split, before, before, stamp=file.source.stamp)
            for number, split in enumerate(splits, start=1)
        ]
    numbers = position.numbered(s.shown for s in file.splits)
    found: list[Reading] = []
    for number, split in enumerate(sorted(splits, key=lambda s: numbers[s.shown]), start=1):
        before = position.files.get(split.shown, FilePosition()).latest
        found.append(Reading(name, rank, number, split, before, before, numbers[split.shown], stamp=file.source.stamp))
    return found

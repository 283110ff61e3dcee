"""What a run reads: tables that are here, files with their splits, and frames; and a first look at files."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa

from continua.errors import ContinuaError
from continua.sources.frame_sources import FrameSource
from continua.sources.generated import generated
from continua.sources.intervals import NEVER
from continua.sources.positions import FilePosition, Position, check_same_numbers, check_unchanged
from continua.sources.source_spec import Unit
from continua.sources.split_reader import read_split
from continua.sources.splits import Split
from continua.sources.stretches import FileSource, stretch_of


@dataclass(frozen=True)
class FileInput:
    """A source whose rows are in files, and the splits by which they are read."""

    source: FileSource
    splits: tuple[Split, ...]

    @property
    def size(self) -> int:
        """How many bytes its files have, as far as that is known."""
        if self.source.spec.unit is Unit.OFFSETS:
            return sum(map(bytes_of, self.splits))
        return sum({split.path: max(split.size, 0) * split.width for split in self.splits}.values())

    def left(self, position: Position) -> list[Split]:
        """The splits that have not been read; the first of them begins where reading has stopped."""
        found: list[Split] = []
        begun: set[str] = set()
        for split in self.splits:
            known = position.files.get(split.shown)
            if known is None:
                rest = [split]
            elif self.has_ended(split, known):
                rest = []
            else:
                rest = self._rest(split, known, first=split.path not in begun)
            found += rest
            begun.update(s.path for s in rest)
        return found

    @cached_property
    def ends(self) -> dict[str, int]:
        """Where the last split of each file ends."""
        found: dict[str, int] = {}
        for split in self.splits:
            found[split.path] = max(found.get(split.path, split.end), split.end)
        return found

    def unfinished(self, position: Position) -> list[Split]:
        """The first split of each file that has not been read to its end."""
        first = {split.path: split for split in reversed(self.splits)}
        known = ((split, position.files.get(split.shown, FilePosition())) for split in first.values())
        return [split for split, found in reversed(list(known)) if not self.has_ended(split, found)]

    def has_ended(self, split: Split, known: FilePosition) -> bool:
        """Whether the file of a split has been read to its end; one that has grown since has not."""
        grown = self._by_position(split) and split.size > known.offset
        return known.ended and not grown

    def check_unchanged(self, position: Position) -> None:
        """Refuses files that are not as they were when they were read up to a position, in what was read of them."""
        source = self.source
        if source.spec.unit is Unit.NUMBERS:
            check_same_numbers(source.info.name, position, generated(source.spec).shown)
            return
        if source.spec.unit is Unit.OFFSETS:
            from continua.sources.kafka.offsets import check_offsets

            check_offsets(source.info.name, position.files, self.splits)
            return
        paths = {split.shown: split.path for split in self.splits}
        check_unchanged(source.info.name, position, paths, source.spec.unit is Unit.BYTES)

    def _by_position(self, split: Split) -> bool:
        return split.end >= 0 and self.source.spec.unit is not Unit.GROUPS

    def _rest(self, split: Split, known: FilePosition, first: bool) -> list[Split]:
        """What is left of a split of a file that has been read up to a position."""
        if self._by_position(split):
            if split.end <= known.offset:
                return []
            return [replace(split, entry=known.offset, line=known.line) if first else split]
        if known.groups:
            if split.begin in known.groups:
                return []
            return [replace(split, line=known.line) if first else split]
        # it was read row by row: the rest of it is one split
        whole = replace(split, begin=0, end=self.ends[split.path], entry=known.offset, line=known.line)
        return [whole] if first else []


def bytes_of(split: Split) -> int:
    """How many bytes a split stands for, about; nothing where it is of a number of rows."""
    if split.rows is not None:
        return 0
    if split.end < 0:
        return split.size
    begin = split.begin if split.entry is None or not split.begin <= split.entry < split.end else split.entry
    return max(split.end - begin, 0) * split.width


@dataclass(frozen=True)
class Given:
    """What a run reads: sources that are tables already, in the order of time, and those that are in files."""

    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    files: Mapping[str, FileInput] = field(default_factory=dict)
    frames: Mapping[str, FrameSource] = field(default_factory=dict)
    """Those that Spark reads."""


def sample(files: Mapping[str, FileInput], rows: int) -> dict[str, pa.Table]:
    """The first rows of each source that is in files; of one that cannot be read, none."""
    found: dict[str, pa.Table] = {}
    for name, file in files.items():
        split = next(iter(file.splits), None)
        if split is None:
            continue
        if split.end >= 0:
            split = replace(split, entry=0 if not split.begin else split.entry, rows=rows)
        with suppress(ContinuaError):
            piece = read_split(file.source.spec, split)
            found[name] = stretch_of(file.source.info, piece, split.shown, file.source.stamp, NEVER).rows
    return found


def first_rows(given: Given, rows: int) -> dict[str, pa.Table]:
    """The first rows of each source that can be looked at here."""
    return {**{name: table.slice(0, rows) for name, table in given.tables.items()}, **sample(given.files, rows)}

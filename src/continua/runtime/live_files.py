"""The files of the sources of a live run: what is in them that has not been read.

The files of a source are one sequence in the order in which they were found, those found together by name. Of a text
file whole lines are read only: what has no line end yet is still being written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from continua.runtime import inflow
from continua.runtime.engine import Engine
from continua.runtime.inflow import readings_of
from continua.sources import planning
from continua.sources.given import FileInput
from continua.sources.intervals import Source
from continua.sources.options import COLUMNAR
from continua.sources.paths import NoFilesYetError
from continua.sources.positions import Position, check_unchanged
from continua.sources.readings import Reading
from continua.sources.splits import Split

_CHUNK = 1 << 16

Listing = Callable[[Source], FileInput | None]
"""Gives the files of a source as they are now; None for one that has none."""


class LiveFiles:
    """Finds what the next epochs of a run read of files."""

    def __init__(self, engine: Engine, listing: Listing, checked: bool) -> None:
        """``checked``: whether what is read is remembered by a checksum."""
        self._engine = engine
        self._listing = listing
        self._checked = checked

    def check_unchanged(self, sources: Mapping[str, Source]) -> None:
        """Refuses files that are not as they were when the checkpoint read them."""
        for name, position in self._engine.positions.items():
            file = self._listed(sources[name]) if name in sources else None
            if file is not None:
                paths = {split.shown: Path(split.path) for split in file.splits}
                check_unchanged(file.source.info.name, position, paths, file.source.spec.format not in COLUMNAR)

    def _listed(self, info: Source) -> FileInput | None:
        """The files of a source; where there are none yet, some may come."""
        try:
            return self._listing(info)
        except NoFilesYetError:
            return None

    def next(self, sources: Mapping[str, Source], stamp: int) -> tuple[Reading, ...]:
        """What has not been read, up to so much as an epoch reads; the engine is told how it is read.

        ``stamp`` is the instant of rows that have no time of their own.
        """
        found: list[Reading] = []
        most = max(inflow.EPOCH_BYTES // planning.BYTES // max(len(sources), 1), 1)
        for rank, (name, info) in enumerate(sorted(sources.items()), start=1):
            file = self._listed(info)
            if file is None:
                continue
            if file.source.spec.format not in COLUMNAR:
                file = replace(file, splits=tuple(_whole_lines(file.splits)))
            position = self._engine.positions.get(name, Position())
            splits = [replace(split, checked=self._checked) for split in file.left(position)[:most]]
            file = replace(file, source=replace(file.source, stamp=stamp))
            self._engine.reads({name: file.source}, {})
            found += readings_of(name, rank, file, position, splits)
        return tuple(found)


def _whole_lines(splits: Iterable[Split]) -> Iterable[Split]:
    """Splits up to the last line end of their files; compressed files are read as they are."""
    ends: dict[str, int] = {}
    for split in splits:
        if split.end < 0:
            yield split
            continue
        end = ends.setdefault(split.path, _last_line_end(split))
        if split.begin < end:
            yield replace(split, end=min(split.end, end), size=end)


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

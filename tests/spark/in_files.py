"""The rows of sources in files, which are read in splits."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, auto
from itertools import count
from pathlib import Path

import pytest

from continua.catalog import StreamInfo, is_timed
from continua.instants import instant_of
from continua.runtime.executors import block_files, on_spark
from continua.runtime.executors.on_spark import OnSpark
from continua.session import Session
from continua.sources import planning
from continua.sources.given import FileInput, Given
from continua.sources.intervals import Source
from continua.sources.planning import list_source
from continua.sources.source_spec import SourceSpec
from continua.sources.stretches import FileSource
from continua.windows.occurrences import Row
from tests.inserted import inserted_rows
from tests.sources.writing import FORMATS, OPTIONS, write_rows

SECOND = 1_000_000


class Moves(Enum):
    """How blocks get from one level to the next."""

    IN_FILES = auto()
    """As on one machine."""
    THROUGH_EXCHANGES = auto()
    """As large epochs on several machines."""
    THROUGH_DRIVER = auto()
    """As small epochs on several machines."""


@dataclass(frozen=True)
class Way:
    """How a graph runs on Spark."""

    split: int = 64
    """How many bytes of a file are a split."""
    batch: int | None = None
    """How many rows of a source an epoch reads; None for all."""
    partitions: int = 3
    delay: int = 0
    """How much later than in the order of time rows may come; it is the slack of their source."""
    durable: bool = False
    """Whether there is a checkpoint."""
    moves: Moves = Moves.IN_FILES
    """How blocks get from one level to the next."""


@contextmanager
def cut(way: Way) -> Iterator[None]:
    """Files are cut as is said, and blocks go as is said."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "BYTES", way.split)
        moving(patch, way.moves)
        yield


def moving(patch: pytest.MonkeyPatch, moves: Moves) -> None:
    """Blocks go as is said."""
    patch.setattr(block_files, "LEAST", 0)
    if moves is not Moves.IN_FILES:
        patch.setattr(OnSpark, "leaves_in_files", False)
    if moves is Moves.THROUGH_EXCHANGES:
        patch.setattr(on_spark, "SMALL", 0)


class Files:
    """Writes the rows of sources to files: one source after the other in another format."""

    def __init__(self, folder: Path, delay: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._delay = delay
        self._numbers = count()

    def given(self, session: Session, sources: Iterable[Source]) -> Given:
        """All rows that were inserted into sources of a session, in files."""
        first = min(0, session.catalog.settings.start_time)
        written = [self.write(s, inserted_rows(session, s), first) for s in sources]
        return Given({}, {file.source.info.name.casefold(): file for file in written})

    def write(self, info: Source, rows: tuple[Row, ...], first: int, name: str | None = None) -> FileInput:
        """The rows of a source as a file with splits, perhaps under another name."""
        number = next(self._numbers)
        format_ = FORMATS[number % len(FORMATS)]
        path = self._folder / f"{number}.{format_}"
        mine = replace(info, name=name or info.name)
        if self._delay and is_timed(info):
            mine, rows = delayed(mine, rows, self._delay, random.Random(number))
        write_rows(path, info.columns, rows)
        columns = tuple((f.name, f.type) for f in info.columns)
        spec = SourceSpec(format_, path.name, columns, OPTIONS.get(format_, ()), info.skip_errors, mine.name)
        return _listed(FileSource(mine, spec, first, 0), path.parent)

    def again(self, known: FileInput, name: str) -> FileInput:
        """A file that is there already, under another name."""
        source = known.source
        path = Path(known.splits[0].path)
        spec = replace(source.spec, path=path.name, name=name)
        return _listed(replace(source, info=replace(source.info, name=name), spec=spec), path.parent)


def delayed(info: Source, rows: tuple[Row, ...], delay: int, chance: random.Random) -> tuple[Source, tuple[Row, ...]]:
    """A source with a slack, whose rows come up to that late; those of one instant stay in their order."""
    time = info.valid[0] if isinstance(info, StreamInfo) and info.valid else info.order_by
    place = [f.name for f in info.columns].index(str(time))
    slack = delay * (SECOND if any(isinstance(row[place], datetime) for row in rows) else 1)
    times = [row[place] for row in rows]
    instants = [instant_of(t) for t in times if isinstance(t, int | datetime)]
    late = {instant: chance.randint(0, slack) for instant in instants}
    order = sorted(range(len(rows)), key=lambda n: (instants[n] + late[instants[n]], instants[n], n))
    return replace(info, slack=slack), tuple(rows[n] for n in order)


def _listed(source: FileSource, folder: Path) -> FileInput:
    splits = tuple(split for listed in list_source(source.spec, folder) for split in listed.splits)
    return FileInput(source, splits)

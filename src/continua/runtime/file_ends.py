"""How late the last rows are of what an epoch is about to read of files that grow.

The instants that an epoch closes are written down before it begins. What rows make complete is known only once they
are read, by tasks, so that an epoch of its own would have to close it. Where little has come, its last lines are read
here beforehand: the latest time among them is a time that the source reaches with the epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from continua.catalog import is_by_arrival
from continua.errors import ContinuaError
from continua.sources.intervals import timed
from continua.sources.source_spec import Unit
from continua.sources.split_reader import read_split
from continua.sources.split_readings import Reading
from continua.sources.splits import Split
from continua.sources.stored_files import part_of
from continua.sources.stretches import FileSource

MOST = 1 << 20
"""Of files that have grown by more than that it is not looked at the ends."""
_LAST = 1 << 12
"""So many bytes of a file are its last lines."""

Reaches = dict[int, int]
"""By partition of a source up to which time its rows reach at least."""


def reached_by(source: FileSource, readings: Iterable[Reading]) -> Reaches:
    """Up to which times the partitions of a source reach when some splits have been read.

    Nothing where that is not known of all of them: a partition would be taken to be further than it is.
    """
    if is_by_arrival(source.info) or source.spec.unit is not Unit.BYTES:
        return {}
    found: Reaches = {}
    for origin, mine in groupby(readings, key=lambda r: r.origin):
        latest = _latest(source, [r.split for r in mine])
        if latest is None:
            return {}
        found[origin] = max(latest, found.get(origin, latest))
    return found


def _latest(source: FileSource, splits: Sequence[Split]) -> int | None:
    """The latest time in the last lines of some consecutive splits."""
    path = splits[-1].path
    mine = [split for split in splits if split.path == path]
    begin, end = mine[0].begin if mine[0].entry is None else mine[0].entry, mine[-1].end
    if end < 0 or end - begin > MOST:
        return None
    try:
        tail = _last_lines(source, path, begin, end)
        if tail is None:
            return None
        piece = read_split(source.spec, replace(mine[-1], begin=tail, entry=tail, end=end, size=end, growing=False))
        start = timed(source.info, piece.columns, source.stamp).start
    except (ContinuaError, OSError):
        return None  # whoever reads it tells what is wrong
    return int(np.max(start)) if start.size else None


def _last_lines(source: FileSource, path: str, begin: int, end: int) -> int | None:
    """Where the last lines begin that are records; None where a record may have several lines."""
    text = part_of(path, begin, end - begin)
    if source.spec.format == "csv" and b'"' in text:
        return None
    return begin + (0 if len(text) <= _LAST else text.find(b"\n", len(text) - _LAST) + 1)

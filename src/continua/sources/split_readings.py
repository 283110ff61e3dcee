"""Readings: the splits that an epoch reads of files, and whether they were read as they should be.

All splits are read at once, each as if a record began with its first line and as if no row before it were later than
those of earlier epochs. What each tells of itself shows afterwards, from one split to the next, where its first record
truly begins and which of its rows are late. Only those that were read under a wrong assumption are read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from continua.catalog import is_by_file
from continua.sources.intervals import NEVER
from continua.sources.lateness import heartbeat_after
from continua.sources.source_spec import Unit
from continua.sources.splits import Split, entries
from continua.sources.stretches import FileSource, Summary

FIRST_READING = 1 << 24
"""Tasks of lower numbers read rows that arrive."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A split to be read."""

    source: str
    rank: int
    """The place of the source among all that an epoch reads."""
    number: int
    """The place of the split in its source, from 1."""
    split: Split
    before: int = NEVER
    """The latest time in the source before the epoch."""
    latest: int = NEVER
    """The latest time in the source before the split, as far as it is known."""
    origin: int = 0
    """The partition of the source: rows of one instant are in the order of these. Times are those of the partition."""
    since: int = NEVER
    """From when on rows are of use: those before it are not late, whatever was closed."""
    stamp: int = 0
    """The instant of rows that have no time of their own: the same when it is read again."""

    @property
    def task(self) -> int:
        """What tells it from the other readings of an epoch; rows are in the order of these."""
        return self.rank * FIRST_READING | self.number


def corrected(
    sources: Mapping[str, FileSource], readings: Iterable[Reading], summaries: Iterable[Summary]
) -> list[Reading]:
    """The readings that have to be done again, each under the right assumption; none where all are right."""
    told = {(s.source, s.number): s for s in summaries}
    sequences: dict[tuple[str, int], list[Reading]] = {}
    for reading in readings:
        sequences.setdefault((reading.source, reading.origin), []).append(reading)
    found: list[Reading] = []
    for (name, _), mine in sequences.items():
        ordered = sorted(mine, key=lambda r: r.number)
        found += _corrected(sources[name], ordered, [told[name, r.number] for r in ordered])
    return found


def _corrected(source: FileSource, readings: Sequence[Reading], summaries: Sequence[Summary]) -> list[Reading]:
    again: list[Reading] = []
    if source.spec.unit is not Unit.GROUPS:
        for begins, reading, summary in zip(_entries(summaries), readings, summaries, strict=True):
            if begins is not None and begins != summary.extent.entry:
                again.append(replace(reading, split=replace(reading.split, entry=begins)))
    if again:
        return again
    latest = readings[0].before
    for reading, summary in zip(readings, summaries, strict=True):
        missed = summary.least is not None and summary.least <= heartbeat_after(latest, source.info.slack)
        if missed or (summary.assumed > latest and summary.late):
            by_groups = source.spec.unit is Unit.GROUPS
            split = reading.split if by_groups else replace(reading.split, entry=summary.extent.entry)
            again.append(replace(reading, split=split, latest=latest))
        latest = max(latest, summary.latest)
    return again


def _entries(summaries: Sequence[Summary]) -> list[int | None]:
    """Where each split truly begins, file by file."""
    found: list[int | None] = []
    begin = 0
    for place in range(1, len(summaries) + 1):
        if place == len(summaries) or summaries[place].split.path != summaries[begin].split.path:
            found += entries(s.extent for s in summaries[begin:place])
            begin = place
    return found


def following(source: FileSource, reading: Reading, last: Summary | None) -> Reading:
    """A reading with what is known from the one before it, if that is of the same sequence."""
    same_file = last is not None and last.split.path == reading.split.path
    if last is None or last.source != reading.source or (is_by_file(source.info) and not same_file):
        return replace(reading, latest=reading.before)
    found = replace(reading, latest=max(reading.before, last.latest))
    if same_file and source.spec.unit is not Unit.GROUPS:
        found = replace(found, split=replace(reading.split, entry=last.extent.exit))
    return found

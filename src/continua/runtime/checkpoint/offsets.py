"""How far a run has come with its sources, as epochs write it down; files have positions of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from continua.sources.intervals import NEVER

SourceReport = Mapping[tuple[str, int | None], int]
"""The latest instants of rows that sources have brought, and partitions of sources that have some."""


@dataclass(frozen=True, slots=True)
class PartitionOffset:
    """How far a partition of a source has come."""

    latest: int = NEVER
    """The latest instant of its rows."""
    idle: bool = False
    """Whether it was silent for so long that it was not waited for."""


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """How far a source has come whose rows arrive."""

    latest: int = NEVER
    """The latest instant of its rows."""
    promised: int = NEVER
    """Up to where it has said itself that it is complete."""
    late: int = 0
    """How many of its rows came too late."""
    idle: bool = False
    """Whether it was silent for so long that it was not waited for."""
    partitions: Mapping[int, PartitionOffset] = field(default_factory=dict)

    def after(self, seen: Mapping[int | None, int], late: int) -> SourceOffset:
        """When rows have come since, some of them too late."""
        found = dict(self.partitions)
        for origin, latest in seen.items():
            if origin is not None:
                known = found.get(origin, PartitionOffset())
                found[origin] = replace(known, latest=max(known.latest, latest))
        return replace(self, latest=max(self.latest, *seen.values()), late=self.late + late, partitions=found)


@dataclass(frozen=True, slots=True)
class LiveOffsets:
    """How far a live run has come."""

    reached: int = NEVER
    """Up to where all sources were complete."""
    latest: int = NEVER
    """The latest instant of any row, of sources too that are not waited for any more."""
    batch: int = -1
    """The last micro-batch of Structured Streaming."""
    taken: int = 0
    """The last batch of rows that were taken in and have been worked on (:mod:`continua.runtime.intake`)."""
    stored: tuple[str, ...] = ()
    """The stored relations that have been read."""
    sources: Mapping[str, SourceOffset] = field(default_factory=dict)

    def after(self, seen: SourceReport, late: Mapping[str, int]) -> LiveOffsets:
        """When rows have come since; ``late``: how many of each source came too late."""
        by_source: dict[str, dict[int | None, int]] = {}
        for (name, origin), latest in seen.items():
            by_source.setdefault(name, {})[origin] = latest
        sources = dict(self.sources)
        for name, found in by_source.items():
            sources[name] = sources.get(name, SourceOffset()).after(found, late.get(name, 0))
        return replace(self, latest=max(self.latest, *seen.values(), NEVER), sources=sources)


@dataclass(frozen=True, slots=True)
class Offsets:
    """How far a run has come."""

    rows: Mapping[str, int] = field(default_factory=dict)
    """In a bounded run, how many rows have been read of each source that is there as a whole."""
    live: LiveOffsets | None = None
    """None in a bounded run."""

    @staticmethod
    def of_json(content: Mapping[str, Any]) -> Offsets:
        """The offsets that plain data stands for, as :func:`dataclasses.asdict` makes it."""
        return Offsets(content["rows"], None if content["live"] is None else _live(**content["live"]))


def _live(stored: list[str], sources: Mapping[str, Mapping[str, Any]], **others: int) -> LiveOffsets:
    return LiveOffsets(**others, stored=tuple(stored), sources={n: _source(**s) for n, s in sources.items()})


def _source(partitions: Mapping[str, Mapping[str, Any]], **others: Any) -> SourceOffset:
    return SourceOffset(**others, partitions={int(n): PartitionOffset(**p) for n, p in partitions.items()})

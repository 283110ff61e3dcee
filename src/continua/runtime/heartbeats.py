"""Heartbeats: up to which instant all sources are complete (CQL 7.3).

A source is complete up to an instant when it says so itself, when its rows come at most a bounded time late, or, for
rows that are stamped when they arrive, when that time has passed. All sources together are complete up to the least of
these. A source that has been silent for long is not waited for (PIPES 2005, 4.2.3); if all are silent, everything
that came is complete.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field

from continua.runtime.checkpoint.offsets import LiveOffsets, PartitionOffset, SourceOffset
from continua.sources.intervals import FAR, NEVER
from continua.sources.lateness import Promise, heartbeat_after
from continua.sources.partition_sequences import PartitionColumns


@dataclass(slots=True)
class PartitionClock:
    """What is known of a partition of a source."""

    latest: int = NEVER
    heard: float = 0.0


@dataclass(slots=True)
class SourceClock:
    """What is known of one source."""

    slack: int = 0
    by_arrival: bool = False
    latest: int = NEVER
    """The latest instant of any row."""
    promised: int = NEVER
    """Up to where the source itself has said that it is complete."""
    heard: float = 0.0
    """When it last brought anything, in seconds."""
    columns: PartitionColumns | None = None
    """By what its partitions are told apart."""
    parts: dict[int, PartitionClock] = field(default_factory=dict)
    """Its partitions, as far as they have brought anything."""

    def complete(self, since: float) -> int:
        """Up to where the source is complete, without partitions that have brought nothing since a time."""
        latest = self.latest
        if self.parts:
            awake = [part.latest for part in self.parts.values() if part.heard >= since]
            latest = min(awake, default=latest)
        return max(self.promised, heartbeat_after(latest, self.slack))


class Heartbeats:
    """The clocks of all sources."""

    def __init__(self, clocks: dict[str, SourceClock], timeout: float | None = None) -> None:
        self._clocks = clocks
        self._timeout = timeout
        self.reached = NEVER
        """Up to where all sources were complete."""

    def brought(self, source: str, latest: int, now: float, origin: int | None = None) -> None:
        """A source, or a partition of it, brought rows, the latest of that instant."""
        clock = self._clocks[source]
        clock.latest = max(clock.latest, latest)
        clock.heard = now
        if origin is not None:
            part = clock.parts.setdefault(origin, PartitionClock())
            part.latest, part.heard = max(part.latest, latest), now

    @contextmanager
    def ahead(self, brings: Mapping[tuple[str, int | None], int], now: float) -> Iterator[None]:
        """Takes rows for brought that are about to be worked on; where that fails they were not."""
        before = {name: deepcopy(self._clocks[name]) for name, _ in brings if name in self._clocks}
        reached = self.reached
        for (name, origin), latest in brings.items():
            if name in self._clocks:
                self.brought(name, latest, now, origin)
        try:
            yield
        except BaseException:
            self.reached = reached
            for name, clock in before.items():
                known = self._clocks[name]
                known.latest, known.heard, known.parts = clock.latest, clock.heard, clock.parts
            raise

    def promise(self, source: str, instant: int, now: float) -> None:
        """A source says that it is complete up to an instant."""
        clock = self._clocks[source]
        clock.promised = max(clock.promised, instant)
        clock.heard = now

    def until(self, now: float) -> int:
        """Up to where all sources are complete; it never goes back."""
        since = self._since(now)
        awake = [c for c in self._clocks.values() if c.heard >= since]
        if awake:
            found = min(c.complete(since) for c in awake)
        else:
            found = max((max(c.latest, c.promised) for c in self._clocks.values()), default=NEVER)
        self.reached = max(self.reached, found)
        return self.reached

    def in_the_end(self) -> int:
        """Up to where all sources will be complete when time has passed and nothing more has come."""
        reached = [max(c.latest, c.promised) for c in self._clocks.values()]
        if self._timeout is not None:
            return max(reached, default=NEVER)
        stamped = [c.by_arrival for c in self._clocks.values()]
        complete = [c.complete(-math.inf) for c in self._clocks.values()]
        return min((r if s else c for r, s, c in zip(reached, stamped, complete, strict=True)), default=NEVER)

    def _since(self, now: float) -> float:
        """What has brought nothing since then is not waited for."""
        return -math.inf if self._timeout is None else now - self._timeout

    def promises(self) -> dict[str, Promise]:
        """By source how late its rows may be, and up to where it is complete by its own word."""
        return {
            name: Promise(
                FAR if c.by_arrival else c.slack,
                c.latest,
                NEVER if c.by_arrival else c.promised,
                columns=c.columns,
                parts={origin: part.latest for origin, part in c.parts.items()},
            )
            for name, c in self._clocks.items()
        }

    def saved(self, now: float) -> dict[str, SourceOffset]:
        """What must outlive the process; which sources and partitions are not waited for now is told along."""
        since = self._since(now)
        found: dict[str, SourceOffset] = {}
        for name, clock in self._clocks.items():
            parts = {origin: PartitionOffset(part.latest, part.heard < since) for origin, part in clock.parts.items()}
            found[name] = SourceOffset(clock.latest, clock.promised, idle=clock.heard < since, partitions=parts)
        return found

    def restore(self, saved: LiveOffsets, now: float) -> None:
        """Goes on from what was saved."""
        self.reached = saved.reached
        for name, clock in self._clocks.items():
            known = saved.sources.get(name, SourceOffset())
            clock.latest, clock.promised, clock.heard = known.latest, known.promised, now
            clock.parts = {origin: PartitionClock(part.latest, now) for origin, part in known.partitions.items()}

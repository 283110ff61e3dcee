"""Heartbeats: up to which instant all sources are complete (CQL 7.3).

A source is complete up to an instant when it says so itself, when its rows come at most a bounded time late, or, for
rows that are stamped when they arrive, when that time has passed. All sources together are complete up to the least of
these. A source that has been silent for long is not waited for (PIPES 2005, 4.2.3); if all are silent, everything
that came is complete.
"""

from __future__ import annotations

from dataclasses import dataclass

from continua.instants import INFINITY
from continua.runtime.tasks import Promise
from continua.sources.intervals import FAR

NEVER = -INFINITY


@dataclass(slots=True)
class Clock:
    """What is known of one source."""

    slack: int = 0
    by_arrival: bool = False
    latest: int = NEVER
    """The latest instant of any row."""
    promised: int = NEVER
    """Up to where the source itself has said that it is complete."""
    heard: float = 0.0
    """When it last brought anything, in seconds."""

    @property
    def complete(self) -> int:
        """Up to where the source is complete."""
        if self.latest == NEVER:
            return self.promised
        return max(self.promised, self.latest - self.slack - 1)


class Heartbeats:
    """The clocks of all sources."""

    def __init__(self, clocks: dict[str, Clock], timeout: float | None = None) -> None:
        self._clocks = clocks
        self._timeout = timeout
        self._reached = NEVER

    def brought(self, source: str, latest: int, now: float) -> None:
        """A source brought rows, the latest of that instant."""
        clock = self._clocks[source]
        clock.latest = max(clock.latest, latest)
        clock.heard = now

    def promise(self, source: str, instant: int, now: float) -> None:
        """A source says that it is complete up to an instant."""
        clock = self._clocks[source]
        clock.promised = max(clock.promised, instant)
        clock.heard = now

    def until(self, now: float) -> int:
        """Up to where all sources are complete; it never goes back."""
        awake = [c for c in self._clocks.values() if not self._silent(c, now)]
        if awake:
            found = min(c.complete for c in awake)
        else:
            found = max((max(c.latest, c.promised) for c in self._clocks.values()), default=NEVER)
        self._reached = max(self._reached, found)
        return self._reached

    def _silent(self, clock: Clock, now: float) -> bool:
        return self._timeout is not None and now - clock.heard > self._timeout

    def promises(self) -> dict[str, Promise]:
        """By source how late its rows may be, and up to where it is complete by its own word."""
        return {
            name: Promise(FAR if c.by_arrival else c.slack, c.latest, NEVER if c.by_arrival else c.promised)
            for name, c in self._clocks.items()
        }

    def saved(self) -> dict[str, int]:
        """What must outlive the process."""
        found = {"reached": self._reached}
        for name, clock in self._clocks.items():
            found[f"latest {name}"] = clock.latest
            found[f"promised {name}"] = clock.promised
        return found

    def restore(self, saved: dict[str, int], now: float) -> None:
        """Goes on from what was saved."""
        self._reached = saved.get("reached", NEVER)
        for name, clock in self._clocks.items():
            clock.latest = saved.get(f"latest {name}", NEVER)
            clock.promised = saved.get(f"promised {name}", NEVER)
            clock.heard = now

"""A clock that only goes forward: where the one that it follows steps back, it goes on from where it was."""

from __future__ import annotations

from collections.abc import Callable

from continua.sources.intervals import NEVER


class ForwardClock:
    """Microseconds by another clock, plus as much as that one has ever stepped back."""

    def __init__(self, clock: Callable[[], int], reached: int = NEVER) -> None:
        """``reached`` is an instant that has been told before, perhaps by another process."""
        self._clock = clock
        self._seen = clock()
        self._ahead = max(reached - self._seen, 0)

    def __call__(self) -> int:
        """The time now: never less than what was told before."""
        now = self._clock()
        self._ahead += max(self._seen - now, 0)
        self._seen = now
        return now + self._ahead

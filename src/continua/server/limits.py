"""How much somebody may ask for: of the server at once, and of one request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from continua.server.access import refused


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request, and one caller, may ask for."""

    body_bytes: int = 64 << 20
    statement_bytes: int = 1 << 20
    body_seconds: float = 30.0
    header_seconds: float = 10.0
    seconds: float = 120.0
    """How long an answer may take; what goes on after that counts to what its caller has at work."""
    at_work: int = 8
    """How many requests of a caller are worked on at once."""
    subscriptions: int = 1000
    """How many changes a caller may follow at once."""
    queries: int = 500
    """How many queries a caller may have registered."""
    memory: str = "256MB"
    """What a query over contents may take, where one is asked in PostgreSQL's protocol."""


class Usage:
    """Counts what callers have at work; in the event loop alone."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    @contextmanager
    def of(self, caller: str, what: str, most: int) -> Iterator[None]:
        """One more of something in the block, unless there are enough of them."""
        self.begin(caller, what, most)
        try:
            yield
        finally:
            self.end(caller, what)

    def begin(self, caller: str, what: str, most: int) -> None:
        """One more."""
        if self._counts[caller, what] >= most:
            raise refused("TOO_MANY", f"{caller} has {most} {what} already", "wait until one of them has ended")
        self._counts[caller, what] += 1

    def end(self, caller: str, what: str) -> None:
        """One less."""
        self._counts[caller, what] -= 1
        if not self._counts[caller, what]:
            del self._counts[caller, what]

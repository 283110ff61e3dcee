"""That something may have happened, told to all who wait for it in the server's event loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Waiting:
    """What happens after this was made is not missed."""

    event: asyncio.Event

    async def within(self, seconds: float) -> bool:
        """Waits until something has happened, at most so long; whether it has."""
        try:
            async with asyncio.timeout(seconds):
                await self.event.wait()
        except TimeoutError:
            return False
        return True


class News:
    """Wakes everybody who waits, from any thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._event = asyncio.Event()

    def begin(self) -> None:
        """From now on things are told in the loop that runs."""
        self._loop = asyncio.get_running_loop()

    def end(self) -> None:
        """Nobody waits any more."""
        self._loop = None
        self._tell()

    def next(self) -> Waiting:
        """What is told from now on."""
        return Waiting(self._event)

    def tell(self) -> None:
        """Something may have happened."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        self._event, told = asyncio.Event(), self._event
        told.set()

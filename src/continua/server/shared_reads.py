"""What many subscribers wait for together is read once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool

from continua.runs.live_run import LiveRun
from continua.server.changes import ChangesReader, Position, Told


class SharedReads:
    """Reads changes in threads, one read for all who are equally far."""

    def __init__(self, changes: ChangesReader, run_of: Callable[[str], LiveRun]) -> None:
        self._changes = changes
        self._run_of = run_of
        self._reads: dict[tuple[str, Position], asyncio.Task[Told | None]] = {}

    async def next(self, name: str, position: Position) -> Told | None:
        """What is behind a position; None where there is nothing yet."""
        run = self._run_of(name)
        if run.engine.epoch_number <= position.epoch and position.since == run.since(name):
            return None
        key = name, position
        task = self._reads.get(key)
        if task is None:
            task = asyncio.create_task(run_in_threadpool(self._changes.next, run, name, position))
            self._reads[key] = task
            task.add_done_callback(lambda _: self._reads.pop(key, None))
        return await asyncio.shield(task)

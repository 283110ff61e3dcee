"""How far a long piece of work is: a bar with rate and time left, on a terminal only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

_PAUSE = 0.25
"""So many seconds pass before it is looked again how far the work is."""

Worked = Callable[[], float]
"""Tells how many bytes have been worked on."""


class ProgressBar:
    """A line on a console. What others write to standard output goes there, and not to the console of the bar."""

    def __init__(self, console: Console, total: int | None = None, worked: Worked | None = None) -> None:
        """``total``: how many bytes there are to be worked on; without it only a text is shown."""
        self._worked = worked if total else None
        measured: tuple[ProgressColumn, ...] = (
            BarColumn(),
            TaskProgressColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(compact=True),
        )
        columns = measured if self._worked is not None else ()
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            *columns,
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task("reading", total=total if self._worked is not None else None)
        self._over = threading.Event()
        self._watching = threading.Thread(target=self._watch, daemon=True, name="continua-progress")

    def __enter__(self) -> ProgressBar:
        self._progress.start()
        self._watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watching.join()
        self._progress.stop()

    def _watch(self) -> None:
        while not self._over.wait(_PAUSE):
            self.look()

    def look(self) -> None:
        """Looks how far the work is."""
        if self._worked is not None:
            done = max(self._worked(), self._progress.tasks[0].completed)
            self._progress.update(self._task, completed=done)

    def show(self, text: str) -> None:
        """Tells what is being done."""
        self._progress.update(self._task, description=text)
        self.look()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Within it the line is gone, since something else is written on the same screen."""
        self._progress.stop()
        try:
            yield
        finally:
            self._progress.start()

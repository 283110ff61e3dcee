"""A gate for micro-batches: a run is stopped between two of them, so that none is torn and nothing has to be undone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from continua.errors import Diagnostic, MachineError


class BatchGate:
    """Who is inside is waited for, and after that nobody comes in."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: list[int] = []
        self._closed = False

    @contextmanager
    def inside(self) -> Iterator[None]:
        """While a micro-batch is worked on; an error if that comes too late."""
        me = threading.get_ident()
        with self._changed:
            if self._closed:
                raise MachineError(Diagnostic("RUN_ENDED", "the run has been stopped: the micro-batch comes again"))
            self._inside.append(me)
        try:
            yield
        finally:
            with self._changed:
                self._inside.remove(me)
                self._changed.notify_all()

    def close(self) -> None:
        """Waits for the micro-batch that others work on, if any, and lets no other in."""
        me = threading.get_ident()
        with self._changed:
            while any(other != me for other in self._inside):
                self._changed.wait()
            self._closed = True

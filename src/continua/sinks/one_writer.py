"""One writer to a folder: a lock on the folder itself, that a process holds and that is gone when the process is."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from continua.errors import Diagnostic, SourceError
from continua.runtime.checkpoint.files import make_folder
from continua.runtime.machines import writing_to
from continua.sinks.folder_sink import FolderSink
from continua.sinks.sink import Sink


class OneWriter:
    """Holds the lock on a folder, which is made if it is not there."""

    def __init__(self, folder: Path, durable: bool) -> None:
        self._folder = folder
        self._made = not folder.exists()
        while True:
            with writing_to(folder):
                make_folder(folder, durable)
            self._opened = self._locked()
            if self._opened is not None:
                break

    def _locked(self) -> int | None:
        """The open folder, locked; None where it was removed meanwhile, by a run that had made it."""
        try:
            opened = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(opened), os.stat(self._folder)):  # noqa: PTH116 (as fstat of the open one)
                return opened
        except BlockingIOError:
            os.close(opened)
            raise _in_use(self._folder) from None
        except FileNotFoundError:
            pass
        except OSError:
            # a file system without locks
            return opened
        os.close(opened)
        return None

    def release(self) -> None:
        """Gives the folder back; if it was made here and nothing is in it, it is removed."""
        if self._opened is None:
            return
        if self._made:
            with suppress(OSError):
                self._folder.rmdir()
        os.close(self._opened)
        self._opened = None


class HeldFolders:
    """The folders that queries of a run write to: nobody else may meanwhile."""

    def __init__(self) -> None:
        self._locks: dict[str, OneWriter] = {}

    def __contains__(self, query: str) -> bool:
        return query in self._locks

    def take(self, query: str, sink: Sink | None) -> None:
        """Holds the folder of a query, if its sink is one."""
        if isinstance(sink, FolderSink) and query not in self:
            self._locks[query] = OneWriter(sink.folder, sink.durable)

    def let_go(self, queries: Iterable[str]) -> None:
        """Lets others write to the folders of queries."""
        for query in queries:
            if query in self:
                self._locks.pop(query).release()

    def close(self) -> None:
        """Lets others write to all of them."""
        self.let_go(list(self._locks))


def _in_use(folder: Path) -> SourceError:
    return SourceError(
        Diagnostic(
            "SINK_IN_USE",
            f"{folder} is in use: another run writes to it",
            hint="wait until that run has ended, stop it, or name another folder",
            parameters={"folder": str(folder)},
        )
    )

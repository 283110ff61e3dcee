"""The record of who asked what: lines of JSON, in which there is no token and no text of a script."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from pathlib import Path

from continua.instants import show_timestamp


class Audit:
    """Appends to a file, which is opened for each line, so that it may be moved away."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()

    def write(self, **told: object) -> None:
        """A line."""
        if self._path is None:
            return
        now = show_timestamp(datetime.now(UTC).replace(tzinfo=None))
        line = json.dumps({"time": now, **told}, ensure_ascii=False, default=str) + "\n"
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(line)

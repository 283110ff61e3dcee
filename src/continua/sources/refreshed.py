"""Tables that are read again and again: what is different then is what has changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from continua.catalog import RelationInfo
from continua.errors import Diagnostic
from continua.sources.logged import (
    Logged,
    Mark,
    Modifications,
    Past,
    all_there,
    as_stretch,
    content_after,
    differences,
)


class Refreshed:
    """A table of which all rows are read again after a while. What has changed happens when that is seen."""

    def __init__(self, info: RelationInfo, read: Callable[[], pa.Table], past: Past, first: int) -> None:
        """``read`` gives all rows as they are now. ``first``: the instant at which time begins."""
        self.info = info
        self.shown = f"<{info.name}>"
        self._read = read
        self._first = first
        self._rows = int(str((past.mark or {}).get("rows", 0)))
        self._content = content_after(info, past.changes) if past.changes else None
        """What it had when it was read last."""
        self._due = 0.0
        self._complete: int | None = None

    @property
    def complete(self) -> int | None:
        """Up to which instant all that was read is all there is."""
        return self._complete

    @property
    def ended(self) -> bool:
        """A table never ends."""
        return False

    def figures(self) -> Mapping[str, float]:
        """Nothing is kept elsewhere for it."""
        return {}

    def notices(self) -> list[Diagnostic]:
        """What is to be told since it was asked last."""
        return []

    def close(self) -> None:
        """Nothing is open."""

    def finished(self, mark: Mark) -> None:
        """It is read again whatever was worked on."""

    def take(self, now: int, rows: int | None) -> Logged | None:  # noqa: ARG002 (it is read as a whole)
        """What has changed since it was read last, if it is time to look; the first time all that it has."""
        self._complete = now - 1
        if time.monotonic() < self._due:
            return None
        assert self.info.refresh is not None
        self._due = time.monotonic() + self.info.refresh / 1e6
        there = self._read()
        if self._content is None:
            found = all_there(self.info, there, self.shown, self._first)
        else:
            payload = self._content.select(self._content.column_names[:-1])
            gone, new = differences(payload, there.select(payload.column_names).cast(payload.schema))
            if not gone.num_rows and not new.num_rows:
                return None
            tags = ["-"] * gone.num_rows + ["+"] * new.num_rows
            changes = Modifications(pa.concat_tables([gone, new]), tags, np.full(len(tags), now, np.int64))
            found = as_stretch(self.info, changes, self.shown, self._rows)
        self._rows += found.rows.num_rows
        known = [found.rows] if self._content is None else [self._content, found.rows]
        self._content = content_after(self.info, known)
        return Logged(found.rows, {"rows": self._rows}, found.wrong, self._content)

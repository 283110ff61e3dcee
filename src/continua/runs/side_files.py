"""The side files of a live run: the rows of its sources that came too late, or that are no rows."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from continua.errors import BindError, Diagnostic
from continua.runtime.engine import Engine
from continua.runtime.late_rows import LateFile
from continua.runtime.progress import Progress
from continua.sources.intervals import Source
from continua.sources.rejects import rejects_path
from continua.sources.source_spec import BROKEN_KEY, Malformed
from continua.sources.stretches import with_true_lines

LATE = "TIMESTAMP_OUT_OF_ORDER"
MALFORMED = "ROWS_SKIPPED"


class SideFiles:
    """A file for each source that has such rows."""

    def __init__(self, engine: Engine, folder: Path, source: Callable[[str], Source]) -> None:
        """``source``: gives the source that has a name."""
        self._engine = engine
        self._folder = folder
        self._source = source
        self._resumed = engine.epoch_number > 0
        self._files: dict[str, LateFile] = {}
        self._untold = Counter[tuple[str, str]]()
        """By source and condition, how many rows were kept apart of which nothing was said."""
        self._said: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def go_on(self, late: Mapping[str, int]) -> None:
        """Takes up what the checkpoint has; ``late``: how many rows of each source came too late."""
        for name in self._engine.yielded.past.horizon.late:
            # what is in the side file can not all be written again
            info = self._source(name)
            self._files[name] = LateFile(self._folder, info.name, info, goes_on=True)
        for name, count in late.items():
            if count and name not in self._engine.positions and name not in self._files:
                self._add_arrived(name, self._engine.epoch_number)

    def add(self, done: Progress) -> None:
        """Adds what an epoch has kept apart."""
        with self._lock:
            for name, count in done.late.items():
                if count:
                    self._untold[name, LATE] += count
                    self._add_arrived(name, done.epoch)
            for summary in done.summaries:
                self._untold[summary.source, MALFORMED] += len(summary.wrong)
            for name, some in done.left_out.items():
                self._untold[name, MALFORMED] += sum(len(rows.wrong) for rows in some)
            for name in {summary.source for summary in done.summaries}:
                self._file(name).add(*with_true_lines([s for s in done.summaries if s.source == name]))
            for name, broken in done.broken.items():
                self._untold[name, BROKEN_KEY] += len(broken)
                self._of_checks(name).add(broken, [])
            for name, some in done.left_out.items():
                for rows in some:
                    self._file(name).add(rows.wrong, rows.late)

    def keep(self, info: Source, wrong: Sequence[Malformed]) -> None:
        """Keeps what has come of a source and is no row, from any thread."""
        with self._lock:
            self._untold[info.name.casefold(), MALFORMED] += len(wrong)
            self._file(info.name.casefold(), info).add(wrong, [])

    def news(self, first: bool = False) -> list[Diagnostic]:
        """What was kept apart since that was asked last; ``first``: of sources of which nothing was told so far."""
        with self._lock:
            found = [kind for kind, count in self._untold.items() if count and not (first and kind in self._said)]
            told = [self._notice(*kind, self._untold.pop(kind)) for kind in found]
            self._said.update(found)
            return told

    def _notice(self, name: str, condition: str, count: int) -> Diagnostic:
        shown = name if condition == BROKEN_KEY else self._source(name).name
        path = rejects_path(self._folder, shown)
        more = "more " if (name, condition) in self._said else ""
        rows = f"1 {more}row" if count == 1 else f"{count} {more}rows"
        were = "was" if count == 1 else "were"
        parameters: dict[str, object] = {"source": shown, "count": count, "path": str(path)}
        if condition == LATE:
            message = f"{rows} {were} too late for {shown} and kept apart in {path}"
            return Diagnostic(LATE, message, hint="a larger SLACK takes in such rows", parameters=parameters)
        how = "rejected" if condition == BROKEN_KEY else "malformed"
        message = f"{rows} of {shown} {were} {how} and kept apart in {path}"
        return Diagnostic(MALFORMED, message, parameters=parameters)

    def _add_arrived(self, name: str, epoch: int) -> None:
        """Adds an epoch's late rows; with the first ones, all that the checkpoint has.

        Rows of files are told with their places where these are known, when they are read.
        """
        from_files = name in self._engine.positions
        told = self._engine.yielded
        if name in self._files or from_files:
            tables = told.late_in(name, epoch, arrived=from_files)
        else:
            tables = told.late_kept(name, self._engine.epoch_number)
        for table in tables:
            self._file(name).append(table)

    def _file(self, name: str, info: Source | None = None) -> LateFile:
        if name not in self._files:
            goes_on = self._resumed and name in self._engine.positions
            known = info or self._source(name)
            self._files[name] = LateFile(self._folder, known.name, known, goes_on)
        return self._files[name]

    def _of_checks(self, shown: str) -> LateFile:
        """The same by the name under which rows that break a key are told: that of a source or of a tagged stream."""
        name = shown.casefold()
        if name not in self._files:
            try:
                known: Source | None = self._source(name)
            except BindError:
                known = None
            self._files[name] = LateFile(self._folder, shown, known, self._resumed)
        return self._files[name]

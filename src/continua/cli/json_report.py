"""Messages as lines of JSON on standard error, for whoever collects logs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

from continua.cli.progress_bar import Worked
from continua.cli.report import Report
from continua.errors import ContinuaError, Diagnostic
from continua.instants import show_timestamp


class JsonReport(Report):
    """Every message is an object on a line of its own: when, how grave, what."""

    def error(self, error: ContinuaError) -> None:
        """Every mistake as an object."""
        for diagnostic in error.diagnostics:
            self._diagnostic("error", diagnostic)

    def failure(self, message: str, hint: str | None = None) -> None:
        """A mistake that is not in the text."""
        self._write("error", "failure", {"message": message, "hint": hint})

    def warnings(self, diagnostics: Iterable[Diagnostic]) -> None:
        """What happened to the data on the way in."""
        for diagnostic in diagnostics:
            self._diagnostic("warning", diagnostic)

    def note(self, message: str) -> None:
        """Something worth knowing."""
        self._write("info", "note", {"message": message})

    def closing(self, lines: Iterable[str | None]) -> None:
        """What was done."""
        for line in filter(None, lines):
            self._write("info", "done", {"message": line})

    @contextmanager
    def progress(
        self,
        total: int | None = None,  # noqa: ARG002
        worked: Worked | None = None,  # noqa: ARG002
    ) -> Iterator[Callable[[str], None]]:
        """How far the work is."""
        yield lambda text: self._write("info", "progress", {"message": text})

    def epoch(self, entry: Mapping[str, object]) -> None:
        """What an epoch of a live run did."""
        self._write("info", "epoch", {name: value for name, value in entry.items() if name != "operators"})

    def _diagnostic(self, level: str, found: Diagnostic) -> None:
        place = {} if found.span is None else {"line": found.span.line, "column": found.span.column}
        content = {"condition": found.condition, "message": found.message, "hint": found.hint, **place}
        self._write(level, "diagnostic", {**content, "parameters": found.parameters})

    def _write(self, level: str, event: str, content: Mapping[str, object]) -> None:
        now = show_timestamp(datetime.now(UTC).replace(tzinfo=None))
        entry = {"time": now, "level": level, "event": event, **content}
        print(json.dumps(entry, ensure_ascii=False, default=str), file=sys.stderr, flush=True)

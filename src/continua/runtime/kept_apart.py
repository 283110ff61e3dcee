"""The rows of sources that a session keeps apart: they are told once, and written to side files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from continua.errors import Diagnostic, SourceError
from continua.instants import show_length
from continua.sources.intervals import Source
from continua.sources.rejects import add_rejects, late_diagnostic, rejects_path, write_rejects
from continua.sources.source_spec import Late, Malformed


class KeptApart:
    """Side files, a line for each row that was late, malformed or rejected."""

    def __init__(self, folder: Path, notices: list[Diagnostic]) -> None:
        """``notices``: where it is told that there are some."""
        self._folder = folder
        self._notices = notices
        self._told: set[Source] = set()
        self._broken: set[str] = set()
        """The names under which rows that break a key were told."""
        self._written: set[str] = set()
        """The names whose side files are of this session."""

    def created(self, info: Source) -> None:
        """Another source may have had the name."""
        self._told.discard(info)
        self._broken.discard(info.name)
        self._written.discard(info.name)

    def forget(self) -> None:
        """What is kept apart is told anew."""
        self._told.clear()
        self._broken.clear()
        self._written.clear()

    def report_refused(self, info: Source, count: int, more: str = "") -> None:
        """Tells how many rows of a source were left out that have no file to be kept apart from."""
        rows = "1 malformed row" if count == 1 else f"{count} malformed rows"
        parameters: dict[str, object] = {"source": info.name, "count": count}
        message = f"{rows} of {info.name} left out{more}"
        self._notices.append(Diagnostic("ROWS_SKIPPED", message, parameters=parameters))

    def report(self, info: Source, wrong: Sequence[Malformed], late: Sequence[Late]) -> None:
        """Tells, once, what was kept apart of a source, and writes it to the side file."""
        if wrong and not info.skip_errors:
            raise wrong[0].error(info.name)
        if (not wrong and not late) or info in self._told:
            return
        self._told.add(info)
        path = self._keep_apart(info.name, wrong, late)
        if wrong:
            self._tell_skipped(info.name, wrong, "malformed", path)
        if late:
            self._notices.append(late_diagnostic(info.name, late, lambda n: show_length(n, info.domain), str(path)))

    def report_broken(self, name: str, rows: Sequence[Malformed]) -> None:
        """The same of rows that break a key, in the order of time."""
        if rows and name not in self._broken:
            self._broken.add(name)
            self._tell_skipped(name, rows, "rejected", self._keep_apart(name, rows, ()))

    def _keep_apart(self, name: str, wrong: Sequence[Malformed], late: Sequence[Late]) -> Path:
        """Writes rows to the side file, behind those that this session has written."""
        rejects, path = [m.reject() for m in wrong], rejects_path(self._folder, name)
        try:
            if name in self._written:
                add_rejects(path, rejects, late)
            else:
                write_rejects(self._folder, name, rejects, late)
        except OSError as error:
            message = f"the rows of {name} that are kept apart cannot be written to {self._folder}: {error}"
            raise SourceError(Diagnostic("CANNOT_WRITE", message, parameters={"path": str(self._folder)})) from None
        self._written.add(name)
        return path

    def _tell_skipped(self, name: str, wrong: Sequence[Malformed], how: str, path: Path) -> None:
        rows = f"1 {how} row" if len(wrong) == 1 else f"{len(wrong)} {how} rows"
        first = wrong[0].reject()
        self._notices.append(
            Diagnostic(
                "ROWS_SKIPPED",
                f"{rows} of {name} kept apart in {path}; the first is {first.file}:{first.line} ({first.reason})",
                parameters={"source": name, "count": len(wrong), "path": str(path)},
            )
        )

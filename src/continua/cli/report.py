"""Standard error: mistakes with the line they speak of, notes on defaults, tables of SHOW and DESCRIBE."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext

import click
from rich.console import Console
from rich.text import Text

from continua.answers.outcome import Outcome
from continua.cli.progress_bar import ProgressBar, Worked
from continua.cli.script import Script
from continua.cli.tables import as_wide_as_needed, print_table, text_columns
from continua.errors import ContinuaError, Diagnostic, MachineError
from continua.stages import STAGES

_LABEL = re.compile(r"(error|warning)(\[\w+\])?:")
_CARETS = re.compile(r"^ *\| [ \t]*(\^+)$")
_STYLES = {"error": "bold red", "warning": "bold yellow"}


MACHINE_STATUS = 3
"""With which status a command ends when something is wrong with a machine."""


def exit_status(error: ContinuaError) -> int:
    """With which status a command ends that has failed."""
    return MACHINE_STATUS if isinstance(error, MachineError) else 1


def stderr_console() -> Console:
    """Standard error. Lines are never broken: messages are for people and for grep."""
    return as_wide_as_needed(Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True))


class Report:
    """Messages about one text, of which the carets show lines."""

    def __init__(self, script: Script | None = None, console: Console | None = None) -> None:
        self._text = script.text if script else None
        self._name = script.name if script else "script"
        self._console = console or stderr_console()
        self._bar: ProgressBar | None = None

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turns an error into its message and exit status: 1 if it is of the query or its data, 3 of the machine."""
        try:
            yield
        except ContinuaError as error:
            self.error(error)
            raise click.exceptions.Exit(exit_status(error)) from None

    @contextmanager
    def progress(self, total: int | None = None, worked: Worked | None = None) -> Iterator[Callable[[str], None]]:
        """A line that shows how far the work is, on a terminal only; it is gone when the work is done.

        ``total``: of how many bytes it is, if that is known, and ``worked``: how many of them are done.
        """
        if not self._console.is_terminal:
            yield lambda _: None
            return
        with ProgressBar(self._console, total, worked) as bar:
            self._bar = bar
            try:
                yield bar.show
            finally:
                self._bar = None

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Within it answers are written to standard output: where that is the same screen, without the line."""
        with nullcontext() if self._bar is None or not sys.stdout.isatty() else self._bar.aside():
            yield

    def closing(self, lines: Iterable[str | None]) -> None:
        """What was done, on a terminal only, where the line that shows progress is gone."""
        if self._console.is_terminal:
            for line in filter(None, lines):
                self._console.print(Text(line, style="dim"))

    def profile(self, stages: Mapping[str, float], seconds: float) -> None:
        """How long the stages of tasks took in a run of so many seconds."""
        whole = sum(stages.values())
        self.note(f"the run took {seconds:.2f} s, and its tasks {whole:.2f} s in all")
        rows = [
            (name, f"{stages[name]:.2f} s", f"{stages[name] / whole:.1%}", about)
            for name, about in STAGES.items()
            if name in stages
        ]
        print_table(self._console, text_columns(("stage", "time", "share", "of"), rows))

    def error(self, error: ContinuaError) -> None:
        """Every mistake, one below the other."""
        self._styled(error.render(self._text, self._name))
        if len(error.diagnostics) > 1:
            self._console.print(f"\n{len(error.diagnostics)} errors", style="bold red")

    def failure(self, message: str, hint: str | None = None) -> None:
        """A mistake that is not in the text."""
        self._console.print(Text(message, style="bold red"))
        if hint:
            self._console.print(Text(f"  hint: {hint}", style="green"))

    def warnings(self, diagnostics: Iterable[Diagnostic]) -> None:
        """What happened to the data on the way in."""
        for diagnostic in diagnostics:
            self._styled(diagnostic.render(self._text, self._name, label="warning"))

    def note(self, message: str) -> None:
        """One line worth knowing."""
        self._console.print(Text(f"note: {message}", style="dim"))

    def notices(self, outcome: Outcome) -> None:
        """The defaults that were applied to a statement."""
        about = f"{outcome.query.name}: " if outcome.query else ""
        for notice in outcome.notices:
            place = f" ({self._name}:{notice.span.line}:{notice.span.column})" if notice.span else ""
            self.note(f"{about}{notice.message}{place}")

    def finding(self, outcome: Outcome) -> None:
        """What SHOW, DESCRIBE or EXPLAIN found."""
        print_finding(outcome, self._console)

    def _styled(self, rendered: str) -> None:
        for line in rendered.splitlines():
            text = Text(line)
            if found := _LABEL.match(line):
                text.stylize(_STYLES[found[1]], 0, found.end())
            elif found := _CARETS.match(line):
                text.stylize("bold red", *found.span(1))
            elif line.startswith("  --> "):
                text.stylize("blue")
            elif line.startswith("  hint: "):
                text.stylize("green")
            self._console.print(text)


def print_finding(outcome: Outcome, console: Console) -> None:
    """What SHOW, DESCRIBE or EXPLAIN found, on any console."""
    if outcome.text is not None:
        console.print(Text(outcome.text), soft_wrap=True)
    if outcome.header:
        print_table(console, text_columns(outcome.header, outcome.rows))
        console.print()

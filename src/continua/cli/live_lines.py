"""The answers of a live run as lines, which are flushed after every epoch."""

from __future__ import annotations

from types import TracebackType

from continua.cli.epoch_answers import EpochAnswers
from continua.cli.output import Printer
from continua.runtime.machines import STANDARD_OUTPUT, writing_to


class LiveLines:
    """Writes what is new to standard output."""

    def __init__(self, answers: EpochAnswers, form: str) -> None:
        self._answers = answers
        self._printer = Printer(form, answers.queries)
        self.changed = 0
        """How many answers were written."""

    def __enter__(self) -> LiveLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.show()

    def show(self) -> None:
        """Writes the answers of epochs that were finished since."""
        parts, until = self._answers.next()
        with writing_to(STANDARD_OUTPUT):
            self._printer.print(parts, until)
        self._answers.done()
        self.changed += sum(map(len, parts.values()))

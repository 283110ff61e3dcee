"""The answers of a live run as lines, which are flushed after every epoch."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from continua.cli.epoch_answers import EpochAnswers
from continua.cli.output import Printer
from continua.runtime.machines import STANDARD_OUTPUT, writing_to


class LiveLines:
    """Writes what is new to standard output."""

    def __init__(self, answers: Sequence[EpochAnswers], form: str) -> None:
        """``answers``: those of each group of queries."""
        self._answers = answers
        self._printer = Printer(form, {name: query for some in answers for name, query in some.queries.items()})
        self.changed = 0
        """How many answers were written."""

    def __enter__(self) -> LiveLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            for answers in self._answers:
                self.show(answers)

    def show(self, answers: EpochAnswers) -> None:
        """Writes the answers of a group's epochs that were finished since."""
        parts, until = answers.next()
        with writing_to(STANDARD_OUTPUT):
            self._printer.print(parts, until)
        answers.done()
        self.changed += sum(map(len, parts.values()))

"""``continua shell --connect``: statements are typed here, and run by a server."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from prompt_toolkit import PromptSession
from rich.console import Console

from continua.cli.report import Report
from continua.cli.script import Script
from continua.cli.tables import print_table, text_columns
from continua.cli.typed_text import StatementReader
from continua.client.http import diagnostic
from continua.client.remote import RemoteSession
from continua.errors import ContinuaError


class RemoteShell:
    """Sends statements, one by one, and shows what they did."""

    def __init__(self, session: RemoteSession, out: Console, err: Console) -> None:
        self._session, self._out, self._err = session, out, err
        self.failed = False
        self._reader = StatementReader()
        self._over = False

    def read(self) -> None:
        """Runs what comes by standard input."""
        for line in sys.stdin:
            self._take(line)
        self._take("", last=True)

    def converse(self, history: PromptSession[str]) -> None:
        """Prompts until the user leaves."""
        while not self._over:
            try:
                self._take(history.prompt("remote> " if self._reader.is_empty else "   ...> ") + "\n")
            except KeyboardInterrupt:
                self._reader = StatementReader()
            except EOFError:
                return

    def _take(self, text: str, *, last: bool = False) -> None:
        pieces = self._reader.feed(text)
        for piece in [*pieces, *(self._reader.finish() if last else [])]:
            if self._over:
                return
            report = Report(Script(self._reader.text, "<stdin>", Path()), self._err)
            if piece.is_command:
                self._over = self._reader.text[piece.start : piece.end].strip() == "\\q"
                if not self._over:
                    self.failed = True
                    report.failure("error: a server runs statements, and \\q leaves", None)
                continue
            try:
                for outcome in self._session.execute(self._reader.alone(piece)):
                    self._show(outcome, report)
            except ContinuaError as error:
                self.failed = True
                report.error(error)

    def _show(self, outcome: dict[str, object], report: Report) -> None:
        notices = outcome.get("notices")
        report.warnings(diagnostic(told) for told in (notices if isinstance(notices, list) else []))
        match outcome:
            case {"content": {"columns": list(columns), "rows": list(rows), "at": at}}:
                names = [column["name"] for column in columns]
                print_table(self._out, text_columns(("at", *names), [(at, *map(_shown, r.values())) for r in rows]))
            case {"table": list(table), "header": list(header)}:
                print_table(self._out, text_columns(header, table))
            case {"text": str(text)}:
                self._out.print(text, markup=False, highlight=False)
            case {"message": str(message)}:
                self._err.print(message, style="dim")


def _shown(value: object) -> object:
    return json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, dict | list) else value

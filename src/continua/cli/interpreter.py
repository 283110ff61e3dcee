"""The shell without a terminal: statements and backslash commands in, answers and messages out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from continua.answers.answer_columns import Part
from continua.answers.outcome import Outcome
from continua.answers.query import Query
from continua.catalog import DIALECTS
from continua.cli.commands import tell_internal
from continua.cli.engine_answers import EngineAnswers
from continua.cli.engine_options import EngineOptions
from continua.cli.follow import tell
from continua.cli.live_shell import LiveShell
from continua.cli.output import content_part, parts_of
from continua.cli.report import Report, print_finding
from continua.cli.script import Script, script_text
from continua.cli.table_output import SHOWN, answer_lines, print_answers
from continua.cli.tables import print_table, text_columns
from continua.cli.typed_text import StatementReader
from continua.errors import ContinuaError, DataError, SourceError, did_you_mean
from continua.explain.acknowledgement import acknowledgement
from continua.explain.show import show
from continua.instants import show_instant
from continua.lang.statements import Drop, Insert, Start, Stop, Watch
from continua.policy import ANYTHING, Policy
from continua.runtime.machines import machine_error
from continua.runtime.spark.masters import NONE
from continua.runtime.spark.starting import StartingSpark
from continua.session import Session

COMMANDS = {
    "\\d": "list streams, relations, views, functions and windows",
    "\\d NAME": "describe one of them",
    "\\dialect NAME": f"apply the defaults of {', '.join(DIALECTS)}; without NAME: tell whose apply",
    "\\follow [off]": "read files on as they grow: queries over them are live from now on",
    "\\all": "show all rows of the last query; a query shows its first 40",
    "\\i FILE": "run the statements of a file",
    "\\?": "this list",
    "\\q": "leave (Ctrl-D does too)",
}


HELP = """Statements end with a semicolon; a query prints its answers. Tab completes names.
A query is live whose rows are still to come, by INSERT INTO or by themselves: see WATCH, SHOW QUERIES, STOP, START.
"""
_WORDS = sorted({command.split()[0] for command in COMMANDS})


class Interpreter:
    """Runs what is typed. A mistake is told, and the session goes on."""

    def __init__(
        self,
        data: Path,
        dialect: str,
        out: Console,
        err: Console,
        *,
        follow: bool = False,
        idle_timeout: float | None = None,
        master: str = NONE,
        spark: StartingSpark | None = None,
        policy: Policy = ANYTHING,
    ) -> None:
        """``follow``: files are read on as they grow. ``spark``: what runs on ``master``, unless this process does."""
        self._spark = spark
        self.session = Session(data=data, dialect=dialect, master=master, policy=policy)
        self.session.watched = True
        self.live = LiveShell(self.session, out, follow, idle_timeout, spark)
        self.done = False
        self.failed = False
        self._data = data
        self._out = out
        self._err = err
        self._files: list[Path] = []
        self._last: tuple[Query, Part, str] | None = None
        """The last answers, and what their instants are called."""

    def run(self, text: str, name: str) -> None:
        """Runs all statements and commands of a text; the last may lack its semicolon."""
        self.take(StatementReader(text), name, last=True)

    def close(self) -> None:
        """Ends what is live."""
        self.live.stop()

    def take(self, reader: StatementReader, name: str, *, last: bool = False) -> None:
        """Runs what a reader has ready; ``last`` when no more text comes."""
        for piece in reader.finish() if last else reader.feed():
            if self.done:
                return
            report = Report(Script(reader.text, name, self._data), self._err)
            if piece.is_command:
                self._command(reader.text[piece.start : piece.end], report)
            else:
                self._statement(reader.alone(piece), report)

    def _statement(self, text: str, report: Report) -> None:
        known = set(self.session.queries)
        self.failed |= self.live.tell(report)
        try:
            for outcome in self.session.execute(text):
                report.notices(outcome)
                print_finding(outcome, self._out)
                self._went_well(outcome, report)
            self.failed |= self.live.tell(report)
            return
        except BrokenPipeError:
            raise
        except ContinuaError as error:
            report.error(error)
        except KeyboardInterrupt:
            report.note("interrupted")
        except Exception as error:
            if (wrong := machine_error(error)) is None:
                tell_internal(error)
            else:
                report.error(wrong)
        self.failed = True
        # A query that could not be answered leaves its name free.
        for name in set(self.session.queries) - known:
            del self.session.queries[name]
            self.live.forget(name)

    def _went_well(self, outcome: Outcome, report: Report) -> None:
        """What follows from a statement that was executed."""
        match body := outcome.statement.body:
            case Watch() if self.session.live is None:
                report.note("no query is live")
            case Watch():
                if (why := self.live.watch(body)) is not None:
                    report.note(why)
            case Insert() | Start():
                self.live.work()
            case Stop() | Drop():
                self.live.left()
        if outcome.content is not None:
            self._show(*content_part(outcome.content), "at")
        elif outcome.query is not None:
            with _without_places():
                if self.live.takes(outcome.query):
                    self._start(outcome.query)
                else:
                    self._answer(outcome.query, report)
        elif said := acknowledgement(body):
            self._err.print(said, style="dim")

    def _start(self, query: Query) -> None:
        self.live.start(query)
        run = self.session.live
        if run is not None and query.name in run.queries:
            start = run.queries[query.name].start
            since = f" from {show_instant(start, query.domain)} on" if start > query.start else ""
            self._err.print(f"query {query.name} is live{since}: WATCH {query.name} shows it", style="dim")

    def _show(self, query: Query, part: Part, label: str) -> None:
        self._last = query, part, label
        print_answers(self._out, query, part, label, SHOWN, "\\all shows them")

    def _answer(self, query: Query, report: Report) -> None:
        self.session.inputs.forget()
        try:
            answers = EngineAnswers(self.session, EngineOptions(), report, self._data, self._spark).changes([query])
        finally:
            tell(self.session.inputs.notices, report)
        self._show(*next(iter(parts_of({query.name: query}, answers)), (query, [])), "t")

    def _show_all(self, report: Report) -> None:
        """All answers of the last query, through a pager where a person looks at them."""
        if self._last is None:
            self._fail(report, "there is no query yet")
        elif self._out.is_terminal:
            click.echo_via_pager(answer_lines(self._out, *self._last), color=True)
        else:
            print_answers(self._out, *self._last)

    def _command(self, line: str, report: Report) -> None:
        word, _, argument = line.strip().removesuffix(";").rstrip().partition(" ")
        argument = argument.strip()
        match word:
            case "\\q":
                self.done = True
            case "\\?":
                self._out.print(HELP)
                print_table(self._out, text_columns(("command", "what it does"), COMMANDS.items()))
            case "\\d" if argument:
                self._describe(argument, report)
            case "\\d":
                print_table(self._out, text_columns(*show(self.session.catalog, "ALL")))
            case "\\follow":
                self.live.follow = argument.lower() != "off"
            case "\\all":
                self._show_all(report)
            case "\\dialect" if not argument:
                self._out.print(self.session.catalog.settings.dialect)
            case "\\dialect":
                self._dialect(argument, report)
            case "\\i" if argument:
                self._include(argument, report)
            case "\\i":
                self._fail(report, "\\i needs the name of a file")
            case _:
                self._fail(report, f"there is no command {word}", did_you_mean(word, _WORDS) or "\\? lists them")

    def _describe(self, name: str, report: Report) -> None:
        catalog = self.session.catalog
        if (entry := catalog.table(name)) is not None:
            for outcome in self.session.execute(f"DESCRIBE `{entry.name}`"):
                print_finding(outcome, self._out)
        elif catalog.function(name) or catalog.window(name):
            header, rows = show(catalog, "ALL")
            found = [row for row in rows if str(row[0]).casefold() == name.casefold()]
            print_table(self._out, text_columns(header, found))
        else:
            known = [known.name for known in catalog.entries()]
            self._fail(report, f"there is no {name}", did_you_mean(name, known) or "\\d lists what there is")

    def _dialect(self, name: str, report: Report) -> None:
        if name.lower() in DIALECTS:
            self.session.execute(f"SET dialect = {name}")
        else:
            self._fail(report, f"there is no dialect {name}", f"one of {', '.join(DIALECTS)}")

    def _include(self, name: str, report: Report) -> None:
        path = Path(name).expanduser()
        refused = self.session.catalog.policy.reads_file(str(path))
        if refused is not None:
            self._fail(report, refused.message, refused.hint)
            return
        if path.resolve() in self._files:
            self._fail(report, f"{name} runs itself")
            return
        try:
            text = script_text(path.read_bytes())
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            self._fail(report, f"{name} cannot be read: {reason}")
            return
        self._files.append(path.resolve())
        self.run(text, name)
        self._files.pop()

    def _fail(self, report: Report, message: str, hint: str | None = None) -> None:
        self.failed = True
        report.failure(f"error: {message}", hint)


@contextmanager
def _without_places() -> Iterator[None]:
    """Places of what is wrong with sources are those of the text that defined them, which is gone."""
    try:
        yield
    except (DataError, SourceError) as error:
        raise type(error)(*(replace(d, span=None) for d in error.diagnostics)) from None

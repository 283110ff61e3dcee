"""``continua shell``: statements one by one, with history and completion."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer  # type: ignore[import-untyped]

from continua import __version__
from continua.cli.commands import debug_option
from continua.cli.completion import CatalogCompleter
from continua.cli.durations import seconds
from continua.cli.engine_options import EngineOptions, starting_spark
from continua.cli.interpreter import COMMANDS, Interpreter
from continua.cli.output import utf8_stdout
from continua.cli.report import stderr_console
from continua.cli.shared_options import data_option, dialect_option, look_for_functions_in, policy_option
from continua.cli.tables import stdout_console
from continua.cli.typed_text import StatementReader, is_complete
from continua.errors import ContinuaError
from continua.policy import Policy
from continua.runtime.spark.masters import NONE

HISTORY_VARIABLE = "CONTINUA_HISTORY"


@click.command()
@dialect_option
@data_option("the current folder")
@click.option("--follow", is_flag=True, help="Read files on as they grow: queries over them are live.")
@click.option(
    "--idle-timeout",
    callback=seconds,
    metavar="D",
    help="Live queries do not wait for a source that has been silent for so long.",
)
@click.option(
    "--master",
    metavar="M",
    default=NONE,
    show_default=True,
    help="A Spark master on which queries run, such as local[2]; none works in this process.",
)
@policy_option
@click.option("--connect", "server", metavar="URL", help="Have a server run what is typed, and not this process.")
@click.option("--token", envvar="CONTINUA_TOKEN", metavar="TOKEN", help="By which that server knows who asks.")
@debug_option
@click.pass_context
def shell(
    ctx: click.Context,
    dialect: str,
    data: Path | None,
    follow: bool,
    idle_timeout: float | None,
    master: str,
    policy: Policy,
    server: str | None,
    token: str | None,
) -> None:
    """Read statements and answer each query as soon as its semicolon is typed; \\? lists the commands.

    When standard input is not a terminal, its statements are run without prompts, and the exit status is 1 if one of
    them failed. The history is kept in ~/.continua_history, or where CONTINUA_HISTORY says.
    """
    utf8_stdout()
    if server is not None:
        ctx.exit(1 if _connected(server, token) and not sys.stdin.isatty() else 0)
    look_for_functions_in(Path(), policy)
    with starting_spark(EngineOptions(master=master)) as spark:
        interpreter = Interpreter(
            data or Path(),
            dialect,
            stdout_console(),
            stderr_console(),
            follow=follow,
            idle_timeout=idle_timeout,
            master=master,
            spark=spark,
            policy=policy,
        )
        try:
            if sys.stdin.isatty():
                converse(interpreter)
            else:
                _read(interpreter)
        finally:
            interpreter.close()
    ctx.exit(1 if interpreter.failed and not sys.stdin.isatty() else 0)


def _connected(server: str, token: str | None) -> bool:
    """Has a server run what is typed; whether anything of it failed."""
    from continua.cli.remote_shell import RemoteShell
    from continua.client.remote import connect

    try:
        remote = RemoteShell(connect(server, token), stdout_console(), stderr_console())
    except ContinuaError as error:
        raise click.ClickException(error.diagnostics[0].message) from None
    if sys.stdin.isatty():
        remote.converse(PromptSession(history=_history(), lexer=PygmentsLexer(SqlLexer)))
    else:
        remote.read()
    return remote.failed


def _read(interpreter: Interpreter) -> None:
    """Standard input line by line, so that answers come as soon as they can."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="replace")
    reader = StatementReader()
    for line in sys.stdin:
        reader.text += line
        interpreter.take(reader, "<stdin>")
        if interpreter.done:
            return
    interpreter.take(reader, "<stdin>", last=True)


def converse(interpreter: Interpreter) -> None:
    """Prompts until the user leaves: Ctrl-C drops what is typed, Ctrl-D ends the session."""
    session: PromptSession[str] = PromptSession(
        history=_history(),
        completer=CatalogCompleter(
            interpreter.session.catalog,
            sorted({c.split()[0] for c in COMMANDS}),
            lambda: interpreter.session.queries,
        ),
        complete_while_typing=False,
        lexer=PygmentsLexer(SqlLexer),
        multiline=True,
        prompt_continuation=lambda width, *_: "." * (width - 2) + "> ",
        key_bindings=_keys(),
    )
    click.echo(f"Continua {__version__}. Statements end with ; and \\? lists the commands.", err=True)
    while not interpreter.done:
        try:
            text = session.prompt(f"{interpreter.session.catalog.settings.dialect}> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        interpreter.run(text, "input")


def _keys() -> KeyBindings:
    """Enter ends the input where its last statement is complete, and is a new line elsewhere."""
    keys = KeyBindings()

    @Condition
    def ready() -> bool:
        return is_complete(get_app().current_buffer.text)

    @keys.add("enter", filter=ready)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return keys


def _history() -> History:
    """In the user's file; a file that cannot be written must not keep anyone from working."""
    path = Path(os.environ.get(HISTORY_VARIABLE) or "~/.continua_history").expanduser()
    try:
        with path.open("a"):
            return FileHistory(str(path))
    except OSError:
        return InMemoryHistory()

"""The group of commands: each is imported when it is asked for, and ends in an exit status whatever happens."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Mapping
from importlib import import_module
from typing import Any, TextIO

import click

from continua.cli.interrupts import telling_lost_errors

INTERRUPTED = 130
"""What a shell reports of a program that Ctrl-C ended."""

_DEBUG = "continua.debug"


def _remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[_DEBUG] = True


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_remember,
    help="Show the traceback of an internal error.",
)


class ReaderGoneError(Exception):
    """Nobody reads standard output any more. It is told apart from other connections that break meanwhile."""


class Commands(click.Group):
    """Commands by name: ``run`` is the function of that name in the module ``continua.cli.run``."""

    def __init__(self, *args: Any, commands_told: Mapping[str, str], **kwargs: Any) -> None:
        """``commands_told``: what help says of each command."""
        super().__init__(*args, **kwargs)
        self._told = dict(commands_told)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the help text."""
        del ctx
        return list(self._told)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list of commands; to import them for it would take seconds."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(self._told.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name."""
        del ctx
        if cmd_name not in self._told:
            return None
        command: click.Command = getattr(import_module(f"continua.cli.{cmd_name}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command."""
        if sys.stdout is None:  # closed by whoever has started this process
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
        try:
            with telling_lost_errors():
                result = super().invoke(ctx)
                sys.stdout.flush()
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        except (BrokenPipeError, ReaderGoneError):
            _forget(sys.stdout)
            ctx.exit(0)
        except Exception as error:
            ctx.exit(_told(error))
        return result


def _told(error: Exception) -> int:
    """Tells of an error if that is possible; the exit status is that of a machine where it is not."""
    from continua.cli.report import MACHINE_STATUS

    try:
        return _tell(error)
    except OSError:
        _forget(sys.stderr)
        return MACHINE_STATUS


def _tell(error: Exception) -> int:
    """Tells what is wrong with the machine, or of an error that is Continua's own fault; the exit status."""
    from continua.runtime.machines import STANDARD_OUTPUT, machine_error

    found = machine_error(error, None if _can_print() else STANDARD_OUTPUT)
    if found is None:
        tell_internal(error)
        return 1
    from continua.cli.report import Report, exit_status

    if _debugs():
        traceback.print_exception(error)
    Report().error(found)
    return exit_status(found)


def _can_print() -> bool:
    """Whether standard output takes what is still buffered; if not, nobody tries again."""
    try:
        sys.stdout.flush()
    except OSError:
        _forget(sys.stdout)
        return False
    return True


def _debugs() -> bool:
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get(_DEBUG))


def tell_internal(error: Exception) -> None:
    """One line about an error that is Continua's own fault; a traceback is for --debug."""
    if _debugs():
        traceback.print_exception(error)
    first, *more = str(error).strip().splitlines() or [""]
    if more and more[0].startswith(": "):  # py4j has what went wrong in the JVM on a line of its own
        first += more[0]
    click.secho(f"internal error: {type(error).__name__}: {first}", err=True, fg="red", bold=True)


def _forget(stream: TextIO) -> None:
    """Nobody reads a stream: what is still buffered goes nowhere, so that the interpreter's last flush is quiet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)

"""``continua``: the group of commands, and what becomes of an exception that no command expects."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any

import click

from continua import __version__
from continua.cli.demo import demo
from continua.cli.explain import explain
from continua.cli.options import debug_option, wants_traceback
from continua.cli.report import Report
from continua.cli.run import run
from continua.cli.shell import shell
from continua.cli.verify import verify

INTERRUPTED = 130
"""What a shell reports of a program that Ctrl-C ended."""


class Commands(click.Group):
    """A group whose commands end in an exit status, whatever happens; a traceback is for --debug."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            _forget_stdout()
            ctx.exit(0)
        except Exception as error:
            if wants_traceback(ctx):
                traceback.print_exc()
            first = (str(error).strip().splitlines() or [""])[0]
            Report().failure(f"internal error: {type(error).__name__}: {first}", "--debug shows where")
            ctx.exit(1)
        return result


def _forget_stdout() -> None:
    """The reader has gone: what is still buffered goes nowhere, so that the interpreter's last flush is quiet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="continua")
@debug_option
def main() -> None:
    """Continuous queries over streams and relations, exact at every instant.

    \b
    continua demo                 an auction, three queries, and how their answers change
    continua run auction.sql      the answers of a script's queries, as JSON lines
    continua shell                statements one by one
    """


for command in (run, verify, explain, shell, demo):
    main.add_command(command)

"""``continua verify``: the engine against the reference semantics."""

from __future__ import annotations

from pathlib import Path

import click

from continua.cli.commands import debug_option
from continua.cli.options import data_option, dialect_option, script_argument, session_for
from continua.cli.report import Report
from continua.cli.script import Script


@click.command(short_help="Check the engine's answers against their definition.")
@script_argument
@click.option("--batch-rows", type=click.IntRange(min=1), metavar="N", help="At most N rows per source and epoch.")
@dialect_option
@data_option("the script's folder")
@debug_option
@click.pass_context
def verify(ctx: click.Context, script: Script, batch_rows: int | None, dialect: str, data: Path | None) -> None:
    """Compare the engine with the reference semantics on SCRIPT (- for standard input), at every instant where
    anything changes.

    There is no engine yet: the script is checked, and the exit status is never 0.
    """
    del batch_rows  # how an engine is fed, which changes nothing without one
    report = Report(script)
    with report.errors():
        outcomes = session_for(script, dialect, data).execute(script.text)
    count = sum(1 for outcome in outcomes if outcome.query is not None)
    report.note(f"{script.name} is well formed, with {count} {'query' if count == 1 else 'queries'}")
    report.failure("nothing was verified: there is no engine yet to compare with the reference semantics")
    ctx.exit(2)

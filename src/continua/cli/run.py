"""``continua run``: the answers of every query of a script, in time order."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from continua.cli.commands import debug_option
from continua.cli.engine_options import ENGINES, EngineOptions, engine_options, starting_spark
from continua.cli.script import Script
from continua.cli.shared_options import FORMATS, data_option, dialect_option, script_argument


@click.command()
@script_argument
@click.option("--format", "form", type=click.Choice(FORMATS), default=FORMATS[0], show_default=True, help="Of answers.")
@click.option("--at", metavar="T", help="Print what each query holds at T (an integer or an ISO timestamp) instead.")
@click.option("--all", "all_rows", is_flag=True, help="Show all rows of a table, not only the first 40 of a query.")
@dialect_option
@data_option("the script's folder")
@engine_options
@click.option("--keep-going", is_flag=True, help="With --checkpoint: go on without queries that fail on their data.")
@click.option("--engine", type=click.Choice(ENGINES), default=ENGINES[0], help="What answers the queries.")
@debug_option
@click.pass_context
def run(
    ctx: click.Context,
    script: Script,
    form: str,
    at: str | None,
    all_rows: bool,
    dialect: str,
    data: Path | None,
    batch_rows: int | None,
    checkpoint: Path | None,
    partitions: int | None,
    master: str,
    keep_going: bool,
    engine: str,
) -> None:
    """Execute the statements of SCRIPT (- for standard input), read its sources to their end, and print the answers
    of every query in time order.

    Answers go to standard output and everything else to standard error. The exit status is 0, or 1 when the script or
    its data is wrong, 2 when the command line is, or 3 when the machine is: its disk, its folders, Spark.
    """
    unused = {"--batch-rows": batch_rows, "--checkpoint": checkpoint, "--partitions": partitions}
    given = [name for name, value in unused.items() if value is not None]
    if ctx.get_parameter_source("master") is ParameterSource.COMMANDLINE:
        given.append("--master")
    options = EngineOptions(engine, batch_rows, checkpoint, partitions, master, keep_going=keep_going)
    with starting_spark(options) as spark:
        # What follows takes a second to import: Spark starts meanwhile.
        from continua.cli.run_script import run_script

        run_script(script, form, at, dialect, data, options, given, spark, all_rows)

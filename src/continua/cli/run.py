"""``continua run``: the answers of every query of a script, in time order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click
from click.core import ParameterSource

from continua.cli.commands import debug_option
from continua.cli.engine_options import ENGINES, EngineOptions, engine_options, starting_spark
from continua.cli.follow_options import TRIGGER, FollowOptions, follow_options
from continua.cli.script import Script
from continua.cli.shared_options import FORMATS, data_option, dialect_option, policy_option, script_argument
from continua.objects.urls import Place
from continua.policy import Policy


@click.command()
@script_argument
@click.option("--format", "form", type=click.Choice(FORMATS), default=FORMATS[0], show_default=True, help="Of answers.")
@click.option("--at", metavar="T", help="Print what each query holds at T (an integer or an ISO timestamp) instead.")
@click.option("--all", "all_rows", is_flag=True, help="Show all rows of a table, not only the first 40 of a query.")
@dialect_option
@data_option("the script's folder")
@engine_options
@follow_options
@policy_option
@click.option("--keep-going", is_flag=True, help="With --checkpoint or --follow: go on without failed queries.")
@click.option("--profile", is_flag=True, help="Tell how much of the time each stage of the work took.")
@click.option("--log-json", is_flag=True, help="Write messages as lines of JSON; with --follow a line for each epoch.")
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
    checkpoint: Place | None,
    partitions: int | None,
    master: str,
    follow: bool,
    trigger: float | None,
    until: str | None,
    duration: float | None,
    idle_timeout: float | None,
    max_rows: int | None,
    metrics: tuple[str, int] | None,
    policy: Policy,
    keep_going: bool,
    profile: bool,
    log_json: bool,
    engine: str,
) -> None:
    """Execute the statements of SCRIPT (- for standard input), read its sources to their end, and print the answers
    of every query in time order.

    With --follow, or where a source never ends, the run goes on: it answers while rows come, until Ctrl-C or SIGTERM. A
    terminal then shows what queries hold at the time; a pipe or a file gets what changes, epoch by epoch.

    Answers go to standard output and everything else to standard error. The exit status is 0, or 1 when the script or
    its data is wrong, 2 when the command line is, or 3 when the machine is: its disk, its folders, Spark.
    """
    unused = {"--batch-rows": batch_rows, "--checkpoint": checkpoint, "--partitions": partitions}
    given = [name for name, value in unused.items() if value is not None]
    if ctx.get_parameter_source("master") is ParameterSource.COMMANDLINE:
        given.append("--master")
    options = EngineOptions(engine, batch_rows, checkpoint, partitions, master, keep_going=keep_going, profile=profile)
    pace = TRIGGER if trigger is None else trigger
    following = FollowOptions(follow, pace, until, duration, idle_timeout, max_rows, metrics)
    if follow:
        other = None if engine == ENGINES[0] else engine
        refused = {"--at": at, "--batch-rows": batch_rows, "--engine": other, "--profile": profile or None}
        _refuse(refused, "does not go with --follow")
    only = {"--trigger": trigger, "--until": until, "--for": duration, "--idle-timeout": idle_timeout}
    chosen = ctx.get_parameter_source("form") is not ParameterSource.DEFAULT
    with starting_spark(options) as spark:
        # What follows takes a second to import: Spark starts meanwhile.
        from continua.cli.follow import follow_script, is_endless
        from continua.cli.run_script import prepared, run_script

        ready = prepared(script, dialect, data, options, policy, log_json)
        if follow or (at is None and batch_rows is None and engine == ENGINES[0] and is_endless(ready)):
            follow_script(ready, form if chosen else None, options, following, spark)
        else:
            _refuse({**only, "--max-rows-per-epoch": max_rows, "--metrics-port": metrics}, "goes with --follow only")
            run_script(ready, form, at, options, given, spark, all_rows)


def _refuse(options: Mapping[str, object], why: str) -> None:
    """Refuses options that were given and make no sense."""
    found = [name for name, value in options.items() if value is not None]
    if found:
        raise click.UsageError(f"{found[0]} {why}")

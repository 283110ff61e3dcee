"""``continua serve``: a session that others reach through the network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from continua.cli.commands import debug_option
from continua.cli.durations import seconds
from continua.cli.engine_options import EngineOptions, master_option, starting_spark
from continua.cli.places import PLACE
from continua.cli.shared_options import data_option, dialect_option
from continua.errors import ContinuaError
from continua.objects.urls import Place
from continua.policy import DATA, NOTHING, VARIABLE, Policy, read_policy


@click.command()
@click.option("--state", type=PLACE, help="Where catalog and answers are kept: a folder, or s3://, gs://, az://.")
@data_option("the current folder")
@dialect_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=8088, show_default=True, help="The port of HTTP.")
@click.option("--partitions", type=click.IntRange(min=1), metavar="P", help="How many parts work is divided into.")
@click.option(
    "--idle-timeout", callback=seconds, metavar="D", help="Do not wait for a source that has been silent for so long."
)
@click.option(
    "--policy",
    "policy_file",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar=VARIABLE,
    metavar="FILE",
    help="What others may have it call, read and write, as TOML.  [default: read what is in --data]",
)
@master_option
@debug_option
def serve(
    state: Place | None,
    data: Path | None,
    dialect: str,
    host: str,
    port: int,
    partitions: int | None,
    idle_timeout: float | None,
    policy_file: Path | None,
    master: str,
) -> None:
    """Serve queries to others by HTTP, until Ctrl-C or SIGTERM.

    What is defined, what runs and what was answered is in --state, and goes on after a restart; without it, it ends
    with the process.
    """
    from continua.server.listening import listen
    from continua.server.service import Service, ServiceOptions

    try:
        policy = _policy(policy_file, data)
    except ContinuaError as error:
        raise click.BadParameter(error.diagnostics[0].message, param_hint="--policy") from None
    options = ServiceOptions(state, data or Path(), dialect, master, partitions, idle_timeout, policy=policy)
    with starting_spark(EngineOptions(master=master)) as spark:
        if spark is not None:
            spark.session()
        try:
            service = Service(options)
            service.begin()
        except ContinuaError as error:
            raise click.ClickException(error.render()) from None
        try:
            listen(service, host, port)
        finally:
            service.close()


def _policy(file: Path | None, data: Path | None) -> Policy:
    """What a file says; else nothing but what is in a folder that was named for that may be read."""
    if file is not None:
        return read_policy(file)
    return NOTHING if data is None else replace(NOTHING, read=(DATA,))

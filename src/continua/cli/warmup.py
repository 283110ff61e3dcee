"""``continua warmup``: compiles what common queries use, so that no later run has to."""

from __future__ import annotations

import click

from continua.cli.commands import debug_option
from continua.runtime.machines import check_master
from continua.runtime.spark.masters import NONE


@click.command()
@click.option(
    "--master", metavar="M", default=NONE, help="A Spark master, such as spark://host:7077: on its executors too."
)
@debug_option
def warmup(master: str) -> None:
    """Compile the kernels that common queries use, for this machine, in all of its cores.

    Kernels are compiled when they are first needed for more than a few rows, and kept on the disk. This does so ahead
    of time. What is there already is not compiled again.
    """
    if master != NONE:
        check_master(master)
    # What follows takes a second to import.
    from continua.cli.compile_ahead import compile_ahead

    compile_ahead(master)

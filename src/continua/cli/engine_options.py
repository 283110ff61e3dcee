"""What the command line says about the engine, and Spark, which starts while everything else is still being read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from continua.cli.places import PLACE
from continua.objects.urls import Place
from continua.runtime.machines import check_master
from continua.runtime.spark.masters import MASTER, NONE, VARIABLE
from continua.runtime.spark.starting import StartingSpark, start_in_background

if TYPE_CHECKING:
    from continua.runs.bounded import BoundedOptions

Command = TypeVar("Command", bound=Callable[..., Any])
ENGINES = ("interval", "reference")
_POSITIVE = click.IntRange(min=1)


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What the command line says about the engine."""

    name: str | None = None
    batch_rows: int | None = None
    checkpoint: Place | None = None
    partitions: int | None = None
    master: str = NONE
    epoch_bytes: int | None = None
    """How much of files an epoch reads where somebody waits for the first answers."""
    keep_going: bool = False
    """Whether a query that fails on its data is dropped, where a checkpoint has begun with it."""
    profile: bool = False
    """Whether the run tells how long the stages of its tasks took."""

    @property
    def settings(self) -> BoundedOptions:
        """As the engine takes them."""
        from continua.runs.bounded import BoundedOptions

        return BoundedOptions(self.batch_rows, self.checkpoint, self.partitions)


def master_option(command: Command) -> Command:
    """--master, on which a command's queries run."""
    return click.option(
        "--master",
        metavar="M",
        envvar=VARIABLE,
        default=MASTER,
        show_default=True,
        help="The Spark master, such as local[2]; none works in this process, without Spark.",
    )(command)


def engine_options(command: Command) -> Command:
    """The options of a command that runs queries."""
    options = [
        click.option("--batch-rows", type=_POSITIVE, metavar="N", help="At most N rows per source and epoch."),
        click.option(
            "--checkpoint", type=PLACE, help="Where the engine keeps its state: a folder, or s3://, gs://, az://."
        ),
        click.option("--partitions", type=_POSITIVE, metavar="P", help="How many parts work is divided into."),
        master_option,
    ]
    for option in reversed(options):
        command = option(command)
    return command


@contextmanager
def starting_spark(options: EngineOptions) -> Iterator[StartingSpark | None]:
    """Spark on its way, unless the work is done in this process; it is stopped at the end."""
    if options.master == NONE or options.name == "reference":
        yield None
        return
    check_master(options.master)
    # Quick code is enough for the JVM: rows pass through it as blocks of bytes, and the work is done in Python.
    with start_in_background(options.master, small=True) as spark:
        yield spark

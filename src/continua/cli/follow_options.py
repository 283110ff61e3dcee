"""What the command line says about a run that goes on while rows come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from continua.cli.durations import seconds

Command = TypeVar("Command", bound=Callable[..., Any])
TRIGGER = 0.2
"""The seconds between the beginnings of epochs, unless something else is said."""


@dataclass(frozen=True, slots=True)
class FollowOptions:
    """How a run goes on."""

    follow: bool = False
    trigger: float = TRIGGER
    until: str | None = None
    duration: float | None = None
    idle_timeout: float | None = None
    max_rows: int | None = None
    metrics: tuple[str, int] | None = None
    """The host and the port at which figures are served."""


def _address(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, int] | None:
    """A host, by default this machine alone, and a port."""
    if value is None:
        return None
    host, _, port = value.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise click.BadParameter(f"{value!r} is no port: write 9100 or 0.0.0.0:9100", ctx=ctx, param=param)
    return host.strip("[]") or "127.0.0.1", int(port)


def follow_options(command: Command) -> Command:
    """The options of a run that goes on."""
    options = [
        click.option("--follow", is_flag=True, help="Go on while rows come, until Ctrl-C or SIGTERM."),
        click.option(
            "--trigger", callback=seconds, metavar="D", help="With --follow: from epoch to epoch.  [default: 200ms]"
        ),
        click.option("--until", metavar="T", help="With --follow: end when the instant T is answered."),
        click.option("--for", "duration", callback=seconds, metavar="D", help="With --follow: end after that time."),
        click.option(
            "--idle-timeout",
            callback=seconds,
            metavar="D",
            help="With --follow: do not wait for a source that has been silent for so long.",
        ),
        click.option(
            "--max-rows-per-epoch",
            "max_rows",
            type=click.IntRange(min=1),
            metavar="N",
            help="With --follow: at most N rows of each source are in an epoch.",
        ),
        click.option(
            "--metrics-port",
            "metrics",
            callback=_address,
            metavar="[HOST:]PORT",
            help="With --follow: serve figures for Prometheus at http://HOST:PORT/metrics.",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command

"""The entry point: ``continua`` and its commands."""

from __future__ import annotations

import click

from continua import __version__
from continua.cli.commands import Commands, debug_option


@click.group(
    cls=Commands,
    names=("run", "explain", "verify", "shell", "checkpoint", "nexmark", "demo"),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="continua")
@debug_option
def main() -> None:
    """Continuous queries over streams and relations, exact at every instant.

    \b
    continua demo                 an auction, three queries, and how their answers change
    continua run auction.sql      the answers of a script's queries, as JSON lines
    continua shell                statements one by one
    """

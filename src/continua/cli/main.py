"""The entry point: ``continua`` and its commands."""

from __future__ import annotations

import gc

import click

from continua import __version__
from continua.cli.commands import Commands, debug_option

COMMANDS = {
    "run": "Print the answers of a script's queries.",
    "explain": "Show what a script's queries mean.",
    "verify": "Check the engine's answers against their definition.",
    "shell": "Type statements and see their answers.",
    "serve": "Serve queries to others by HTTP.",
    "token": "Make a token for somebody who asks a server.",
    "checkpoint": "Look at the checkpoint of a run, check, copy or tidy it.",
    "nexmark": "Write the events of NEXMark as files.",
    "demo": "Watch five queries over an auction site.",
    "warmup": "Compile ahead of time what common queries use.",
}
"""The commands, and what the list of them says: it is shown without importing them."""
_COLLECTING = (50_000, 50, 100)
"""How much is made until Python looks for garbage. What a script makes stays, and 700, as usual, costs a fifth more."""


@click.group(
    cls=Commands,
    commands_told=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="continua")
@debug_option
def main() -> None:
    """Continuous queries over streams and relations, exact at every instant.

    \b
    continua demo                 an auction site, live, and five queries over it
    continua run auction.sql      the answers of a script's queries, as JSON lines
    continua shell                statements one by one
    """
    gc.set_threshold(*_COLLECTING)

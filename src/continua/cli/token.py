"""``continua token``: a token by which somebody may ask a server."""

from __future__ import annotations

import click

from continua.cli.commands import debug_option
from continua.cli.places import PLACE
from continua.objects.urls import Place


@click.command()
@click.argument("name")
@click.option("--state", type=PLACE, required=True, help="That of the server, which may be at work meanwhile.")
@click.option(
    "--role", type=click.Choice(("read", "write", "admin")), default="read", show_default=True, help="What they may do."
)
@click.option("--stream", "streams", multiple=True, metavar="PATTERN", help="Only such streams, relations and views.")
@click.option("--query", "queries", multiple=True, metavar="PATTERN", help="Only such queries.")
@debug_option
def token(name: str, state: Place, role: str, streams: tuple[str, ...], queries: tuple[str, ...]) -> None:
    """Make a token for NAME and print it. It is told once: only a digest of it is kept."""
    from continua.server.roles import Role
    from continua.server.service import store_at
    from continua.server.tokens import Tokens

    text, _ = Tokens(store_at(state)).create(name, Role[role.upper()], streams or None, queries or None)
    click.echo(text)

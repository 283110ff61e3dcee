"""``continua demo``: an auction, three queries, and what changes in their answers at which instant."""

from __future__ import annotations

from importlib.resources import as_file, files
from itertools import groupby

import click
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from continua.algebra.plan import Kind
from continua.cli.answers import changes
from continua.cli.options import debug_option
from continua.cli.output import utf8_stdout
from continua.cli.tables import OP_STYLES, new_table, stdout_console, value_cell
from continua.cli.values import instant_text
from continua.session import Answer, Outcome, Query, Session

SCRIPT = "auction.sql"
TOLD = {
    "high_bids": "Every bid of 200 or more. What enters the answer never leaves it: a stream.",
    "contested": "Items with two bids or more in the last ten minutes, looked at every five minutes.",
    "open_now": "Which auctions are open: opened, and not among those that have closed.",
}
_WIDTH = 96
_SIGNS = {"+": "enters", "-": "leaves", None: ""}


@click.command(short_help="Watch an auction: three queries and how their answers change.")
@debug_option
def demo() -> None:
    """Run three continuous queries over one morning of a small auction house, and show what changes at which instant."""
    utf8_stdout()
    console = stdout_console()
    console.width = min(console.width, _WIDTH)
    with as_file(files("continua") / "demo") as folder:
        session = Session(data=folder)
        outcomes = session.execute((folder / SCRIPT).read_text(encoding="utf-8"))
        ...

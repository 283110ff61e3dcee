"""``continua demo``: an auction, three queries, and what changes in their answers at which instant."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import as_file, files

import click
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from continua.cli.commands import debug_option
from continua.cli.output import utf8_stdout
from continua.cli.tables import add_value_columns, new_table, op_cell, stdout_console, value_cells
from continua.cli.values import instant_text
from continua.session import Answer, Outcome, Query, Session

SCRIPT = "auction.sql"
OPENING = "A morning at an auction house: three queries, and how their answers change."
LEGEND = "+ a row enters the answer, - a row leaves it"
TOLD = {
    "high_bids": ("Bids of 200 and more", "A filter. Its answer only grows, so it is a stream."),
    "contested": ("Items with two bids or more in ten minutes", "A sliding aggregate, renewed every five minutes."),
    "open_now": ("What can be bid for right now", "Opened and not yet closed: NOT IN over a changing relation."),
}
_INDENT = 3
_CLOCK = slice(11, 16)
"""Hours and minutes of an ISO timestamp: the demo's data are of one day and fall on whole minutes."""


@click.command(short_help="Watch three queries over an auction.")
@debug_option
def demo() -> None:
    """Run three continuous queries over one morning of an auction house and show what changes at which instant."""
    utf8_stdout()
    console = stdout_console()
    console.print(Text.assemble((OPENING, "bold"), f"\n{LEGEND}"))
    with as_file(files("continua") / "demo") as folder:
        session = Session(data=folder)
        outcomes = session.execute((folder / SCRIPT).read_text(encoding="utf-8"))
        registered = [(outcome, outcome.query) for outcome in outcomes if outcome.query is not None]
        for number, (outcome, query) in enumerate(registered, start=1):
            title, kind = TOLD[query.name]
            console.print(Text.assemble("\n", (f"{number}. {title}", "bold cyan"), f"\n   {kind}\n"))
            _print_text(console, outcome)
            console.print("", _indented(_changes(query, session.answers([query]))), sep="\n")
        console.print(Text(f"\nThe script and its data are in {folder}", style="dim"), soft_wrap=True)


def _print_text(console: Console, outcome: Outcome) -> None:
    """The query as it is written, and in full where defaults were applied."""
    for line in Syntax("", "sql", theme="ansi_dark").highlight(outcome.statement.text).split():
        console.print(Text(" " * _INDENT) + line)
    for notice in outcome.notices:
        if notice.condition == "EXPANDED_QUERY":
            console.print("", _indented(Text(notice.message, style="dim")), sep="\n")


def _indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, _INDENT), expand=False)


def _changes(query: Query, answers: Sequence[Answer]) -> Table:
    """What enters and leaves the answer; an instant is written once."""
    table = new_table()
    table.add_column("time")
    if relation := any(answer.op for answer in answers):
        table.add_column("")
    add_value_columns(table, query)
    before: int | None = None
    for answer in answers:
        clock = "" if answer.instant == before else (instant_text(answer.instant, query.domain) or "")[_CLOCK]
        table.add_row(clock, *([op_cell(answer)] if relation else []), *value_cells(query, answer))
        before = answer.instant
    return table

"""``continua demo``: an auction, three queries, and what changes in their answers at which instant."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import as_file, files
from itertools import pairwise

import click
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from continua.answers.encoding.column_texts import instant_texts
from continua.answers.query import Answer, Query
from continua.cli.commands import debug_option
from continua.cli.output import utf8_stdout
from continua.cli.table_output import op_column, value_columns
from continua.cli.tables import Column, print_table, stdout_console
from continua.cli.text_columns import block
from continua.session import Outcome, Session

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


@click.command()
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
            console.print()
            print_table(console, _changes(query, session.answers([query])), _INDENT)
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


def _changes(query: Query, answers: Sequence[Answer]) -> list[Column]:
    """What enters and leaves the answer; an instant is written once."""
    found = block(query, list(answers))
    clocks = [(text or "")[_CLOCK] for text in instant_texts(found.instants, query.domain).to_pylist()]
    again = [False, *(b.instant == a.instant for a, b in pairwise(answers))]
    times = Column("time", ["" if same else clock for clock, same in zip(clocks, again, strict=False)], fixed=True)
    return [times, *op_column(found, ""), *value_columns(found)]

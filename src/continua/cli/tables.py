"""Tables for people: of answers, and of what SHOW and DESCRIBE find."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from continua.cli.values import instant_text, plain_text
from continua.session import Answer, Query
from continua.types import STRING, DataType, Value

OP_STYLES = {"+": "green", "-": "red", "u": "yellow"}
_NULL = Text("NULL", style="dim")
_CONTROL = {c: f"\\x{c:02x}" for c in (*range(0x20), *range(0x7F, 0xA0))} | {9: "\\t", 10: "\\n", 13: "\\r"}
"""A value must not move the cursor or start a line of its own."""


def stdout_console() -> Console:
    """Standard output; a table that goes to a file or a pipe is as wide as it needs to be."""
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = 100_000
    return console


def new_table(*, title: str | None = None) -> Table:
    """An empty table in the one style that all tables have."""
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)


def text_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table of texts."""
    table = new_table()
    for name in header:
        table.add_column(clean(name), overflow="fold")
    for row in rows:
        table.add_row(*(clean(str(value)) for value in row))
    return table


def answer_table(query: Query, answers: Sequence[Answer], label: str = "t") -> Table:
    """The answers of one query: the instant, what happened to the row, the row."""
    title = f"{query.name}: {query.kind.value}" + ("" if answers else ", no answers")
    table = new_table(title=title)
    until, op = any(a.until is not None for a in answers), any(a.op is not None for a in answers)
    for name, shown in ((label, True), ("until", until), ("op", op)):
        if shown:
            table.add_column(name, no_wrap=True)
    types = query.types
    for name in query.columns:
        table.add_column(clean(name), overflow="fold", justify="right" if types[name].is_numeric else "left")
    for answer in answers:
        cells: list[Text] = [_instant(answer.instant, query)]
        cells += [Text("") if answer.until is None else _instant(answer.until, query)] if until else []
        cells += [Text(answer.op or "", style=OP_STYLES.get(answer.op or "", ""))] if op else []
        row = dict(zip(answer.columns, answer.row, strict=True))
        cells += [value_cell(row[n], types[n]) if n in row else Text("") for n in query.columns]
        table.add_row(*cells)
    return table


def value_cell(value: Value, of: DataType = STRING) -> Text:
    """A value as a cell."""
    return _NULL if value is None else clean(plain_text(value, of))


def clean(text: str) -> Text:
    """Text on one line, without anything that a terminal would obey."""
    return Text(text.translate(_CONTROL))


def _instant(instant: int, query: Query) -> Text:
    return Text(instant_text(instant, query.domain) or "∞")

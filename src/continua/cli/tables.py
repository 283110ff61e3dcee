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
from continua.types import DataType, Value

_OP_STYLES = {"+": "green", "-": "red", "u": "yellow"}
_CONTROL = {c: f"\\x{c:02x}" for c in (*range(0x20), *range(0x7F, 0xA0))} | {9: "\\t", 10: "\\n", 13: "\\r"}
"""A value must not move the cursor or start a line of its own."""


class _Stdout(Console):
    def on_broken_pipe(self) -> None:
        """Rich would end the program with status 1, which means that the query is wrong."""
        raise BrokenPipeError


def stdout_console() -> Console:
    """Standard output."""
    return as_wide_as_needed(_Stdout(file=sys.stdout, highlight=False, markup=False, emoji=False))


def as_wide_as_needed(console: Console) -> Console:
    """A console whose tables, where they go to a file or a pipe, are not squeezed into a screen's width."""
    if not console.is_terminal:
        console.width = 100_000
    return console


def new_table() -> Table:
    """An empty table in the one style that all tables have."""
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)


def text_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A table of texts."""
    table = new_table()
    for name in header:
        table.add_column(clean(name), overflow="fold")
    for row in rows:
        table.add_row(*(clean(str(value)) for value in row))
    return table


def print_answers(console: Console, query: Query, answers: Sequence[Answer], label: str = "t") -> None:
    """The answers of one query: the instant, what happened to the row, the row."""
    console.print(Text(f"{query.name}: {query.kind.value}" + ("" if answers else ", no answers"), style="bold"))
    if answers:
        console.print(_answer_table(query, answers, label))
    console.print()


def _answer_table(query: Query, answers: Sequence[Answer], label: str) -> Table:
    table = new_table()
    until, op = any(a.until is not None for a in answers), any(a.op is not None for a in answers)
    for name in (label, *(["until"] if until else []), *(["op"] if op else [])):
        table.add_column(name, no_wrap=True)
    add_value_columns(table, query)
    for answer in answers:
        cells = [_instant(answer.instant, query)]
        cells += [Text() if answer.until is None else _instant(answer.until, query)] if until else []
        cells += [op_cell(answer)] if op else []
        table.add_row(*cells, *value_cells(query, answer))
    return table


def add_value_columns(table: Table, query: Query) -> None:
    """A column for each column of the query; numbers stand at the right."""
    for name, of in query.types.items():
        table.add_column(clean(name), overflow="fold", justify="right" if of.is_numeric else "left")


def value_cells(query: Query, answer: Answer) -> list[Text]:
    """The values of an answer; a deletion by key leaves the other columns empty."""
    row = dict(zip(answer.columns, answer.row, strict=True))
    return [value_cell(row[name], of) if name in row else Text() for name, of in query.types.items()]


def value_cell(value: Value, of: DataType) -> Text:
    """A value as a cell."""
    return Text("NULL", style="dim") if value is None else clean(plain_text(value, of))


def op_cell(answer: Answer) -> Text:
    """Whether the row comes, goes or takes the place of another."""
    return Text(answer.op or "", style=_OP_STYLES.get(answer.op or "", ""))


def clean(text: str) -> Text:
    """Text on one line, without anything that a terminal would obey."""
    return Text(text.translate(_CONTROL))


def _instant(instant: int, query: Query) -> Text:
    return Text(instant_text(instant, query.domain) or "∞")

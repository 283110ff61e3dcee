"""Answers as tables: the first of them, or all."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from continua.answers.answer_columns import Part
from continua.answers.encoding.column_texts import instant_texts
from continua.answers.encoding.text_columns import AnswerTexts, block, sliced
from continua.answers.query import Query
from continua.cli.tables import Column, table_lines

SHOWN = 40
"""So many rows of a query are shown where not all are asked for."""
OP_STYLES = {"+": "green", "-": "red", "u": "yellow"}


def print_answers(
    console: Console, query: Query, part: Part, label: str = "t", limit: int | None = None, more: str = ""
) -> None:
    """The answers of one query: the instant, what happened to the row, the row; ``more`` tells how to see the rest."""
    console.print(Text(f"{query.name}: {query.kind.value}" + ("" if len(part) else ", no answers"), style="bold"))
    console.file.writelines(answer_lines(console, query, part, label, limit))
    rest = 0 if limit is None else len(part) - limit
    if rest > 0:
        console.print(Text(f"... and {rest:,} more {'row' if rest == 1 else 'rows'}: {more}", style="dim"))
    console.print()


def answer_lines(
    console: Console, query: Query, part: Part, label: str = "t", limit: int | None = None
) -> Iterator[str]:
    """The lines of the table of a query's answers; none where it has none."""
    if len(part):
        found = block(query, sliced(part, 0, len(part) if limit is None else limit))
        yield from table_lines([*_times(found, label), *value_columns(found)], console)


def value_columns(found: AnswerTexts) -> list[Column]:
    """A column for each column of the query; numbers stand at the right."""
    texts = zip(found.query.types.items(), found.plain_columns(), strict=True)
    return [Column(name, column.to_pylist(), of.is_numeric) for (name, of), column in texts]


def op_column(found: AnswerTexts, name: str = "op") -> list[Column]:
    """Whether rows come, go or take the place of others, if any do."""
    return [] if found.ops is None else [Column(name, found.ops.fill_null("").to_pylist(), False, OP_STYLES, True)]


def _times(found: AnswerTexts, label: str) -> list[Column]:
    domain = found.query.domain
    columns = [Column(label, instant_texts(found.instants, domain).fill_null("∞").to_pylist(), fixed=True)]
    if found.ends is not None:
        ends, last = found.ends
        texts = instant_texts(ends, domain).fill_null("∞").to_pylist()
        cells = [text if lasts else "" for text, lasts in zip(texts, last.to_pylist(), strict=True)]
        columns.append(Column("until", cells, fixed=True))
    return columns + op_column(found)

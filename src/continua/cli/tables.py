"""Tables for people, all in one style: columns of texts, side by side, as wide as they need to be."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from rich.cells import cell_len, chop_cells
from rich.console import Console

_GAP = 3
_NARROW = 8
"""A column is not made narrower than this."""
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
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


@dataclass(frozen=True)
class Column:
    """A column of a table: its cells, of which None is NULL, and how some of them look."""

    name: str
    cells: Sequence[str | None]
    right: bool = False
    styles: dict[str, str] = field(default_factory=dict)
    fixed: bool = False
    """It is never made narrower than its cells."""


def text_columns(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[Column]:
    """The columns of a table of texts."""
    cells = [[str(value) for value in row] for row in rows]
    return [Column(name, [row[place] for row in cells]) for place, name in enumerate(header)]


def print_table(console: Console, columns: Sequence[Column], indent: int = 0) -> None:
    """Writes a table to a console."""
    console.file.writelines(table_lines(columns, console, indent))
    console.file.flush()


def table_lines(columns: Sequence[Column], console: Console, indent: int = 0) -> Iterator[str]:
    """The lines of a table that fits on a console: where it is narrow, long cells go on in the next line."""
    coloured = console.is_terminal and console.color_system is not None
    headers = [clean(column.name) for column in columns]
    cells = [_cleaned(column.cells) for column in columns]
    widths = [max(cell_len(header), _width(texts)) for header, texts in zip(headers, cells, strict=True)]
    gaps = _GAP * (len(columns) - 1)
    room = console.width - indent - gaps
    layout = _side_by_side
    if sum(widths) > room:
        widths, layout = _narrowed(widths, columns, room), _folded
    left, gap = " " * indent, " " * _GAP
    for row in layout([[header] for header in headers], widths, columns, False):
        yield f"{left}{_styled(gap.join(row).rstrip(), 'bold' if coloured else '')}\n"
    yield f"{left}{'─' * (sum(widths) + gaps)}\n"
    for row in layout(cells, widths, columns, coloured):
        yield f"{left}{gap.join(row).rstrip()}\n"


def clean(text: str) -> str:
    """Text on one line, without anything that a terminal would obey."""
    return text if text.isprintable() else text.translate(_CONTROL)


def _cleaned(cells: Sequence[str | None]) -> Sequence[str | None]:
    if all(map(str.isprintable, filter(None, cells))):
        return cells
    return [None if cell is None else clean(cell) for cell in cells]


def _width(cells: Sequence[str | None]) -> int:
    texts = _texts(cells)
    return max(map(len if _one_wide(texts) else cell_len, texts), default=0)


def _texts(cells: Sequence[str | None]) -> list[str]:
    return ["NULL" if cell is None else cell for cell in cells]


def _one_wide(texts: list[str]) -> bool:
    """Whether every character takes one place on the screen."""
    return all(map(str.isascii, texts))


def _narrowed(widths: Sequence[int], columns: Sequence[Column], room: int) -> list[int]:
    """Widths that fit into a room where that is possible: the widest columns give way."""
    found = list(widths)
    most = max(widths)
    while sum(found) > room and most > _NARROW:
        most -= 1
        found = [w if c.fixed else min(w, most) for w, c in zip(widths, columns, strict=True)]
    return found


def _side_by_side(
    cells: Sequence[Sequence[str | None]], widths: Sequence[int], columns: Sequence[Column], coloured: bool
) -> Iterator[tuple[str, ...]]:
    """Rows of which every cell has its column's width."""
    made = [_padded(c, width, column, coloured) for c, width, column in zip(cells, widths, columns, strict=True)]
    return zip(*made, strict=True)


def _folded(
    cells: Sequence[Sequence[str | None]], widths: Sequence[int], columns: Sequence[Column], coloured: bool
) -> Iterator[tuple[str, ...]]:
    """The same where cells may be longer: they go on in further lines."""
    for row in zip(*cells, strict=True):
        parts = [
            [cell] if cell is None else chop_cells(cell, width) or [""] for cell, width in zip(row, widths, strict=True)
        ]
        lines = list(zip_longest(*parts, fillvalue=""))
        yield from _side_by_side(list(zip(*lines, strict=True)), widths, columns, coloured)


def _padded(cells: Sequence[str | None], width: int, column: Column, coloured: bool) -> list[str]:
    texts = _texts(cells)
    if _one_wide(texts):
        made = [text.rjust(width) for text in texts] if column.right else [text.ljust(width) for text in texts]
    else:
        spaces = [" " * (width - cell_len(text)) for text in texts]
        made = [s + t if column.right else t + s for s, t in zip(spaces, texts, strict=True)]
    if not coloured:
        return made
    styles = ["dim" if cell is None else column.styles.get(cell, "") for cell in cells]
    return [_styled(text, style) for text, style in zip(made, styles, strict=True)]


def _styled(text: str, style: str) -> str:
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if style else text

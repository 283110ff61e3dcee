"""Contents for people: as text, as HTML for notebooks, and as tables of other libraries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

import pyarrow as pa

from continua.answers.encoding.value_texts import plain_text
from continua.sqltext.duckdb_types import from_duckdb, type_of

if TYPE_CHECKING:
    import pandas as pd

_ROWS = 20
"""So many rows are shown unless more are asked for."""


class ShownContent(ABC):
    """Something that has a content, under the names that DataFrames of Spark have for looking at it."""

    __slots__ = ()

    @abstractmethod
    def toArrow(self) -> pa.Table:  # noqa: N802
        """The content as a table of Arrow."""

    def toPandas(self) -> pd.DataFrame:  # noqa: N802
        """The content as a DataFrame of pandas."""
        return self.toArrow().to_pandas()

    def show(self, n: int = _ROWS) -> None:
        """Prints the first rows of the content."""
        print(content_text(self.toArrow(), n))

    def _repr_html_(self) -> str:
        """The first rows of the content, for notebooks."""
        return content_html(self.toArrow())


def content_text(table: pa.Table, rows: int = _ROWS) -> str:
    """The first rows of a table side by side, and how many there are."""
    lines = [tuple(table.column_names), *_cells(table, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(table.num_columns)]
    shown = [" | ".join(text.ljust(w) for text, w in zip(line, widths, strict=True)).rstrip() for line in lines]
    rule = "-+-".join("-" * w for w in widths)
    return "\n".join([shown[0], rule, *shown[1:], _count(table, rows)])


def content_html(table: pa.Table, rows: int = _ROWS) -> str:
    """The same as a table of HTML."""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.column_names)
    body = "".join(f"<tr>{''.join(f'<td>{escape(t)}</td>' for t in line)}</tr>" for line in _cells(table, rows))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape(_count(table, rows))}</p>"


def _cells(table: pa.Table, rows: int) -> Iterator[tuple[str, ...]]:
    first = table.slice(0, max(rows, 0))
    if not first.num_columns:
        return iter([()] * first.num_rows)
    types = [type_of(field.type) for field in first.schema]
    columns = [
        ["NULL" if v is None else plain_text(from_duckdb(v, of), of) for v in column.to_pylist()]
        for column, of in zip(first.columns, types, strict=True)
    ]
    return zip(*columns, strict=True)


def _count(table: pa.Table, rows: int) -> str:
    count = table.num_rows
    told = "1 row" if count == 1 else f"{count} rows"
    return told if count <= rows else f"{told}, {max(rows, 0)} of them shown"

"""What a statement did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pyarrow as pa

from continua.answers.answer_tables import content_table
from continua.answers.query import Query
from continua.answers.shown_content import ShownContent
from continua.errors import Diagnostic
from continua.lang.statements import Statement
from continua.windows.occurrences import Row


@dataclass(frozen=True)
class AskedContent(ShownContent):
    """What SELECT ... AT has found: the rows of a query's relation at an instant."""

    query: Query
    instant: int
    rows: tuple[Row, ...]

    def as_query(self) -> Query:
        """The query with what was found as its content."""
        return replace(self.query, content=lambda _: self.toArrow())

    def toArrow(self) -> pa.Table:  # noqa: N802
        """The rows as a table of Arrow."""
        return content_table(self.query, self.rows)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a statement did: registered a query, explained one, or produced text or a table for the reader."""

    statement: Statement
    query: Query | None = None
    explained: Query | None = None
    """The query that EXPLAIN asks about: it is not registered."""
    text: str | None = None
    header: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
    notices: tuple[Diagnostic, ...] = ()
    content: AskedContent | None = None
    """What SELECT ... AT has found."""
    later: Callable[[], AskedContent | None] | None = field(default=None, compare=False, repr=False)
    """What it does once its whole script is known to be right."""

    @property
    def answering(self) -> Query | None:
        """The query that was registered, or the one that SELECT ... AT has answered."""
        return self.query if self.content is None else self.content.as_query()

    def done(self) -> Outcome:
        """When that has been done."""
        return self if self.later is None else replace(self, later=None, content=self.later())

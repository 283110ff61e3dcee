"""What the live queries on a screen hold, as texts: kept up to date by what changes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from heapq import nsmallest
from itertools import islice

from continua.algebra.base import Kind
from continua.answers.answer_columns import Part
from continua.answers.answer_tables import content_table
from continua.answers.encoding.column_texts import instant_texts, plain_texts
from continua.answers.encoding.text_columns import AnswerTexts, block
from continua.answers.query import Query
from continua.windows.occurrences import Row

Cells = tuple[str | None, ...]
_MOST = 100_000
"""Of a query that holds more rows than that only their number is known."""
_LATEST = 100


class LiveContent:
    """The rows that a query's relation holds, or the latest elements of its stream; and what changed last."""

    def __init__(self, query: Query, rows: Sequence[Row]) -> None:
        """``rows``: what it holds at the beginning."""
        self.query = query
        self.changes: deque[tuple[str, str, Cells]] = deque(maxlen=_LATEST)
        """The latest changes: when, what, and the row."""
        self.changed = 0
        """How many there were."""
        self.size = len(rows)
        self._rows: Counter[Cells] | None = Counter() if len(rows) <= _MOST else None
        if self._rows is not None and rows:
            columns = [plain_texts(column).to_pylist() for column in content_table(query, rows).columns]
            self._rows.update(zip(*columns, strict=True))

    def add(self, part: Part) -> None:
        """Takes in the answers of an epoch."""
        if not len(part):
            return
        found = block(self.query, part)
        self.changed += len(part)
        rows = list(_rows(found))
        ops = [""] * len(rows) if found.ops is None else found.ops.fill_null("").to_pylist()
        times = instant_texts(found.instants, self.query.domain).to_pylist()
        last = slice(max(len(rows) - _LATEST, 0), None)
        self.changes.extend(zip(times[last], ops[last], rows[last], strict=True))
        if self.query.kind is Kind.RELATION:
            self._change(zip(ops, rows, strict=True), ops.count("+") - ops.count("-"))

    def _change(self, changes: Iterable[tuple[str, Cells]], more: int) -> None:
        self.size += more
        if self._rows is None:
            return
        for op, row in changes:
            left = self._rows[row] + (1 if op == "+" else -1)
            if left:
                self._rows[row] = left
            else:
                del self._rows[row]
        if len(self._rows) > _MOST:
            self._rows = None

    def first(self, count: int) -> list[Cells]:
        """The first rows that it holds, in their order; none where there are too many to know them."""
        if not self._rows:
            return []
        distinct = nsmallest(count, self._rows, key=_order)
        return list(islice((row for row in distinct for _ in range(self._rows[row])), count))


def _rows(found: AnswerTexts) -> Iterable[Cells]:
    return zip(*(column.to_pylist() for column in found.plain_columns()), strict=True)


def _order(row: Cells) -> tuple[tuple[bool, float, str], ...]:
    """Numbers by size, and before texts."""
    return tuple(_key(cell) for cell in row)


def _key(cell: str | None) -> tuple[bool, float, str]:
    if cell is None:
        return False, float("-inf"), ""
    try:
        return False, float(cell), ""
    except ValueError:
        return True, 0.0, cell

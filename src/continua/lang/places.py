"""Where things stand: from character offsets, as sqlglot keeps them, to lines and columns."""

from __future__ import annotations

import re
from bisect import bisect_right

from sqlglot import exp

from continua.errors import Span


class Positions:
    """The lines of a script, for turning offsets into spans."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def span(self, start: int, end: int) -> Span:
        """The span of the characters from ``start`` to ``end``, both included."""
        start = min(max(start, 0), len(self.text))
        line = bisect_right(self._starts, start)
        column = start - self._starts[line - 1] + 1
        return Span(line, column, max(end - start + 1, 1))

    def of(self, node: exp.Expr) -> Span | None:
        """The span of a syntax tree: from its first word with a known place to its last."""
        starts: list[int] = []
        ends: list[int] = []
        for part in node.walk():
            meta = part.meta
            if meta.get("start") is not None:
                starts.append(int(meta["start"]))
                ends.append(int(meta["end"]))
        if not starts:
            return None
        start = min(starts)
        line_end = self.text.find("\n", start)
        end = max(ends)
        return self.span(start, end if line_end < 0 else min(end, line_end - 1))

"""What is kept of relations whose changes are logged, beside these: marks, and contents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from continua.physical.rows import as_rows
from continua.sources.logged import Logged, Mark

_MARK, _CONTENT = "\0mark", "\0content"
"""Behind the names of relations, in which no such letter can be."""


@dataclass(frozen=True, slots=True)
class LogParts:
    """The segments of a batch by what they are."""

    rows: dict[str, pa.Table]
    marks: dict[str, Mark]
    contents: dict[str, pa.Table]


def log_segments(logged: Mapping[str, Logged]) -> dict[str, pa.Table]:
    """Marks and contents as segments."""
    found: dict[str, pa.Table] = {}
    for name, part in logged.items():
        found[name + _MARK] = _forever(pa.table({"mark": [json.dumps(part.mark)]}))
        if part.content is not None:
            names = [n for n in part.content.column_names if n.startswith("c")]
            found[name + _CONTENT] = _forever(part.content.select(names))
    return found


def log_parts(segments: Mapping[str, pa.Table]) -> LogParts:
    """What the segments of a batch are."""
    found = LogParts({}, {}, {})
    for name, table in segments.items():
        if name.endswith(_MARK):
            found.marks[name.removesuffix(_MARK)] = json.loads(table.column(0)[0].as_py())
        elif name.endswith(_CONTENT):
            found.contents[name.removesuffix(_CONTENT)] = table
        else:
            found.rows[name] = table
    return found


def _forever(table: pa.Table) -> pa.Table:
    """A table as one that has intervals, as all that is kept has."""
    start = np.zeros(table.num_rows, np.int64)
    return as_rows(table, start, start + 1)

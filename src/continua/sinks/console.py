"""The console: a line for each answer."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pyarrow as pa

from continua.answers.encoding.column_texts import json_texts, text_of
from continua.answers.encoding.record_texts import answer_lines, answer_rows
from continua.sinks.sink import Sink


@dataclass(frozen=True)
class ConsoleSink(Sink):
    """Writes a line for each answer, as ``continua run`` does; of a deletion only the key, where the query has one."""

    query: str
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()

    def write(self, epoch: int, answers: pa.Table) -> None:  # noqa: ARG002
        """Writes an epoch's answers."""
        rows = answer_rows(self.columns, self.key, answers)
        ops = answers.column(1).combine_chunks() if answers.num_columns > len(self.columns) + 1 else None
        sys.stdout.write(text_of(answer_lines(self.query, "t", json_texts(answers.column(0)), None, ops, rows)))
        sys.stdout.flush()

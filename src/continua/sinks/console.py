"""The console: an answer a line."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from continua.instants import show_timestamp
from continua.sinks.base import Sink


@dataclass(frozen=True)
class ConsoleSink(Sink):
    """Writes an answer a line, as ``continua run`` does."""

    query: str

    def write(self, epoch: int, answers: pa.Table) -> None:  # noqa: ARG002
        """Writes an epoch's answers."""
        for row in answers.to_pylist():
            instant = row.pop("t")
            line = {"query": self.query, "t": show_timestamp(instant) if isinstance(instant, datetime) else instant}
            if "op" in answers.column_names[1:2]:
                line["op"] = row.pop("op")
            sys.stdout.write(json.dumps({**line, "row": row}, default=str, ensure_ascii=False) + "\n")
        sys.stdout.flush()

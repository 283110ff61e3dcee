"""What a live run has done in all its epochs together."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from continua.answers.relation_behind import helped
from continua.runtime.progress import Progress


@dataclass
class Totals:
    """Counts since the process has begun. It is read by other threads than the one that counts."""

    epochs: int = 0
    seconds: float = 0.0
    """What epochs took, from their intents to their manifests."""
    last_seconds: float = 0.0
    rows: Counter[str] = field(default_factory=Counter)
    """By source, those that came in time."""
    late: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    """By query, the rows of its results."""
    query_seconds: dict[str, float] = field(default_factory=dict)
    """By query, what its operators took."""
    last_query_seconds: dict[str, float] = field(default_factory=dict)
    """The same of the last epoch."""
    state_bytes: int = 0
    state_rows: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, done: Progress) -> None:
        """Counts an epoch."""
        took = done.seconds.get("run", 0.0) + done.seconds.get("commit", 0.0)
        with self.lock:
            self.epochs += 1
            self.seconds += took
            self.last_seconds = took
            self.rows.update(done.rows_in)
            self.late.update(done.late)
            self.answers.update(done.rows_out)
            for query, seconds in done.query_seconds.items():
                self.query_seconds[query] = self.query_seconds.get(query, 0.0) + seconds
            self.last_query_seconds = done.query_seconds
            self.state_bytes = done.state_bytes
            self.state_rows = sum(done.state_rows.values())


def by_whom_it_is_for(seconds: Mapping[str, float]) -> dict[str, float]:
    """What queries took, with what those took that keep the relations behind them."""
    found: dict[str, float] = {}
    for name, took in seconds.items():
        found[helped(name)] = found.get(helped(name), 0.0) + took
    return found

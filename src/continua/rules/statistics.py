"""What is known of the inputs: how fast they are, how large, and how many different values a column has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

DEFAULT_RATE = 1.0
"""Elements of a stream per instant, where nothing is known."""
DEFAULT_ROWS = 1000.0
"""Rows of a stored relation, where nothing is known."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """By the name of a source, in lower case; columns by their short names."""

    rates: Mapping[str, float] = field(default_factory=dict)
    rows: Mapping[str, float] = field(default_factory=dict)
    distinct: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def rate(self, source: str) -> float:
        """Elements per instant."""
        return self.rates.get(source.casefold(), DEFAULT_RATE)

    def size(self, source: str) -> float:
        """Rows of a stored relation."""
        return self.rows.get(source.casefold(), DEFAULT_ROWS)

    def values(self, source: str, column: str) -> float | None:
        """Different values of a column, if that is known."""
        return self.distinct.get((source.casefold(), column.casefold()))

"""How the rows of an operator's input are distributed over the partitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Anywhere:
    """No requirement."""


@dataclass(frozen=True, slots=True)
class ByKey:
    """Rows with equal values in these columns are in one partition."""

    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Alone:
    """All rows are in one partition."""


@dataclass(frozen=True, slots=True)
class Everywhere:
    """Every partition has all rows."""


Distribution: TypeAlias = Anywhere | ByKey | Alone | Everywhere


def by_key(columns: tuple[int, ...]) -> Distribution:
    """Rows with equal keys together; without keys, all of them."""
    return ByKey(columns) if columns else Alone()

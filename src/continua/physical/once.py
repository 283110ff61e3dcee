"""Work on tables that is done once for the same ones: queries that share all their operators have the same answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import pyarrow as pa

T = TypeVar("T")


class Once(Generic[T]):
    """A function of tables that remembers what it gave; tables are the same if they are one object."""

    def __init__(self, work: Callable[..., T]) -> None:
        self._work = work
        self._done: dict[tuple[object, ...], tuple[tuple[object, ...], T]] = {}

    def __call__(self, *arguments: object) -> T:
        key = tuple(id(a) if isinstance(a, pa.Table) else a for a in arguments)
        if key not in self._done:
            # the tables are kept along, so that no other one can have their place in memory
            self._done[key] = arguments, self._work(*arguments)
        return self._done[key][1]


def together(*tables: pa.Table) -> pa.Table:
    """The rows of tables, one after the other."""
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables)


def distinct(tables: Iterable[pa.Table]) -> list[pa.Table]:
    """Tables, each once."""
    return list({id(table): table for table in tables}.values())

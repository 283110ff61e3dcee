"""Schemas: the named, typed columns of a plan's rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from continua.algebra.expr import Column
from continua.types import DataType

_QUALIFIER = re.compile(r"^(?!\d+\.)[^.\s()]+\.")


@dataclass(frozen=True, slots=True)
class Field:
    """A column. A hidden one (the ordering column) is left out of ``*`` but may be named."""

    name: str
    type: DataType
    nullable: bool = True
    hidden: bool = False

    @property
    def column(self) -> Column:
        """A reference to it."""
        return Column(self.name, self.type, self.nullable)

    @property
    def short(self) -> str:
        """The name without the qualifier of the FROM item."""
        return _QUALIFIER.sub("", self.name, count=1)


@dataclass(frozen=True)
class Schema:
    """The columns of a row, in order, with names that are unique."""

    fields: tuple[Field, ...]

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(f.name for f in self.fields)

    @cached_property
    def types(self) -> tuple[DataType, ...]:
        """The column types, in order."""
        return tuple(f.type for f in self.fields)

    def get(self, name: str) -> Field | None:
        """The column of a name."""
        return next((f for f in self.fields if f.name == name), None)

    def duplicates(self) -> list[str]:
        """Names that occur more than once."""
        if len({n.casefold() for n in self.names}) == len(self):
            return []
        names = Counter(n.casefold() for n in self.names)
        return sorted({n for n in self.names if names[n.casefold()] > 1})

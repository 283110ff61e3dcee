"""Calls of aggregates as text: what the declaration of an aggregate makes the SQL of that defines it.

The text is Spark's SQL with DuckDB's functions in it; it is translated into DuckDB's as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from continua.types import DataType

EXACT = "CONTINUA_EXACT"
"""DuckDB's name for the exact value of an aggregate of doubles: it takes the aggregate's name and a list."""
AVERAGE = "CONTINUA_AVERAGE"
"""DuckDB's name for the exact average of decimals: it takes them as texts, and the scale of the result."""


@dataclass(frozen=True, slots=True)
class WrittenCall:
    """A call whose arguments and condition are written already."""

    function: str
    arguments: tuple[str, ...]
    types: tuple[DataType, ...]
    """The types of the arguments."""
    constants: tuple[bool, ...]
    """Which arguments are constants."""
    result: DataType
    distinct: bool
    condition: str | None
    """What FILTER asks."""

    @property
    def only_different(self) -> str:
        """``DISTINCT`` if it was written."""
        return "DISTINCT " if self.distinct else ""

    @property
    def of_doubles(self) -> bool:
        """Whether the first argument is a floating-point number."""
        return self.types[0].name in ("FLOAT", "DOUBLE")

    def filter(self, *more: str) -> str:
        """The FILTER clause, with further conditions in front of the one that was written; empty without any."""
        parts = [*more, *([] if self.condition is None else [self.condition])]
        return f" FILTER (WHERE {' AND '.join(parts)})" if parts else ""

    def order(self, direction: str, *places: int) -> str:
        """The ORDER BY clause by arguments. Constants order nothing: DuckDB refuses them."""
        keys = [f"{self.arguments[place]}{direction}" for place in places if not self.constants[place]]
        return f" ORDER BY {', '.join(keys)}" if keys else ""


AggregateSql: TypeAlias = Callable[[WrittenCall], str]
"""Writes what a call means."""


def plain_call(call: WrittenCall) -> str:
    """DuckDB's aggregate of the same name."""
    return f"{call.function}({call.only_different}{', '.join(call.arguments)}){call.filter()}"


def exact_call(call: WrittenCall) -> str:
    """The exact value, rounded once: an answer must depend neither on the order of rows nor on cancellation."""
    values = f"LIST({call.only_different}CAST({call.arguments[0]} AS DOUBLE)){call.filter()}"
    return f"{EXACT}('{call.function}', {values})"


def sum_call(call: WrittenCall) -> str:
    """A sum: of doubles the exact one."""
    return exact_call(call) if call.of_doubles else plain_call(call)


def average_call(call: WrittenCall) -> str:
    """An average: of doubles and decimals the exact one."""
    if call.of_doubles or call.result.name != "DECIMAL":
        return sum_call(call)
    values = f"LIST({call.only_different}CAST({call.arguments[0]} AS STRING)){call.filter()}"
    return f"{AVERAGE}({values}, {call.result.scale})"


def count_call(call: WrittenCall) -> str:
    """How many rows there are, or how many have values in all arguments."""
    arguments = call.arguments
    if not arguments:
        return f"COUNT(*){call.filter()}"
    if len(arguments) == 1:
        return plain_call(call)
    nulls = " OR ".join(f"{a} IS NULL" for a in arguments)
    values = ", ".join(dict.fromkeys(arguments))
    return f"COUNT({call.only_different}CASE WHEN {nulls} THEN NULL ELSE STRUCT({values}) END){call.filter()}"


def quantile_call(call: WrittenCall, fraction: str) -> str:
    """A quantile. What lies between values is a double: DuckDB by itself has it in their own type."""
    values = f"LIST({call.only_different}{call.arguments[0]}){call.filter()}"
    return f"LIST_AGGREGATE(CAST({values} AS ARRAY<DOUBLE>), 'quantile_cont', {fraction})"


def list_call(call: WrittenCall) -> str:
    """The values that are not NULL, in their order: a bag has no order of its own."""
    (value,) = call.arguments
    values = f"LIST({call.only_different}{value}{call.order('', 0)}){call.filter(f'{value} IS NOT NULL')}"
    return f"COALESCE({values}, ARRAY())"


def set_call(call: WrittenCall) -> str:
    """The different values that are not NULL, in their order."""
    return list_call(replace(call, distinct=True))


def first_call(direction: str) -> AggregateSql:
    """The first value in the order of another one; of several rows that are first, their own first value."""

    def written(call: WrittenCall) -> str:
        value, by = call.arguments
        ordered = f"LIST({value}{call.order(f' {direction} NULLS LAST', 1, 0)})"
        return f"LIST_EXTRACT({ordered}{call.filter(f'{by} IS NOT NULL')}, 1)"

    return written

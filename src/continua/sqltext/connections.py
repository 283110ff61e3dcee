"""Connections to DuckDB, with the user's functions in them."""

from __future__ import annotations

import atexit
import inspect
import math
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any
from weakref import WeakSet

import duckdb
from duckdb.func import FunctionNullHandling

from continua.catalog import AggregateInfo, FunctionInfo
from continua.functions.aggregate_sql import AVERAGE, EXACT
from continua.functions.aggregates import AGGREGATES
from continua.sqltext.duckdb_types import duckdb_type
from continua.types import STRING, DataType


def connection(functions: Iterable[FunctionInfo | AggregateInfo] = ()) -> duckdb.DuckDBPyConnection:
    """A database of its own, in memory, on one thread."""
    fresh = duckdb.connect(":memory:", config={"threads": 1})
    fresh.execute("SET GLOBAL TimeZone = 'UTC'")
    _create(fresh, EXACT, _exact_text, ["VARCHAR", "DOUBLE[]"], STRING)
    _create(fresh, AVERAGE, average, ["VARCHAR[]", "INTEGER"], STRING)
    for info in functions:
        _register(fresh, info)
    _opened.add(fresh)
    return fresh


_opened: WeakSet[duckdb.DuckDBPyConnection] = WeakSet()
"""Those that are still in use: each has its threads until it is let go."""


@atexit.register
def _close_all() -> None:
    """Connections that hold Python functions must not outlive the interpreter."""
    for connection in list(_opened):
        connection.close()


def _exact_text(function: str, values: list[float | None] | None) -> str | None:
    """The value as text: DuckDB takes a NaN that a function returns for NULL."""
    value = exact(function, values)
    return None if value is None else repr(value)


def exact(function: str, values: list[float | None] | None) -> float | None:
    """An aggregate of numbers as its declaration defines it: the exact value, rounded once to a double."""
    numbers = [v for v in values or () if v is not None]
    definition = AGGREGATES[function].exact
    return definition(numbers) if numbers and definition is not None else None


def average(values: list[str | None] | None, scale: int) -> str | None:
    """The mean of decimals with so many digits behind the point, rounded half away from zero.

    >>> average(["0.10", "0.20", "0.20", None], 6), average(["-1", "-2"], 0), average([], 2)
    ('0.166667', '-2', None)
    """
    numbers = [Fraction(v) for v in values or () if v is not None]
    if not numbers:
        return None
    mean = sum(numbers, Fraction()) / len(numbers) * 10**scale
    whole = math.floor(abs(mean) + Fraction(1, 2))
    return f"{Decimal(whole if mean >= 0 else -whole).scaleb(-scale, Context(prec=100)):f}"


def _register(database: duckdb.DuckDBPyConnection, info: FunctionInfo | AggregateInfo) -> None:
    if isinstance(info, AggregateInfo):
        parameters = [f"{duckdb_type(t)}[]" for _, t in info.parameters]
        names = [name for name, _ in info.parameters]
        _create(database, info.name, _with_parameters(fold(info), names), parameters, info.returns)
        timed = _with_parameters(fold(info, timed=True), [*names, "instant"])
        _create(database, by_time(info.name), timed, [*parameters, "BIGINT[]"], info.returns)
    elif info.python is not None and info.returns is not None:
        python = _with_parameters(info.python, [name for name, _ in info.parameters])
        _create(database, info.name, python, [duckdb_type(t) for _, t in info.parameters], info.returns)


def _create(
    database: duckdb.DuckDBPyConnection,
    name: str,
    function: Callable[..., Any],
    parameters: list[str],
    returns: DataType,
) -> None:
    database.create_function(
        name,
        function,
        [duckdb.sqltype(p) for p in parameters],
        duckdb.sqltype(duckdb_type(returns)),
        null_handling=FunctionNullHandling.SPECIAL,
    )


def by_time(name: str) -> str:
    """The name of an aggregate that takes the instants of its rows, too."""
    return f"{name}_by_time"


def fold(info: AggregateInfo, timed: bool = False) -> Callable[..., object]:
    """An aggregate over lists: initializer for the first row, merger for the others, then the evaluator.

    Rows are in the order of their instants, if these are told in a last list, and of their values.
    """

    def evaluate(*columns: list[object] | None) -> object:
        rows = [row for row in zip(*(c or [] for c in columns), strict=True) if None not in row]
        if not rows:
            return None
        if timed:
            rows = [row[:-1] for row in sorted(rows, key=lambda row: _order_of((row[-1], *row[:-1])))]
        else:
            rows = sorted(rows, key=_order_of)
        state = info.initializer(*rows[0])
        for row in rows[1:]:
            state = info.merger(state, *row)
        return info.evaluator(state)

    return evaluate


def _order_of(value: object) -> tuple[object, ...]:
    """By what values are in order: NaN behind all numbers, NULL behind all values, also within lists."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        return 0, tuple(map(_order_of, value))
    return (2, 0) if value is None else (1, 0) if value != value else (0, value)


def _with_parameters(function: Callable[..., Any], names: Iterable[str]) -> Callable[..., Any]:
    """The function with parameters of these names in its signature: DuckDB counts them there."""

    def call(*arguments: object) -> Any:
        return function(*arguments)

    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call

"""DuckDB as the judge of plain SQL: typed tables in, bags of rows out."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling
from sqlglot import exp

from continua.algebra.schema import Schema
from continua.catalog import AggregateInfo, FunctionInfo
from continua.errors import Diagnostic, EvaluationError
from continua.reference.elements import Row
from continua.reference.sql import UNIT, type_text
from continua.types import DataType, Value

_ARROW: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "INTERVAL": pa.month_day_nano_interval(),
    "NULL": pa.int32(),
    "UNKNOWN": pa.int32(),
}
_NAN = float("nan")


@cache
def _shared() -> duckdb.DuckDBPyConnection:
    return _instance()


def _instance() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection


class Database:
    """A connection of its own: to one instance that all share, or to a fresh one where functions are registered."""

    def __init__(self, functions: Iterable[FunctionInfo | AggregateInfo] = ()) -> None:
        functions = list(functions)
        self._connection = _instance() if functions else _shared().cursor()
        for info in functions:
            self._register(info)

    def load(self, table: str, schema: Schema, rows: Iterable[Row]) -> None:
        """Makes ``rows`` the content of a table."""
        data = list(rows)
        if not len(schema):
            names, columns = [UNIT.strip("`")], [pa.array([1] * len(data), pa.int32())]
        else:
            names = list(schema.names)
            columns = [
                pa.array([to_arrow(row[i], f.type) for row in data], arrow_type(f.type)) for i, f in enumerate(schema)
            ]
        self._connection.register(table, pa.Table.from_arrays(columns, names=names))

    def set_now(self, value: Value) -> None:
        """Makes ``value`` the instant that queries see as NOW."""
        self._connection.execute("SET VARIABLE now = ?", [value])

    def rows(self, sql: str, schema: Schema) -> Counter[Row]:
        """The answer of a query, as a bag."""
        try:
            fetched = self._connection.execute(sql).fetchall()
        except duckdb.Error as error:
            raise evaluation_error(str(error)) from None
        types = schema.types
        if not types:
            return Counter({(): len(fetched)}) if fetched else Counter()
        return Counter(tuple(from_duckdb(v, t) for v, t in zip(row, types, strict=True)) for row in fetched)

    def _register(self, info: FunctionInfo | AggregateInfo) -> None:
        if isinstance(info, AggregateInfo):
            parameters = [f"{duckdb_type(t)}[]" for _, t in info.parameters]
            self._create(info.name, _with_parameters(_fold(info), info), parameters, info.returns)
        elif info.python is not None and info.returns is not None:
            python = _with_parameters(info.python, info)
            self._create(info.name, python, [duckdb_type(t) for _, t in info.parameters], info.returns)

    def _create(self, name: str, function: Callable[..., Any], parameters: list[str], returns: DataType) -> None:
        self._connection.create_function(
            name,
            function,
            [duckdb.sqltype(p) for p in parameters],
            duckdb.sqltype(duckdb_type(returns)),
            null_handling=FunctionNullHandling.SPECIAL,
        )


def _fold(info: AggregateInfo) -> Callable[..., object]:
    """An aggregate over lists: initializer for the first row, merger for the others, then the evaluator."""

    def evaluate(*columns: list[object] | None) -> object:
        rows = [row for row in zip(*(c or [] for c in columns), strict=True) if None not in row]
        if not rows:
            return None
        state = info.initializer(*rows[0])
        for row in rows[1:]:
            state = info.merger(state, *row)
        return info.evaluator(state)

    return evaluate


def _with_parameters(function: Callable[..., Any], info: FunctionInfo | AggregateInfo) -> Callable[..., Any]:
    """The function with the declared parameters in its signature: DuckDB counts them there."""

    def call(*arguments: object) -> Any:
        return function(*arguments)

    names = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n, _ in info.parameters]
    call.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
    return call


def evaluation_error(message: str) -> EvaluationError:
    """A query that failed on its data."""
    first = message.strip().splitlines()[0] if message.strip() else "unknown"
    return EvaluationError(Diagnostic("EVALUATION_FAILED", f"the query fails on its data: {first}"))


def duckdb_type(data_type: DataType) -> str:
    """A type in DuckDB's SQL."""
    return exp.DataType.build(type_text(data_type), dialect="spark").sql("duckdb")


def arrow_type(data_type: DataType) -> pa.DataType:
    """A type in Arrow."""
    match data_type.name:
        case "DECIMAL":
            return pa.decimal128(data_type.precision, data_type.scale)
        case "ARRAY" if data_type.element:
            return pa.list_(arrow_type(data_type.element))
        case "MAP" if data_type.key and data_type.element:
            return pa.map_(arrow_type(data_type.key), arrow_type(data_type.element))
        case "STRUCT":
            return pa.struct([(n, arrow_type(t)) for n, t in data_type.fields])
        case name:
            return _ARROW[name]


def to_arrow(value: Value, data_type: DataType) -> object:
    """A value as Arrow takes it: structs as dictionaries."""
    if value is None:
        return None
    match data_type.name:
        case "ARRAY" if data_type.element:
            assert isinstance(value, tuple)
            return [to_arrow(v, data_type.element) for v in value]
        case "STRUCT":
            assert isinstance(value, tuple)
            return {n: to_arrow(v, t) for (n, t), v in zip(data_type.fields, value, strict=True)}
        case "MAP" if data_type.key and data_type.element:
            assert isinstance(value, tuple)
            return [(to_arrow(k, data_type.key), to_arrow(v, data_type.element)) for k, v in value]
        case "INTERVAL":
            assert isinstance(value, timedelta)
            return (0, value.days, (value - timedelta(days=value.days)) // timedelta(microseconds=1) * 1000)
        case _:
            return value


def from_duckdb(value: object, data_type: DataType) -> Value:
    """A value as rows hold it: hashable, and one NaN for all."""
    if value is None:
        return None
    match data_type.name:
        case "ARRAY" if data_type.element and isinstance(value, list | tuple):
            return tuple(from_duckdb(v, data_type.element) for v in value)
        case "STRUCT" if isinstance(value, Mapping):
            return tuple(from_duckdb(value[n], t) for n, t in data_type.fields)
        case "MAP" if isinstance(value, Mapping) and data_type.key and data_type.element:
            pairs = ((from_duckdb(k, data_type.key), from_duckdb(v, data_type.element)) for k, v in value.items())
            return tuple(pairs)
        case "FLOAT" | "DOUBLE" if value != value:
            return _NAN
        case _:
            return value

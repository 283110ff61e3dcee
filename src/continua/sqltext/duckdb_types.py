"""Types and values, as Arrow and DuckDB have them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pyarrow as pa
from sqlglot import exp

from continua.sqltext.expression_sql import type_text
from continua.types import TIMESTAMP, DataType, Value, array, map_of, struct

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
_OF_ARROW: dict[pa.DataType, DataType] = {
    arrow: DataType(name) for name, arrow in _ARROW.items() if name not in ("NULL", "UNKNOWN")
}
_NAN = float("nan")
_MONTH_DAYS = 30


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


def type_of(arrow: pa.DataType) -> DataType:
    """The type whose values a column of Arrow holds: the inverse of :func:`arrow_type`."""
    if pa.types.is_decimal(arrow):
        return DataType("DECIMAL", precision=arrow.precision, scale=arrow.scale)
    if pa.types.is_map(arrow):
        return map_of(type_of(arrow.key_type), type_of(arrow.item_type))
    if pa.types.is_list(arrow):
        return array(type_of(arrow.value_type))
    if pa.types.is_struct(arrow):
        return struct(*((field.name, type_of(field.type)) for field in arrow))
    return TIMESTAMP if pa.types.is_timestamp(arrow) else _OF_ARROW[arrow]


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
        case "MAP" if isinstance(value, Mapping | list) and data_type.key and data_type.element:
            entries = value.items() if isinstance(value, Mapping) else value
            return tuple((from_duckdb(k, data_type.key), from_duckdb(v, data_type.element)) for k, v in entries)
        case "INTERVAL" if isinstance(value, pa.MonthDayNano):
            days = value.months * _MONTH_DAYS + value.days
            return timedelta(days=days, microseconds=value.nanoseconds // 1000)
        case "FLOAT" | "DOUBLE" if value != value:
            return _NAN
        case _:
            return value

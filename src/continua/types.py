"""The types of the language: Spark SQL's, under Spark's names and under the papers' spellings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = object
"""A value of a row: None, bool, int, float, Decimal, str, bytes, date, datetime (UTC, naive), timedelta,
tuple (arrays) or a tuple of pairs (structs and maps)."""


@dataclass(frozen=True, slots=True)
class DataType:
    """A type: its name and, for parametric types, its parts."""

    name: str
    precision: int = 0
    scale: int = 0
    element: DataType | None = None
    key: DataType | None = None
    fields: tuple[tuple[str, DataType], ...] = ()

    def __str__(self) -> str:
        match self.name:
            case "DECIMAL":
                return f"DECIMAL({self.precision},{self.scale})"
            case "ARRAY":
                return f"ARRAY<{self.element}>"
            case "MAP":
                return f"MAP<{self.key}, {self.element}>"
            case "STRUCT":
                return "STRUCT<" + ", ".join(f"{n}: {t}" for n, t in self.fields) + ">"
            case _:
                return self.name

    @property
    def is_integer(self) -> bool:
        """TINYINT to BIGINT."""
        return self.name in _INTEGER_RANK

    @property
    def is_numeric(self) -> bool:
        """Integers, decimals and floating-point numbers."""
        return self.is_integer or self.name in ("DECIMAL", "FLOAT", "DOUBLE")

    @property
    def is_temporal(self) -> bool:
        """Dates and timestamps."""
        return self.name in ("DATE", "TIMESTAMP")

    @property
    def is_time_domain(self) -> bool:
        """Whether a column of this type can order a stream."""
        return self.is_integer or self.name == "TIMESTAMP"


_INTEGER_RANK = {"TINYINT": 0, "SMALLINT": 1, "INT": 2, "BIGINT": 3}
_INTEGER_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}

BOOLEAN = DataType("BOOLEAN")
TINYINT = DataType("TINYINT")
SMALLINT = DataType("SMALLINT")
INT = DataType("INT")
BIGINT = DataType("BIGINT")
FLOAT = DataType("FLOAT")
DOUBLE = DataType("DOUBLE")
STRING = DataType("STRING")
BINARY = DataType("BINARY")
DATE = DataType("DATE")
TIMESTAMP = DataType("TIMESTAMP")
INTERVAL = DataType("INTERVAL")
NULL = DataType("NULL")
UNKNOWN = DataType("UNKNOWN")
"""The type of an expression that already has an error: it fits everywhere, so one mistake is told once."""


def decimal(precision: int, scale: int) -> DataType:
    """DECIMAL(precision, scale), kept within Spark's 38 digits."""
    precision = max(precision, 1)
    if precision > 38:
        scale = max(scale - (precision - 38), min(scale, 6))
        precision = 38
    return DataType("DECIMAL", precision=precision, scale=min(scale, precision))


def array(element: DataType) -> DataType:
    """ARRAY<element>."""
    return DataType("ARRAY", element=element)


def map_of(key: DataType, value: DataType) -> DataType:
    """MAP<key, value>."""
    return DataType("MAP", key=key, element=value)


def struct(*fields: tuple[str, DataType]) -> DataType:
    """STRUCT<name: type, ...>."""
    return DataType("STRUCT", fields=fields)


SPELLINGS: dict[str, DataType] = {
    "BOOLEAN": BOOLEAN,
    "BOOL": BOOLEAN,
    "TINYINT": TINYINT,
    "BYTE": TINYINT,
    "SMALLINT": SMALLINT,
    "SHORT": SMALLINT,
    "INT": INT,
    "INTEGER": INT,
    "BIGINT": BIGINT,
    "LONG": BIGINT,
    "FLOAT": FLOAT,
    "REAL": FLOAT,
    "DOUBLE": DOUBLE,
    "STRING": STRING,
    "CHAR": STRING,
    "VARCHAR": STRING,
    "TEXT": STRING,
    "BINARY": BINARY,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_NTZ": TIMESTAMP,
    "DATETIME": TIMESTAMP,
    "INTERVAL": INTERVAL,
    "VOID": NULL,
    "NULL": NULL,
}
"""Every spelling of a simple type; DECIMAL/NUMERIC, ARRAY, MAP and STRUCT have parts and are read apart."""


def common_type(left: DataType, right: DataType) -> DataType | None:
    """The type to which both sides widen, or None when there is none (Spark's rules without string casts)."""
    if left == right or right.name in ("NULL", "UNKNOWN"):
        return left
    if left.name in ("NULL", "UNKNOWN"):
        return right
    if left.is_numeric and right.is_numeric:
        return _common_numeric(left, right)
    if left.is_temporal and right.is_temporal:
        return TIMESTAMP
    if left.name == right.name == "ARRAY" and left.element and right.element:
        element = common_type(left.element, right.element)
        return array(element) if element else None
    if left.name == right.name == "MAP" and left.key and right.key and left.element and right.element:
        key, value = common_type(left.key, right.key), common_type(left.element, right.element)
        return map_of(key, value) if key and value else None
    if left.name == right.name == "STRUCT" and len(left.fields) == len(right.fields):
        merged = [common_type(a, b) for (_, a), (_, b) in zip(left.fields, right.fields, strict=True)]
        if all(merged):
            names = [n for n, _ in left.fields]
            return struct(*((n, t) for n, t in zip(names, merged, strict=True) if t))
    return None


def _common_numeric(left: DataType, right: DataType) -> DataType:
    names = {left.name, right.name}
    if "DOUBLE" in names:
        return DOUBLE
    if "FLOAT" in names:
        return DOUBLE if names - {"FLOAT"} else FLOAT
    if "DECIMAL" in names:
        a, b = as_decimal(left), as_decimal(right)
        scale = max(a.scale, b.scale)
        return decimal(max(a.precision - a.scale, b.precision - b.scale) + scale, scale)
    return left if _INTEGER_RANK[left.name] >= _INTEGER_RANK[right.name] else right


def as_decimal(number: DataType) -> DataType:
    """The decimal type that holds every value of an integer type; a decimal type as it is."""
    return decimal(_INTEGER_DIGITS[number.name], 0) if number.is_integer else number


def comparable(left: DataType, right: DataType) -> bool:
    """Whether ``left = right`` makes sense: a common type, or a string literal beside a date."""
    if common_type(left, right) is not None:
        return True
    return {left.name, right.name} in ({"STRING", "DATE"}, {"STRING", "TIMESTAMP"})

"""Conditions as columns of Spark, for Catalyst to push down to where rows are stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql.functions import col, lit
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
)

from continua.algebra.expr import Call, Column, Expr, InList, Literal
from continua.types import DataType as OwnType

_TYPES: Mapping[str, type[DataType]] = {
    "TINYINT": ByteType, "SMALLINT": ShortType, "INT": IntegerType, "BIGINT": LongType, "FLOAT": FloatType,
    "DOUBLE": DoubleType, "STRING": StringType, "BOOLEAN": BooleanType, "DATE": DateType, "DECIMAL": DecimalType,
}  # fmt: skip
_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {"=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


def is_same_type(own: OwnType, theirs: DataType) -> bool:
    """Whether the values of a column are those of the declared type, so that nothing has to be converted."""
    if own.name == "DECIMAL":
        return isinstance(theirs, DecimalType) and (theirs.precision, theirs.scale) == (own.precision, own.scale)
    # texts may have a collation of their own, by which others are equal
    return own.name in _TYPES and theirs == _TYPES[own.name]()


def as_condition(expr: Expr, names: list[str]) -> SparkColumn | None:
    """A condition over ``c0``, ``c1``, ..., whose names in the frame are given; None if it is not written so."""
    match expr:
        case Call(function="AND" | "OR" as word, arguments=arguments):
            parts = [as_condition(a, names) for a in arguments]
            known = [p for p in parts if p is not None]
            if not known or (word == "OR" and len(known) < len(parts)):
                return None
            return reduce(and_ if word == "AND" else or_, known)
        case Call(function="IS NULL", arguments=(Column() as operand,)):
            return _operand(operand, names).isNull()
        case Call(function="NOT", arguments=(Call(function="IS NULL", arguments=(Column() as operand,)),)):
            return _operand(operand, names).isNotNull()
        case Call(function=function, arguments=(Column() | Literal() as left, Column() | Literal() as right)):
            if function not in _COMPARISONS or not _alike(left, right):
                return None
            found: SparkColumn = _COMPARISONS[function](_operand(left, names), _operand(right, names))
            return found
        case InList(operand=Column() as operand, items=items):
            if not all(isinstance(i, Literal) and _alike(operand, i) for i in items):
                return None
            return _operand(operand, names).isin([_operand(i, names) for i in items])
        case _:
            return None


def _alike(left: Expr, right: Expr) -> bool:
    """Whether values are compared as they are."""
    same = left.type == right.type or (left.type.is_integer and right.type.is_integer)
    return same and _known(left) and _known(right)


def _known(expr: Expr) -> bool:
    if expr.type.name not in _TYPES:
        return False
    return not isinstance(expr, Literal) or (
        isinstance(expr.value, bool | int | float | str | Decimal | date) and not isinstance(expr.value, datetime)
    )


def _operand(expr: Expr, names: list[str]) -> SparkColumn:
    match expr:
        case Column(name=name):
            return col(f"`{names[int(name[1:])]}`")
        case Literal(value=value, type=own):
            kind = _TYPES[own.name]
            return lit(value).cast(DecimalType(own.precision, own.scale) if kind is DecimalType else kind())
        case _:
            raise TypeError(type(expr).__name__)

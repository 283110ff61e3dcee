"""Constants as they are written, to typed values."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from sqlglot import exp

from continua.algebra.expr import Literal
from continua.instants import parse_timestamp
from continua.types import BIGINT, DATE, DOUBLE, INT, STRING, DataType, decimal


def bind_literal(node: exp.Literal) -> Literal | None:
    """The constant, with Spark's type for it; None if it is no number of any type."""
    text = node.name
    if node.is_string:
        return Literal(text, STRING)
    if text.isdecimal():
        return _integer(int(text)) if len(text) <= 38 else None
    try:
        if "e" in text.lower():
            return Literal(float(text), DOUBLE)
        number = Decimal(text)
    except (ValueError, ArithmeticError):
        return None
    scale = max(-int(number.as_tuple().exponent), 0)
    digits = max(len(number.as_tuple().digits), scale)
    return Literal(number, decimal(digits, scale)) if digits <= 38 else None


def _integer(value: int) -> Literal:
    if value < 1 << 31:
        return Literal(value, INT)
    if value < 1 << 63:
        return Literal(value, BIGINT)
    return Literal(Decimal(value), decimal(len(str(value)), 0))


def time_literal(text: str, target: DataType) -> Literal | None:
    """A date or timestamp from its text; None if it is none."""
    try:
        moment: datetime = parse_timestamp(text)
    except (ValueError, OverflowError):
        return None
    return Literal(moment.date() if target == DATE else moment, target)

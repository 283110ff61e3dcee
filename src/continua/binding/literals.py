"""Constants as they are written, to typed values."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from sqlglot import exp

from continua.algebra.expr import Literal
from continua.binding.context import Context
from continua.instants import UNITS, parse_timestamp, unit_named
from continua.types import BIGINT, DATE, DOUBLE, INT, INTERVAL, STRING, DataType, decimal


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


def interval_literal(context: Context, node: exp.Interval) -> Literal:
    """INTERVAL with its number and unit, as a length of time."""
    unit = unit_named(node.args["unit"].name) if node.args.get("unit") else None
    text = node.this.name if node.this is not None else ""
    if unit is None and " " in text.strip():
        text, _, word = text.strip().partition(" ")
        unit = unit_named(word)
    if unit is None or not text.lstrip("-").isdigit():
        context.fail(
            "BAD_UNIT",
            "an interval is a whole number and a unit of fixed length",
            node,
            f"units: {', '.join(UNITS)}",
            unit=str(node.args.get("unit") or text),
        )
    try:
        return Literal(timedelta(microseconds=int(text) * UNITS[unit]), INTERVAL)
    except OverflowError:
        context.fail("TOO_LONG", f"an interval of {text} {unit}S is too long", node, amount=int(text))
